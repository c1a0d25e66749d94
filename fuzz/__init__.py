"""Problems nobody thought of, each solved twice: by the library and by an independent oracle.

`make fuzz MINUTES=10`, or with names, `make fuzz NAMES="svm grls"`.  A seed is a problem: sizes,
scales, kernels, features, weights, duplicates and parameters are drawn from it.  The answers are
compared with an independent one (`oracles`): kernels by their formulas, linear systems in extended
precision by NumPy, quadratic programs by Clarabel, and weak duality, which needs no second solver.
What the library claims, its certificate, is compared with what is true.

An error in words is an answer, and a warning takes a promise back; a traceback of somebody else, a
wrong answer without a warning and a gap larger than the one that is claimed are finds.  Every seed
is logged; the next run goes on behind the last one.

| file | whom it tries |
|---|---|
| `problems` | draws them |
| `oracles` | answers them |
| `svm` | `SVMGBClassifier`, `svm_path` |
| `grls` | the exact solvers, leave-one-out; Nyström, CG, Fourier; chunks |
| `primal` | `PrimalSVMClassifier` with both losses and every solver, `IncrementalSVMClassifier` |
"""

"""Learners with scikit-learn's interface: validate, choose a solver, keep its arrays.

No mathematics here.  Everything public is importable from `kernelbook`.

| learner | file | minimizes | solvers |
|---|---|---|---|
| `GRLSRegressor`, `GRLSClassifier` | `grls` | squares | `solvers.grls` |
| `GRLSRegressorCV`, `GRLSClassifierCV` | `grls_cv` | squares, `reg` chosen | `solvers.grls` |
| `SVMGBClassifier` | `svm` | hinge, in the dual | `solvers.svm` |
| `PrimalSVMClassifier` | `primal_svm` | hinge or its square, in a basis | `solvers.primal` |
| `IncrementalSVMClassifier` | `incremental_svm` | hinge, in a growing basis | `solvers.primal` |

`least_squares` holds what the first two files share, `in_basis` what the last two do.  Files with
an underscore serve several learners: `_base` input and fitted state, `_refusals` rows and tables
that cannot be taken, `_validation` parameters and labels, `_multiclass` classes, `_warm_start` the
last fit.

**The way through.**  `fit` checks X, y and the weights, fits the feature map, calls a solver and
keeps `coef_` (λ), `dual_coef_` (c or β) and `certificate_`; if it fails, the learner is as it was
before.  `predict` evaluates the features and the kernel at new points.
"""

"""Solvers: arrays in, arrays out.  They know nothing of scikit-learn.

Every learner minimizes a loss plus a penalty on the kernel part of f = Σ λ_p φ_p + Σ c_i K(x_i, ·);
the ℓ features φ_p are not penalized.  Three rooms, by what is minimized over:

| room | problem | variables |
|---|---|---|
| `svm` | hinge loss, the dual with one equation for each feature | β, one for each sample |
| `primal` | hinge or squared hinge in an orthonormal basis | w, one for each function |
| `grls` | squared loss: a linear system | c, one for each sample or centre |

**Which solver.**  m samples, ℓ features, d columns; order is the kernel's `cpd_order`.

| problem | m | ℓ | d | order | solver |
|---|---|---|---|---|---|
| hinge, kernel | up to 1,000 | any | any | any | `svm.solve` (one), `svm.pairs` (many; order 0) |
| | above 1,000 | span has the constant | any | 0 | `svm.large` |
| | above 1,000 | any other | any | any | `svm.solve` |
| hinge, every C | hundreds | any | any | any | `svm.path` |
| hinge, linear or few functions | any | any | any | – | `primal.dcd`, then Newton steps |
| hinge, functions one by one | any | any | any | – | `primal.growing` |
| squares | an m×m matrix fits | any | any | 0 | `grls.dense`, Cholesky |
| | an m×m matrix fits | any | any | above 0 | `grls.dense`, null space of Pᵀ |
| | 20,000 and more | any | 1 to 3 | 0 | `grls.fourier` |
| | large | any | any | any | `grls.nystrom` (centres), `grls.cg` (exact) |
| squares, all parameters | up to 5,000, or part of more | any | any | any | `grls.tuning` |
| squares, every reg | an m×m matrix fits | any | any | any | `grls.loo_path` |

Each room's own text says why, and where the choice is made.

**The way through**, the same in each room: the problem is scaled to units in which no number is
large; a solver finds a point; the point is made feasible, λ is chosen by the rule of
`kernelbook.numeric.column_space`, and a `kernelbook.certificates.Certificate` is computed from f as
it will be predicted.

**Words.**  P is the m×ℓ matrix of the features on the sample, Q an orthonormal basis of its range;
c (or β) are the kernel coefficients, with Pᵀc = 0; λ the coefficients of the features; the *gap* is
primal − dual; the *KKT violation* is the largest violation of an optimality condition, in the units
of `tol`.  A *free* support vector lies strictly between its bounds, a *bounded* one at C.
"""

"""Generalized regularized least squares: the map of this room.

The problem is that of `dense`: squared loss, features φ_p that are not penalized, a kernel for the
rest.  Every solver takes arrays and returns a `solution.Solution`, whose certificate is that of f
as its predictor will compute it.

**Which method.**  m samples, d columns, ℓ features, n centres, k outputs; `methods.choose` decides.

============  ==============================  ================  ===================  ==============
method        take it for                     time              memory               kernels
============  ==============================  ================  ===================  ==============
cholesky      m ≤ 20,000; reg ≥ 0; variances  m³/3              8m² bytes            positive
                                                                                     definite
nullspace     the same                        m³/3 + 2m²ℓ       8m² bytes            any order
cg            exact f for large m             m²d a step        m(n + ℓ + k)         any order
nystrom       large m, any d; chunks with     mn(n + d)         n² + a panel         any order
              given centres, Dask
fourier       d ≤ 3, m up to 10⁸; variances,  m + N log N       N Fourier functions  Gaussian,
              chunks, Dask                    a step                                 Matérn, sums
============  ==============================  ================  ===================  ==============

"auto" is `fourier` from m = 20,000 on where it reaches `tol`; otherwise `nullspace` for kernels
that are only conditionally positive definite, and `cholesky` for the others.

**The files.**

- `methods`        a row for each method, and the choice
- `problem`        weights and units: (P, y, w) with identity noise and orthonormal features
- `dense`          the saddle system, refined and certified; `saddle_factor` factors it
- `posterior`      variances of the dense solution
- `loo_path`       leave-one-out, GCV and degrees of freedom for a grid of γ
- `tuning/`        widths, weights and γ by restricted likelihood, likelihood, leave-one-out or GCV
- `cg`             the same f without the kernel matrix
- `nystrom/`       `basis` (orthonormal functions at centres), `normal_equations` (fast and stable),
                   `solve`, `bounds` (what else may be off), `sums` (blocks that add up)
- `fourier/`       `grid` (frequencies, and what they miss of the kernel), `sums`, `operator`,
                   `solve`
- `predictor`      the kernel part of f at new points
- `solution`       what all of them return, and `certify`

**The words.**

- c, λ           coefficients of the kernel translates and of the features
- u, S           c = Su, S² = D·m/W: c in units in which all weights are equal
- Q, T           SPT = Q, an orthonormal basis of the features on the sample
- ρ              mγ, what regularization adds to the diagonal
- ẑ              a sample in the orthonormal functions of a `CenterBasis`
- residual       what is left of the linear system; `kkt` is its norm in units of y
- target         y in units of the solver; `residual_target`, what the features leave of it
- tolerance      of a residual; `rounding_level`, the size of rounding errors in a matrix
- frame          what is fixed before the first block of a fit by sums
"""

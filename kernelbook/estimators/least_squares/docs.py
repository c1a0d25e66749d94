"""The paragraphs that the docstrings of the G-RLS learners share."""

__all__ = ["ATTRIBUTES", "MATRIX_FREE", "PARAMETERS"]

PARAMETERS = """
    Parameters
    ----------
    kernel : Kernel, callable, "precomputed" or None
        None is Gaussian(width=√d).  A conditionally positive definite kernel of order q needs
        the polynomials of degree < q in the span of the features (`features.check_order`).  That
        a precomputed matrix, or a function, is definite where Pᵀc = 0 is tried on the sample.
    features : transformer, callable, "constant" or None
        The free features φ_p; see `kernelbook.features`.
    reg : float
        The weight γ ≥ 0 of the seminorm.  0 asks for the interpolant of least seminorm, which
        exists when the kernel matrix is definite where Pᵀc = 0 (distinct points, strictly
        definite kernel).
    solver : {"auto", "cholesky", "nullspace", "nystrom", "cg", "fourier"}
        "cholesky" factors Φ + reg·W·D⁻¹ and takes the Schur complement of the features; it needs
        a positive definite kernel.  "nullspace" projects the features out first and also
        serves conditionally positive definite kernels.
        Two more never see an m×m matrix.  "nystrom" looks for f = Σ c_j K(z_j, ·) + Σ λ_p φ_p over
        n centres z_j only; the features stay exact.  "cg" finds the exact f by conjugate
        gradients on the full kernel, preconditioned with the centres.
        "fourier", for one to three columns and Gaussian, Laplacian and Matern kernels (their sums
        and multiples), replaces the kernel by a Fourier basis that differs from it by a proven
        `kernel_error_`, in time proportional to m; it takes chunks.  Dask collections are for it
        and for "nystrom", which takes chunks if `centers` is an array.
        "auto" takes "fourier" from m = 20,000 on, where it can reach `tol`; elsewhere "auto" is
        one of the first two, as the kernel needs, and a `MemoryError` names the others where the
        matrix does not fit.  `kernelbook.solvers.grls` has the table.
    tol : float
        The largest `certificate_.kkt` that passes without a `ConvergenceWarning`.  kkt is the
        root of the duality gap, in units of what the features leave of y (plus 10⁻⁴ of y): a
        bound on the error of the fitted values.
    centers : {"uniform", "leverage", "kmeans"} or (n, d) array
        For "nystrom" and "cg": samples at random, samples drawn by their leverage, cluster
        centres (see `kernelbook.bases.centers`), or the points given.
    n_centers : int, optional
        How many; by default 1000, and for "cg" fewer where m is below 10,000 or above 100,000.
    max_iter : int
        The most steps of conjugate gradients.
    random_state : int, RandomState instance or None
        For centres chosen at random.
    verbose : int
        1 shows the progress of "nystrom", "cg" and "fourier", with the remaining time.
    bounds : list of (low, high), optional
        For "fourier": a box that holds all samples, a pair for each column.  Without it, that of
        the sample; `partial_fit` needs it.  Predictions may be asked for anywhere.
    tune : {"reml", "ml", "loo", "gcv"}, Tuning or None
        How to choose the widths and weights of the kernel, and reg, from the sample: by restricted
        likelihood, likelihood, leave-one-out or GCV, along exact gradients.  `kernel` and `reg` are
        then where the search starts.  `Tuning` holds some of them, sets bounds, and says how many
        starts.  None takes them as given.
"""

ATTRIBUTES = """
    kernel_ : Kernel
        The kernel that was used, with the chosen parameters; absent for kernel="precomputed".
    reg_ : float
        The reg that was used.  The noise of a row of weight w has the variance scale_·reg_·W/w.
    tuning_ : TuningResult or None
        What `tune` has chosen, with standard errors; see `Tuning`.
    dual_coef_ : (m,) or (k, m) array
        c, a row for each output (of a classifier, for each problem); zero for rows of zero weight.
    origin_ : (d,) array or None
        Where `predict` moves the origin of a linear kernel whose samples are far from it:
        f(x) = Σ c_i K(x, x_i − origin_) + Σ λ_p φ_p(x).
    coef_ : (ℓ,) or (k, ℓ) array
        λ.  Where rank P < ℓ, the one that `kernelbook.numeric.column_space` documents.
    intercept_ : float or (k,) array
        The free constant, where one column of P is constant and λ is unique; otherwise absent.
    rank_ : int
        The rank of P on the sample.
    scale_ : float or (k,) array
        yᵀGy/(W − rank P), the estimate of the variance per unit of kernel (with c = Gy); NaN
        where W ≤ rank P.
    coef_cov_ : (ℓ, ℓ) or (k, ℓ, ℓ) array
        scale_·(Pᵀ(Φ + reg·W·D⁻¹)⁻¹P)⁻¹, the covariance of λ.  For conditionally positive definite
        kernels it is not defined: Φ is fixed only up to terms in the features, and they move λ.
    solver_ : str
        Which of the solvers it was.
    certificate_ : Certificate
        Objective, exact lower bound and residuals; with several outputs, one in `parts` for each.
"""

MATRIX_FREE = """    centers_ : (n, d) array
        For solver="nystrom", to which `dual_coef_` then belongs.  `certificate_` speaks of the best
        function *of these centres and the features*, those included that depend on others to
        rounding and have coefficient zero.
    full_gap_ : float, (k,) array or None
        For solver="nystrom", a bound on how far the objective is above the optimum over *all*
        translates, where m ≤ 4096 or computing it adds no more than a quarter to the fit.
    n_iter_ : int
        The steps of conjugate gradients; 1 for a direct solution.
    n_modes_, kernel_error_ : int, float
        For solver="fourier": the number of Fourier functions, and a bound on what they
        miss of the kernel between two points of the box.
        `certificate_.kkt` accounts for it.  There is no `dual_coef_` then: f is a Fourier sum.
"""

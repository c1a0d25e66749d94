"""What a Nyström solution may be off by, beyond the residual of its equations.

**Dropped centres.**  A centre that depends on others to rounding has no function of its own in ẑ.
What is solved is the problem of the kernel matrix ẐẐᵀ instead of that of all centres, which differs
from it by a positive semidefinite R_c.  So the minimum over the span of all centres is below the
one found by at most eᵀR_ce/ρ, and the fitted values of the two differ by at most ‖R_c‖‖e‖/ρ (e of
the minimizer, which is known to the root of the gap).  R_c ⪯ R = SKS − ẐẐᵀ, and so

    ‖R_c‖  ≤  tr R  =  Σ S_i²K(x_i, x_i) − tr ẐᵀẐ,

known from the sums of the pass; but R also is what *no* centre knows of the samples.  At a centre
the diagonal of R_c is at most `CenterBasis.dropped_bound`: taken for all samples, an estimate and
no bound, ‖R_c‖ ≤ m·dropped_bound.  The smaller of the two counts.

**Prediction.**  f is predicted from c, not from u.  By how much Kc and Ẑu differ is measured on
some rows: nearly dependent centres have large coefficients of both signs.
"""

import numpy as np

from kernelbook.numeric.linalg import norms

__all__ = ["dropped_centers", "prediction_rounding"]

_EPS = np.finfo(float).eps


def dropped_centers(basis, m, diagonal, trace, residual_norm, fit_error, rho):
    """How much dropped centres could lower the objective, and move the fitted values; times m.

    Parameters
    ----------
    basis : CenterBasis
    m : int
        1 where all arguments are means over the sample.
    diagonal, trace : float
        Σ S_i²K(x_i, x_i) in units of the basis, and tr ẐᵀẐ.
    residual_norm : (k,) array
        ‖e‖.
    fit_error : (k,) array
        A bound on the error of the fitted values, in norm.
    """
    if not basis.dropped:
        return 0.0, 0.0
    missing = m * basis.dropped_bound
    if not basis.kernel.cpd_order:  # else K(x, x) is no squared norm
        missing = min(missing, max(diagonal - trace, 0.0) + 2 * _EPS * diagonal)
    return missing * residual_norm**2 / rho, missing * (residual_norm + fit_error) / rho


def prediction_rounding(basis, X, u, sqrt_weights=1.0):
    """The root mean square of Kc − Ẑu over some rows X."""
    if X is None or X.shape[0] == 0 or not basis.rank or not u.any():
        return np.zeros(u.shape[1])
    panel = basis.kernel(X, basis.points)
    off = panel @ basis.times(u)
    off -= basis.coordinates(panel) @ u
    return norms(sqrt_weights * off) / np.sqrt(X.shape[0])

"""An interior-point method for the SVM-GB dual: few steps, each expensive, and never stuck.

    minimize  ½βᵀKβ − yᵀβ,      Qᵀβ = 0,   lower ≤ β ≤ upper

SMO is slow when C is large, and the active set is hard to guess when the free coordinates do not
determine the multipliers (features that separate almost everything).  Interior points are affected
by neither.  With slacks s = β − lower, t = upper − β and multipliers z, w > 0, Newton's
method is applied to the optimality conditions with complementarity relaxed to a common value τ → 0,

    Kβ − y + Qν − z + w = 0,   Qᵀβ = 0,   s∘z = τ,   t∘w = τ,

and every step solves with K + diag(z/s + w/t), positive definite however singular K is.
Mehrotra's predictor estimates how far τ can fall and its corrector uses the same Cholesky
factor again.  10 to 30 steps suffice whatever C, K and the number of features; a step
costs m³/3 and a second m×m matrix, so this is for small problems, and for the stiff ones.

The result is accurate to `tol`, not to rounding: `svm.active_set` does the rest.

Chapter: book/computing/smo

References
----------
Mehrotra (1992), *On the implementation of a primal-dual interior point method*, SIAM J. Optim. 2;
Nocedal & Wright (2006), *Numerical Optimization*, on interior points for quadratic programs.
"""

import numpy as np
from scipy import linalg

from kernelbook.numeric.blas import cholesky, solve_factored

__all__ = ["interior_point"]

SMALLEST_NORMAL = np.finfo(float).tiny


@np.errstate(all="ignore")  # an overflow is detected, and ends the iteration
def interior_point(K, Q, y, lower, upper, *, tol=1e-12, keep_going=False, max_steps=80):
    """(β, ν, steps): β has the coordinates that belong to a bound exactly there.

    The columns of Q are any basis of the features' span.

    Parameters
    ----------
    keep_going : bool
        Do not give up when steps stop helping: with features of many sizes the iteration stays at
        the solution for the large values until the small ones take effect.
    """
    m = y.size
    scale = K.diagonal().max(initial=0.0) or 1.0
    # Units that make a slack and its multiplier comparable.
    unit = np.maximum(scale, 1.0 / (upper - lower))
    a = np.minimum(0.5 * (upper - lower), 1.0 / scale)
    s = np.where(y > 0, a, upper - lower - a)
    t = upper - lower - s
    beta = np.where(y > 0, lower + s, upper - t)
    z, w, nu = np.ones(m), np.ones(m), np.zeros(Q.shape[1])
    H = np.empty_like(K)
    ridge, best, idle, steps = 0.0, np.inf, 0, 0
    while steps < max_steps:
        steps += 1
        # Residuals of the optimality conditions, and how far complementarity is from zero.
        Kb = K @ beta
        dual_residual = Kb - y + Q @ nu - z + w
        residual = Q.T @ beta
        tau = (s @ z + t @ w) / (2 * m)
        undecided = np.maximum(np.minimum(unit * s, z), np.minimum(unit * t, w)).max()
        value = max(abs(0.5 * beta @ Kb - y @ beta), SMALLEST_NORMAL)
        error = max(
            np.abs(dual_residual).max(),
            2 * m * tau / value,
            np.abs(residual).max(initial=0.0) / np.abs(beta).max(),
            np.abs(nu) @ np.abs(residual) / value if keep_going else 0.0,
            1e-3 * undecided,
        )
        # Stop at the tolerance, or where steps no longer help: with a huge C rounding exceeds tol.
        idle = 0 if error < 0.9 * best else idle + 1
        best = min(best, error)
        good_enough, patience = (1e-9, 60) if keep_going else (1e-3, 20)
        if error <= tol or (idle >= 5 and error <= good_enough) or idle >= patience:
            break
        # One Cholesky factor, with a ridge if rounding has made H indefinite.
        np.copyto(H, K)
        H[np.diag_indices(m)] += z / s + w / t + ridge
        try:
            factor = H.T  # in the order that LAPACK can overwrite
            cholesky(factor)
        except linalg.LinAlgError:
            if ridge > 1e-6 * scale:
                break
            ridge = max(10 * ridge, 1e-14 * scale * m)
            continue
        # Predictor and corrector.
        W = solve_factored(factor, Q)
        direction = _Direction(factor, Q, W, s, t, z, w, dual_residual, residual)
        step = _predict_and_correct(direction, s, t, z, w, tau)
        if step is None:
            break
        reach, db, dnu, dz, dw = step
        # The step; slacks and β stay consistent to the last digit.
        s, t = s + reach * db, t - reach * db
        z, w, nu = z + reach * dz, w + reach * dw, nu + reach * dnu
        # β is measured from the nearer bound, so that a small slack keeps its digits.
        beta = np.where(s < t, lower + s, upper - t)
        s, t = np.where(s < t, s, upper - lower - t), np.where(s < t, upper - lower - s, t)
    at_lower, at_upper = unit * s < z, unit * t < w
    return np.where(at_lower, lower, np.where(at_upper, upper, beta)), nu, steps


def _predict_and_correct(direction, s, t, z, w, tau):
    """(reach, db, dnu, dz, dw), or None: badly scaled data have overflowed."""
    try:
        db, _, dz, dw = direction(s * z, t * w)
        reach = _reach(s, t, z, w, db, dz, dw)
        ahead = (s + reach * db) @ (z + reach * dz) + (t - reach * db) @ (w + reach * dw)
        aim = tau * (ahead / (2 * s.size * tau)) ** 3
        db, dnu, dz, dw = direction(s * z + db * dz - aim, t * w - db * dw - aim)
    except linalg.LinAlgError:
        return None
    if not all(np.isfinite(d).all() for d in (db, dnu, dz, dw)):
        return None
    return 0.995 * _reach(s, t, z, w, db, dz, dw), db, dnu, dz, dw


class _Direction:
    """Newton's equations at one point, for several right-hand sides."""

    def __init__(self, factor, Q, W, s, t, z, w, dual_residual, residual):
        self.factor, self.Q, self.W = factor, Q, W
        self.s, self.t, self.z, self.w = s, t, z, w
        self.dual_residual, self.residual = dual_residual, residual
        S = Q.T @ W
        self.unit = 1.0 / np.sqrt(
            np.maximum(S.diagonal(), SMALLEST_NORMAL)
        )  # each equation by itself
        self.S = self.unit[:, None] * S * self.unit

    def __call__(self, sz, tw):
        """Aim at s∘z − sz and t∘w − tw, to first order."""
        rhs = -self.dual_residual - sz / self.s + tw / self.t
        free = solve_factored(self.factor, rhs)
        dnu = np.zeros(0)
        if self.residual.size:
            rhs = self.unit * (self.Q.T @ free + self.residual)
            dnu = self.unit * linalg.lstsq(self.S, rhs, check_finite=False)[0]
        db = free - self.W @ dnu
        return db, dnu, -(sz + self.z * db) / self.s, -(tw - self.w * db) / self.t


def _reach(s, t, z, w, db, dz, dw):
    """The longest step ≤ 1 that keeps everything non-negative."""
    reach = 1.0
    for x, dx in ((s, db), (t, -db), (z, dz), (w, dw)):
        falling = dx < 0
        reach = min(reach, np.min(x[falling] / -dx[falling], initial=1.0))
    return reach

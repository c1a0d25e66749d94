"""The hinge to machine precision: finite Newton inside the method of multipliers.

The hinge has no second derivative, but it is a limit of functions that Newton's method likes.
Write ξ_i for 1 − y_i f_i and let α be multipliers of these equations.  The augmented Lagrangian
replaces the hinge u(ξ)₊ by its Moreau envelope around α,

    α_i⁺ = clip(α_i + σ (1 − y_i f_i), 0, u_i),

and the same is done for λ with the proximal term ‖λ − λ_k‖²/2ρ: a λ that no row holds is then
held by its last value.  Each subproblem is a strongly convex, piecewise quadratic function of
(w, λ), which `finite_newton` solves exactly; then α ← α⁺ and λ_k ← λ.  This is Rockafellar's
proximal method of multipliers, that is, the proximal point algorithm on the saddle function of

    minimize ½‖w‖² + Σ u_i (1 − y_i f_i)₊,    f = X̂w + Pλ + offset.

It converges for every σ, ρ > 0, from anywhere, whether or not β and λ are unique; linearly for a
piecewise linear-quadratic problem, and the rate improves with σ and ρ, which therefore grow.
A good start (`kernelbook.solvers.dcd`) leaves it a handful of Newton steps.

References
----------
Rockafellar (1976), *Augmented Lagrangians and applications of the proximal point algorithm in
convex programming*.  Yan & Li (2020), *An efficient augmented Lagrangian method for support
vector machine*.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from kernelbook.solvers.newton import PiecewiseLoss, finite_newton

__all__ = ["HingeResult", "hinge_by_multipliers"]


@dataclass
class HingeResult:
    """`alpha` in the box [0, u]; `n_iter` counts Newton steps; `residual`: the KKT violation."""

    w: np.ndarray
    lam: np.ndarray
    alpha: np.ndarray
    n_iter: int
    residual: float


def hinge_by_multipliers(
    X, P, y, u, w=None, lam=None, alpha=None, offset=0.0, tol=1e-12, max_newton=500
) -> HingeResult:
    """Minimize ½‖w‖² + Σ u_i (1 − y_i f_i)₊, f = X w + P λ + offset, λ free.

    Parameters
    ----------
    X : (m, M) array or CSR matrix
    P : (m, ℓ) array
        Features of moderate size: rows of norm about one on average.
    y : (m,) array of ±1
    u : (m,) array
        The weight of each sample's loss: the upper bound of α.
    w, lam, alpha : arrays, optional
        Where to start.
    tol : float
        Stop at this violation of the optimality conditions, or when it no longer falls.
    """
    m, l = P.shape
    alpha = np.zeros(m) if alpha is None else np.clip(alpha, 0.0, u)
    w = X.T @ (y * alpha) if w is None else w
    lam = np.zeros(l) if lam is None else lam
    sigma = float(np.mean(u))
    # A stiff kernel part lets λ move far before the loss notices; ρ follows its size.
    rho = sigma * max(1.0, float(X.multiply(X).sum() if sparse.issparse(X) else np.vdot(X, X)) / m)
    best = HingeResult(w, lam, alpha, 0, np.inf)
    last = (np.inf, np.inf)
    n_newton = stalled = 0
    while n_newton < max_newton and stalled < 6 and best.residual > tol:
        loss = PiecewiseLoss(alpha, np.full(m, sigma), u)
        step = finite_newton(X, P, y, loss, w, lam, offset, tau=1.0 / rho)
        n_newton += step.n_iter
        # What a proximal step moved, over its length, is the residual of the optimality conditions.
        margin = np.abs(step.alpha - alpha).max(initial=0.0) / sigma
        balance = np.abs(step.lam - lam).max(initial=0.0) / rho
        rounding = np.abs(step.w - X.T @ (y * step.alpha)).max(initial=0.0)
        w, lam, alpha = step.w, step.lam, step.alpha
        residual = float(max(margin, balance, rounding))
        stalled = 0 if residual < 0.5 * best.residual else stalled + 1
        if residual < best.residual:
            best = HingeResult(w, lam, alpha, n_newton, residual)
        # A penalty grows only where its residual falls slowly: rounding errors grow with it.
        if margin > max(0.1 * last[0], tol):
            sigma *= 5.0
        if balance > max(0.1 * last[1], tol):
            rho *= 5.0
        last = (margin, balance)
    best.n_iter = n_newton
    return best

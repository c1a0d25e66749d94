"""Both losses to machine precision: finite Newton inside the method of multipliers.

    minimize ½‖w‖² + Σ loss_i(y_i f_i),    f = X̂w + Pλ + offset,

where the dual variable α_i of the loss lies in [0, u_i] and costs ½δ_iα_i²: the hinge u(1 − z)₊ has
δ = 0, its square C(1 − z)₊² has u = ∞ and δ = 1/2C.  The hinge has no second derivative, and when
C is large the squared hinge has too much: α = 2C(1 − yf) is then read off the last digits of yf.
Both are limits of functions that Newton's method likes.  A proximal step of length σ in α,

    α_i⁺ = clip((α_i + σ(1 − y_i f_i)) / (1 + σδ_i), 0, u_i),

is the dual variable of a smooth loss, Moreau's envelope of the given one around α.  The same is
done for λ with the proximal term ‖λ − λ_k‖²/2ρ: a λ that no row holds is then held by its last
value.  Each subproblem is a strongly convex, piecewise quadratic function of (w, λ), which
`finite_newton` solves exactly; then α ← α⁺ and λ_k ← λ.  This is Rockafellar's proximal method of
multipliers, that is, the proximal point algorithm on the saddle function of the problem.

It converges for every σ, ρ > 0, from anywhere, whether or not β and λ are unique; linearly for a
piecewise linear-quadratic problem, and the rate improves with σ and ρ, which therefore grow.
A good start (`solvers.primal.dcd`) leaves it a handful of Newton steps.  A subproblem is solved
only as well as the residual so far deserves, a tenth of it: the method still converges (Rockafellar
asks for errors that can be summed), and half of the Newton steps are saved.

References
----------
Rockafellar (1976), *Augmented Lagrangians and applications of the proximal point algorithm in
convex programming*.  Yan & Li (2020), *An efficient augmented Lagrangian method for support
vector machine*.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from kernelbook.solvers.primal.newton import PiecewiseLoss, finite_newton

__all__ = ["MultiplierResult", "proximal_multipliers"]

PROMISING = 1e-3
"""A residual of the optimality conditions above which nobody judges."""
LAST_RESORT = 1e-7
"""The same, where a short way to the end is known, and is asked first."""
LARGE = 1e4
"""Beyond this a penalty grows no more by leaps."""
ENOUGH = 1e-13
"""Whatever judges: an error that is rounding."""


@dataclass
class MultiplierResult:
    """`alpha` in the box [0, u]; `n_iter` counts Newton steps; `error`: what `judge` said."""

    w: np.ndarray
    lam: np.ndarray
    alpha: np.ndarray
    n_iter: int
    error: float


def proximal_multipliers(
    X,
    P,
    y,
    u,
    delta,
    w=None,
    lam=None,
    alpha=None,
    offset=0.0,
    judge=None,
    max_newton=500,
    sigma=None,
    enough=ENOUGH,
    finish=None,
    newton=None,
) -> MultiplierResult:
    """Minimize ½‖w‖² + Σ loss_i(y_i f_i), f = X w + P λ + offset, λ free.

    Parameters
    ----------
    X : (m, M) array or CSR matrix
        Or None, if w and `newton` are given.
    P : (m, ℓ) array
        Features of moderate size: rows of norm about one on average.
    y : (m,) array of ±1
    u, delta : (m,) arrays
        The upper bound of α, which may be infinite, and its quadratic cost.
    w, lam, alpha : arrays, optional
        Where to start.
    judge : callable (w, λ, β) → float, optional
        The error of a candidate, such as its relative duality gap; the least is kept.  Without it,
        the violation of the optimality conditions judges.
    max_newton : int
        Newton steps of all subproblems together.
    sigma : float, optional
        The first σ and ρ; from a start that is nearly right, a large one saves steps.
    enough : float
        The error at which to stop.
    finish : callable (λ, α) → (w, λ, α) or None, optional
        A short way to the end, asked at the start and after every subproblem; what it finds is
        judged, with `judge`.
    newton : callable (loss, w, λ, τ, rough) → NewtonResult, optional
        Solves the subproblems; by default `finite_newton`.
    """
    m, l = P.shape
    alpha = np.zeros(m) if alpha is None else np.clip(alpha, 0.0, u)
    w = X.T @ (y * alpha) if w is None else w
    lam = np.zeros(l) if lam is None else lam
    sigma = rho = min(1.0, float(np.mean(u))) if sigma is None else sigma
    best = MultiplierResult(w, lam, alpha, 0, np.inf)
    last, least = (np.inf, np.inf), np.inf
    n_newton = stalled = 0
    newton = partial(_newton, X, P, y, offset) if newton is None else newton

    def at_the_end(lam, alpha):
        """Whether the short way leads there; the best that it found is kept."""
        nonlocal best
        end = finish(lam, alpha) if finish is not None else None
        if end is not None and (error := judge(end[0], end[1], y * end[2])) < best.error:
            best = MultiplierResult(*end, n_newton, float(error))
        return best.error <= enough

    if at_the_end(lam, alpha):
        return best
    while n_newton < max_newton and stalled < 10 and best.error > enough:
        shrink = 1.0 / (1.0 + sigma * delta)
        loss = PiecewiseLoss(alpha * shrink, sigma * shrink, u)
        rough = 0.1 * min(least, 1.0)
        step = newton(loss, w, lam, 1.0 / rho, rough)
        n_newton += step.n_iter
        if not step.converged:  # the penalties are too large for rounding: half the way back
            sigma, rho, stalled = sigma / 30.0, rho / 30.0, stalled + 1
            continue
        if at_the_end(step.lam, step.alpha):
            break
        # What a proximal step moved, over its length, is the residual of the optimality conditions.
        margin = np.abs(step.alpha - alpha).max(initial=0.0) / sigma
        balance = np.abs(step.lam - lam).max(initial=0.0) / rho
        w, lam, alpha = step.w, step.lam, step.alpha
        residual = max(margin, balance)
        if judge is None:
            error = residual
        else:  # a verdict costs: not before it can be a good one
            promising = residual < (PROMISING if finish is None else LAST_RESORT)
            error = judge(w, lam, y * alpha) if promising or stalled else np.inf
        better = error < 0.5 * best.error or residual < 0.5 * least
        stalled, least = 0 if better else stalled + 1, min(residual, least)
        if error < best.error:
            best = MultiplierResult(w, lam, alpha, n_newton, float(error))
        # One Newton step, and nobody changed sides: only the proximal terms are in the way now.
        known = 1e3 if step.n_iter == 1 and residual < 1e-2 and sigma < LARGE else 1.0
        sigma *= max(known, _growth(margin, last[0]))
        rho *= max(known, _growth(balance, last[1]))
        last = (margin, balance)
    if best.error == np.inf and judge is not None and n_newton:
        best = MultiplierResult(w, lam, alpha, n_newton, float(judge(w, lam, y * alpha)))
    best.n_iter = n_newton
    return best


def _newton(X, P, y, offset, loss, w, lam, tau, rough):
    return finite_newton(X, P, y, loss, w, lam, offset, tau=tau, rough=rough)


def _growth(residual, last):
    """A penalty grows only where its residual falls slowly: rounding errors grow with it."""
    if residual <= max(0.3 * last, 1e-11):
        return 1.0
    return 1e3 if residual > max(0.9 * last, 1e-3) else 5.0

"""Both losses to machine precision: finite Newton inside the method of multipliers.

    minimize ½‖w‖² + Σ loss_i(y_i f_i),    f = X̂w + Pλ + offset,

where the dual variable α_i of the loss lies in [0, u_i] and costs ½δ_iα_i²: the hinge u(1 − z)₊ has
δ = 0, its square C(1 − z)₊² has u = ∞ and δ = 1/2C.  The hinge has no second derivative, and when
C is large the squared hinge has too much: α = 2C(1 − yf) is then computed from the last digits of
yf.  Both are limits of functions that suit Newton's method.  A proximal step of length σ in α,

    α_i⁺ = clip((α_i + σ(1 − y_i f_i)) / (1 + σδ_i), 0, u_i),

is the dual variable of a smooth loss, Moreau's envelope of the given one around α.  The same is
done for λ with the proximal term ‖λ − λ_k‖²/2ρ: a λ that no row determines then keeps its last
value.  Each subproblem is a strongly convex, piecewise quadratic function of (w, λ), which
`finite_newton` solves exactly; then α ← α⁺ and λ_k ← λ.  This is Rockafellar's proximal method of
multipliers, that is, the proximal point algorithm on the saddle function of the problem.

It converges for all σ, ρ > 0, from any start, whether or not β and λ are unique; linearly for a
piecewise linear-quadratic problem, and the rate improves with σ and ρ, which therefore grow.
From a good start (`solvers.primal.dcd`) it needs a handful of Newton steps.  A subproblem is solved
only to a tenth of the residual so far: the method still converges (Rockafellar asks for summable
errors), and half of the Newton steps are saved.

Chapter: book/primal/solvers

References
----------
Rockafellar (1976), *Augmented Lagrangians and applications of the proximal point algorithm in
convex programming*.  Yan & Li (2020), *An efficient augmented Lagrangian method for support
vector machine*.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kernelbook.solvers.primal.newton import PiecewiseLoss, finite_newton

__all__ = ["MultiplierOptions", "MultiplierProblem", "MultiplierResult", "proximal_multipliers"]

CERTIFY_BELOW = 1e-3
"""A gap costs time: it is computed once the residual of the optimality conditions is this small."""
CERTIFY_BELOW_IF_EXACT = 1e-7
"""The same where `try_exact` is asked first."""
MAX_LEAP = 1e4
"""A penalty beyond this no longer grows by a factor of a thousand."""
ROUNDING_ERROR = 1e-13
"""A gap or residual that is rounding error."""
MAX_STALLED_ROUNDS = 10
"""So many subproblems in a row without progress end the iteration."""


class MultiplierProblem(NamedTuple):
    """Rows x̂_i = scale·X_i and features P (of norm about one on average), labels ±1, the upper
    bound of α, which may be infinite, its quadratic cost δ, and an offset of f.
    """

    X: np.ndarray
    P: np.ndarray
    y: np.ndarray
    upper: np.ndarray
    delta: np.ndarray
    offset: np.ndarray | float = 0.0
    scale: float = 1.0


@dataclass(frozen=True)
class MultiplierOptions:
    """When to stop, and how to speed up.

    Attributes
    ----------
    relative_gap : callable (w, λ, β) → float, optional
        The error of a candidate; by default the residual of the optimality conditions.
    target_gap : float
        The error at which to stop.
    max_newton : int
        Newton steps of all subproblems together.
    penalty : float, optional
        The first σ and ρ; from a good start, take them large.
    try_exact : callable (λ, α) → (w, λ, α) or None, optional
        Tries to finish from a candidate; asked at the start and after every subproblem.
    """

    relative_gap: Callable | None = None
    target_gap: float = ROUNDING_ERROR
    max_newton: int = 500
    penalty: float | None = None
    try_exact: Callable | None = None


@dataclass
class MultiplierResult:
    """`alpha` in the box [0, u]; `n_iter` counts Newton steps; `error`, the gap or residual."""

    w: np.ndarray
    lam: np.ndarray
    alpha: np.ndarray
    n_iter: int
    error: float


class _Incumbent:
    """The candidate (w, λ, α) of least error so far."""

    def __init__(self, problem, options, *start):
        self._y, self._options = problem.y, options
        self.point, self.error = start, np.inf

    @property
    def accepted(self):
        return self.error <= self._options.target_gap

    def gap(self, w, lam, alpha):
        return float(self._options.relative_gap(w, lam, self._y * alpha))

    def offer(self, point, error):
        if error < self.error:
            self.point, self.error = point, error

    def try_exact(self, lam, alpha):
        """Whether a direct solution from these sides is good enough."""
        if self._options.try_exact is not None:
            found = self._options.try_exact(lam, alpha)
            if found is not None:
                self.offer(found, self.gap(*found))
        return self.accepted


def proximal_multipliers(problem, w=None, lam=None, alpha=None, options=None) -> MultiplierResult:
    """Minimize ½‖w‖² + Σ loss_i(y_i f_i), f = X̂w + Pλ + offset, λ free.

    Parameters
    ----------
    problem : MultiplierProblem
    w, lam, alpha : arrays, optional
        Where to start.
    options : MultiplierOptions, optional
    """
    options = MultiplierOptions() if options is None else options
    X, P, y, upper, delta, offset, scale = problem
    alpha = np.zeros(y.size) if alpha is None else np.clip(alpha, 0.0, upper)
    w = scale * (X.T @ (y * alpha)) if w is None else w
    lam = np.zeros(P.shape[1]) if lam is None else lam
    sigma = rho = min(1.0, float(np.mean(upper))) if options.penalty is None else options.penalty
    best = _Incumbent(problem, options, w, lam, alpha)
    last, least = (np.inf, np.inf), np.inf
    n_newton = stalled = 0
    done = best.try_exact(lam, alpha)
    while (
        not (done or best.accepted)
        and n_newton < options.max_newton
        and stalled < MAX_STALLED_ROUNDS
    ):
        # The subproblem: Moreau's envelope of the loss around α, and a proximal term on λ.
        shrink = 1.0 / (1.0 + sigma * delta)
        loss = PiecewiseLoss(alpha * shrink, sigma * shrink, upper)
        step = finite_newton(
            X, P, y, loss, w, lam, offset,
            scale=scale, tau=1.0 / rho, gradient_tol=0.1 * min(least, 1.0),
        )  # fmt: skip
        n_newton += step.n_iter
        if not step.converged:  # the penalties are too large for rounding: take half of them back
            sigma, rho, stalled = sigma / 30.0, rho / 30.0, stalled + 1
            continue
        if best.try_exact(step.lam, step.alpha):
            break

        # The residuals of the optimality conditions: what the step moved, over its length.
        margin = np.abs(step.alpha - alpha).max(initial=0.0) / sigma
        balance = np.abs(step.lam - lam).max(initial=0.0) / rho
        w, lam, alpha = step.w, step.lam, step.alpha
        error = residual = max(margin, balance)

        # The gap, if it can be small, and the incumbent.
        if options.relative_gap is not None:
            limit = CERTIFY_BELOW if options.try_exact is None else CERTIFY_BELOW_IF_EXACT
            known = residual < limit or stalled
            error = best.gap(w, lam, alpha) if known else np.inf
        progress = error < 0.5 * best.error or residual < 0.5 * least
        stalled, least = 0 if progress else stalled + 1, min(residual, least)
        best.offer((w, lam, alpha), float(error))

        # The penalties.  One Newton step, and no change of piece: only the proximal terms remain.
        leap = 1e3 if step.n_iter == 1 and residual < 1e-2 and sigma < MAX_LEAP else 1.0
        sigma *= max(leap, _growth(margin, last[0]))
        rho *= max(leap, _growth(balance, last[1]))
        last = (margin, balance)
    if best.error == np.inf and options.relative_gap is not None and n_newton:
        best.offer((w, lam, alpha), best.gap(w, lam, alpha))
    w, lam, alpha = best.point
    return MultiplierResult(w, lam, alpha, n_newton, best.error)


def _growth(residual, last):
    """A penalty grows only where its residual falls slowly: rounding errors grow with it."""
    if residual <= max(0.3 * last, 1e-11):
        return 1.0
    return 1e3 if residual > max(0.9 * last, 1e-3) else 5.0

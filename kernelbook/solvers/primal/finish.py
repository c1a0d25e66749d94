"""The exit of every primal solver: the value of a candidate, a feasible dual point, a certificate.

Whatever solver found (w, λ, β): the dual objective at an exactly feasible point near β bounds the
optimum from below, and the difference from the primal objective proves the quality of (w, λ).

**The dual point** is the solver's β after the repair of `kernelbook.solvers.svm.certificate`, with
every α at the bound that its margin asks for, unless that costs.  When C is huge X̂ᵀβ is refitted
to w on the free samples; and 10⁻¹⁴ of a margin then costs more than a longer w, so (w, λ) is
stretched by that much.

**λ.**  Where the samples with 0 < α < u do not determine λ the rule of
`kernelbook.solvers.svm.multipliers` decides.  If the features alone separate the sample, w = 0 is
the solution (T3).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import norm
from scipy import linalg, sparse

from kernelbook.certificates import Certificate
from kernelbook.solvers.primal.passes import nearly_one, snapped
from kernelbook.solvers.primal.problem import MAX_DIRECT_C
from kernelbook.solvers.svm.certificate import at_bounds, constraint_residual, violation
from kernelbook.solvers.svm.multipliers import (
    choose_multipliers,
    hard_margin_multipliers,
)

__all__ = ["PrimalSolution", "finish", "relative_gap", "separated"]

EPS = float(np.finfo(float).eps)
MAX_IMBALANCE = 0.5
"""A snapped β with a larger ‖Qᵀβ‖/‖β‖ is too far from feasible to be worth a repair."""


@dataclass(frozen=True)
class PrimalSolution:
    """w, λ, β (feasible), the rank of P, the iterations of the solver, and the certificate."""

    w: np.ndarray
    coef: np.ndarray
    beta: np.ndarray
    rank: int
    n_iter: int
    certificate: Certificate


def relative_gap(problem, w, lam, beta):
    """The duality gap of a candidate, over its objective."""
    f = problem.values(w) + problem.P @ lam
    t = _stretch(problem, w, f)
    primal = problem.primal(t * w, t * f)
    return (primal - problem.dual(_dual_point(problem, w, beta))) / (primal or 1.0)


def finish(problem, w, lam, beta, n_iter) -> PrimalSolution:
    """Make β feasible, choose λ, certify, and go back to the caller's units."""
    q, h = problem, problem.values(w)
    beta = _dual_point(q, w, beta)
    moved = _snap(q, beta, h + q.P @ lam)
    chosen = _choose(q, h, moved, lam)
    if not (moved is beta and chosen is lam):
        moved = _snap(q, moved, h + q.P @ chosen)
    coef = q.back @ (np.sqrt(q.y.size) * chosen)
    t = _stretch(q, w, h + q.features @ coef)
    return _certified(q, t * w, t * coef, moved, t * h, n_iter)


def separated(problem) -> PrimalSolution | None:
    """The solution w = 0 where the features alone separate the sample (T3), else None."""
    q = problem
    try:
        nu = hard_margin_multipliers(q.Q, q.y, q.u)
    except RuntimeError:  # scipy's nnls gave up: the solvers do without the shortcut
        nu = None
    if nu is None:
        return None
    coef = q.back @ nu
    for _ in range(3):  # no rounding error may leave a margin, and so a loss, below one
        rounding = 2 * coef.size * EPS * (np.abs(q.features) @ np.abs(coef))
        least = np.min(q.y * (q.features @ coef) - rounding)  # in whatever order they are added
        if least >= 1.0:
            break
        coef = coef * ((1.0 + 4 * EPS) / least)
    m, M = q.given.shape
    return _certified(q, np.zeros(M), coef, np.zeros(m), np.zeros(m), 1)


def _dual_point(q, w, beta):
    """A feasible β near the given one; where rounding has spoilt X̂ᵀβ = w, refitted to it.

    When C is huge α is computed from the last digits of the margins.
    """
    fixed = q.feasible(beta)
    if not q.newton_is_cheap or sparse.issparse(q.given) or q.u_max <= MAX_DIRECT_C:
        return fixed
    if norm(q.sums(fixed) - w) <= 1e-12 * norm(w):
        return fixed
    free = np.flatnonzero((beta != 0) & (np.abs(beta) < q.alpha_upper))
    equations = np.hstack([q.X[free], q.P[free]]).T
    missing = np.concatenate([w - q.sums(beta), -(q.P.T @ beta)])
    refitted = beta.copy()
    refitted[free] += linalg.lstsq(equations, missing, check_finite=False)[0]
    return max(fixed, q.feasible(refitted), key=q.dual)


def _stretch(q, w, f):
    """A factor that lifts margins which rounding left just below one, if that pays."""
    least = nearly_one(q.y, f)
    if least == 1.0:
        return 1.0
    t = (1.0 + 4 * EPS) / least
    return t if q.primal(t * w, t * f) < q.primal(w, f) else 1.0


def _snap(q, beta, f):
    """Send α to the bound that its margin asks for (complementarity), unless that costs."""
    if not q.newton_is_cheap:
        return beta
    changed, moved = snapped(beta, f, q.y, q.u, q.delta, q.squared)
    if not changed or norm(q.Q.T @ moved) > MAX_IMBALANCE * norm(moved):
        return beta
    moved = q.feasible(moved)
    before, after = q.dual(beta), q.dual(moved)
    return moved if after >= before - 1e-14 * abs(before) else beta


def _choose(q, h, beta, lam):
    """λ by the rule, where the samples on the margin do not determine it."""
    at_zero, at_upper = at_bounds(q.y * beta, q.u)
    at_upper &= not q.squared  # the squared hinge has no upper bound
    if _determined(q.P[~(at_zero | at_upper)], q.rank):
        return lam
    root = np.sqrt(q.y.size)
    # A sample on the margin has y_i f_i = 1 − δ_iα_i; with δ_iβ_i added to h the rule applies.
    places = (h + q.delta * beta, q.Q, q.y, q.u, at_zero, at_upper, root * lam)
    try:
        chosen = choose_multipliers(*places) / root
    except RuntimeError:  # scipy's nnls gave up
        return lam
    before, after = (q.loss(h + q.P @ v) for v in (lam, chosen))
    return chosen if after <= before + 1e-9 * (before + 1e-6 * q.u.sum()) else lam


def _determined(P, rank):
    """Whether these rows of the features leave no freedom to λ."""
    if len(P) < rank or rank == 0:
        return rank == 0
    if rank == 1:
        return bool(P.any())
    R = linalg.qr(P, mode="r", check_finite=False)[0][:rank]
    size = linalg.svdvals(R)
    return bool(size[-1] > 1e-8 * size[0])


def _certified(q, w, coef, beta, h, n_iter):
    f, v = h + q.features @ coef, q.sums(beta)
    # Two conditions, both in units of f: every margin fits its α, and w = X̂ᵀβ.
    margins = violation(beta, q.y - f - q.delta * beta, q.lower, q.upper)
    apart = 0.0 if np.array_equal(v, w) else np.abs(h - q.values(v)).max(initial=0.0)
    certificate = Certificate(
        primal=q.unit * float(q.primal(w, f)),
        dual=q.unit * float(q.dual(beta, v)),
        constraint=constraint_residual(q.features, beta),
        kkt=max(margins, float(apart)),
    )
    if certificate.gap < 0:  # β is feasible: rounding, and as large as this at least
        certificate = replace(certificate, gap=-certificate.gap)
    return PrimalSolution(q.root * w, coef, q.unit * beta, q.rank, n_iter, certificate)

"""The one exit of every dual solver: a point becomes feasible, gets its λ, and is certified.

    dual:     maximize  yᵀβ − ½βᵀKβ,                      Pᵀβ = 0,  0 ≤ y_iβ_i ≤ C_i
    primal:   minimize  ½|f|² + Σ C_i (1 − y_i f_i)₊,     f = Kβ + Pλ,  |f|² = βᵀKβ

Solvers differ in how they find a point (β, ν).  `finish` makes a solution of it: β is moved to an
exactly feasible point (`svm.feasibility`), Kβ is computed as prediction computes it, λ is chosen by
the rule of `svm.multipliers`, and f = Kβ + Pλ gets its certificate.  A `Tolerance` accepts that
certificate or does not.

**Violation.**  With v = y − f, a coordinate that may grow (β_i < upper_i) must have v_i ≤ 0 and one
that may shrink v_i ≥ 0.  The violation of (β, λ) is the largest breach upwards plus the largest
downwards.  If the constant is among the features and λ is sensible, the two add up to LIBSVM's
m(α) − M(α), which does not depend on the bias: `tol` means the same as there.

**Gap.**  With α = y∘β in the box and Pᵀβ = 0,

    primal − dual = Σ (C_i − α_i)(1 − y_i f_i)₊ + α_i (y_i f_i − 1)₊,

a sum of non-negative terms.  With Pᵀβ = r ≠ 0 the difference can be negative and proves nothing,
which is why β is made feasible first.  A violation of `tol` allows a gap of tol·ΣC_i, which is no
statement at all if C is 10³⁰⁰.  So a gap of more than a thousandth of the
objective (`WARN_GAP`) is too much whatever the violation.

**Convexity.**  All of this holds if βᵀKβ ≥ 0 wherever Pᵀβ = 0.  A β with clearly negative βᵀKβ is a
proof of the contrary: then there is nothing to certify, and `certify` raises.

Chapter: book/free/svmgb
"""

from dataclasses import dataclass, replace

import numpy as np

from kernelbook.certificates import WARN_GAP, Certificate
from kernelbook.numeric.jit import jit
from kernelbook.solvers.svm.convexity import INDEFINITE
from kernelbook.solvers.svm.feasibility import ROUNDING, make_feasible
from kernelbook.solvers.svm.multipliers import (
    NEGLIGIBLE_ROW,
    RANK_RTOL,
    choose_multipliers,
    hard_margin_multipliers,
)
from kernelbook.solvers.svm.problem import DualPoint, DualSolution

__all__ = [
    "DEFAULT_TOLERANCE", "Tolerance", "at_bounds", "certificate_sums",
    "certify", "constraint_residual", "finish", "is_feasible", "recertified", "rounding_floor",
    "solve_separable", "starting_point", "violation",
]  # fmt: skip

EPS = np.finfo(float).eps

KKT_FLOOR = 1e-9
"""A violation that needs no further work, beyond what rounding explains."""

BOUND_RTOL = 1e-11
"""α_i this close to a bound, relative to the largest α or to C_i, is at the bound."""


@dataclass(frozen=True)
class Tolerance:
    """The largest violation `kkt`, in units of the margin, and the largest relative gap.

    Without a `gap` the limit is `WARN_GAP`: if C is 10³⁰⁰, a small violation proves
    nothing.
    """

    kkt: float = 1e-3
    gap: float | None = None

    def accepts(self, certificate, kkt=np.inf):
        """Whether a solution with this certificate is good enough, its violation at most `kkt`."""
        return (
            certificate.kkt <= min(self.kkt, kkt) and certificate.relative_gap <= self.largest_gap
        )

    @property
    def largest_gap(self):
        return self.gap or WARN_GAP

    def rank(self, solution):
        """Smaller is better: the violation first; once that is within tolerance, the gap."""
        proof = solution.certificate
        return max(proof.kkt, self.kkt), proof.relative_gap


DEFAULT_TOLERANCE = Tolerance()


def rounding_floor(scale, beta):
    """A violation that rounding errors in f explain; `scale` is the size of the kernel."""
    return KKT_FLOOR + 64 * np.finfo(float).eps * scale * np.abs(beta).sum()


# ---------------------------------------------------------------------------------------- the exit


def finish(dual, point: DualPoint, product, tolerance, in_span=None) -> DualSolution:
    """The solution that a point becomes.

    Parameters
    ----------
    dual : Dual
    product : callable, β ↦ Φβ on the sample
        In the units of the caller; called once, with the feasible β.
    tolerance : Tolerance
        For choosing between candidates; whether the result is good enough is not decided here.
    in_span : callable, optional
        b ↦ the part of Φβ, within the span of the features, that the solver's ν accounts for.
    """
    basis = point.basis or dual.basis
    b = point.beta
    if not point.exact and not is_feasible(basis.functions, b, dual.lower, dual.upper):
        b = make_feasible(basis.functions, b, dual.lower, dual.upper)
    beta = b if dual.unit == 1.0 else b / dual.unit
    h = product(beta)
    guess = point.nu if in_span is None else point.nu - basis.functionals @ in_span(b)
    nu = _multipliers(dual, basis.functions, b, h, guess)
    best = _certified(dual, beta, basis.T @ nu, h, point.steps)
    if best.certificate.kkt > tolerance.kkt:  # the rule chooses among optimal λ
        own = _certified(dual, beta, basis.T @ guess, h, point.steps)
        best = min(best, own, key=tolerance.rank)
    if best.certificate.relative_gap > WARN_GAP:
        lifted = _lift_margins(best.beta, best.coef, h, dual.P, dual.y, dual.C, dual.size)
        other = _certified(dual, *lifted, point.steps)  # type: ignore[call-arg]
        best = min(best, other, key=lambda s: s.certificate.relative_gap)
    return best


def _certified(dual, beta, coef, h, steps) -> DualSolution:
    """β and λ with their certificate, for h = Φβ."""
    proof = certify(h, dual.P, dual.y, dual.C, beta, coef, dual.size)
    return DualSolution(beta, coef, dual.Q.shape[1], max(1, steps), proof, h)


def recertified(solution, h, P, y, C, size) -> DualSolution:
    """The same β and λ, with the certificate for another h = Φβ, rounded differently."""
    proof = certify(h, P, y, C, solution.beta, solution.coef, size)
    return replace(solution, certificate=proof, kernel_values=h)


def solve_separable(dual):
    """The solution β = 0 where the features alone separate the sample (T3), otherwise None."""
    nu = hard_margin_multipliers(dual.Q, dual.y, dual.C)
    if nu is None:
        return None
    zero = np.zeros(dual.y.size)
    args = dual.P, dual.y, dual.C, dual.size
    solution = _certified(dual, *_lift_margins(zero, dual.basis.T @ nu, zero, *args), 1)
    return solution if solution.certificate.gap == 0 else None


def starting_point(dual, start, product):
    """(b, ν, Kb) for a proposed β: clipped, made feasible, with ν by the rule."""
    Q = dual.Q
    b = np.clip(start * dual.unit, dual.lower, dual.upper)
    b = make_feasible(Q, b, dual.lower, dual.upper)
    h = product(b)
    return b, _multipliers(dual, Q, b, h, np.zeros(Q.shape[1])), h


def _multipliers(dual, Q, b, h, guess):
    """ν by least squares over the free samples, or by the rule where they leave a choice."""
    at_zero, at_C = at_bounds(dual.y * b, np.abs(dual.lower + dual.upper))
    free, r = ~(at_zero | at_C), Q.shape[1]
    A, rest = Q[free], (dual.y - h)[free]
    if r == 0:
        return guess
    if r == 1 and dual.has_constant and rest.size:
        # The bias: a mean, as in LIBSVM, of numbers that are nearly equal.
        return np.array([(rest[0] + np.mean(rest - rest[0])) / A[0, 0]])
    if len(A) >= r:
        nu, _, rank, size = np.linalg.lstsq(A, rest, rcond=RANK_RTOL)
        if rank == r and size[-1] > NEGLIGIBLE_ROW:
            return nu
    return choose_multipliers(h, Q, dual.y, dual.C, at_zero, at_C, guess)


@jit(brief=True)
def at_bounds(alpha, C):
    """Which α_i are 0 and which are C_i, up to rounding."""
    tiny = 0.0
    for i in range(alpha.size):
        tiny = max(tiny, BOUND_RTOL * alpha[i])
    at_zero, at_C = np.empty(alpha.size, np.bool_), np.empty(alpha.size, np.bool_)
    for i in range(alpha.size):
        at_zero[i] = alpha[i] <= min(tiny, 0.5 * C[i])
        at_C[i] = not at_zero[i] and C[i] - alpha[i] <= BOUND_RTOL * C[i]
    return at_zero, at_C


@jit(brief=True)
def is_feasible(Q, beta, lower, upper):
    """Whether nothing needs repair: in the box, close to a bound only if at it, and Qᵀβ = 0."""
    largest, square = 0.0, 0.0
    for i in range(beta.size):
        largest = max(largest, abs(beta[i]))
    for i in range(beta.size):
        near = min(1e-14 * largest, 0.5 * (upper[i] - lower[i]))
        below, above = beta[i] - lower[i], upper[i] - beta[i]
        if not (below == 0.0 or below > near) or not (above == 0.0 or above > near):
            return False
        square += beta[i] * beta[i]
    for p in range(Q.shape[1]):
        residual = 0.0
        for i in range(beta.size):
            residual += Q[i, p] * beta[i]
        if not abs(residual) <= ROUNDING * np.sqrt(square):
            return False
    return True


def _lift_margins(beta, coef, h, P, y, C, size):
    """β, λ and h times 1 + s, s just large enough to lift every margin y_i f_i < 1 to 1.

    Where no α_i is at C_i, all margins should be at least one.  A margin that rounding leaves just
    below costs C_i times the difference: with λ = 10⁹ or C = 10²⁰ that exceeds everything else.
    """
    f = h + P @ coef
    rounding = 8 * np.finfo(float).eps * (size * np.abs(beta).sum() + np.abs(P) @ np.abs(coef))
    shortfall = np.max(1.0 - y * f + rounding, initial=0.0)
    if not shortfall < 0.5 or np.any(y * beta * (1 + 2 * shortfall) >= C):
        return beta, coef, h
    factor = 1.0 / (1.0 - shortfall)
    return factor * beta, factor * coef, factor * h


# --------------------------------------------------------------------------------- the certificate


@jit(brief=True)
def violation(beta, v, lower, upper):
    """The largest breach upwards plus the largest downwards; NaN if v has one."""
    up, down = 0.0, 0.0
    for i in range(beta.size):
        if v[i] != v[i]:
            return v[i]
        if beta[i] < upper[i]:
            up = max(up, v[i])
        if beta[i] > lower[i]:
            down = max(down, -v[i])
    return up + down


def constraint_residual(P, beta):
    """max_p |Σ_i P_ip β_i| / Σ_i |P_ip β_i|.

    A feature that only negligible coefficients touch (10⁻⁸ of the total) is measured against
    10⁻⁸ of its size: below that, rounding of the others decides.
    """
    return float(_residual(np.ascontiguousarray(P), np.ascontiguousarray(beta)))


@jit(brief=True)
def _residual(P, beta):
    worst, total = 0.0, 0.0
    for i in range(beta.size):
        total += abs(beta[i])
    for p in range(P.shape[1]):
        left, size, largest = 0.0, 0.0, 0.0
        for i in range(beta.size):
            left += P[i, p] * beta[i]
            size += abs(P[i, p] * beta[i])
            largest = max(largest, abs(P[i, p]))
        size = max(size, 1e-8 * largest * total)
        worst = max(worst, abs(left) / size) if size > 0.0 else worst
    return worst


def certify(h, P, y, C, beta, lam, size=None):
    """Certificate of f = h + Pλ, h = Kβ, where Pᵀβ = 0 up to rounding.

    Parameters
    ----------
    size : float, optional
        The largest |K_ij|.  With it, a βᵀKβ that is negative beyond rounding raises.
    """
    f = h + P @ lam
    gap, energy, loss, equality, kkt = certificate_sums(h, f, y, C, beta)
    negative = size is not None and energy < -1e-6 * abs(y @ beta)
    if negative and energy < -1e-6 * abs(y @ beta) - _energy_rounding(h, beta, size):
        raise ValueError(f"{INDEFINITE}  (The solution has βᵀΦβ = {energy:.2g}.)")
    if not np.isfinite(gap + equality):
        kkt = violation(beta, y - f, np.minimum(0.0, y * C), np.maximum(0.0, y * C))
    # What rounding leaves of Pᵀβ counts, too: with huge λ it is not negligible.
    primal, gap = 0.5 * max(energy, 0.0) + loss, gap + abs(equality)
    return Certificate(
        primal=float(primal), dual=float(primal - gap), constraint=constraint_residual(P, beta),
        kkt=float(kkt), gap=float(gap),
    )  # fmt: skip


@jit(brief=True)
def certificate_sums(h, f, y, C, beta):
    """(the gap, βᵀh, Σ C_i (1 − y_i f_i)₊, βᵀ(f − h), the violation), in one pass."""
    gap, energy, loss, equality, up, down = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(beta.size):
        alpha, short = y[i] * beta[i], 1.0 - y[i] * f[i]
        if short < 0.0:
            gap -= alpha * short
        else:
            gap += (C[i] - alpha) * short
            loss += C[i] * short
        energy += beta[i] * h[i]
        equality += beta[i] * (f[i] - h[i])
        v, grows, falls = y[i] - f[i], alpha < C[i], alpha > 0.0
        if y[i] < 0.0:
            grows, falls = falls, grows
        if grows and v > up:
            up = v
        if falls and -v > down:
            down = -v
    return gap, energy, loss, equality, up + down


def _energy_rounding(h, beta, size):
    """How wrong βᵀh can be if the entries of K, up to `size`, are rounded."""
    total = np.abs(beta).sum()
    with np.errstate(over="ignore"):
        return 64 * EPS * total * (size * total + np.abs(h).max(initial=0.0))

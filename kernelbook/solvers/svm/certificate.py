"""What a solution of the SVM-GB dual can prove: violation, exact feasibility, duality gap.

    dual:     maximize  yᵀβ − ½βᵀKβ,                      Pᵀβ = 0,  0 ≤ y_iβ_i ≤ C_i
    primal:   minimize  ½|f|² + Σ C_i (1 − y_i f_i)₊,     f = Kβ + Pλ,  |f|² = βᵀKβ

**Violation.**  With v = y − f, a coordinate that may grow (β_i < hi_i) must have v_i ≤ 0 and one
that may shrink v_i ≥ 0.  The violation of (β, λ) is the largest breach upwards plus the largest
downwards.  If the constant is among the features and λ is sensible, the two add up to LIBSVM's
m(α) − M(α), which does not depend on the bias: `tol` means the same as there.

**Gap.**  With α = y∘β in the box and Pᵀβ = 0,

    primal − dual = Σ (C_i − α_i)(1 − y_i f_i)₊ + α_i (y_i f_i − 1)₊,

a sum of non-negative terms.  With Pᵀβ = r ≠ 0 the difference can be negative and proves nothing.
A violation of `tol` allows a gap of tol·ΣC_i, which is no statement at all if C is 10³⁰⁰.  So a gap
of more than a tenth of the objective (`COARSE_GAP`) is too much whatever the violation.

**Repair.**  So β is moved to an exactly feasible point first.  Give a coordinate the freedom
d_i = min(α_i, C_i − α_i), D = diag d; the smallest move in the metric D⁻² that restores Pᵀβ = 0 is

    β' = β − D²P (PᵀD²P)⁻¹ r,         and  |β'_i − β_i| ≤ d_i √(rᵀ(PᵀD²P)⁻¹r)  (Cauchy–Schwarz),

so it stays in the box if rᵀ(PᵀD²P)⁻¹r ≤ 1, and coordinates at a bound stay there exactly.
Otherwise β is projected onto {Pᵀβ = 0} ∩ box; see `svm.projection`.

**Convexity.**  All of this holds if βᵀKβ ≥ 0 wherever Pᵀβ = 0.  A β with clearly negative βᵀKβ is a
proof of the contrary: then there is nothing to certify, and `certify` raises.
"""

import numpy as np
from scipy import linalg

from kernelbook.certificates import Certificate
from kernelbook.numeric.jit import jit
from kernelbook.solvers.svm.convexity import INDEFINITE
from kernelbook.solvers.svm.projection import project

__all__ = [
    "COARSE_GAP",
    "certify",
    "constraint_residual",
    "from_terms",
    "is_feasible",
    "make_feasible",
    "residual",
    "terms",
    "violation",
]

EPS = np.finfo(float).eps
ROUNDING = float(8 * EPS)

COARSE_GAP = 0.1
"""The relative gap that no solution may exceed, whatever the tolerance."""


@jit(brief=True)
def violation(beta, v, lo, hi):
    """max(0, v over β < hi) + max(0, −v over β > lo): zero iff (β, λ) is optimal; NaN for a NaN."""
    up, down = 0.0, 0.0
    for i in range(beta.size):
        if v[i] != v[i]:
            return v[i]
        if beta[i] < hi[i]:
            up = max(up, v[i])
        if beta[i] > lo[i]:
            down = max(down, -v[i])
    return up + down


def constraint_residual(P, beta):
    """max_p |Σ_i P_ip β_i| / Σ_i |P_ip β_i|.

    A feature that only negligible coefficients touch (10⁻⁸ of the total) is measured against
    those 10⁻⁸: below that, rounding of the others decides.
    """
    return float(residual(np.ascontiguousarray(P), np.ascontiguousarray(beta)))


@jit(brief=True)
def residual(P, beta):
    worst, total = 0.0, np.abs(beta).sum()
    for p in range(P.shape[1]):
        left, size, largest = 0.0, 0.0, 0.0
        for i in range(beta.size):
            left += P[i, p] * beta[i]
            size += abs(P[i, p] * beta[i])
            largest = max(largest, abs(P[i, p]))
        size = max(size, 1e-8 * largest * total)
        worst = max(worst, abs(left) / size) if size > 0.0 else worst
    return worst


def make_feasible(Q, beta, lo, hi):
    """A point of the box with Qᵀβ = 0 up to rounding, as near to β as the box allows.

    Parameters
    ----------
    Q : (m, r) array
        Orthonormal columns that span the features.
    """
    if is_feasible(Q, beta, lo, hi):
        return beta.copy()
    near = _within(Q, _snap(np.clip(beta, lo, hi), lo, hi), lo, hi)
    if _feasible(Q, near):
        return near
    moved = project(np.ascontiguousarray(Q), near, lo, hi)
    moved = _within(Q, _snap(moved, lo, hi), lo, hi)
    # A point that is not feasible to nine digits would prove nothing, and zero proves little:
    # features that separate by a hair leave nothing else, if the hair is taken seriously.
    lost = np.linalg.norm(moved) < 1e-3 * np.linalg.norm(near)
    for candidate in (near, moved) if lost else (moved, near):
        if _feasible(Q, candidate, 1e-9):
            return candidate
    return np.zeros_like(beta)


@jit(brief=True)
def is_feasible(Q, beta, lo, hi):
    """Whether there is nothing to repair: in the box, at no bound nearly, and Qᵀβ = 0."""
    near, square = 1e-14 * np.abs(beta).max() if beta.size else 0.0, 0.0
    for i in range(beta.size):
        near_i = min(near, 0.5 * (hi[i] - lo[i]))
        below, above = beta[i] - lo[i], hi[i] - beta[i]
        if not (below == 0.0 or below > near_i) or not (above == 0.0 or above > near_i):
            return False
        square += beta[i] * beta[i]
    for p in range(Q.shape[1]):
        left = 0.0
        for i in range(beta.size):
            left += Q[i, p] * beta[i]
        if not abs(left) <= ROUNDING * np.sqrt(square):
            return False
    return True


def _snap(beta, lo, hi):
    """Coordinates that rounding alone keeps off a bound are put there."""
    near = 1e-14 * np.abs(beta).max(initial=0.0)
    beta = np.where(beta - lo <= np.minimum(near, 0.5 * (hi - lo)), lo, beta)
    return np.where(hi - beta <= np.minimum(near, 0.5 * (hi - lo)), hi, beta)


def _feasible(Q, beta, rtol=ROUNDING):
    return np.abs(Q.T @ beta).max(initial=0.0) <= rtol * np.linalg.norm(beta)


def _within(Q, beta, lo, hi):
    """β' = β − D²P(PᵀD²P)⁻¹r while that stays in the box and helps; twice, for the rounding."""
    for _ in range(3):
        if _feasible(Q, beta):
            break
        d = np.minimum(beta - lo, hi - beta)
        d /= d.max(initial=0.0) or 1.0
        r = Q.T @ beta
        G = (d[:, None] * Q).T @ (d[:, None] * Q)
        # One feature: a division, which lstsq would take fifty times as long for.
        c = r / G[0] if G.size == 1 and G[0, 0] > 0 else linalg.lstsq(G, r, check_finite=False)[0]
        moved = beta - d * d * (Q @ c)
        outside = np.any(moved < lo) or np.any(moved > hi)
        if outside or np.abs(Q.T @ moved).max() >= 0.5 * np.abs(r).max():
            break
        beta = moved
    return beta


def certify(h, P, y, C, beta, lam, size=None):
    """Certificate of f = h + Pλ, h = Kβ, where Pᵀβ = 0 up to rounding.

    Parameters
    ----------
    size : float, optional
        The largest |K_ij|.  With it, a βᵀKβ that is negative beyond rounding raises.
    """
    f = h + P @ lam
    gap, energy, loss, slip, kkt = terms(h, f, y, C, beta)
    negative = size is not None and energy < -1e-6 * abs(y @ beta)
    if negative and energy < -1e-6 * abs(y @ beta) - _energy_rounding(h, beta, size):
        raise ValueError(f"{INDEFINITE}  (The solution has βᵀΦβ = {energy:.2g}.)")
    if not np.isfinite(gap + slip):
        kkt = violation(beta, y - f, np.minimum(0.0, y * C), np.maximum(0.0, y * C))
    return from_terms(gap, energy, loss, slip, kkt, constraint_residual(P, beta))


def from_terms(gap, energy, loss, slip, kkt, constraint):
    """The certificate that these numbers make, see `terms` and `constraint_residual`."""
    # What rounding leaves of Pᵀβ counts, too: with huge λ it is not negligible.
    primal, gap = 0.5 * max(energy, 0.0) + loss, gap + abs(slip)
    return Certificate(
        primal=float(primal), dual=float(primal - gap), constraint=float(constraint),
        kkt=float(kkt), gap=float(gap),
    )  # fmt: skip


@jit(brief=True)
def terms(h, f, y, C, beta):
    """(the gap's sum, βᵀh, Σ C_i (1 − y_i f_i)₊, βᵀ(f − h), the violation), in one pass."""
    gap, energy, loss, slip, up, down = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(beta.size):
        alpha, short = y[i] * beta[i], 1.0 - y[i] * f[i]
        if short < 0.0:
            gap -= alpha * short
        else:
            gap += (C[i] - alpha) * short
            loss += C[i] * short
        energy += beta[i] * h[i]
        slip += beta[i] * (f[i] - h[i])
        v, grows, falls = y[i] - f[i], alpha < C[i], alpha > 0.0
        if y[i] < 0.0:
            grows, falls = falls, grows
        if grows and v > up:
            up = v
        if falls and -v > down:
            down = -v
    return gap, energy, loss, slip, up + down


def _energy_rounding(h, beta, size):
    """How wrong βᵀh can be if the entries of K, up to `size`, are rounded."""
    total = np.abs(beta).sum()
    with np.errstate(over="ignore"):
        return 64 * EPS * total * (size * total + np.abs(h).max(initial=0.0))

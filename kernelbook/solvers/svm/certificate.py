"""What a solution of the SVM-GB dual can prove: violation, exact feasibility, duality gap.

    dual:     maximize  yᵀβ − ½βᵀKβ,                      Pᵀβ = 0,  0 ≤ y_iβ_i ≤ C_i
    primal:   minimize  ½|f|² + Σ C_i (1 − y_i f_i)₊,     f = Kβ + Pλ,  |f|² = βᵀKβ

**Violation.**  With v = y − f, a coordinate that may grow (β_i < upper_i) must have v_i ≤ 0 and one
that may shrink v_i ≥ 0.  The violation of (β, λ) is the largest breach upwards plus the largest
downwards.  If the constant is among the features and λ is sensible, the two add up to LIBSVM's
m(α) − M(α), which does not depend on the bias: `tol` means the same as there.

**Gap.**  With α = y∘β in the box and Pᵀβ = 0,

    primal − dual = Σ (C_i − α_i)(1 − y_i f_i)₊ + α_i (y_i f_i − 1)₊,

a sum of non-negative terms.  With Pᵀβ = r ≠ 0 the difference can be negative and proves nothing.
A violation of `tol` allows a gap of tol·ΣC_i, which is no statement at all if C is 10³⁰⁰.  So a gap
of more than a tenth of the objective (`MAX_RELATIVE_GAP`) is too much whatever the violation.
So β is moved to an exactly feasible point first (`svm.feasibility`).

**Convexity.**  All of this holds if βᵀKβ ≥ 0 wherever Pᵀβ = 0.  A β with clearly negative βᵀKβ is a
proof of the contrary: then there is nothing to certify, and `certify` raises.

Chapter: book/free/svmgb
"""

import numpy as np

from kernelbook.certificates import Certificate
from kernelbook.numeric.jit import jit
from kernelbook.solvers.svm.convexity import INDEFINITE

__all__ = ["certificate_sums", "certify", "constraint_residual", "violation"]

EPS = np.finfo(float).eps


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

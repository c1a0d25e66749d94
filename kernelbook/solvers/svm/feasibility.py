"""Moving a dual point to exact feasibility: Qᵀβ = 0 and lower ≤ β ≤ upper.

A duality gap proves something only at a feasible point (`svm.certificate`), so every candidate is
moved to one first, by as little as possible.

**Inside the box.**  Give a coordinate the freedom d_i, its distance to the nearer bound, and let
D = diag d, r = Qᵀβ.  The smallest move in the metric D⁻² that restores Qᵀβ = 0 is

    β' = β − D²Q (QᵀD²Q)⁻¹ r,         and  |β'_i − β_i| ≤ d_i √(rᵀ(QᵀD²Q)⁻¹r)  (Cauchy–Schwarz),

so it stays in the box if rᵀ(QᵀD²Q)⁻¹r ≤ 1, and coordinates at a bound stay there exactly.

**Otherwise** β is projected onto {Qᵀβ = 0} ∩ box,

    minimize  ½‖z − β‖²,      Qᵀz = 0,   lower ≤ z ≤ upper.

With multipliers μ for the equations the minimizer over the box is z(μ) = clip(β − Qμ), one
coordinate at a time, and the dual function D(μ) = ½‖z(μ) − β‖² + μᵀQᵀz(μ) is concave and piecewise
quadratic, with gradient Qᵀz(μ): as many unknowns as there are features, whatever m.  Its curvature
is −Q_FᵀQ_F, F the coordinates strictly inside the box, so Newton's step is s = (Q_FᵀQ_F)⁻¹Qᵀz.

If few coordinates are inside, the curvature is singular.  A small Tikhonov term, smaller as the
residual falls, makes the step very long in the flat directions.  That is right, for D is linear
until a coordinate leaves its bound; but backtracking would take hundreds of evaluations.  So the
line search is exact: along μ + ts the slope sᵀQᵀz(μ + ts) falls with t and is piecewise linear
(`zero_of_slope`).

Chapter: book/free/svmgb
"""

import numpy as np
from scipy import linalg

from kernelbook.numeric.jit import jit
from kernelbook.numeric.piecewise_linear import zero_of_slope
from kernelbook.numeric.small_algebra import factorize, solve

__all__ = ["ROUNDING", "make_feasible", "project_to_feasible"]

ROUNDING = float(8 * np.finfo(float).eps)

TIKHONOV_RATE = 1e-4
"""Tikhonov's parameter per relative residual |Qᵀz|/|z|; it vanishes with the residual."""

MIN_TIKHONOV = 1e-13
"""Its least value: Q has orthonormal columns, the curvature is at most 1."""

MAX_DUAL_STEP = 1e20
"""A longer step means that only rounding is left to balance a feature."""


def make_feasible(Q, beta, lower, upper):
    """A point of the box with Qᵀβ = 0 up to rounding, as near to β as the box allows.

    Parameters
    ----------
    Q : (m, r) array
        Orthonormal columns that span the features.
    """
    moved = _snap(np.clip(beta, lower, upper), lower, upper)
    near = _move_inside(Q, moved, lower, upper)
    if _satisfies(Q, near):
        return near
    moved = project_to_feasible(np.ascontiguousarray(Q), near, lower, upper)
    moved = _move_inside(Q, _snap(moved, lower, upper), lower, upper)
    # A point that is not feasible to nine digits would prove nothing, and zero proves little:
    # features that separate by less than rounding leave nothing else, if taken literally.
    vanished = np.linalg.norm(moved) < 1e-3 * np.linalg.norm(near)
    for candidate in (near, moved) if vanished else (moved, near):
        if _satisfies(Q, candidate, 1e-9):
            return candidate
    return np.zeros_like(beta)


def _snap(beta, lower, upper):
    """Coordinates that only rounding keeps off a bound are put there."""
    near = np.minimum(1e-14 * np.abs(beta).max(initial=0.0), 0.5 * (upper - lower))
    beta = np.where(beta - lower <= near, lower, beta)
    return np.where(upper - beta <= near, upper, beta)


def _satisfies(Q, beta, rtol=ROUNDING):
    return np.abs(Q.T @ beta).max(initial=0.0) <= rtol * np.linalg.norm(beta)


def _move_inside(Q, beta, lower, upper):
    """β' = β − D²Q(QᵀD²Q)⁻¹r while it stays in the box and helps; repeated, for rounding."""
    for _ in range(3):
        if _satisfies(Q, beta):
            break
        d = np.minimum(beta - lower, upper - beta)
        d /= d.max(initial=0.0) or 1.0
        r = Q.T @ beta
        G = (d[:, None] * Q).T @ (d[:, None] * Q)
        # With one feature, a division: lstsq would take fifty times as long.
        c = r / G[0] if G.size == 1 and G[0, 0] > 0 else linalg.lstsq(G, r, check_finite=False)[0]
        moved = beta - d * d * (Q @ c)
        outside = np.any(moved < lower) or np.any(moved > upper)
        if outside or np.abs(Q.T @ moved).max() >= 0.5 * np.abs(r).max():
            break
        beta = moved
    return beta


@jit
def project_to_feasible(Q, beta, lower, upper, max_steps=300):
    """The point z of the box with Qᵀz = 0 that is nearest to β, or the best of `max_steps` steps.

    A feature that only a tiny value can balance has a huge μ, and rounding of β − Qμ keeps Qᵀz
    above zero.  Which coordinates are at bounds is right all the same: `make_feasible` then moves
    the others.
    """
    m, r = Q.shape
    mu, z, g = np.zeros(r), np.empty(m), np.empty(r)
    G, s = np.empty((r, r)), np.empty(r)
    above, fall, width, ones = np.empty(m), np.empty(m), upper - lower, np.ones(m)
    full_step_tried = False
    for _ in range(max_steps):
        # z(μ), the residual g = Qᵀz and the curvature G = Q_FᵀQ_F.
        square = 0.0
        g[:], G[:] = 0.0, 0.0
        for i in range(m):
            zi = beta[i]
            for p in range(r):
                zi -= Q[i, p] * mu[p]
            z[i], above[i] = min(max(zi, lower[i]), upper[i]), zi - lower[i]
            square += z[i] * z[i]
            inner = lower[i] < zi < upper[i]
            for p in range(r):
                g[p] += Q[i, p] * z[i]
                if inner:
                    for q in range(p + 1):
                        G[q, p] += Q[i, p] * Q[i, q]
        residual = np.abs(g).max() if r else 0.0
        if residual <= ROUNDING * np.sqrt(square):
            break

        # Newton's direction s.
        tikhonov = max(min(TIKHONOV_RATE * residual / np.sqrt(square), 1.0), MIN_TIKHONOV)
        for p in range(r):
            G[p, p] += tikhonov
        s[:] = g
        if not factorize(G):
            break
        solve(G, s)

        # Exact line search, from the slope −sᵀQᵀz with all z at their lower bounds.
        slope = 0.0
        for i in range(m):
            fall[i] = 0.0
            for p in range(r):
                fall[i] -= Q[i, p] * s[p]
            slope += fall[i] * lower[i]
        t = zero_of_slope(slope, 0.0, above, fall, ones, width)
        # Near the end the slope is below its rounding error; one full step may still help.
        # An infinite box may give NaN: then there is no step either.
        if (t == 0.0 and full_step_tried) or not np.abs(t * s).max() < MAX_DUAL_STEP:
            break
        full_step_tried = t == 0.0
        mu += (1.0 if full_step_tried else t) * s
    return z

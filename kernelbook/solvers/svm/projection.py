"""The nearest point of a box that satisfies ℓ equations: what the repair of a dual point needs.

    minimize  ½‖z − β‖²,      Qᵀz = 0,   lo ≤ z ≤ hi             (Q: orthonormal features)

With multipliers μ for the equations the minimizer over the box is z(μ) = clip(β − Qμ), one
coordinate at a time, and the dual function

    D(μ) = ½‖z(μ) − β‖² + μᵀQᵀz(μ)

is concave and piecewise quadratic, with gradient Qᵀz(μ): as many unknowns as there are features,
whatever m.  Its curvature is −Q_FᵀQ_F, F the coordinates strictly inside the box, so Newton's step
is s = (Q_FᵀQ_F)⁻¹Qᵀz.

Few coordinates inside leave directions that the curvature does not see.  A little Tikhonov, less
the smaller the residual is, makes the step very long there.  That is right, for D is linear until a
coordinate comes off its bound; but a search that tries t = 1, ¼, ¹⁄₁₆, … would take hundreds of
evaluations.  So the search is exact: along μ + ts the slope sᵀQᵀz(μ + ts) falls with t, linearly
between the places where a coordinate meets a bound, and walking along them in order finds its zero
(`newton.zero_of_slope`).
"""

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.solvers.primal.newton import zero_of_slope
from kernelbook.solvers.svm.active_set_small import factorize, solve

__all__ = ["project"]

ROUNDING = float(8 * np.finfo(float).eps)

DAMPING = 1e-4
"""Tikhonov's parameter per relative residual |Qᵀz|/|z|; it vanishes with the residual."""

LEAST = 1e-13
"""And never less: Q has orthonormal columns, the curvature is at most 1."""

FAR = 1e20
"""A step beyond this says that nothing but rounding is left to balance a feature."""


@jit
def project(Q, beta, lo, hi, max_steps=300):
    """The nearest point z of the box with Qᵀz = 0, or what `max_steps` steps made of it.

    A feature that only a tiny value can balance has a huge μ, and rounding of β − Qμ keeps Qᵀz
    above zero.  Which coordinates are at bounds is right all the same: see `svm.certificate`.
    """
    m, r = Q.shape
    mu, z, g = np.zeros(r), np.empty(m), np.empty(r)
    G, s = np.empty((r, r)), np.empty(r)
    above, fall, width, ones = np.empty(m), np.empty(m), hi - lo, np.ones(m)
    last = False
    for _ in range(max_steps):
        square = 0.0
        g[:], G[:] = 0.0, 0.0
        for i in range(m):
            zi = beta[i]
            for p in range(r):
                zi -= Q[i, p] * mu[p]
            z[i], above[i] = min(max(zi, lo[i]), hi[i]), zi - lo[i]
            square += z[i] * z[i]
            inner = lo[i] < zi < hi[i]
            for p in range(r):
                g[p] += Q[i, p] * z[i]
                if inner:
                    for q in range(p + 1):
                        G[q, p] += Q[i, p] * Q[i, q]
        left = np.abs(g).max() if r else 0.0
        if left <= ROUNDING * np.sqrt(square):
            break
        tikhonov = max(min(DAMPING * left / np.sqrt(square), 1.0), LEAST)
        for p in range(r):
            G[p, p] += tikhonov
        s[:] = g
        if not factorize(G):
            break
        solve(G, s)
        level = 0.0  # of the slope, −sᵀQᵀz, where all z are at their lower bounds
        for i in range(m):
            fall[i] = 0.0
            for p in range(r):
                fall[i] -= Q[i, p] * s[p]
            level += fall[i] * lo[i]
        t = zero_of_slope(level, 0.0, above, fall, ones, width)
        # Near the end the slope is less than its rounding; one full step may still help.
        if (t == 0.0 and last) or not np.abs(t * s).max() < FAR:
            break
        last = t == 0.0
        mu += (1.0 if last else t) * s
    return z

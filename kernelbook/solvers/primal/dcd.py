"""Dual coordinate descent with features that cost nothing.

The dual of  min ½‖w‖² + Σ u_i loss(y_i(x̂_i·w + P_iλ))  is

    minimize  ½‖X̂ᵀβ‖² + ½Σ δ_i β_i² − yᵀβ    subject to  Pᵀβ = 0,   0 ≤ y_iβ_i ≤ u_i

(hinge: δ = 0; squared hinge: δ_i = 1/2u_i and no upper bound).  Keeping w = X̂ᵀβ at hand, a
single β_i is minimized exactly in the time it takes to read x̂_i:

    β_i ← clip( β_i − (x̂_i·w + P_i·λ − y_i + δ_iβ_i) / Q_ii ),    w ← w + Δβ_i x̂_i .

That is LIBLINEAR's method.  But under Pᵀβ = 0 no single coordinate may move, and LIBLINEAR's way
out is to punish the bias.  Here the equations enter through an **augmented Lagrangian**: with
multipliers λ⁰ and penalty ρ, coordinate descent runs on the problem with the extra term
λ⁰ᵀPᵀβ + ½ρ‖Pᵀβ‖².  Its gradient is the formula above with

    λ = λ⁰ + ρPᵀβ,        so that each step also does  λ ← λ + ρ Δβ_i P_i :

the features behave like √ρ P_i appended to x̂_i, and every so often λ⁰ ← λ.  Read in the primal,
this is the proximal point method: λ is punished by ‖λ − λ⁰‖²/2ρ, its distance from *where it last
stood* and not from zero, and so in the limit not at all.  Many samples hold λ in place, so a few
such updates suffice, whatever ρ.

*Shrinking*, nearly as in LIBLINEAR: a coordinate that sits at a bound and is pushed against it more
than half as hard as anyone was pulled off one in the last sweep is left out, until the others have
converged.  (LIBLINEAR waits for the whole; we look at all samples more often, and wake them.)

References
----------
Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), *A dual coordinate descent method for large-scale
linear SVM*, ICML.  Bertsekas (1982), *Constrained optimization and Lagrange multiplier methods*.
"""

from dataclasses import dataclass

import numpy as np
from numpy.linalg import norm

from kernelbook.numeric.jit import jit, prefetch
from kernelbook.numeric.rows import add_row, as_rows, dot_row, fetch_row, row_squares

__all__ = ["DCDResult", "dual_coordinate_descent"]

AHEAD = 2
"""A row is asked for so many steps before its turn, and the other numbers of a sample twice."""


@dataclass
class DCDResult:
    """w = X̂ᵀβ and λ of the last sweep; Pᵀβ = 0 only as far as the sweeps got."""

    w: np.ndarray
    lam: np.ndarray
    beta: np.ndarray
    n_iter: int
    converged: bool


def dual_coordinate_descent(
    X, P, y, lo, hi, delta, judge, max_iter=1000, rng=None, start=None, goal=1.0
) -> DCDResult:
    """Minimize ½‖X̂ᵀβ‖² + ½Σδ_iβ_i² − yᵀβ subject to Pᵀβ = 0, lo ≤ β ≤ hi.

    Parameters
    ----------
    X : (m, M) array or CSR matrix;  P : (m, ℓ) array
        The features should be of moderate size, rows of norm √ℓ say.
    lo, hi, delta : (m,) arrays
    judge : callable (w, λ, β, f) → float
        Asked now and then, with f = X̂w + Pλ, how far the solution is from good enough: its gap in
        units of the largest that is, so that 1 is near enough.
    max_iter : int
        Sweeps over the sample.
    rng : numpy.random.Generator
        Draws the order of each sweep.
    start : (w, λ, β), optional
        Where to start, w = X̂ᵀβ; from zero by default.
    goal : float
        The first violation of the margin at which λ is updated and `judge` is asked; from a
        start that is good to a digit or two, take less.
    """
    m, l = P.shape
    rng = np.random.default_rng(0) if rng is None else rng
    rows, size = as_rows(X), row_squares(X) + delta
    rho = _penalty(size, P)
    squares = np.einsum("ij,ij->i", P, P)
    step = size + rho * squares
    w, lam, beta = np.zeros(X.shape[1]), np.zeros(l), np.zeros(m)
    if start is not None:
        w, lam, beta = (np.array(part, dtype=np.float64) for part in start)
    residual = np.full(l, np.inf)

    order, upper, lower = np.arange(m), np.inf, -np.inf
    for n_iter in range(1, max_iter + 1):
        shuffle(order, rng.random(order.size))  # rng.shuffle takes a sixth of a sweep
        n, up, down = sweep(rows, P, y, lo, hi, delta, step, order, beta, w, lam, rho, upper, lower)
        order = order[:n]
        # Who is pushed against a bound half as hard as anyone was pulled off one may rest.
        upper, lower = 0.5 * down or np.inf, -0.5 * up or -np.inf
        if max(up, down) > goal and n_iter < max_iter:
            continue
        residual, last = P.T @ beta, residual
        slow = norm(residual) > 0.5 * norm(last)
        if slow and norm(residual) > 1e-3 * norm(np.abs(P).T @ np.abs(beta)):
            rho *= 3.0
            step = size + rho * squares
        lam += rho * residual
        f = X @ w + P @ lam
        far = judge(w, lam, beta, f)
        if far <= 1.0:
            return DCDResult(w, lam, beta, n_iter, True)
        # The gap falls at least like the violation: near the end, a smaller step may do.
        goal = max(goal * min(max(0.3, 0.8 / far), 0.7), 1e-12)
        # Looking at all samples has also shown who has to wake.
        slope = f + delta * beta - y
        rests = ((beta <= lo) & (slope > goal)) | ((beta >= hi) & (slope < -goal))
        order, upper, lower = np.flatnonzero(~rests), np.inf, -np.inf
    return DCDResult(w, lam, beta, n_iter, False)


def _penalty(size, P):
    """The first ρ: √ρ P_i half as long as x̂_i, but not too short to move λ at all.

    Longer features couple the coordinates and slow the sweeps down (LIBLINEAR's punished bias
    does); with shorter ones λ takes more updates.  Between the two, sweeps are fewest.
    """
    features = np.mean(np.einsum("ij,ij->i", P, P))
    return 0.3 * max(np.mean(size), 1e3 / len(P)) / features if features > 0 else 1.0


@jit
def shuffle(order, draws):
    """Exchange each entry, from the last, with one that is not behind it (Fisher and Yates).

    `draws` are uniform in [0, 1), one for each entry.
    """
    for k in range(order.size - 1, 0, -1):
        j = int(draws[k] * (k + 1))
        order[k], order[j] = order[j], order[k]


@jit(fast=True)
def sweep(rows, P, y, lo, hi, delta, step, order, beta, w, lam, rho, upper, lower):
    """Minimize over each coordinate in `order` in turn; changes β, w, λ and `order`.

    A coordinate at its bound whose slope exceeds `upper` or `lower` is exchanged to the end.
    Returns how many are left, and the largest slopes upwards and downwards that were met.
    """
    up, down = 0.0, 0.0
    k, n = 0, order.size
    while k < n:
        if k + 2 * AHEAD < n:  # a random order: every number would be waited for
            i = order[k + 2 * AHEAD]
            prefetch(rows.start, i)
            prefetch(P, i * lam.size)
            prefetch(P, i * lam.size + 8)
            prefetch(y, i)
            prefetch(lo, i)
            prefetch(hi, i)
            prefetch(delta, i)
            prefetch(step, i)
            prefetch(beta, i)
        if k + AHEAD < n:
            fetch_row(rows, order[k + AHEAD])
        i = order[k]
        b = beta[i]
        slope = dot_row(rows, i, w) + delta[i] * b - y[i]
        for p in range(lam.size):
            slope += P[i, p] * lam[p]
        at_lo, at_hi = b <= lo[i], b >= hi[i]
        if (at_lo and slope > upper) or (at_hi and slope < lower):
            n -= 1
            order[k], order[n] = order[n], order[k]
            continue
        k += 1
        if (at_lo and slope >= 0.0) or (at_hi and slope <= 0.0):
            continue
        up, down = max(up, -slope), max(down, slope)
        change = min(max(b - slope / step[i], lo[i]), hi[i]) - b
        beta[i] = b + change
        add_row(rows, i, change, w)
        for p in range(lam.size):
            lam[p] += rho * change * P[i, p]
    return n, up, down

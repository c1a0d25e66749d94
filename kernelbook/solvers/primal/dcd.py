"""Dual coordinate descent with free features.

The dual of  min ½‖w‖² + Σ u_i loss(y_i(x̂_i·w + P_iλ))  is

    minimize  ½‖X̂ᵀβ‖² + ½Σ δ_i β_i² − yᵀβ    subject to  Pᵀβ = 0,   0 ≤ y_iβ_i ≤ u_i

(hinge: δ = 0; squared hinge: δ_i = 1/2u_i and no upper bound).  Keeping w = X̂ᵀβ at hand, a
single β_i is minimized exactly in the time it takes to read x̂_i:

    β_i ← clip( β_i − (x̂_i·w + P_i·λ − y_i + δ_iβ_i) / Q_ii ),    w ← w + Δβ_i x̂_i .

That is LIBLINEAR's method.  But under Pᵀβ = 0 no single coordinate may move, and LIBLINEAR
therefore penalizes the bias.  Here the equations enter through an **augmented Lagrangian**: with
multipliers λ⁰ and penalty ρ, coordinate descent runs on the problem with the extra term
λ⁰ᵀPᵀβ + ½ρ‖Pᵀβ‖².  Its gradient is the formula above with

    λ = λ⁰ + ρPᵀβ,        so that each step also does  λ ← λ + ρ Δβ_i P_i :

the features behave like √ρ P_i appended to x̂_i, and every so often λ⁰ ← λ.  In the primal this is
the proximal point method: the penalty ‖λ − λ⁰‖²/2ρ is on the distance of λ from its *last value*
and not from zero, and so vanishes in the limit.  Many samples determine λ, so a few such updates
suffice, whatever ρ.

*Shrinking*, nearly as in LIBLINEAR: a coordinate at its bound may leave the working set if its
slope exceeds half the largest slope of the last sweep.  (LIBLINEAR restores the working set once it
has converged; we look at all samples more often, and restore those that violate.)

Chapter: book/primal/solvers

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
"""A row is prefetched so many steps before its turn, and the other numbers of a sample twice."""


@dataclass
class DCDResult:
    """w = X̂ᵀβ and λ of the last sweep; Pᵀβ = 0 only as far as the sweeps got."""

    w: np.ndarray
    lam: np.ndarray
    beta: np.ndarray
    n_iter: int
    converged: bool


def dual_coordinate_descent(
    X, P, y, lower, upper, delta, gap_ratio, max_iter=1000, rng=None, start=None, margin_tol=1.0
) -> DCDResult:
    """Minimize ½‖X̂ᵀβ‖² + ½Σδ_iβ_i² − yᵀβ subject to Pᵀβ = 0, lower ≤ β ≤ upper.

    Parameters
    ----------
    X : (m, M) array or CSR matrix;  P : (m, ℓ) array
        The features should be of moderate size, rows of norm √ℓ say.
    lower, upper, delta : (m,) arrays
    gap_ratio : callable (w, λ, β, f) → float
        Asked now and then, with f = X̂w + Pλ, for the gap in units of the largest one allowed: the
        sweeps end when it is at most 1.
    max_iter : int
        Sweeps over the sample.
    rng : numpy.random.Generator
        Draws the order of each sweep.
    start : (w, λ, β), optional
        Where to start, w = X̂ᵀβ; from zero by default.
    margin_tol : float
        The first violation of the margin at which λ is updated and `gap_ratio` is asked; from a
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

    order, shrink_above, shrink_below = np.arange(m), np.inf, -np.inf
    for n_iter in range(1, max_iter + 1):
        shuffle(order, rng.random(order.size))  # rng.shuffle takes a sixth of a sweep
        n, up, down = sweep(
            rows, P, y, lower, upper, delta, step, order, beta, w, lam, rho, shrink_above,
            shrink_below,
        )  # fmt: skip
        order = order[:n]
        shrink_above, shrink_below = 0.5 * down or np.inf, -0.5 * up or -np.inf
        if max(up, down) > margin_tol and n_iter < max_iter:
            continue

        # Update the multipliers, and the penalty where Pᵀβ falls too slowly.
        residual, last = P.T @ beta, residual
        slow = norm(residual) > 0.5 * norm(last)
        if slow and norm(residual) > 1e-3 * norm(np.abs(P).T @ np.abs(beta)):
            rho *= 3.0
            step = size + rho * squares
        lam += rho * residual

        # Stop by the gap, which falls at least like the violation: near the end, in smaller steps.
        f = X @ w + P @ lam
        ratio = gap_ratio(w, lam, beta, f)
        if ratio <= 1.0:
            return DCDResult(w, lam, beta, n_iter, True)
        margin_tol = max(margin_tol * min(max(0.3, 0.8 / ratio), 0.7), 1e-12)

        # The working set: all but the coordinates that are optimal at their bounds.
        slope = f + delta * beta - y
        optimal = ((beta <= lower) & (slope > margin_tol)) | (
            (beta >= upper) & (slope < -margin_tol)
        )
        order, shrink_above, shrink_below = np.flatnonzero(~optimal), np.inf, -np.inf
    return DCDResult(w, lam, beta, n_iter, False)


def _penalty(size, P):
    """The first ρ: √ρ P_i half as long as x̂_i, but not too short to move λ at all.

    Longer features couple the coordinates and slow the sweeps down (as LIBLINEAR's penalized bias
    does); with shorter ones λ takes more updates.  In between, sweeps are fewest.
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
def sweep(
    rows, P, y, lower, upper, delta, step, order, beta, w, lam, rho, shrink_above, shrink_below
):
    """Minimize over each coordinate in `order` in turn; changes β, w, λ and `order`.

    A coordinate at a bound whose slope is beyond `shrink_above` or `shrink_below` is moved to the
    end of `order`.  Returns how many are left, and the largest upward and downward violations.
    """
    up, down = 0.0, 0.0
    k, n = 0, order.size
    while k < n:
        if k + 2 * AHEAD < n:  # the order is random: without this, every access is a cache miss
            i = order[k + 2 * AHEAD]
            prefetch(rows.start, i)
            prefetch(P, i * lam.size)
            prefetch(P, i * lam.size + 8)
            prefetch(y, i)
            prefetch(lower, i)
            prefetch(upper, i)
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
        at_lower, at_upper = b <= lower[i], b >= upper[i]
        if (at_lower and slope > shrink_above) or (at_upper and slope < shrink_below):
            n -= 1
            order[k], order[n] = order[n], order[k]
            continue
        k += 1
        if (at_lower and slope >= 0.0) or (at_upper and slope <= 0.0):
            continue
        up, down = max(up, -slope), max(down, slope)
        change = min(max(b - slope / step[i], lower[i]), upper[i]) - b
        beta[i] = b + change
        add_row(rows, i, change, w)
        for p in range(lam.size):
            lam[p] += rho * change * P[i, p]
    return n, up, down

"""SMO at the speed of the memory: the steps of `svm.smo`, on a single-precision matrix, in lanes.

A step of `smo_pairs` reads two rows of K and runs three times over vectors of length m, and spends
its time on branches: may this coordinate go up?  is this the largest so far?  Here the same step is
written without a branch, so that the processor takes sixteen coordinates at once, and with two
passes instead of three:

- *Masks instead of tests.*  `up` is 0 where β_i may grow and −10³⁰ where it may not; the
  largest v + up is then the largest v that may grow.  `down` is 0 or +10³⁰ in the same way.
- *The value first, then the index.*  Vectors are stored as rows of `LANES` numbers.  A pass keeps
  the largest value of each row, a maximum of numbers without their indices, which stays in
  registers (`numeric.jit.larger`); only the winning row is searched for the index.  Of equal values
  the smallest index wins, as in the plain loop.
- *Fusion.*  The gradient is updated in the same pass that looks for the next i.
- *Half the memory.*  K, the masks and, within `smo_lanes`, v are single precision, which is enough
  to choose a pair by; β is double.  A step passes over nine vectors with little to compute, so that
  its cost is memory traffic.  A K of 5,000² single numbers takes 100 MB.
- *Measured from the middle.*  A number is rounded relative to its size, and the choice is among
  those near the top and the bottom.  Where a large bias has carried both of them far from zero, v
  is counted from their middle, so that they keep their digits.

How K is stored, and how its rows are computed on demand, is in `large.lanes`.

Chapter: book/computing/fast

References
----------
Fan, Chen & Lin (2005), *Working set selection using second order information*, JMLR 6; Joachims
(1999), *Making large-scale SVM learning practical*.
"""

import numpy as np

from kernelbook.numeric.jit import jit, larger, smaller
from kernelbook.solvers.svm.large.lanes import LANES, MASKED, assemble_row
from kernelbook.solvers.svm.smo import move_pair

__all__ = ["smo_lanes"]

SMALL_BIAS = 4.0
"""v this near to zero, a few margins, has all the digits that it needs in single precision."""
MIN_SINGLE_CURVATURE = 1e-7
"""Least curvature of a step, relative to K's diagonal: below it there is only rounding."""


@jit
def smo_lanes(G, lower, upper, beta, v, up, down, eps, max_steps):
    """Move pairs β_i += t, β_j −= t, in place, until the violation is ≤ eps.

    Parameters
    ----------
    G : Lanes
    lower, upper, beta : (n,) float64 arrays
    v : (b, LANES) float64 array, y − Kβ;  up, down : (b, LANES) float32 arrays, see `masks`

    Returns
    -------
    (steps, violation, row_budget_exhausted) : the last is True if a row was missing and the budget
    was exhausted
    """
    K, diag, slot, work = G.K, G.diag, G.slot, np.empty(LANES, np.float32)
    # v in single precision, from its middle.
    x, middle = np.empty(v.shape, np.float32), _middle(v, up, down)
    for b in range(v.shape[0]):
        for k in range(LANES):
            x[b, k] = v[b, k] - middle
    high, low, best = np.empty((3, len(diag)), np.float32)
    least = np.float32(MIN_SINGLE_CURVATURE * _largest(diag))
    steps, violation, row_budget_exhausted = 0, 0.0, False
    _update_and_select(up, up, np.float32(0.0), x, up, down, high, low)
    while True:
        # i: the largest v among the coordinates that may grow; and its row.
        bi = np.argmax(high)
        ki = _first(high[bi], x[bi], up[bi])
        i, top = bi * LANES + ki, x[bi, ki]
        violation = np.float64(top) - np.float64(low.min())
        if not violation > eps or steps >= max_steps:
            break
        if slot[i] < 0:
            row_budget_exhausted = G.count[1] <= 0
            if row_budget_exhausted:
                break
            assemble_row(G, i, work)
        row = K[slot[i]]

        # j: the partner with which a step gains most; and its row.
        _best_gains(row, x, down, diag, top, diag[bi, ki], least, best)
        bj = np.argmax(best)
        kj = _first_best(row[bj], x[bj], down[bj], diag[bj], top, diag[bi, ki], least)
        j = bj * LANES + kj
        if slot[j] < 0:
            row_budget_exhausted = G.count[1] <= 0
            if row_budget_exhausted:
                break
            assemble_row(G, j, work)

        # The step, and which way the two coordinates may move after it.
        eta = max(diag[bi, ki] + diag[bj, kj] - np.float32(2.0) * row[bj, kj], least)
        t = move_pair(lower, upper, beta, i, j, np.float64(top - x[bj, kj]) / eta)
        _update_masks(up, down, bi, ki, beta[i], lower[i], upper[i])
        _update_masks(up, down, bj, kj, beta[j], lower[j], upper[j])
        steps += 1

        # The gradient, and the extremes for the next choice, in one pass.
        _update_and_select(row, K[slot[j]], np.float32(t), x, up, down, high, low)
    for b in range(v.shape[0]):
        for k in range(LANES):
            v[b, k] = middle + x[b, k]
    return steps, max(violation, 0.0), row_budget_exhausted


@jit(inline="always")
def _update_masks(up, down, b, k, beta, lower, upper):
    """The masks of one coordinate, see `lanes.masks`."""
    up[b, k] = np.float32(0.0) if beta < upper else np.float32(-MASKED)
    down[b, k] = np.float32(0.0) if beta > lower else np.float32(MASKED)


@jit
def _largest(diag):
    largest = 0.0
    for b in range(diag.shape[0]):
        for k in range(LANES):
            largest = max(largest, diag[b, k])
    return largest


@jit  # not fast: `_first` has to find the very same numbers
def _update_and_select(row_i, row_j, t, v, up, down, high, low):
    """v −= t(K_i − K_j); by rows, the largest v + up and the least v + down."""
    for b in range(v.shape[0]):
        a, c, x, u, d = row_i[b], row_j[b], v[b], up[b], down[b]
        top, bottom = np.float32(-MASKED), np.float32(MASKED)
        for k in range(LANES):
            x[k] -= t * (a[k] - c[k])
            top = larger(x[k] + u[k], top)
            bottom = smaller(x[k] + d[k], bottom)
        high[b], low[b] = top, bottom


@jit
def _first(value, x, mask):
    """The first place in one row where x + mask has this value."""
    for k in range(LANES):
        if x[k] + mask[k] == value:
            return k
    return 0  # a NaN


@jit(inline="always")
def _gain(top, x, mask, diag_i, diag_j, K_ij, least):
    """What a step with a partner gains, (v_i − v_j)²/η; zero if the partner may not go down."""
    fall = larger(top - (x + mask), np.float32(0.0))
    eta = larger(diag_i + diag_j - np.float32(2.0) * K_ij, least)
    return fall * fall / eta


@jit(fast=True)
def _best_gains(row, v, down, diag, top, diag_i, least, best):
    """By rows, the most that a step can gain."""
    for b in range(v.shape[0]):
        r, x, d, q = row[b], v[b], down[b], diag[b]
        most = np.float32(0.0)
        for k in range(LANES):
            most = larger(_gain(top, x[k], d[k], diag_i, q[k], r[k], least), most)
        best[b] = most


@jit
def _first_best(row, v, down, diag, top, diag_i, least):
    """The first place in one row where a step gains most; it need not be found by its value."""
    most, place = np.float32(0.0), 0
    for k in range(LANES):
        gain = _gain(top, v[k], down[k], diag_i, diag[k], row[k], least)
        if gain > most:
            most, place = gain, k
    return place


@jit
def _middle(v, up, down):
    """Half way between the largest v that may grow and the least that may shrink; 0 near zero."""
    top, bottom = -MASKED, MASKED
    for b in range(v.shape[0]):
        for k in range(LANES):
            top, bottom = max(top, v[b, k] + up[b, k]), min(bottom, v[b, k] + down[b, k])
    middle = 0.5 * (top + bottom)
    # Callers have usually subtracted a bias already; then no rounding is added.
    return middle if abs(middle) > SMALL_BIAS else 0.0

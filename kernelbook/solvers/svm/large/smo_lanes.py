"""SMO at the speed of the memory: the steps of `smo`, on a single-precision matrix, in lanes.

A step of `solvers.svm.smo.smo_pairs` reads two rows of K and runs three times over vectors
of length m, and spends its time on branches: "may this coordinate go up?", "is this the largest so
far?".  The same step is written here without a branch, so that the processor takes sixteen
coordinates at once, and with two passes instead of three:

- *Masks instead of questions.*  `up` is 0 where β_i may grow and −10³⁰ where it may not; the
  largest v + up is then the largest v that may grow.  `down` is 0 or +10³⁰ in the same way.
- *The value first, then the place.*  Vectors are stored as rows of `LANES` numbers.  A pass keeps
  the largest value of each row, a maximum of numbers without their indices, which stays in
  registers (`numeric.jit.larger`); who it was is asked of the winning row alone.  Equal values go
  to the
  smallest index, as in the plain loop.
- *Fusion.*  The gradient is updated in the same pass that looks for the next i.
- *Half the memory.*  K, the masks and, within `smo_lanes`, v are single precision, which is enough
  to choose a pair by; β is double.  A step goes over nine vectors with little to compute on the
  way, so that bytes are what it costs.  A K of 5,000² single numbers takes 100 MB.
- *Measured from the middle.*  A number is rounded relative to its size, and the choice is among
  those near the top and the bottom.  Where a large bias has carried both of them far from zero, v
  is counted from their middle, so that they keep their digits.

- *Rows on demand.*  A problem with few support vectors needs few rows of K.  A row of a Gaussian
  is computed when a step first asks for it, from K_ij = 2^(−‖z_i − z_j‖²), with a_i·a_j added, the
  penalty of `svm.large`: in few dimensions that takes hardly longer than to read it.  Differences
  lose nothing to cancellation, so that single precision does for them, too: with z rounded, an
  entry is wrong by some 10⁻⁷·(1 + ‖z‖).  There is a budget; when it is spent, `smo_lanes` returns,
  and the caller fills the whole matrix by tiles, which is cheaper by the row.  A pair of classes
  copies its rows from blocks in double precision in the same way (`pair_matrix`).
- *Rows one after the other.*  Row i of K lies where `slot[i]` says: a row that is computed on
  demand takes the next free place.  A page of memory is cleared when it is first touched, and a
  large page holds many rows: spread over the whole matrix, a tenth of the rows would touch it all.

The matrix K has n rows of `padded(n)` numbers; what is beyond n is zero in K and masked in vectors.

`gather` copies the rows and columns of a subset, to go on with a small problem while the other
coordinates sit at their bounds (shrinking; Joachims, 1999), and `subtract_rows` pays its debt: it
brings the gradient of all coordinates up to date.

References
----------
Fan, Chen & Lin (2005), *Working set selection using second order information*, JMLR 6; Joachims
(1999), *Making large-scale SVM learning practical*.
"""

from typing import NamedTuple

import numpy as np

from kernelbook.kernels.profiles import exp2_of_single
from kernelbook.numeric.jit import jit, larger, smaller
from kernelbook.numeric.threads import n_threads, parallel_for
from kernelbook.solvers.svm.pair_matrix import PairMatrix, fetch, pair_matrix
from kernelbook.solvers.svm.smo import move_pair

__all__ = [
    "FAR", "LANES", "Lanes", "columns", "ends", "gather", "know", "known_matrix", "lanes", "masks",
    "padded", "smo_lanes", "subtract_rows", "unknown_matrix",
]  # fmt: skip

LANES = 128
FAR = 1e30
FAR_AWAY = 1e4
"""A place where nobody is: 2^(−‖z − z'‖²) is zero there."""
CLOSE = 4.0
"""v this near to zero, a few margins, has all the digits that it needs in single precision."""
FLAT = 1e-7
"""Curvature below this fraction of K's diagonal is rounding of single precision."""


class Lanes(NamedTuple):
    """A matrix in lanes, with the rows of it that are known, and what computes the others."""

    K: np.ndarray  # (n, b, LANES) float32
    diag: np.ndarray  # (b, LANES) float32
    slot: np.ndarray  # (n,) int64, where in K the row is, or -1
    count: np.ndarray  # (2,) int64: how many rows are there, how many may still be computed
    Z: np.ndarray  # (b, d, LANES) float32, FAR_AWAY beyond n
    A: np.ndarray  # (l, b, LANES) float32
    double: PairMatrix = pair_matrix(np.empty((0, 0)))  # K in double precision, or nothing

    @property
    def rows(self):
        """What is in K, in the order of the slots."""
        return self.K.reshape(len(self.K), -1)


def known_matrix(K, diag):
    """`Lanes` of a matrix (n, padded(n)) that is all there."""
    n, none = len(K), np.empty((0, 1, LANES), np.float32)
    return Lanes(
        K.reshape(n, -1, LANES), lanes(diag, 1.0, np.float32), np.arange(n), np.array([n, 0]),
        none, none,
    )  # fmt: skip


def unknown_matrix(diag, budget, Z, A):
    """`Lanes` of 2^(−‖z_i − z_j‖²) + a_i·a_j, of which no row is there; rows z_i, a_i."""
    n, d = Z.shape
    far = np.full((padded(n), d), FAR_AWAY, np.float32)
    far[:n] = Z
    return Lanes(
        # Memory that is not touched costs nothing.
        np.empty((n, padded(n) // LANES, LANES), np.float32), lanes(diag, 1.0, np.float32),
        np.full(n, -1), np.array([0, budget]),
        np.ascontiguousarray(far.reshape(-1, LANES, d).transpose(0, 2, 1)), columns(A, np.float32),
    )  # fmt: skip


def padded(n):
    """n rounded up to a multiple of LANES."""
    return -(-n // LANES) * LANES


def lanes(x, fill, dtype):
    """The vector x as rows of LANES numbers, the last one filled up."""
    out = np.full(padded(x.size), fill, dtype)
    out[: x.size] = x
    return out.reshape(-1, LANES)


def columns(Z, dtype):
    """The columns of Z in lanes."""
    m, d = Z.shape
    out = np.zeros((d, padded(m)), dtype)
    out[:, :m] = Z.T
    return out.reshape(d, padded(m) // LANES, LANES)


@jit
def masks(beta, lo, hi):
    """(up, down): 0 where β may go there, ∓FAR where not."""
    n, size = beta.size, -(-beta.size // LANES) * LANES
    up, down = np.full(size, np.float32(-FAR)), np.full(size, np.float32(FAR))
    for i in range(n):
        if beta[i] < hi[i]:
            up[i] = 0.0
        if beta[i] > lo[i]:
            down[i] = 0.0
    return up.reshape(-1, LANES), down.reshape(-1, LANES)


@jit
def ends(v, beta, lo, hi):
    """(the largest v that may grow, the least v that may shrink)"""
    top, bottom = -np.inf, np.inf
    for i in range(beta.size):
        if beta[i] < hi[i]:
            top = max(top, v[i])
        if beta[i] > lo[i]:
            bottom = min(bottom, v[i])
    return top, bottom


@jit  # not fast: `_first` has to find the very same numbers
def _update_and_select(row_i, row_j, t, v, up, down, high, low):
    """v −= t(K_i − K_j); by rows, the largest v + up and the least v + down."""
    for b in range(v.shape[0]):
        a, c, x, u, d = row_i[b], row_j[b], v[b], up[b], down[b]
        top, bottom = np.float32(-FAR), np.float32(FAR)
        for k in range(LANES):
            x[k] -= t * (a[k] - c[k])
            top = larger(x[k] + u[k], top)
            bottom = smaller(x[k] + d[k], bottom)
        high[b], low[b] = top, bottom


@jit
def _first(value, x, mask):
    """The first place where x + mask, which stand in one row, has this value."""
    for k in range(LANES):
        if x[k] + mask[k] == value:
            return k
    return 0  # a NaN


@jit(inline="always")
def _gain(top, x, mask, diag_i, diag_j, K_ij, flat):
    """What a step with a partner gains, (v_i − v_j)²/η, and nothing with who may not go down."""
    fall = larger(top - (x + mask), np.float32(0.0))
    eta = larger(diag_i + diag_j - np.float32(2.0) * K_ij, flat)
    return fall * fall / eta


@jit(fast=True)
def _best_gains(row, v, down, diag, top, diag_i, flat, best):
    """By rows, the most that a step gains."""
    for b in range(v.shape[0]):
        r, x, d, q = row[b], v[b], down[b], diag[b]
        most = np.float32(0.0)
        for k in range(LANES):
            most = larger(_gain(top, x[k], d[k], diag_i, q[k], r[k], flat), most)
        best[b] = most


@jit
def _first_best(row, v, down, diag, top, diag_i, flat):
    """The first place in one row where a step gains most; it need not be found by its value."""
    most, place = np.float32(0.0), 0
    for k in range(LANES):
        gain = _gain(top, v[k], down[k], diag_i, diag[k], row[k], flat)
        if gain > most:
            most, place = gain, k
    return place


@jit
def _copy_row(double, i, row):
    """K_i from the matrix in double precision."""
    fetch(double, np.array([i]))
    line, flat = double.rows[double.slot[i]], row.reshape(-1)
    for k in range(line.size):
        flat[k] = line[k]
    flat[line.size :] = 0.0


@jit(fast=True)
def _gaussian_row(Z, i, work, row):
    """K_i of a Gaussian, LANES entries at a time, their exponents in `work`."""
    zi, d = Z[i // LANES, :, i % LANES], Z.shape[1]
    for b in range(row.shape[0]):
        block, to = Z[b], row[b]
        work[:] = 0.0
        for q in range(d % 4):
            z, c = block[q], zi[q]
            for k in range(LANES):
                work[k] -= (c - z[k]) * (c - z[k])
        for q in range(d % 4, d, 4):  # four at a time: `work` is touched less often
            z0, z1, z2, z3 = block[q], block[q + 1], block[q + 2], block[q + 3]
            c0, c1, c2, c3 = zi[q], zi[q + 1], zi[q + 2], zi[q + 3]
            for k in range(LANES):
                x0, x1, x2, x3 = c0 - z0[k], c1 - z1[k], c2 - z2[k], c3 - z3[k]
                work[k] -= (x0 * x0 + x1 * x1) + (x2 * x2 + x3 * x3)
        for k in range(LANES):
            to[k] = exp2_of_single(work[k])


@jit(fast=True)
def _compute_row(G, i, work):
    """K_i, with the penalty, if there is one, in the next slot."""
    bi, ki = i // LANES, i % LANES
    row = G.K[G.count[0]]
    if G.double.slot.size > 0:
        _copy_row(G.double, i, row)
    else:
        _gaussian_row(G.Z, i, work, row)
    for p in range(G.A.shape[0]):
        ai = G.A[p, bi, ki]
        for b in range(row.shape[0]):
            a, x = G.A[p, b], row[b]
            for k in range(LANES):
                x[k] += ai * a[k]
    row[bi, ki] = G.diag[bi, ki]
    G.slot[i] = G.count[0]
    G.count[0] += 1
    G.count[1] -= 1


@jit
def know(G, rows):
    """Compute those of the rows that are not known yet, whatever the budget."""
    work = np.empty(LANES, np.float32)
    for i in rows:
        if G.slot[i] < 0:
            _compute_row(G, i, work)


@jit
def _middle(v, up, down):
    """Half way between the largest v that may grow and the least that may shrink; 0 near zero."""
    top, bottom = -FAR, FAR
    for b in range(v.shape[0]):
        for k in range(LANES):
            top, bottom = max(top, v[b, k] + up[b, k]), min(bottom, v[b, k] + down[b, k])
    middle = 0.5 * (top + bottom)
    # Mostly callers have subtracted a bias already: then nothing is rounded that need not be.
    return middle if abs(middle) > CLOSE else 0.0


@jit
def smo_lanes(G, lo, hi, beta, v, up, down, eps, max_steps):
    """Move pairs β_i += t, β_j −= t, in place, until the violation is ≤ eps.

    Parameters
    ----------
    G : Lanes
    lo, hi, beta : (n,) float64 arrays
    v : (b, LANES) float64 array, y − Kβ;  up, down : (b, LANES) float32 arrays, see `masks`

    Returns
    -------
    (steps, violation, spent) : spent is whether a row was missing and the budget spent
    """
    K, diag, slot, work = G.K, G.diag, G.slot, np.empty(LANES, np.float32)
    x, middle = np.empty(v.shape, np.float32), _middle(v, up, down)
    for b in range(v.shape[0]):
        for k in range(LANES):
            x[b, k] = v[b, k] - middle
    high, low, best = np.empty((3, len(diag)), np.float32)
    flat = np.float32(FLAT * np.max(diag))
    can, far = np.float32(0.0), np.float32(FAR)
    steps, spent = 0, False
    _update_and_select(up, up, np.float32(0.0), x, up, down, high, low)
    while True:
        bi = np.argmax(high)
        ki = _first(high[bi], x[bi], up[bi])
        i, top = bi * LANES + ki, x[bi, ki]
        violation = np.float64(top) - np.float64(low.min())
        if not violation > eps or steps >= max_steps:
            break
        if slot[i] < 0:
            spent = G.count[1] <= 0
            if spent:
                break
            _compute_row(G, i, work)
        row = K[slot[i]]
        _best_gains(row, x, down, diag, top, diag[bi, ki], flat, best)
        bj = np.argmax(best)
        kj = _first_best(row[bj], x[bj], down[bj], diag[bj], top, diag[bi, ki], flat)
        j = bj * LANES + kj
        if slot[j] < 0:
            spent = G.count[1] <= 0
            if spent:
                break
            _compute_row(G, j, work)
        eta = max(diag[bi, ki] + diag[bj, kj] - np.float32(2.0) * row[bj, kj], flat)
        t = move_pair(lo, hi, beta, i, j, np.float64(top - x[bj, kj]) / eta)
        up[bi, ki] = can if beta[i] < hi[i] else -far
        down[bi, ki] = can if beta[i] > lo[i] else far
        up[bj, kj] = can if beta[j] < hi[j] else -far
        down[bj, kj] = can if beta[j] > lo[j] else far
        steps += 1
        _update_and_select(row, K[slot[j]], np.float32(t), x, up, down, high, low)
    for b in range(v.shape[0]):
        for k in range(LANES):
            v[b, k] = middle + x[b, k]
    return steps, max(violation, 0.0), spent


# ------------------------------------------------------------------- from all to some, and back


@jit
def _gather_rows(K, rows, chosen, first, last, out):
    for i in range(first, last):
        row, to = K[rows[i]], out[i]
        for j in range(chosen.size):
            to[j] = row[chosen[j]]
        to[chosen.size :] = 0.0


def gather(G, chosen):
    """K[chosen][:, chosen], padded; all these rows are there."""
    n, K = chosen.size, G.rows
    out, rows = np.empty((n, padded(n)), np.float32), G.slot[chosen].astype(np.uint64)
    step = max(1, -(-n // n_threads()))
    chosen = chosen.astype(np.uint64)  # no index counts from the end: none has to be tested
    parallel_for(
        lambda p: _gather_rows(K, rows, chosen, p * step, min(n, (p + 1) * step), out),
        -(-n // step),
    )
    return out


@jit(fast=True)
def _subtract_rows(K, rows, d, v):
    """v −= Σ d_r K[rows_r], four rows at a time."""
    n, whole = rows.size, rows.size // 4 * 4
    for r in range(0, whole, 4):
        a, b, c, e = K[rows[r]], K[rows[r + 1]], K[rows[r + 2]], K[rows[r + 3]]
        s, t, u, w = d[r], d[r + 1], d[r + 2], d[r + 3]
        for k in range(v.size):
            v[k] -= (s * a[k] + t * b[k]) + (u * c[k] + w * e[k])
    for r in range(whole, n):
        a, s = K[rows[r]], d[r]
        for k in range(v.size):
            v[k] -= s * a[k]


def subtract_rows(G, rows, d, v):
    """v −= K[:, rows] d in place, K symmetric, v in lanes: each thread has a stripe of columns."""
    flat, K = v.reshape(-1), G.rows
    rows = G.slot[rows].astype(np.uint64)
    step = padded(-(-flat.size // n_threads()))
    parallel_for(
        lambda p: _subtract_rows(
            K[:, p * step : (p + 1) * step], rows, d, flat[p * step : (p + 1) * step]
        ),
        -(-flat.size // step),
    )

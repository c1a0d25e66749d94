"""Rows of a matrix in lanes: storage for `smo_lanes`, filled on demand.

Vectors of length n are stored as rows of `LANES` numbers, the last one padded, so that the
processor takes sixteen coordinates at once.  A matrix K has n rows of `padded(n)` numbers in single
precision; what is beyond n is zero in K and masked in vectors.

- *Rows on demand.*  A problem with few support vectors needs few rows of K.  A row of a Gaussian
  is computed when a step first needs it, from K_ij = 2^(−‖z_i − z_j‖²), with a_i·a_j added, the
  penalty of `large.state`: in few dimensions that takes hardly longer than reading it.  Differences
  lose nothing to cancellation, so that single precision is enough for them, too: with z rounded, an
  entry is wrong by some 10⁻⁷·(1 + ‖z‖).  There is a budget; when it is exhausted, `smo_lanes`
  returns, and the caller fills the whole matrix by tiles, which is cheaper per row.  A pair of
  classes copies its rows from blocks in double precision in the same way (`svm.pairs.blocks`).
- *Rows one after the other.*  Row i of K is where `slot[i]` says: a row that is computed on
  demand takes the next free place.  A page of memory is cleared when it is first touched, and a
  large page holds many rows: spread over the whole matrix, a tenth of the rows would touch it all.

`gather` copies the rows and columns of a subset, to go on with a small problem while the other
coordinates stay at their bounds (shrinking), and `subtract_rows` then updates the gradient of all
coordinates.
"""

from typing import NamedTuple

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.numeric.pairwise.profiles import exp2_of_single
from kernelbook.numeric.threads import n_threads, parallel_for
from kernelbook.solvers.svm.pairs.blocks import PairMatrix, fetch, pair_matrix

__all__ = [
    "LANES", "MASKED", "Lanes", "assemble_row", "columns", "compute_rows", "gather", "known_matrix",
    "lanes", "masks", "padded", "subtract_rows", "unknown_matrix", "violation_bounds",
]  # fmt: skip

LANES = 128
MASKED = 1e30
"""What a mask adds to v where β may not move."""
PADDING_COORDINATE = 1e4
"""A point far from all samples: 2^(−‖z − z'‖²) is zero there."""


class Lanes(NamedTuple):
    """A matrix in lanes, with the rows that have been computed, and what computes the others."""

    K: np.ndarray  # (n, b, LANES) float32
    diag: np.ndarray  # (b, LANES) float32
    slot: np.ndarray  # (n,) int64, where in K the row is, or −1
    # (2,) int64: rows computed, and rows that may still be computed
    count: np.ndarray  # type: ignore[assignment]
    Z: np.ndarray  # (b, d, LANES) float32, PADDING_COORDINATE beyond n
    A: np.ndarray  # (l, b, LANES) float32
    double: PairMatrix = pair_matrix(np.empty((0, 0)))  # K in double precision; may be empty

    @property
    def rows(self):
        """K as a matrix, its rows in the order of the slots."""
        return self.K.reshape(len(self.K), -1)


def known_matrix(K, diag):
    """`Lanes` of a complete matrix (n, padded(n))."""
    n, none = len(K), np.empty((0, 1, LANES), np.float32)
    return Lanes(
        K.reshape(n, -1, LANES), lanes(diag, 1.0, np.float32), np.arange(n), np.array([n, 0]),
        none, none,
    )  # fmt: skip


def unknown_matrix(diag, budget, Z, A):
    """`Lanes` of 2^(−‖z_i − z_j‖²) + a_i·a_j, of which no row has been computed; rows z_i, a_i."""
    n, d = Z.shape
    padding = np.full((padded(n), d), PADDING_COORDINATE, np.float32)
    padding[:n] = Z
    return Lanes(
        # Untouched memory costs nothing.
        np.empty((n, padded(n) // LANES, LANES), np.float32),
        lanes(diag, 1.0, np.float32),
        np.full(n, -1),
        np.array([0, budget]),
        np.ascontiguousarray(padding.reshape(-1, LANES, d).transpose(0, 2, 1)),
        columns(A, np.float32),
    )


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
def masks(beta, lower, upper):
    """(up, down): 0 where β may move that way, ∓MASKED where not."""
    n, size = beta.size, -(-beta.size // LANES) * LANES
    up, down = np.full(size, np.float32(-MASKED)), np.full(size, np.float32(MASKED))
    for i in range(n):
        if beta[i] < upper[i]:
            up[i] = 0.0
        if beta[i] > lower[i]:
            down[i] = 0.0
    return up.reshape(-1, LANES), down.reshape(-1, LANES)


@jit
def violation_bounds(v, beta, lower, upper):
    """(the largest v that may grow, the least v that may shrink)"""
    top, bottom = -np.inf, np.inf
    for i in range(beta.size):
        if beta[i] < upper[i]:
            top = max(top, v[i])
        if beta[i] > lower[i]:
            bottom = min(bottom, v[i])
    return top, bottom


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
def assemble_row(G, i, work):
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
def compute_rows(G, rows):
    """Compute those of the rows that have not been computed, whatever the budget."""
    work = np.empty(LANES, np.float32)
    for i in rows:
        if G.slot[i] < 0:
            assemble_row(G, i, work)


# ------------------------------------------------------------------ a subset, and back to all


@jit
def _gather_rows(K, rows, chosen, first, last, out):
    for i in range(first, last):
        row, to = K[rows[i]], out[i]
        for j in range(chosen.size):
            to[j] = row[chosen[j]]
        to[chosen.size :] = 0.0


def gather(G, chosen):
    """K[chosen][:, chosen], padded; all these rows have been computed."""
    n, K = chosen.size, G.rows
    out, rows = np.empty((n, padded(n)), np.float32), G.slot[chosen].astype(np.uint64)
    step = max(1, -(-n // n_threads()))
    chosen = chosen.astype(np.uint64)  # unsigned: no test for negative indices
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

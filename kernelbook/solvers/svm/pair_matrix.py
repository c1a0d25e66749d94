"""The kernel matrix of a pair of classes, by blocks, whose rows are put together when needed.

With the samples of one class before those of the other, the matrix of a pair is

    K = | A   B |        A: the first class with itself,   D: the second class with itself,
        | Bᵀ  D |        B: the first with the second.

One-vs-one classification has such a problem for every pair of classes.  A and D are shared by all
pairs that a class takes part in; B belongs to this pair alone, and can be forgotten after it.  So
beside the rows that are asked for no more than one class with itself, for each, and one B for each
thread have to be in memory: the matrix of all samples is needed only where this comes to nothing.

A problem needs few rows of K, those of its support vectors and of a few more.  `fetch` puts a row
together when it is first asked for; SMO and Newton's method, which come one after the other, read
the copy.  The copies lie one behind the other in the order in which they were asked for, so that
they touch as little memory as possible, and in memory that the caller may pass on from problem to
problem: to clear fresh pages takes as long as to copy.

A matrix that is all in one piece is its own block A, beside empty B and D, and nothing is copied.
"""

from typing import NamedTuple

import numpy as np

from kernelbook.numeric.jit import jit

__all__ = ["PairMatrix", "assembled", "diagonal", "fetch", "pair_matrix", "times"]


class PairMatrix(NamedTuple):
    """K = [[A, B], [Bᵀ, D]], of which some rows are at hand."""

    A: np.ndarray  # (p, p) float64
    B: np.ndarray  # (p, q) float64
    D: np.ndarray  # (q, q) float64
    rows: np.ndarray  # (n, n) float64, n = p + q
    slot: np.ndarray  # (n,) int64, where in `rows` a row is, or -1
    count: np.ndarray  # (1,) int64, how many are there


def pair_matrix(A, B=None, D=None, memory=None):
    """The `PairMatrix` of float64 blocks, or of one matrix A.

    `memory` is a float64 array of (p + q)² numbers at least, for the rows; what it holds is lost.
    """
    A = np.require(A, np.float64, "CW")  # of a read-only array all would be compiled once more
    if B is None:
        n = len(A)
        return PairMatrix(A, np.empty((n, 0)), np.empty((0, 0)), A, np.arange(n), np.array([n]))
    n = sum(B.shape)
    # Memory that is not touched costs nothing.
    rows = np.empty((n, n)) if memory is None else memory[: n * n].reshape(n, n)
    return PairMatrix(A, B, D, rows, np.full(n, -1), np.array([0]))


def assembled(K):
    """All of K as one array."""
    return np.block([[K.A, K.B], [K.B.T, K.D]])


@jit(brief=True)
def diagonal(K, i):
    """K_ii"""
    p = len(K.A)
    return K.A[i, i] if i < p else K.D[i - p, i - p]


@jit
def fetch(K, some):
    """Put those of some rows together that are not at hand yet: row i is then rows[slot[i]].

    For all that a loop needs, before it begins.  A loop that asks row by row would count who uses
    the arrays of K, up and down at every turn, and take twice as long.  (SMO has no choice.)
    """
    A, B, D, rows, slot, count = K
    p, q = B.shape
    for i in some:
        if slot[i] >= 0:
            continue
        slot[i] = count[0]
        count[0] += 1
        first, second = rows[slot[i], :p], rows[slot[i], p:]
        if i < p:
            a, b = A[i], B[i]
            for k in range(p):
                first[k] = a[k]
            for k in range(q):
                second[k] = b[k]
        else:
            d = D[i - p]
            for k in range(p):
                first[k] = B[k, i - p]
            for k in range(q):
                second[k] = d[k]


@jit(fast=True)
def times(K, x, out):
    """out = Kx, from the rows where x is not zero, four at a time."""
    out[:] = 0.0
    support = np.flatnonzero(x)
    fetch(K, support)
    rows, slot, few = K.rows, K.slot, support.size % 4
    for s in support[:few]:
        row, xs = rows[slot[s]], x[s]
        for k in range(out.size):
            out[k] += xs * row[k]
    for r in range(few, support.size, 4):
        s, t, u, v = support[r], support[r + 1], support[r + 2], support[r + 3]
        a, b, c, d = rows[slot[s]], rows[slot[t]], rows[slot[u]], rows[slot[v]]
        xs, xt, xu, xv = x[s], x[t], x[u], x[v]
        for k in range(out.size):
            out[k] += (xs * a[k] + xt * b[k]) + (xu * c[k] + xv * d[k])

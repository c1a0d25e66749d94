"""The kernel matrix of a pair of classes, from blocks that the pairs share.

With the samples of one class before those of the other, the matrix of a pair is

    K = | A   B |        A: the first class with itself,   D: the second class with itself,
        | Bᵀ  D |        B: the first with the second.

One-vs-one classification has such a problem for every pair of classes.  A and D are shared by all
pairs of their class, so they are computed once; B belongs to one pair, and is overwritten by the
next pair on the same thread.  The matrix of all samples is never needed.

A problem needs few rows of K: those of its support vectors and of a few more.  `fetch` assembles a
row when it is first needed; SMO and Newton's method, which follow each other, read the copy.  The
copies lie in the order in which they were made, so that they touch as little memory as possible,
in memory that is passed on from problem to problem: clearing fresh pages takes as long as copying.

A matrix in one piece is its own block A, with empty B and D, and nothing is copied.
"""

import threading
from typing import NamedTuple

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.numeric.threads import parallel_for

__all__ = ["ClassBlocks", "PairMatrix", "assembled", "diagonal", "fetch", "pair_matrix", "times"]


class PairMatrix(NamedTuple):
    """K = [[A, B], [Bᵀ, D]], of which some rows have been assembled."""

    A: np.ndarray  # (p, p) float64
    B: np.ndarray  # (p, q) float64
    D: np.ndarray  # (q, q) float64
    rows: np.ndarray  # (n, n) float64, n = p + q
    slot: np.ndarray  # (n,) int64, where in `rows` a row is, or −1
    count: np.ndarray  # type: ignore[assignment]  # (1,) int64, how many have been assembled


def pair_matrix(A, B=None, D=None, memory=None):
    """The `PairMatrix` of float64 blocks, or of one matrix A.

    `memory` is a float64 array of (p + q)² numbers at least, for the rows; its content is lost.
    """
    A = np.require(A, np.float64, "CW")  # a read-only array would be compiled for separately
    if B is None:
        n = len(A)
        return PairMatrix(A, np.empty((n, 0)), np.empty((0, 0)), A, np.arange(n), np.array([n]))
    n = sum(B.shape)
    # Untouched memory costs nothing.
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
def fetch(K, needed):
    """Assemble those of some rows that have not been assembled: row i is then rows[slot[i]].

    Called once, before a loop, for all rows that the loop needs.  Calls row by row would change
    reference counts of the arrays of K each time, and take twice as long.  (SMO has no choice.)
    """
    A, B, D, rows, slot, count = K
    p, q = B.shape
    for i in needed:
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
    rows, slot, odd = K.rows, K.slot, support.size % 4
    for s in support[:odd]:
        row, xs = rows[slot[s]], x[s]
        for k in range(out.size):
            out[k] += xs * row[k]
    for r in range(odd, support.size, 4):
        s, t, u, v = support[r], support[r + 1], support[r + 2], support[r + 3]
        a, b, c, d = rows[slot[s]], rows[slot[t]], rows[slot[u]], rows[slot[v]]
        xs, xt, xu, xv = x[s], x[t], x[u], x[v]
        for k in range(out.size):
            out[k] += (xs * a[k] + xt * b[k]) + (xu * c[k] + xv * d[k])


# ------------------------------------------------------------------------ blocks for all pairs


class ClassBlocks:
    """The kernel matrices of some pairs of classes.

    Parameters
    ----------
    block : callable, (a, b, out)
        Writes the kernel between the samples of class a and those of class b into `out`.
    sizes : list of int
        How many samples each class has.
    pairs : list of (a, b)
        All pairs that will be needed.

    Attributes
    ----------
    size : float
        The largest entry on the diagonal.
    """

    def __init__(self, block, sizes, pairs):
        self._block, self._sizes, self._own = block, sizes, threading.local()
        self._largest = max(sizes[a] + sizes[b] for a, b in pairs)
        wanted = sorted({c for pair in pairs for c in pair})
        self._squares = {c: np.empty((sizes[c], sizes[c])) for c in wanted}
        parallel_for(lambda c: block(c, c, self._squares[c]), wanted)
        self.size = max(self._squares[c].diagonal().max() for c in wanted)

    @classmethod
    def of_kernel(cls, kernel, X, members, pairs):
        """For a kernel on the rows of X; `members` holds the samples of each class."""
        sizes = [c.size for c in members]
        stops = np.cumsum(sizes).tolist()
        spans = [slice(stop - n, stop) for stop, n in zip(stops, sizes, strict=True)]
        write = kernel.blocks(X[np.concatenate(members)])
        return cls(lambda a, b, out: write(spans[a], spans[b], out), sizes, pairs)

    @classmethod
    def of_matrix(cls, gram, members, pairs):
        """For the Gram matrix of all samples."""

        def block(a, b, out):
            out[...] = gram[np.ix_(members[a], members[b])]

        return cls(block, [c.size for c in members], pairs)

    def pair(self, a, b):
        """The matrix of classes a and b, a's samples first; valid until this thread calls again."""
        own, (p, q) = self._own, (self._sizes[a], self._sizes[b])
        if not hasattr(own, "rows"):
            # The block between two classes with n samples in all has at most n²/4 entries.
            own.rows, own.block = np.empty(self._largest**2), np.empty(self._largest**2 // 4)
        B = own.block[: p * q].reshape(p, q)
        self._block(a, b, B)
        return pair_matrix(self._squares[a], B, self._squares[b], own.rows)

"""A matrix that is a part of a larger one, whose rows are copied when they are first needed.

One-vs-one classification has a problem for every pair of classes, and all of them share the kernel
matrix of the whole sample.  A pair needs few rows of it, those of its support vectors and of a few
more, and of a row only the columns of its own samples, which lie scattered.  `row_of` gathers them
once; SMO and Newton's method, which come one after the other, read the copy.

The copies lie one behind the other in the order in which they were asked for, so that they touch
as little memory as possible, and in memory that the caller may pass on from problem to problem: to
clear fresh pages takes as long as to copy.
"""

from typing import NamedTuple

import numpy as np

from kernelbook._jit import jit

__all__ = ["Part", "part", "row_of", "times"]


class Part(NamedTuple):
    """K = whole[index][:, index], of which some rows are at hand."""

    whole: np.ndarray  # (M, M) float64
    index: np.ndarray  # (n,) uint64: no index counts from the end, and none has to be tested
    rows: np.ndarray  # (n, n) float64
    slot: np.ndarray  # (n,) int64, where in `rows` a row is, or -1
    count: np.ndarray  # (1,) int64, how many are there


def part(whole, index, memory=None):
    """The `Part` of a C-contiguous matrix; all of it is itself, and nothing is copied.

    `memory` is a float64 array of n² numbers at least, for the rows; what it holds is lost.
    """
    n = index.size
    if n == len(whole) and np.array_equal(index, np.arange(n)):
        return Part(whole, index, whole, np.arange(n), np.array([n]))
    # Memory that is not touched costs nothing.
    rows = np.empty((n, n)) if memory is None else memory[: n * n].reshape(n, n)
    return Part(whole, index, rows, np.full(n, -1), np.array([0]))


@jit
def row_of(K, i):
    """Row i, (n,)."""
    if K.slot[i] < 0:
        line, row = K.whole[K.index[i]], K.rows[K.count[0]]
        for k in range(row.size):
            row[k] = line[K.index[k]]
        K.slot[i] = K.count[0]
        K.count[0] += 1
    return K.rows[K.slot[i]]


@jit(fast=True)
def times(K, x, out):
    """out = Kx, from the rows where x is not zero, four at a time."""
    out[:] = 0.0
    support = np.flatnonzero(x)
    few = support.size % 4
    for s in support[:few]:
        row, xs = row_of(K, s), x[s]
        for k in range(out.size):
            out[k] += xs * row[k]
    for r in range(few, support.size, 4):
        s, t, u, v = support[r], support[r + 1], support[r + 2], support[r + 3]
        a, b, c, d = row_of(K, s), row_of(K, t), row_of(K, u), row_of(K, v)
        xs, xt, xu, xv = x[s], x[t], x[u], x[v]
        for k in range(out.size):
            out[k] += (xs * a[k] + xt * b[k]) + (xu * c[k] + xv * d[k])

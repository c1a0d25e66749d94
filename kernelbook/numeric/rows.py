"""Rows of a matrix, dense or sparse, as coordinate solvers visit them.

A coordinate step does two things with a row x̂_i: it takes its inner product with a vector, and
adds it to one.  `Rows` stores a dense matrix row by row, or a sparse one in CSR form, so that each
solver is written once.  Its *type* says which of the two it is, by a tuple that is empty or not:
Numba compiles a solver for each, without the branches of the other kind, and what is left of
`dot_row` is short enough to be inlined into the loop that calls it.

Column numbers and row starts are unsigned: Numba then knows that none is negative, which would
count from the end of the vector, and gathers without testing each (a third faster).

Rows that are visited in random order come from slow memory, and most of a step would be spent
waiting for them.  So a solver that knows the row after next requests it by `fetch_row`, and it
arrives while the solver still works on another (`numeric.jit.prefetch`; sweeps take half the time).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kernelbook.numeric.jit import jit, prefetch

__all__ = ["Rows", "add_row", "as_rows", "dot_row", "fetch_row", "row_squares"]

FETCHED = 256
"""Entries of a row that are requested in advance: beyond them the processor prefetches itself."""


class Rows(NamedTuple):
    """Row i is data[i·width : (i+1)·width], or (columns, data)[start[i] : start[i+1]]."""

    data: np.ndarray
    columns: np.ndarray
    start: np.ndarray
    width: int
    dense: tuple  # (True,) or ()


def as_rows(X: Any) -> Rows:
    """View a float64 array or CSR matrix as `Rows`, without copying its entries."""
    if sparse.issparse(X):
        columns = np.require(X.indices, np.int32 if X.shape[1] < 2**31 else np.int64)
        unsigned = columns.view(np.uint32 if columns.itemsize == 4 else np.uint64)
        start = X.indptr.astype(np.uint64)
        return Rows(np.require(X.data, requirements="W"), unsigned, start, 0, ())
    none, start = np.empty(0, dtype=np.uint32), np.zeros(X.shape[0] + 1, dtype=np.uint64)
    if X.shape[1] == 0:
        return Rows(np.empty(0), none, start, 0, ())
    dense = np.require(X, np.float64, ["C_CONTIGUOUS", "WRITEABLE"])
    return Rows(dense.reshape(-1), none, start, X.shape[1], (True,))


@jit(fast=True)
def dot_row(rows: Rows, i: int, v: np.ndarray) -> float:
    """x̂_i · v"""
    total = 0.0
    if len(rows.dense):
        x = rows.data[i * rows.width : (i + 1) * rows.width]
        for k in range(x.size):
            total += x[k] * v[k]
    else:
        for k in range(rows.start[i], rows.start[i + 1]):
            total += rows.data[k] * v[rows.columns[k]]
    return total


@jit(fast=True)
def add_row(rows: Rows, i: int, h: float, v: np.ndarray) -> None:
    """v ← v + h x̂_i"""
    if len(rows.dense):
        x = rows.data[i * rows.width : (i + 1) * rows.width]
        for k in range(x.size):
            v[k] += h * x[k]
    else:
        for k in range(rows.start[i], rows.start[i + 1]):
            v[rows.columns[k]] += h * rows.data[k]


@jit
def fetch_row(rows: Rows, i: int) -> None:
    """Request row i, 64 bytes at a time; rows.start[i] should be in the cache already."""
    if len(rows.dense):
        first, last = i * rows.width, min((i + 1) * rows.width, i * rows.width + FETCHED)
        for k in range(first, last, 8):
            prefetch(rows.data, k)
    else:
        first, last = int(rows.start[i]), int(rows.start[i + 1])
        for k in range(first, min(last, first + FETCHED), 16):
            prefetch(rows.columns, k)
            prefetch(rows.data, k)
            prefetch(rows.data, k + 8)


def row_squares(X: Any) -> np.ndarray:
    """‖x̂_i‖² for all rows."""
    if sparse.issparse(X):
        squares = np.empty(X.shape[0])
        sum_squares(as_rows(X), squares)
        return squares
    return np.einsum("ij,ij->i", X, X)


@jit(fast=True)
def sum_squares(rows: Rows, out: np.ndarray) -> None:
    """out_i = ‖x̂_i‖² of sparse rows, without a copy of their entries."""
    for i in range(out.size):
        total = 0.0
        for k in range(rows.start[i], rows.start[i + 1]):
            total += rows.data[k] * rows.data[k]
        out[i] = total

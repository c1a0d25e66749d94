"""Rows of a matrix, dense or sparse, as the coordinate solvers walk over them.

A coordinate step needs two things of a sample x̂_i: its inner product with a vector, and to be
added to one.  `Rows` stores a dense matrix as its entries one row after the other (width > 0) or a
sparse one in CSR form (width = 0), so that each solver is written once; the branch costs nothing
beside the loop it chooses.

Column numbers are unsigned: Numba then knows that none counts from the end of the vector, as
negative ones do, and gathers without testing each (a third faster).
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from kernelbook._jit import jit

__all__ = ["Rows", "add_row", "as_rows", "dot_row", "row_squares"]


class Rows(NamedTuple):
    """Row i is data[i·width : (i+1)·width], or (columns, data)[start[i] : start[i+1]]."""

    data: np.ndarray
    columns: np.ndarray
    start: np.ndarray
    width: int


def as_rows(X) -> Rows:
    """View a float64 array or CSR matrix as `Rows`, without copying its entries."""
    if sparse.issparse(X):
        columns = np.require(X.indices, np.int32 if X.shape[1] < 2**31 else np.int64)
        unsigned = columns.view(np.uint32 if columns.itemsize == 4 else np.uint64)
        return Rows(np.require(X.data, requirements="W"), unsigned, X.indptr.astype(np.int64), 0)
    none = np.empty(0, dtype=np.uint32)
    if X.shape[1] == 0:
        return Rows(np.empty(0), none, np.zeros(X.shape[0] + 1, dtype=np.int64), 0)
    dense = np.require(X, np.float64, ["C_CONTIGUOUS", "WRITEABLE"])
    return Rows(dense.reshape(-1), none, np.empty(0, dtype=np.int64), X.shape[1])


@jit(fast=True)
def dot_row(rows, i, v):
    """x̂_i · v"""
    total = 0.0
    if rows.width > 0:
        x = rows.data[i * rows.width : (i + 1) * rows.width]
        for k in range(x.size):
            total += x[k] * v[k]
    else:
        x = rows.data[rows.start[i] : rows.start[i + 1]]
        j = rows.columns[rows.start[i] : rows.start[i + 1]]
        for k in range(x.size):
            total += x[k] * v[j[k]]
    return total


@jit(fast=True)
def add_row(rows, i, h, v):
    """v ← v + h x̂_i"""
    if rows.width > 0:
        x = rows.data[i * rows.width : (i + 1) * rows.width]
        for k in range(x.size):
            v[k] += h * x[k]
    else:
        x = rows.data[rows.start[i] : rows.start[i + 1]]
        j = rows.columns[rows.start[i] : rows.start[i + 1]]
        for k in range(x.size):
            v[j[k]] += h * x[k]


def row_squares(X) -> np.ndarray:
    """‖x̂_i‖² for all rows."""
    if sparse.issparse(X):
        squared = sparse.csr_array((X.data * X.data, X.indices, X.indptr), shape=X.shape)
        return squared @ np.ones(X.shape[1])
    return np.einsum("ij,ij->i", X, X)

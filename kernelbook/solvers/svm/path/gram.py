"""The Gram matrix as path-following sees it.

Path-following touches one sample an event, so what it carries along is Φβ: O(n) for each change
of a β_i.  `scale` is the size of Φ's entries and `noise` that of their rounding errors.
"""

import numpy as np

from kernelbook.numeric.jit import jit

__all__ = ["DenseGram"]

EPS = float(np.finfo(float).eps)


class DenseGram:
    """Φ as a symmetric matrix."""

    def __init__(self, gram, noise=None):
        self.gram = np.ascontiguousarray(gram, dtype=np.float64)
        self.scale = float(np.abs(self.gram).max(initial=0.0)) or 1.0
        self.noise = 10 * EPS * self.scale if noise is None else noise

    def combine(self, rows, z):
        """Φβ for the β that is z at `rows` and zero elsewhere."""
        return combine_rows(self.gram, rows, z)

    def times(self, beta):
        """Φβ."""
        return self.gram @ beta

    def one(self, i):
        """Row i of Φ."""
        return self.gram[i]

    def column(self, rows, j):
        """Φ[rows, j]."""
        return self.gram[j, rows]

    def block(self, rows):
        return self.gram[np.ix_(rows, rows)]


@jit(fast=True)
def combine_rows(A, rows, z):
    """Σ_k z_k A[rows_k]: a product with some rows of A, without copying them."""
    out = np.zeros(A.shape[1])
    for k in range(rows.size):
        zk, row = z[k], A[rows[k]]
        for j in range(out.size):
            out[j] += zk * row[j]
    return out

"""A Gram matrix in two forms, behind one small interface.

Φβ is computed in two steps: *embed* β into a space where sums are kept, then *evaluate* at the
samples.  With the matrix Φ at hand the space is ℝⁿ itself and evaluating is reading off; with a
factor, Φ = X̂X̂ᵀ, it is the ℝᵏ of the weights w = X̂ᵀβ, and f = X̂w.  Path-following touches one sample
an event, so what it carries along is the embedding: O(n) or O(k) for each change of a β_i.

`scale` is the size of Φ's entries and `noise` that of their rounding errors.
"""

import numpy as np

from kernelbook._jit import jit

__all__ = ["DenseGram", "FactorGram"]

EPS = float(np.finfo(float).eps)


class DenseGram:
    """Φ as a symmetric matrix."""

    def __init__(self, gram, noise=None):
        self.gram = np.ascontiguousarray(gram, dtype=np.float64)
        self.scale = float(np.abs(self.gram).max(initial=0.0)) or 1.0
        self.noise = 10 * EPS * self.scale if noise is None else noise

    @property
    def dimension(self):
        return len(self.gram)

    def embed(self, rows, z):
        """The embedding of the β that is z at `rows` and zero elsewhere."""
        return combine_rows(self.gram, rows, z)

    def embed_all(self, beta):
        """The embedding of β."""
        return self.gram @ beta

    def one(self, i):
        """The embedding of sample i."""
        return self.gram[i]

    def evaluate(self, v):
        """The function with embedding v at all samples; may be v itself."""
        return v

    def at(self, v, rows):
        return v[rows]

    def column(self, rows, j):
        """Φ[rows, j]."""
        return self.gram[j, rows]

    def block(self, rows):
        return self.gram[np.ix_(rows, rows)]


class FactorGram:
    """Φ = X̂X̂ᵀ, in buffers that leave room for more columns of X̂."""

    def __init__(self, n, capacity):
        self._rows = np.zeros((n, capacity))
        self._columns = np.zeros((capacity, n))
        self._squares = np.zeros(n)
        self.dimension = 0
        self.scale, self.noise = 1.0, 10 * EPS

    @property
    def X(self):
        return self._rows[:, : self.dimension]

    @property
    def buffers(self):
        """X̂ and X̂ᵀ with their spare room, and how much of it is in use."""
        return self._rows, self._columns, self.dimension

    def append(self, x):
        """One more column of X̂."""
        k = self.dimension
        self._rows[:, k] = x
        self._columns[k] = x
        self._squares += x * x
        self.dimension = k + 1
        self.scale = float(self._squares.max()) or 1.0
        self.noise = 10 * EPS * self.scale

    def pop(self):
        """Undo the last `append`."""
        self.dimension -= 1
        self._squares -= self._columns[self.dimension] ** 2

    def embed(self, rows, z):
        return z @ self._rows[rows, : self.dimension]

    def embed_all(self, beta):
        return self._columns[: self.dimension] @ beta

    def one(self, i):
        return self._rows[i, : self.dimension]

    def evaluate(self, w):
        return w @ self._columns[: self.dimension]

    def at(self, w, rows):
        return self._rows[rows, : self.dimension] @ w

    def column(self, rows, j):
        return self._rows[rows, : self.dimension] @ self.one(j)

    def block(self, rows):
        X = self._rows[rows, : self.dimension]
        return X @ X.T


@jit(fast=True)
def combine_rows(A, rows, z):
    """Σ_k z_k A[rows_k]: a product with some rows of A, without copying them."""
    out = np.zeros(A.shape[1])
    for k in range(rows.size):
        zk, row = z[k], A[rows[k]]
        for j in range(out.size):
            out[j] += zk * row[j]
    return out

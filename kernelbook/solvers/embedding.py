"""A Gram matrix in two forms, behind one small interface.

Φβ is computed in two steps: *embed* β into a space where sums are kept, then *evaluate* at the
samples.  With the matrix Φ at hand the space is ℝⁿ itself and evaluating is reading off; with a
factor, Φ = X̂X̂ᵀ, it is the ℝᵏ of the weights w = X̂ᵀβ and f = X̂w.  Path-following touches one sample
an event, so what it carries along is the embedding: O(n) or O(k) for each change of a β_i.
"""

import numpy as np

from kernelbook._jit import jit

__all__ = ["DenseGram", "FactorGram"]


class DenseGram:
    """Φ as a symmetric matrix."""

    def __init__(self, gram, noise=None):
        self.gram = np.ascontiguousarray(gram, dtype=np.float64)
        self.n = len(self.gram)
        self.scale = float(np.abs(self.gram).max(initial=0.0)) or 1.0
        self.noise = 10*2.2e-16*self.scale if noise is None else noise

    def embed(self, rows, z):
        """Φ[:, rows] z."""
        return combine_rows(self.gram, np.asarray(rows, dtype=np.intp), z)

    def evaluate(self, v):
        return v

    def at(self, v, rows):
        return v[rows]

    def block(self, rows, columns):
        return self.gram[np.ix_(rows, columns)]


class FactorGram:
    """Φ = X̂X̂ᵀ through the n×k factor X̂."""

    def __init__(self, X):
        self.X = X
        self.n = len(X)
        self.scale = float(np.einsum("ij,ij->i", X, X).max(initial=0.0)) or 1.0

    def embed(self, rows, z):
        """w = X̂[rows]ᵀ z."""
        return z @ self.X[rows]

    def evaluate(self, w):
        return self.X @ w

    def at(self, w, rows):
        return self.X[rows] @ w

    def block(self, rows, columns):
        return self.X[rows] @ self.X[columns].T


@jit
def combine_rows(A, rows, z):
    """Σ_k z_k A[rows_k]: a product with some rows of A, without copying them."""
    out = np.zeros(A.shape[1])
    for k in range(rows.size):
        zk, row = z[k], A[rows[k]]
        for j in range(out.size):
            out[j] += zk * row[j]
    return out

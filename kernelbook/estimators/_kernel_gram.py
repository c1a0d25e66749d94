"""The Gram matrix of a kernel on a sample, in the pieces `solvers.svm.large` asks for."""

import numpy as np

__all__ = ["KernelGram"]


class KernelGram:
    """K(X, X) as a whole in single precision, as blocks and products in double."""

    def __init__(self, kernel, X):
        self.kernel, self.X = kernel, np.require(X, requirements="CW")
        self.diagonal = kernel.diag(self.X)

    def single(self, out, rows=None):
        """K, or K[rows][:, rows], in the first columns of `out`, then zeros."""
        self.kernel.single(self.X if rows is None else self.X[rows], out)

    def exponents(self):
        """(Z, s) with log₂ K_ij = z_i·z_j + s_i + s_j, or None."""
        return self.kernel.exponents(self.X)

    def block(self, rows):
        """K[rows][:, rows] in double precision."""
        return self.kernel(self.X[rows])

    def product(self, beta):
        """Kβ in double precision, as prediction computes it; pairs of supports serve twice."""
        support, others = np.flatnonzero(beta), np.flatnonzero(beta == 0)
        Z, c, h = self.X[support], beta[support], np.empty(beta.size)
        h[support] = self.kernel.gram_matvec(Z, c)
        h[others] = self.kernel.matvec(self.X[others], Z, c)
        return h

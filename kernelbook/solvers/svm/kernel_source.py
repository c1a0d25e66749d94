"""What solvers ask of a kernel on a sample: its Gram matrix, blocks, products as in prediction."""

import numpy as np
from scipy import sparse

from kernelbook.solvers.svm.pairs.blocks import ClassBlocks

__all__ = ["KernelSource", "MatrixSource"]

EPS = float(np.finfo(float).eps)


class KernelSource:
    """Φ on a sample X, computed from the kernel.

    Parameters
    ----------
    kernel : Kernel
    X : (m, d) array or sparse matrix
    definiteness : {"pd", "cpd", "unknown"}
        What is known of the kernel.
    origin : (d,) array, optional
        Where a linear kernel far from the origin is moved; see `estimators._centering`.
    """

    def __init__(self, kernel, X, definiteness="pd", origin=None):
        self.kernel, self.definiteness, self.origin = kernel, definiteness, origin
        self.X = X if sparse.issparse(X) else np.require(X, requirements="CW")
        self.centers, self.linear_offset = self.X, None
        if origin is not None:
            self.centers = X - origin
            self.linear_offset = kernel(self.centers, origin[None])[:, 0]

    @property
    def diagonal(self):
        return self.kernel.diag(self.X)

    @property
    def consistent(self):
        """Whether prediction is known to compute the entries that the Gram matrix has."""
        return self.definiteness != "unknown"

    @property
    def writable(self):
        """Whether a solver may destroy the Gram matrix; otherwise `product` compares with it."""
        return self.consistent

    def rounding(self, size):
        """How far an entry of prediction may be from that of a block (`pairwise.distances`)."""
        return 32 * (2 * self.X.shape[1] + 8) * EPS * size

    def gram(self):
        """Φ on the sample, or on the centred points."""
        return self.kernel(self.centers)

    def part(self, rows):
        """The same kernel on these samples."""
        part = KernelSource.__new__(KernelSource)
        vars(part).update(vars(self), X=self.X[rows], centers=self.centers[rows])
        if self.linear_offset is not None:
            part.linear_offset = self.linear_offset[rows]
        return part

    def product(self, beta, gram=None):
        """Φβ as prediction computes it.

        Nothing is known of a function: where its Gram matrix is passed, the two are compared.
        """
        support = np.flatnonzero(beta)
        h = self.kernel.matvec(self.X, self.centers[support], beta[support])
        if gram is not None and not self.consistent:
            _require_same_values(self.kernel, h, gram @ beta, np.abs(gram).max() * abs(beta).sum())
        return h

    def class_blocks(self, members, pairs):
        """The blocks of pairs of classes."""
        return ClassBlocks.of_kernel(self.kernel, self.X, members, pairs)

    # ------------------------------------------------------------- for `svm.large.state`

    def single(self, out, rows=None):
        """K, or K[rows][:, rows], in single precision in the first columns of `out`, then zeros."""
        self.kernel.single(self.X if rows is None else self.X[rows], out)

    def exponents(self):
        """(Z, s) with log₂ K_ij = z_i·z_j + s_i + s_j, or None."""
        return self.kernel.exponents(self.X)

    def block(self, rows):
        """K[rows][:, rows] in double precision."""
        return self.kernel(self.X[rows])


class MatrixSource:
    """A Gram matrix that the user has computed; nothing is known of it, and it is not ours."""

    definiteness, linear_offset, origin = "unknown", None, None
    consistent, writable = True, False

    def __init__(self, matrix):
        self.matrix = matrix

    def gram(self):
        return self.matrix

    def part(self, rows):
        return MatrixSource(self.matrix[np.ix_(rows, rows)])

    def product(self, beta, gram=None):
        """Φβ as prediction computes it."""
        support = np.flatnonzero(beta)
        return self.matrix[:, support] @ beta[support]

    def rounding(self, size):
        """The entries are the same; sums of them are rounded in another order."""
        return len(self.matrix) * EPS * size


def _require_same_values(kernel, predicted, fitted, size):
    """Φβ as `predict` computes it must be that of the Gram matrix, but for rounding."""
    difference = np.abs(predicted - fitted).max(initial=0.0)
    if difference > 1e-6 * (1.0 + size + np.abs(fitted).max(initial=0.0)):
        raise ValueError(
            f"{kernel!r} does not give the same numbers twice: in K(X, Z) and in the Gram matrix "
            f"they differ, and Σ β_i K(x, x_i) by {difference:.3g}.  K(x, z) must be K(z, x), and "
            "must not depend on the other rows that are passed with x and z."
        )

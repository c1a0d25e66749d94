"""Kernels of the inner product: K(x, z) = p(x·z).

The Gram matrix of x·z is XXᵀ, so cᵀXXᵀc = ‖Xᵀc‖² ≥ 0.  The polynomial p(t) = (offset + t)^degree
has coefficients ≥ 0, so p(x·z) is positive definite as well, by sums and products.  Its Hilbert
space is that of the polynomials of degree ≤ `degree` (if offset > 0), of finite dimension: with
more points than that the Gram matrix is singular, and neither kernel is *strictly* positive
definite.

Rows may be SciPy sparse: texts, one-hot codes.  The matrix that comes out is dense.
"""

from typing import ClassVar

import numpy as np
from scipy import sparse

from kernelbook.kernels import checks
from kernelbook.kernels.base import Kernel
from kernelbook.kernels.profiles import shifted_power

__all__ = ["Linear", "Polynomial"]


class Linear(Kernel):
    """K(x, z) = x·z.

    Examples
    --------
    >>> from kernelbook import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    accepts_sparse = True
    _proven = True

    def _fill(self, X, Z):
        def fill(rows, cols, out):
            if sparse.issparse(X) or sparse.issparse(Z):
                product = X[rows] @ Z[cols].T
                out[...] = product.toarray() if sparse.issparse(product) else product
            else:
                np.matmul(X[rows], Z[cols].T, out=out)

        return fill

    def _diag(self, X):
        if sparse.issparse(X):
            return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
        return np.einsum("ij,ij->i", X, X)

    def _matvec(self, X, Z, c):
        return np.asarray(X @ (Z.T @ c))


class Polynomial(Kernel):
    """K(x, z) = (offset + x·z)^degree.

    Parameters
    ----------
    degree : int
    offset : float
        Zero gives the homogeneous polynomials of that degree, larger numbers more weight to the
        low degrees.

    Examples
    --------
    >>> from kernelbook import Polynomial
    >>> Polynomial(degree=2, offset=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    accepts_sparse = True
    _proven = True
    _rules: ClassVar[dict] = {"degree": checks.positive_integer, "offset": checks.non_negative}

    def __init__(self, degree: int = 3, offset: float = 1.0) -> None:
        self.degree = degree
        self.offset = offset

    @property
    def _positive_diag(self):
        return bool(self.offset > 0)

    def _fill(self, X, Z):
        inner = Linear()._fill(X, Z)

        def fill(rows, cols, out):
            inner(rows, cols, out)
            shifted_power(out, float(self.offset), int(self.degree))

        return fill

    def _diag(self, X):
        diag = Linear()._diag(X)
        shifted_power(diag[None], float(self.offset), int(self.degree))
        return diag

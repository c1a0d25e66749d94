"""Kernels of the inner product: K(x, z) = p(x·z).

The Gram matrix of x·z is XXᵀ, so cᵀXXᵀc = ‖Xᵀc‖² ≥ 0.  The polynomial p(t) = (offset + t)^degree
has coefficients ≥ 0, so p(x·z) is positive definite as well, by sums and products.  Its Hilbert
space is that of the polynomials of degree ≤ `degree` (if offset > 0), of finite dimension: with
more points than that the Gram matrix is singular, and neither kernel is *strictly* positive
definite.

Rows may be SciPy sparse: texts, one-hot codes.  The matrix that comes out is dense.

Chapter: book/foundations/common_kernels
"""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from kernelbook.kernels import checks
from kernelbook.kernels.base import Kernel
from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.pairwise.profiles import shifted_power
from kernelbook.numeric.span_basis import constant_first

__all__ = ["Linear", "Polynomial"]

CENTERING_RATIO = 8.0
"""A sample is centred if its distance from the origin is more than this many times its extent."""


class Linear(Kernel):
    """K(x, z) = x·z.

    Parameters
    ----------
    columns : int, str or list of those, optional
        The columns that the kernel sees; by default all.

    Examples
    --------
    >>> from kernelbook import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    accepts_sparse = True
    _proven = True
    _has_gradient = True

    def __init__(self, columns: Any = None) -> None:
        self.columns = columns

    def far_origin(self, X: Any, P: np.ndarray) -> np.ndarray | None:
        """The mean of a sample that is far from the origin, where the free features allow a move.

        At points near 10⁶ the entries of XXᵀ are near 10¹², their differences near one, and what a
        solver sees of them is rounding error.  If Σc_i = 0, which the constant among the free
        features ensures, the origin does not matter:

            Σ c_i x·z_i  =  Σ c_i x·(z_i − μ)        for every μ.

        So solvers get the Gram matrix of the centred points, with the *offset* g_i = (x_i − μ)·μ
        that leads back, x·z = (x − μ)·(z − μ) + g_x + g_z + ‖μ‖²; predictions use the centred
        centres z_i − μ; and f and its coefficients are those of the kernel x·z, as always.

        Differences of rows do not suffer from a far origin, so kernels of ‖x − z‖ need none of
        this; kernels (x·z + 1)ᵈ change with the origin, and the certificate says what they lost.

        Parameters
        ----------
        X : (m, d) array or sparse matrix
        P : (m, ℓ) array
        """
        if not self._proven or sparse.issparse(X):  # a subclass may be another kernel
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            mean = X.mean(axis=0)
            away, extent = np.abs(mean).max(), np.abs(X - mean).max()
            far = np.isfinite(away) and away > CENTERING_RATIO * extent
        return mean if far and constant_first(column_space(P).Q)[1] else None

    def _gradient_x(self, X, Z):
        return np.repeat(_dense(Z).T[:, None, :], X.shape[0], axis=1)

    def _jet(self, X):
        X = _dense(X)
        return self._diag(X), X.T, np.ones(X.T.shape)

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
    columns : int, str or list of those, optional
        The columns that the kernel sees; by default all.

    Examples
    --------
    >>> from kernelbook import Polynomial
    >>> Polynomial(degree=2, offset=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    accepts_sparse = True
    _proven = True
    _has_gradient = True
    _rules: ClassVar[dict] = {"degree": checks.positive_integer, "offset": checks.non_negative}

    _called_elsewhere: ClassVar[dict] = Kernel._called_elsewhere | {
        "coef0": "it is called offset here",
        "gamma": "scale the columns, or the kernel: 2.0 * Polynomial()",
    }

    def __init__(self, degree: int = 3, offset: float = 1.0, columns: Any = None) -> None:
        self.degree = degree
        self.offset = offset
        self.columns = columns

    @property
    def _tunable(self):
        return ("offset",) if self.offset > 0 else ()

    def _fill_slopes(self, X, Z):
        inner = Linear()._fill(X, Z)
        offset, degree = float(self.offset), int(self.degree)

        def fill(rows, cols, out, slopes):
            inner(rows, cols, out)
            for slope in slopes:
                slope[...] = offset * degree * (offset + out) ** (degree - 1)
            shifted_power(out, offset, degree)

        return fill

    def _gradient_x(self, X, Z):
        X, Z = _dense(X), _dense(Z)
        degree = int(self.degree)
        slope = degree * (float(self.offset) + X @ Z.T) ** (degree - 1)
        return slope * Z.T[:, None, :]

    def _jet(self, X):
        X = _dense(X)
        base, p = float(self.offset) + np.einsum("ij,ij->i", X, X), int(self.degree)
        slope = p * base ** (p - 1)
        bend = p * (p - 1) * base ** (p - 2) if p > 1 else 0.0
        return base**p, slope * X.T, slope + bend * X.T**2

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


def _dense(X):
    return X.toarray() if sparse.issparse(X) else X

"""Kernels from elsewhere: a function of yours, or what an estimator's `kernel` argument means."""

from typing import ClassVar

import numpy as np

from kernelbook.kernels import _checks
from kernelbook.kernels.base import Kernel
from kernelbook.kernels.radial import Gaussian

__all__ = ["FunctionKernel", "as_kernel"]


class FunctionKernel(Kernel):
    """A kernel made of a function: K(X, Z) = function(X, Z).

    The function is called with two arrays of rows, often with parts of your data only, and from
    one thread at a time.  Its value at (x, z) must not depend on the other rows.  Nobody checks
    that it is positive definite: that is your promise, with `cpd_order`.

    Parameters
    ----------
    function : callable (X, Z) → array of shape (m, n)
    cpd_order : int
        See `Kernel`.
    """

    _rules: ClassVar[dict] = {"cpd_order": _checks.order}
    _thread_safe = False

    def __init__(self, function, cpd_order=0):
        if not callable(function) or isinstance(function, type):
            raise TypeError(
                f"function must be callable as function(X, Z); got {function!r}. "
                f"To use a class, pass an instance of it."
            )
        self.function = function
        self.cpd_order = cpd_order

    def _fill(self, X, Z):
        def fill(rows, cols, out):
            out[...] = self._block(X[rows], Z[cols])
            if X is Z and rows == cols:
                asymmetry = np.abs(out - out.T).max()
                if asymmetry > 1e-8 * np.abs(out).max():
                    raise ValueError(
                        f"{self!r} is not symmetric: K(x, z) and K(z, x) differ by {asymmetry:.3g}."
                        f" Correct the function, or use (K(x, z) + K(z, x)) / 2."
                    )

        return fill

    def _block(self, X, Z):
        block = np.asarray(self.function(X, Z))
        if block.shape != (len(X), len(Z)):
            raise ValueError(
                f"function returned shape {block.shape} for X of {len(X)} rows and Z of {len(Z)} "
                f"rows; it must return a matrix of shape {(len(X), len(Z))}."
            )
        if block.dtype.kind not in "biuf":
            raise TypeError(f"function must return real numbers; got dtype {block.dtype}.")
        return block

    def _diag(self, X):
        blocks = [X[i : i + 32] for i in range(0, len(X), 32)]
        return np.concatenate([np.empty(0), *(self._block(b, b).diagonal() for b in blocks)])


def as_kernel(kernel, n_features):
    """The kernel that an estimator's `kernel` argument means for data with `n_features` columns.

    None is the Gaussian of width √d: columns of unit variance then put the typical squared
    distance, 2d, at two squared widths.  A `Kernel` is itself; a function (X, Z) → matrix is
    wrapped as a `FunctionKernel`.
    """
    if kernel is None:
        return Gaussian(width=float(np.sqrt(n_features)))
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type):
        raise TypeError(
            f"kernel must be a kernel, and {kernel.__name__} is a class: "
            f"write kernel={kernel.__name__}(…)."
        )
    if callable(kernel):
        return FunctionKernel(kernel)
    raise TypeError(
        f"kernel must be None, a kernel such as Gaussian(width=1.0), or a function (X, Z) → "
        f"matrix; got {kernel!r}. The kernels are in kernelbook.kernels: Gaussian, Laplacian, "
        f"Matern, Linear, Polynomial, Polyharmonic, ThinPlate, Multiquadric."
    )

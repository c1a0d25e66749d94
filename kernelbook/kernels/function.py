"""Kernels from elsewhere: a function of yours, or what an estimator's `kernel` argument means."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from kernelbook.kernels import checks
from kernelbook.kernels.base import Kernel
from kernelbook.kernels.radial import Gaussian

__all__ = ["FunctionKernel", "as_kernel"]


class FunctionKernel(Kernel):
    """A kernel made of a function: K(X, Z) = function(X, Z).

    The function is called with two arrays of rows, often with parts of your data only, and from
    one thread at a time.  Its value at (x, z) must not depend on the other rows.  A Gram matrix
    is refused where it is not symmetric to eight digits.  That the function is positive definite
    is your promise, with `cpd_order`; learners try it on the sample.

    Parameters
    ----------
    function : callable (X, Z) → array of shape (m, n)
    cpd_order : int
        See `Kernel`.
    columns : int, str or list of those, optional
        The columns that the kernel sees; by default all.
    """

    _rules: ClassVar[dict] = {"cpd_order": checks.order}
    _thread_safe = False

    def __init__(
        self,
        function: Callable[[np.ndarray, np.ndarray], ArrayLike],
        cpd_order: int = 0,
        columns: Any = None,
    ) -> None:
        if not callable(function) or isinstance(function, type):
            raise TypeError(
                f"function must be callable as function(X, Z); got {function!r}. "
                f"To use a class, pass an instance of it."
            )
        self.function = function
        self.cpd_order = cpd_order
        self.columns = columns

    def _fill(self, X, Z):
        def fill(rows, cols, out):
            out[...] = self._block(X[rows], Z[cols])
            if X is Z:
                self._check_symmetry(X, rows, cols, out)

        return fill

    def _check_symmetry(self, X, rows, cols, out):
        """Only half of a Gram matrix is kept: both halves must say the same, and its diagonal."""
        if rows == cols:
            mirrored = out.T
            # Distances by ‖x‖² + ‖z‖² − 2x·z lose digits differently in other company: not a fault.
            own = self._diag(X[rows])
            self._require_equal(out.diagonal(), own, "looks at other rows: K(x, x)", 1e-5)
        else:
            mirrored = self._block(X[cols], X[rows]).T
        self._require_equal(out, mirrored, "is not symmetric: K(x, z) − K(z, x)")

    def _require_equal(self, block, other, fault, tolerance=1e-8):
        difference = np.abs(block - other).max(initial=0.0)
        if difference > tolerance * np.abs(block).max(initial=0.0):
            raise ValueError(
                f"{self!r} {fault} varies by {difference:.3g}. Correct the function: a value may "
                f"depend on its own two rows only, symmetrically, as (K(x, z) + K(z, x)) / 2 does."
            )

    def _block(self, X, Z):
        shape = (len(X), len(Z))
        contract = (
            f"it is called with two arrays of rows, here {len(X)} and {len(Z)} of them, and must "
            f"return a matrix of shape {shape}.  A function f of two single rows becomes one by "
            f"FunctionKernel(lambda X, Z: np.array([[f(x, z) for z in Z] for x in X]))"
        )
        try:
            block = np.asarray(self.function(X, Z))
        except Exception as error:
            error.add_note(f"This was raised inside the kernel function: {contract}.")
            raise
        if block.shape != shape:
            raise ValueError(f"function returned shape {block.shape}: {contract}.")
        if block.dtype.kind not in "biuf":
            raise TypeError(f"function must return real numbers; got dtype {block.dtype}.")
        return block

    def _diag(self, X):
        blocks = [X[i : i + 32] for i in range(0, len(X), 32)]
        return np.concatenate([np.empty(0), *(self._block(b, b).diagonal() for b in blocks)])


def as_kernel(kernel: Any, n_features: int) -> Kernel:
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
    if isinstance(getattr(type(kernel), "K", None), property):
        raise TypeError(f"{kernel!r} is a space, not a kernel: pass its reproducing kernel, .K.")
    hint = _NAMES_ELSEWHERE.get(kernel) if isinstance(kernel, str) else None
    raise TypeError(
        f"kernel must be None, a kernel such as Gaussian(width=1.0), a function (X, Z) → "
        f"matrix, or (for a learner) 'precomputed'; got {kernel!r}"
        + (f", which is {hint} here. " if hint else ". ")
        + "The kernels are in kernelbook.kernels: Gaussian, Laplacian, Matern, Linear, "
        "Polynomial, Polyharmonic, ThinPlate, Multiquadric, RationalQuadratic, Periodic, "
        "Categorical."
    )


_NAMES_ELSEWHERE = {
    "rbf": "Gaussian(width=1/√gamma)",
    "gaussian": "Gaussian(width=1/epsilon)",
    "linear": "Linear()",
    "poly": "Polynomial(degree, offset=coef0)",
    "polynomial": "Polynomial(degree, offset=coef0)",
    "laplacian": "Laplacian(width)",
    "thin_plate_spline": "ThinPlate()",
    "multiquadric": "Multiquadric(width=1/epsilon)",
    "cubic": "Polyharmonic(3)",
    "quintic": "Polyharmonic(5)",
    "sigmoid": "no kernel: tanh is not positive definite",
}

"""Kernels made of kernels: sums, products and multiples.

If K and L are positive definite, so are K + L, aK (a ≥ 0) and KL.  The first two are evident from
cᵀKc ≥ 0; the third is Schur's product theorem: write the Gram matrix of L as Σ_k v_k v_kᵀ, then

    cᵀ(K∘L)c = Σ_k (c∘v_k)ᵀ K (c∘v_k) ≥ 0.

For conditionally positive definite kernels sums survive, with the larger order: a c that
annihilates the polynomials of degree less than max(p, q) annihilates both smaller sets.
Products do not: c∘v_k annihilates nothing, and already (−r)·(−r) = r² is *negative* definite on
Σc_i = 0.  So a product with an order above 0 is refused.

**Columns.**  If the terms of a sum see different columns, the polynomials that it needs are those
that its terms need, each in its own columns, and not all polynomials of the larger degree.

**Strictness.**  A sum is strictly (conditionally) positive definite as soon as one summand is.  A
product is if one factor is and the other has K(x, x) > 0 everywhere: the sum above vanishes only
if c∘v_k = 0 for all k, and Σ_k (c_i v_ki)² = c_i² L(x_i, x_i).  Gaussian × Linear is not, because
of the point x = 0.  Multiples with a > 0 inherit it; a = 0 is allowed, and gives the zero kernel,
under which only the free features are learned.

Chapter: book/foundations/common_kernels

References
----------
Schur, J. reine angew. Math. 140 (1911); Schölkopf & Smola, *Learning with Kernels* (2002),
section 13.1; Wendland, *Scattered Data Approximation* (2005), chapters 6 and 8.
"""

from typing import Any, ClassVar

import numpy as np

from kernelbook.kernels import checks
from kernelbook.kernels.base import Kernel
from kernelbook.kernels.parameters import plain_number

__all__ = ["Product", "Scaled", "Sum"]


def _kernel(name, value):
    if not isinstance(value, Kernel):
        raise TypeError(
            f"{name} must be a kernel; got {value!r}. "
            f"Wrap a function as FunctionKernel(function), and give a class its parentheses."
        )


def _factor_of_product(name, value):
    _kernel(name, value)
    if value.cpd_order > 0:
        raise ValueError(
            f"{name} = {value!r} is only conditionally positive definite (order "
            f"{value.cpd_order}), and a product with it would not be. Multiply kernels of order 0 "
            f"only; sums may have any order."
        )


class _Pair(Kernel):
    """Two kernels, combined entry by entry by `_combine`, a NumPy ufunc."""

    _has_gradient = True
    _rules: ClassVar[dict] = {"left": _kernel, "right": _kernel}

    def __init__(self, left, right):
        self.left = left
        self.right = right

    @property
    def cpd_order(self):
        return max(self.left.cpd_order, self.right.cpd_order)

    @property
    def accepts_sparse(self):
        return self.left.accepts_sparse and self.right.accepts_sparse

    @property
    def _thread_safe(self):
        return self.left._thread_safe and self.right._thread_safe

    @property
    def _proven(self):
        return self.left._proven and self.right._proven

    def _fill(self, X, Z):
        left, right = self.left._fill_seen(X, Z), self.right._fill_seen(X, Z)

        def fill(rows, cols, out):
            left(rows, cols, out)
            other = np.empty_like(out)
            right(rows, cols, other)
            self._combine(out, other, out=out)

        return fill

    def _diag(self, X):
        return self._combine(self.left._diag_seen(X), self.right._diag_seen(X))

    def tunable(self) -> dict[str, float]:
        """See `Differentiable.tunable`."""
        inner = {"left": self.left.tunable(), "right": self.right.tunable()}
        return {f"{k}__{name}": v for k, names in inner.items() for name, v in names.items()}

    def _fill_slopes(self, X, Z):
        left, right = self.left._fill_slopes_seen(X, Z), self.right._fill_slopes_seen(X, Z)
        count = len(self.left.tunable())

        def fill(rows, cols, out, slopes):
            other, first, second = np.empty_like(out), slopes[:count], slopes[count:]
            left(rows, cols, out, first)
            right(rows, cols, other, second)
            self._combine_slopes(out, other, first, second)
            self._combine(out, other, out=out)

        return fill


class Sum(_Pair):
    """left(x, z) + right(x, z); written left + right."""

    _proven = _Pair._proven
    _has_gradient = True
    _combine = np.add

    @property
    def strictly_pd(self) -> bool:
        return self.left.strictly_pd or self.right.strictly_pd

    @property
    def _positive_diag(self):
        return self.left._positive_diag or self.right._positive_diag

    def _matvec(self, X, Z, c):
        return self.left._matvec_seen(X, Z, c) + self.right._matvec_seen(X, Z, c)

    def required_polynomials(self) -> list[tuple[int, Any]]:
        """See `Kernel.required_polynomials`."""
        return self.left.required_polynomials() + self.right.required_polynomials()

    def _combine_slopes(self, left, right, left_slopes, right_slopes):
        pass

    def _gradient_x(self, X, Z):
        return self.left._gradient_x_seen(X, Z) + self.right._gradient_x_seen(X, Z)

    def _jet(self, X):
        return [a + b for a, b in zip(self.left._jet_seen(X), self.right._jet_seen(X), strict=True)]

    def __repr__(self):
        return f"{self.left!r} + {_bracketed(self.right, Sum)}"


class Product(_Pair):
    """left(x, z) · right(x, z); written left * right.  Both must be of order 0."""

    _proven = _Pair._proven
    _has_gradient = True
    _rules: ClassVar[dict] = {"left": _factor_of_product, "right": _factor_of_product}
    _combine = np.multiply

    @property
    def strictly_pd(self) -> bool:
        left, right = self.left, self.right
        return (left.strictly_pd and right._positive_diag) or (
            right.strictly_pd and left._positive_diag
        )

    @property
    def _positive_diag(self):
        return self.left._positive_diag and self.right._positive_diag

    def _fill(self, X, Z):
        for name in ("left", "right"):  # an order may have changed inside a factor
            _factor_of_product(name, getattr(self, name))
        return super()._fill(X, Z)

    def _combine_slopes(self, left, right, left_slopes, right_slopes):
        left_slopes *= right
        right_slopes *= left

    def _gradient_x(self, X, Z):
        K, L = (np.empty((len(X), len(Z))) for _ in range(2))
        for matrix, kernel in ((K, self.left), (L, self.right)):
            kernel._fill_seen(X, Z)(slice(0, len(X)), slice(0, len(Z)), matrix)
        return self.left._gradient_x_seen(X, Z) * L + K * self.right._gradient_x_seen(X, Z)

    def _jet(self, X):
        (k, dk, ddk), (l, dl, ddl) = self.left._jet_seen(X), self.right._jet_seen(X)
        return k * l, dk * l + k * dl, ddk * l + 2.0 * dk * dl + k * ddl

    def __repr__(self):
        return f"{_bracketed(self.left, Sum)} * {_bracketed(self.right, (_Pair, Scaled))}"


class Scaled(Kernel):
    """factor · kernel(x, z), factor ≥ 0; written factor * kernel."""

    _has_gradient = True
    _rules: ClassVar[dict] = {"factor": checks.non_negative, "kernel": _kernel}

    def __init__(self, factor: float, kernel: Kernel) -> None:
        self.factor = factor
        self.kernel = kernel

    @property
    def cpd_order(self) -> int:
        return self.kernel.cpd_order

    @property
    def strictly_pd(self) -> bool:
        return bool(self.factor > 0) and self.kernel.strictly_pd

    @property
    def accepts_sparse(self) -> bool:
        return self.kernel.accepts_sparse

    def far_origin(self, X: Any, P: np.ndarray) -> np.ndarray | None:
        return self.kernel.far_origin(X, P) if type(self) is Scaled else None

    @property
    def _positive_diag(self):
        return bool(self.factor > 0) and self.kernel._positive_diag

    @property
    def _thread_safe(self):
        return self.kernel._thread_safe

    @property
    def _proven(self):
        return self.kernel._proven

    def _fill(self, X, Z):
        fill_kernel = self.kernel._fill_seen(X, Z)
        factor = float(self.factor)

        def fill(rows, cols, out):
            fill_kernel(rows, cols, out)
            out *= factor

        return fill

    def _diag(self, X):
        return float(self.factor) * self.kernel._diag_seen(X)

    def _matvec(self, X, Z, c):
        return float(self.factor) * self.kernel._matvec_seen(X, Z, c)

    def required_polynomials(self) -> list[tuple[int, Any]]:
        """See `Kernel.required_polynomials`."""
        return self.kernel.required_polynomials()

    def tunable(self) -> dict[str, float]:
        """See `Differentiable.tunable`; a factor of zero has no logarithm, and stays."""
        inner = {f"kernel__{name}": value for name, value in self.kernel.tunable().items()}
        return ({"factor": float(self.factor)} if self.factor > 0 else {}) | inner

    def _fill_slopes(self, X, Z):
        fill_kernel = self.kernel._fill_slopes_seen(X, Z)
        factor, own = float(self.factor), int(self.factor > 0)

        def fill(rows, cols, out, slopes):
            fill_kernel(rows, cols, out, slopes[own:])
            slopes[own:] *= factor
            out *= factor
            slopes[:own] = out

        return fill

    def _gradient_x(self, X, Z):
        return float(self.factor) * self.kernel._gradient_x_seen(X, Z)

    def _jet(self, X):
        return [float(self.factor) * part for part in self.kernel._jet_seen(X)]

    def __repr__(self):
        return f"{plain_number(self.factor)!r} * {_bracketed(self.kernel, (_Pair, Scaled))}"


def _bracketed(kernel, composites):
    return f"({kernel!r})" if isinstance(kernel, composites) else repr(kernel)

"""Derivatives of kernels: in the logarithms of their parameters, and in x.

**Parameters.**  Widths, weights, periods and offsets are positive, and what matters is their ratio:
twice as wide, half as wide.  So they are differentiated, and searched for, on the log scale, where
they have no bounds and no units: ∂K/∂log θ = θ·∂K/∂θ.  `tunable` names them, with their values; a
kernel inside another is reached as `left__width`, and one entry of a list as `width[1]`.

A likelihood needs tr(W ∂K/∂log θ) for every θ and one symmetric W, but none of the m×m matrices
∂K/∂log θ.  `gradient_traces` forms them tile by tile, multiplies and forgets.

**In x.**  f = Σ c_j K(·, z_j) has the derivatives Σ c_j ∂K(x, z_j)/∂x_k: `gradient_x`.  Under the
Gaussian process of covariance K they have the prior variance ∂²K(x, z)/∂x_k∂z_k at z = x, which is
infinite where the process is not differentiable: `gradient_variance`.

To give a kernel of one's own gradients, set `_has_gradient = True`, name its positive parameters in
`_tunable`, and supply the hooks below.  They get the selected columns.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self

import numpy as np

from kernelbook.kernels.columns import as_tuple, frozen
from kernelbook.numeric.threads import parallel_sum
from kernelbook.numeric.tiles import TILE, slices

__all__ = ["Differentiable"]


class Differentiable:
    """What a kernel knows of its derivatives."""

    _has_gradient = False  # a subclass starts without: it may be another function
    _tunable: Any = ()  # names of positive parameters

    # ---------------------------------------------------------------- what a kernel supplies

    def _fill_slopes(self, X, Z):
        """fill(rows, cols, out, slopes): K in `out`, and ∂K/∂log θ_k in slopes[k]."""
        return _without_slopes(self, X, Z)

    def _gradient_x(self, X, Z):
        """∂K(x_i, z_j)/∂x_k as an array (d, m, n)."""
        raise NotImplementedError

    def _jet(self, X):
        """At z = x: K, ∂K/∂x_k and ∂²K/∂x_k∂z_k, of shapes (n,), (d, n), (d, n)."""
        raise NotImplementedError

    def _require_gradient(self):
        if not self._has_gradient:
            raise NotImplementedError(
                f"{self!r} has no known derivative: use one of kernelbook.kernels, or supply what "
                f"kernelbook.kernels.gradients asks for."
            )

    # ---------------------------------------------------------------------------- parameters

    def tunable(self) -> dict[str, float]:
        """The positive parameters, by name.

        Examples
        --------
        >>> from kernelbook import Gaussian, Matern
        >>> (Gaussian([1.0, 3.0]) + 0.5 * Matern(2.0)).tunable()
        {'left__width[0]': 1.0, 'left__width[1]': 3.0, 'right__factor': 0.5, 'right__kernel__width': 2.0}
        """  # noqa: E501
        found: dict[str, float] = {}
        if self._has_gradient:
            for name in self._tunable:
                value = getattr(self, name)
                if isinstance(value, tuple):
                    found |= {f"{name}[{k}]": float(v) for k, v in enumerate(value)}
                else:
                    found[name] = float(value)
        return found

    def tuned(self, values: Mapping[str, float]) -> Self:
        """A copy with other values of the parameters that `tunable` names.

        Examples
        --------
        >>> from kernelbook import Gaussian
        >>> Gaussian([1.0, 3.0]).tuned({"width[1]": 7.0})
        Gaussian(width=(1.0, 7.0))
        """
        kernel: Any = self.copy()  # type: ignore[attr-defined]
        known = kernel.tunable()
        if not isinstance(values, Mapping):
            raise TypeError(f"values={values!r:.60} must be a dict from names to numbers.")
        for name, value in values.items():
            if name not in known:
                raise ValueError(
                    f"values={dict(values)!r:.80}: {name!r} is not a positive parameter of "
                    f"{self!r}; use those: {list(known)}."
                )
            *path, last = name.split("__")
            inner = kernel
            for step in path:
                inner = getattr(inner, step)
            plain, listed, index = last.partition("[")
            new = float(value)
            if listed:
                entries = list(getattr(inner, plain))
                entries[int(index[:-1])] = new
                setattr(inner, plain, frozen(entries))
            else:
                setattr(inner, plain, new)
        return kernel

    # ---------------------------------------------------------------------------- derivatives

    def gram_gradient(self, X: Any, Z: Any = None) -> dict[str, np.ndarray]:
        """The matrices ∂K(x_i, z_j)/∂log θ, by the names of `tunable`.

        Parameters
        ----------
        X : array-like of shape (m, d)
        Z : array-like of shape (n, d), or None for X

        Examples
        --------
        >>> from kernelbook import Gaussian
        >>> Gaussian(2.0).gram_gradient([[0.0]], [[2.0]])["width"].round(4)
        array([[0.7358]])
        """
        X, Z = self._rows(X, Z)  # type: ignore[attr-defined]
        names = list(self.tunable())
        slopes = np.empty((len(names), X.shape[0], Z.shape[0]))
        fill = self._fill_slopes_seen(X, Z)
        for rows in slices(0, X.shape[0], TILE):
            for cols in slices(0, Z.shape[0], TILE):
                tile, part = _room(len(names), rows, cols)
                with np.errstate(all="ignore"):
                    fill(rows, cols, tile, part)
                slopes[:, rows, cols] = part
        return dict(zip(names, slopes, strict=True))

    def gradient_traces(
        self, X: Any, weights: Callable[[slice, slice], np.ndarray]
    ) -> dict[str, float]:
        """tr(W ∂K/∂log θ) for the Gram matrix K of X, by the names of `tunable`.

        Parameters
        ----------
        X : array-like of shape (m, d)
        weights : callable
            weights(rows, cols) is a tile of the symmetric m×m matrix W, on or above its diagonal.
        """
        X, _ = self._rows(X)  # type: ignore[attr-defined]
        m, names = X.shape[0], list(self.tunable())
        if not names:
            return {}
        fill = self._fill_slopes_seen(X, X)

        def panel(total, rows):
            for cols in slices(rows.start, m, TILE):
                tile, slopes = _room(len(names), rows, cols)
                with np.errstate(all="ignore"):
                    fill(rows, cols, tile, slopes)
                w = np.ascontiguousarray(weights(rows, cols))
                twice = 1.0 if rows.start == cols.start else 2.0
                total += twice * (slopes.reshape(len(names), -1) @ w.ravel())

        def start():
            return np.zeros(len(names))

        parallel = self._thread_safe  # type: ignore[attr-defined]
        total = parallel_sum(panel, slices(0, m, TILE), start, parallel=parallel)
        return dict(zip(names, total.tolist(), strict=True))

    def gradient_x(self, X: Any, Z: Any) -> np.ndarray:
        """∂K(x_i, z_j)/∂x_k, an array of shape (d, m, n); 0 where x_i = z_j is a kink.

        Parameters
        ----------
        X : array-like of shape (m, d)
        Z : array-like of shape (n, d)

        Examples
        --------
        >>> from kernelbook import Gaussian
        >>> Gaussian(2.0).gradient_x([[1.0]], [[0.0]]).round(4)
        array([[[-0.3894]]])
        """
        X, Z = self._rows(X, Z)  # type: ignore[attr-defined]
        with np.errstate(all="ignore"):
            return self._gradient_x_seen(X, Z)

    def gradient_variance(self, X: Any) -> np.ndarray:
        """∂²K(x, z)/∂x_k∂z_k at z = x, of shape (d, m): the prior variance of ∂f/∂x_k.

        Infinite where the Gaussian process of this kernel has no derivative.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Examples
        --------
        >>> from kernelbook import Gaussian, Laplacian
        >>> Gaussian(2.0).gradient_variance([[1.0]]), Laplacian().gradient_variance([[1.0]])
        (array([[0.5]]), array([[inf]]))
        """
        X, _ = self._rows(X)  # type: ignore[attr-defined]
        with np.errstate(all="ignore"):
            return np.nan_to_num(self._jet_seen(X)[2], nan=np.inf, posinf=np.inf)

    # --------------------------------------------------- the hooks, of the columns that are seen

    def _fill_slopes_seen(self, X, Z):
        part = self._seen(X)
        fill_slopes = self._fill_slopes if self._has_gradient else partial(_without_slopes, self)
        return fill_slopes(part, part if X is Z else self._seen(Z))

    def _gradient_x_seen(self, X, Z):
        self._require_gradient()
        return self._spread(self._gradient_x(self._seen(X), self._seen(Z)), X)

    def _jet_seen(self, X):
        self._require_gradient()
        value, first, mixed = self._jet(self._seen(X))
        return value, self._spread(first, X), self._spread(mixed, X)

    def _spread(self, gradient, X):
        """A derivative in the selected columns, as one in all of them."""
        if self.columns is None:
            return gradient
        whole = np.zeros((X.shape[1], *gradient.shape[1:]))
        whole[list(as_tuple(self.columns))] = gradient
        return whole


def _without_slopes(kernel, X, Z):
    """The fill of a kernel without tunable parameters."""
    fill = kernel._fill(X, Z)

    def fill_slopes(rows, cols, out, slopes):
        fill(rows, cols, out)

    return fill_slopes


def _room(count, rows, cols):
    shape = rows.stop - rows.start, cols.stop - cols.start
    return np.empty(shape), np.empty((count, *shape))

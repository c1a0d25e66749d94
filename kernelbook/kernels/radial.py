"""Kernels of the distance: K(x, z) = φ(r), r = ‖x − z‖; first of all the Gaussian.

`Radial` is what they share; `kernels.mixtures` has more that are positive definite,
`kernels.splines` those that are so conditionally.

**A width for each column**, `width=[1.0, 3.0]`, divides each column by its own: the distance is
r² = Σ (x_k − z_k)²/w_k² (automatic relevance determination, when the widths are learned).  Dividing
a number rounds it in its last digit; differences lose no more than that digit was worth.

**Derivatives.**  One function of the distance gives them all, σ(s) = −s φ'(s) with s = r/width:
∂K/∂log width = σ, of one width among several σ·(x_k − z_k)²/(w_k s)², and in x the vector
−σ·(x − z)/r².  All are finite, and at r = 0 they are 0.

Chapter: book/foundations/common_kernels

References
----------
Schoenberg, Annals of Mathematics 39 (1938); Wendland, *Scattered Data Approximation* (2005),
chapters 7 and 8.
"""

from collections.abc import Sequence
from functools import partial
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from kernelbook.kernels import checks
from kernelbook.kernels.base import Kernel
from kernelbook.numeric.pairwise import profiles
from kernelbook.numeric.pairwise.distances import DIRECT, distances
from kernelbook.numeric.pairwise.gaussian_sums import gram_sums, sums
from kernelbook.numeric.tiles import applied

__all__ = ["Gaussian", "Radial"]

_LARGEST = 2.0**1000  # above, differences of two numbers might overflow
_COARSE = 1e-5  # what an exponent may be wrong by where a matrix is only searched with


class Radial(Kernel):
    """φ(‖x − z‖), where `_profile` turns a tile of distances into φ, and `_at_zero` is φ(0)."""

    _positive_diag = True
    _at_zero = 1.0
    _curvature = np.inf  # σ(s)/s² at s = 0: what makes ∂f/∂x have a variance
    width: float | Sequence[float] = 1.0  # of kernels that have none

    @property
    def strictly_pd(self) -> bool:
        """As for `Kernel`; only of all columns, since two rows may agree in some."""
        return self.columns is None

    @property
    def _scale(self):
        """The width of distances between `_coordinates`."""
        return 1.0 if isinstance(self.width, tuple) else float(self.width)

    def _widths(self, X):
        return checks.one_for_each_column("width", self.width, X.shape[1], self)

    def _coordinates(self, X):
        """The points whose distances count."""
        return X / self._widths(X) if isinstance(self.width, tuple) else X

    def _value_and_slope(self, r, slope):
        """Turn distances into φ, and write σ, the derivative in log width."""
        raise NotImplementedError

    def _both_coordinates(self, X, Z):
        """Those of X and Z; one array where both are one."""
        U = self._coordinates(X)
        return U, (U if X is Z else self._coordinates(Z))

    def _fill_slopes(self, X, Z):
        U, V = self._both_coordinates(X, Z)
        fill_distances = self._distances(U, V)

        def fill(rows, cols, out, slopes):
            fill_distances(rows, cols, out)
            if not self._tunable:
                self._profile(out)
            elif not isinstance(self.width, tuple):
                self._value_and_slope(out, slopes[0])
            else:
                slope, r = np.empty_like(out), np.where(out > 0, out, 1.0)
                self._value_and_slope(out, slope)
                for k, to in enumerate(slopes[: U.shape[1]]):
                    np.subtract(U[rows, k, None], V[None, cols, k], out=to)
                    to /= r
                    to *= to
                    to *= slope

        return fill

    def _gradient_x(self, X, Z):
        U, V = self._coordinates(X), self._coordinates(Z)
        r, slope = np.empty((2, len(U), len(V)))
        self._distances(U, V)(slice(0, len(U)), slice(0, len(V)), r)
        away = np.where(r > 0, r, 1.0)
        self._value_and_slope(r, slope)
        slope /= away
        gradient = [-slope * ((u[:, None] - v) / away) for u, v in zip(U.T, V.T, strict=True)]
        return np.array(gradient) / np.reshape(self._widths_of_coordinates(X), (-1, 1, 1))

    def _widths_of_coordinates(self, X):
        return self._widths(X) if isinstance(self.width, tuple) else 1.0

    def _jet(self, X):
        n, d = X.shape
        widths = np.broadcast_to(self._widths(X), d)[:, None]
        mixed = np.broadcast_to(self._curvature / widths**2, (d, n))
        return np.full(n, self._at_zero), np.zeros((d, n)), mixed

    def _fill(self, X, Z):
        return applied(self._profile, self._distances(*self._both_coordinates(X, Z)))

    def _distances(self, X, Z):
        self._refuse_overflow(X, Z)
        return distances(X, Z)

    @staticmethod
    def _refuse_overflow(X, Z):
        for name, rows in (("X", X),) if X is Z else (("X", X), ("Z", Z)):
            if rows.size and max(rows.max(), -rows.min()) > _LARGEST:
                raise ValueError(
                    f"{name} has entries up to {np.abs(rows).max():.3g}, and their distances may "
                    f"overflow. Scale the columns (StandardScaler)."
                )

    def _diag(self, X):
        return np.full(X.shape[0], self._at_zero)


class Gaussian(Radial):
    """K(x, z) = exp(−‖x−z‖²/width²).

    scikit-learn's `gamma` is 1/width²; the Gaussian process `length_scale` is width/√2.

    Parameters
    ----------
    width : float, or a list with one for each column
    columns : int, str or list of those, optional
        The columns that the kernel sees; by default all.

    Examples
    --------
    >>> from kernelbook import Gaussian
    >>> k = Gaussian(width=2.0)
    >>> k([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    >>> k.set_params(width=1.0)
    Gaussian(width=1.0)
    """

    _proven = True
    _has_gradient = True
    _tunable: Any = ("width",)
    _rules: ClassVar[dict] = {"width": checks.widths}

    _called_elsewhere: ClassVar[dict] = Kernel._called_elsewhere | {
        "gamma": "exp(−gamma·‖x − z‖²) is written width=1/√gamma",
        "length_scale": "exp(−‖x − z‖²/(2·length_scale²)) is written width=√2·length_scale",
        "range": "exp(−‖x − z‖²/range²), gstat's Gau, is written width=range",
        "sigma": "exp(−‖x − z‖²/(2·sigma²)) is written width=√2·sigma",
        "lengthscale": "exp(−‖x − z‖²/(2·lengthscale²)) is written width=√2·lengthscale",
    }

    def __init__(self, width: float | Sequence[float] = 1.0, columns: Any = None) -> None:
        self.width = width
        self.columns = columns

    def _fill(self, X, Z):
        width = self._scale
        # Squares are enough, and faster, unless 1/width² itself leaves the floating-point range.
        ordinary = 2.0**-400 < width < 2.0**400
        if ordinary:
            profile = partial(profiles.exponential, rate=1.0 / width**2)
        else:
            profile = partial(profiles.gaussian, width=width)
        U, V = self._both_coordinates(X, Z)
        self._refuse_overflow(U, V)
        return applied(profile, distances(U, V, squared=ordinary))

    _curvature = 2.0

    def _value_and_slope(self, r, slope):
        r /= self._scale
        np.minimum(r, 100.0, out=r)  # exp(−10⁴) is 0, and 0 · ∞ would not be
        np.multiply(r, r, out=slope)
        r[...] = slope
        profiles.exponential(r, 1.0)
        slope *= 2.0
        slope *= r

    def _sums(self, X, Z, c):
        width, (U, V) = self._scale, self._both_coordinates(X, Z)
        own = type(self)._fill is Gaussian._fill  # a subclass may be another kernel
        if not own or U.shape[1] > DIRECT or not 2.0**-400 < width < 2.0**400:
            return None
        self._refuse_overflow(U, V)
        factor = -profiles.LOG2_E / width**2
        return gram_sums(U, factor, c) if U is V else sums(U, V, factor, c)

    def _exponents(self, X):
        """(Z, s) with log₂ K(x_i, x_j) = z_i·z_j + s_i + s_j, or None where that is inaccurate.

        z = (x − mean)·√(2 log₂e)/width and s = −½‖z‖².  The sum loses (d+4)·2⁻⁵²·max‖z‖², at most,
        to cancellation: it is for single precision, and data not too far apart for the width.
        """
        X = self._coordinates(X)
        with np.errstate(all="ignore"):
            Z = (X - X.mean(axis=0)) * (sqrt(2.0 * profiles.LOG2_E) / self._scale)
            s = -0.5 * np.einsum("ij,ij->i", Z, Z)
            lost = (X.shape[1] + 4) * 2.0**-52 * np.max(-s, initial=0.0)
        return (Z, s) if lost < 1e-9 else None  # a NaN is not less

    def _fill_single(self, X):
        """log₂ K by one matrix product a tile, rows being longer by two numbers.

        In few dimensions a product in double precision takes no longer.  In many, one in single
        takes half the time; its rounding errors, typically √d·2⁻²⁴·‖z‖², must not count.
        """
        factors = self._exponents(X)
        if factors is None:
            return super()._fill_single(X)
        Z, s = factors
        one = np.ones(len(Z))
        left, right = np.column_stack([Z, s, one]), np.vstack([Z.T, one, s])
        d = Z.shape[1]
        if d > 2 * DIRECT and sqrt(d) * 2.0**-24 * np.max(-2.0 * s, initial=0.0) < _COARSE:
            left, right = left.astype(np.float32), right.astype(np.float32)

            def fill(rows, cols, tile, out):
                np.matmul(left[rows], right[:, cols], out=out)
                profiles.exp2_of_singles(out)
        else:

            def fill(rows, cols, tile, out):
                np.matmul(left[rows], right[:, cols], out=tile)
                profiles.exp2_single(tile, out)

        return fill

"""Kernels of the distance that are conditionally positive definite.

Micchelli's theorem (1986): let ψ(t) = φ(√t); if (−1)^q ψ^(q) is completely monotone and not
constant, φ is strictly conditionally positive definite of order q in every dimension.  Hence

    (−1)^⌈b/2⌉ r^b           order ⌈b/2⌉      for b > 0 not an even integer,
    (−1)^(k+1) r^(2k) log r   order k + 1      for b = 2k,
    −√(1 + r²/width²)         order 1,

with the signs of SciPy's `RBFInterpolator`.  The first two are the *polyharmonic* splines: if b
and the dimension d are both odd, or both even, they are fundamental solutions of Δ^((b+d)/2), up to
a factor, and interpolation with them minimizes a bending energy.  They have no width: changing the
unit of length multiplies them and adds a polynomial, which the free features absorb.

Chapter: book/free/thin_plates

References
----------
Micchelli, Constructive Approximation 2 (1986); Wendland, *Scattered Data Approximation* (2005),
chapter 8.
"""

from collections.abc import Sequence
from math import ceil
from typing import Any, ClassVar

import numpy as np

from kernelbook.kernels import checks
from kernelbook.kernels.radial import Radial
from kernelbook.numeric.pairwise import profiles

__all__ = ["Multiquadric", "Polyharmonic", "ThinPlate"]


def _exponent(name, value):
    checks.positive(name, value)
    if value > 100:
        raise ValueError(
            f"{name} must be at most 100; got {value!r}. Order ⌈b/2⌉ needs all polynomials of "
            f"degree below it among the free features: choose a small {name}, such as 1, 2 or 3."
        )


class Polyharmonic(Radial):
    """K(x, z) = ± r^exponent, or ± r^exponent·log r for even exponents; r = ‖x−z‖.

    The sign is (−1)^⌈b/2⌉ for r^b and (−1)^(b/2+1) for r^b log r.  Some have names: 1 is SciPy's
    `linear`, −r; 2 the thin plate; 3 `cubic`; 5 `quintic`.  Conditionally positive definite of
    order ⌈b/2⌉, for even b of order b/2 + 1.

    Parameters
    ----------
    exponent : float
        0 < b ≤ 100.
    columns : int, str or list of those, optional
        The columns that the kernel sees; by default all.

    Examples
    --------
    >>> from kernelbook import Polyharmonic
    >>> k = Polyharmonic(3)
    >>> k([[0.0]], [[1.0], [2.0]])
    array([[1., 8.]])
    >>> k.cpd_order  # needs the constant and the coordinates among the features
    2
    """

    _proven = True
    _has_gradient = True
    _rules: ClassVar[dict] = {"exponent": _exponent}
    _positive_diag = False
    _at_zero = 0.0

    def __init__(self, exponent: float = 3, columns: Any = None) -> None:
        self.exponent = exponent
        self.columns = columns

    @property
    def _curvature(self):
        return 0.0 if self.exponent > 2 else np.inf

    def _value_and_slope(self, r, slope):
        exponent, sign = float(self.exponent), (-1.0) ** self.cpd_order
        np.power(r, exponent, out=slope)  # −r φ' is −b r^b, and −b r^b log r − r^b
        with_log = -sign * slope if self._even else 0.0
        self._profile(r)
        if self._even:
            np.multiply(-exponent, r, out=slope)
            slope += with_log
        else:
            slope *= -sign * exponent

    @property
    def _even(self):
        return self.exponent % 2 == 0

    @property
    def cpd_order(self) -> int:
        """⌈b/2⌉ for the exponent b, and b/2 + 1 where b is even; see `Kernel`."""
        half = float(self.exponent) / 2
        return int(half) + 1 if self._even else ceil(half)

    def _profile(self, r):
        exponent, sign = float(self.exponent), (-1.0) ** self.cpd_order
        if exponent.is_integer():
            profiles.polyharmonic(r, int(exponent), sign, self._even)
        else:
            np.power(r, exponent, out=r)
            r *= sign
            r += 0.0  # turns −0 into 0


class ThinPlate(Polyharmonic):
    """K(x, z) = r² log r, r = ‖x−z‖: the thin plate, conditionally positive definite of order 2.

    In the plane cᵀKc is, up to a constant factor, the bending energy of Σ c_i K(x_i, ·).

    Parameters
    ----------
    columns : int, str or list of those, optional
        The columns that the kernel sees; by default all.

    Examples
    --------
    >>> from kernelbook import GRLSRegressor, Polynomials, ThinPlate
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> plate = GRLSRegressor(ThinPlate(), Polynomials(1), reg=0.0).fit(X, [0.0, 1.0, 1.0, 2.0])
    >>> plate.predict([[0.5, 0.5]]).round(6)  # data on a plane: no bending
    array([1.])
    """

    _proven = True
    _has_gradient = True
    exponent = 2

    def __init__(self, columns: Any = None) -> None:
        self.columns = columns


class Multiquadric(Radial):
    """K(x, z) = −√(1 + ‖x−z‖²/width²), Hardy's multiquadric.

    Conditionally positive definite of order 1.  SciPy's `epsilon` is 1/width.

    Parameters
    ----------
    width : float, or a list with one for each column
    columns : int, str or list of those, optional
        The columns that the kernel sees; by default all.

    Examples
    --------
    >>> from kernelbook import Multiquadric
    >>> Multiquadric(width=1.0)([[0.0]], [[0.0], [1.0]]).round(4)
    array([[-1.    , -1.4142]])
    """

    _proven = True
    _has_gradient = True
    _tunable: Any = ("width",)
    _rules: ClassVar[dict] = {"width": checks.widths}
    _positive_diag = False
    _at_zero = -1.0
    _curvature = 1.0
    cpd_order = 1

    def __init__(self, width: float | Sequence[float] = 1.0, columns: Any = None) -> None:
        self.width = width
        self.columns = columns

    def _value_and_slope(self, r, slope):
        r /= self._scale
        np.hypot(1.0, r, out=slope)
        np.divide(r, slope, out=slope)
        slope *= r
        profiles.multiquadric(r, 1.0)

    def _profile(self, r):
        profiles.multiquadric(r, self._scale)

"""Mixtures of Gaussians: Laplacian, Matérn functions, rational quadratic.

A function of the distance is **positive definite** at every dimension, by Schoenberg (1938),
exactly if it mixes Gaussians, φ(r) = ∫ exp(−r²t) dμ(t) with μ ≥ 0: the Gaussian (one t), the
Laplacian exp(−r), the Matérn functions (gamma-distributed 1/t), the rational quadratic
(gamma-distributed t).  They are strictly positive definite unless μ sits at t = 0.

Chapter: book/foundations/common_kernels

References
----------
Schoenberg, Annals of Mathematics 39 (1938); Rasmussen & Williams, *Gaussian Processes for Machine
Learning* (2006), section 4.2.
"""

from collections.abc import Sequence
from math import sqrt
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import special

from kernelbook.kernels import checks
from kernelbook.kernels.radial import Gaussian, Radial
from kernelbook.numeric.pairwise import profiles

__all__ = ["Laplacian", "Matern", "RationalQuadratic"]


class Laplacian(Radial):
    """K(x, z) = exp(−‖x−z‖/width), with the Euclidean norm.

    scikit-learn's `laplacian_kernel` takes the ℓ¹ norm Σ|x_k − z_k| instead; the two agree for one
    feature.  This one does not change when the data are rotated, and is `Matern(width, nu=0.5)`.

    Parameters
    ----------
    width : float, or a list with one for each column
    columns : int, str or list of those, optional
        The columns that the kernel sees; by default all.

    Examples
    --------
    >>> from kernelbook import Laplacian
    >>> Laplacian(width=2.0)([[0.0]], [[2.0], [4.0]]).round(4)
    array([[0.3679, 0.1353]])
    """

    _proven = True
    _has_gradient = True
    _tunable: Any = ("width",)
    _rules: ClassVar[dict] = {"width": checks.widths}

    _called_elsewhere: ClassVar[dict] = Radial._called_elsewhere | {
        "gamma": "exp(−gamma·‖x − z‖) is written width=1/gamma",
        "length_scale": "it is called width here, width=length_scale",
        "lengthscale": "it is called width here, width=lengthscale",
    }

    def __init__(self, width: float | Sequence[float] = 1.0, columns: Any = None) -> None:
        self.width = width
        self.columns = columns

    def _profile(self, r):
        profiles.exponential(r, 1.0 / self._scale)

    def _value_and_slope(self, r, slope):
        r /= self._scale
        _matern_slope(r, slope, 0.5)


_LARGEST_NU = 50.0


def _smoothness(name, value):
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a number; got {value!r} of type {type(value).__name__}.")
    if not (0 < value <= _LARGEST_NU or value == np.inf):
        raise ValueError(
            f"{name} must be positive, and at most {_LARGEST_NU:g} or infinite; got {value!r}. "
            f"Usual values are 0.5, 1.5, 2.5; {name}=float('inf') is the Gaussian."
        )


class Matern(Radial):
    """K(x, z) = 2^(1−ν)/Γ(ν) · s^ν K_ν(s),  s = √(2ν)·‖x−z‖/width,  with Bessel's function K_ν.

    The functions of its Hilbert space have ν + d/2 derivatives in L₂.  With t = ‖x−z‖/width:

    ======  ==============================
    ν       K
    ======  ==============================
    1/2     exp(−t), the Laplacian
    3/2     (1 + √3 t) exp(−√3 t)
    5/2     (1 + √5 t + 5t²/3) exp(−√5 t)
    ∞       exp(−t²/2), which is `Gaussian(√2·width)`
    ======  ==============================

    These four are fast; other ν evaluate Bessel functions.  `width` is scikit-learn's
    `length_scale`.

    Parameters
    ----------
    width : float, or a list with one for each column
    nu : float
        Positive, and at most 50 or infinite.
    columns : int, str or list of those, optional
        The columns that the kernel sees; by default all.

    Examples
    --------
    >>> from kernelbook import Laplacian, Matern
    >>> Matern(width=2.0, nu=0.5)([[0.0]], [[1.0]]) == Laplacian(2.0)([[0.0]], [[1.0]])
    array([[ True]])
    >>> Matern(width=2.0, nu=1.5)([[0.0]], [[1.0]]).round(4)
    array([[0.7849]])
    """

    _proven = True
    _has_gradient = True
    _tunable: Any = ("width",)
    _rules: ClassVar[dict] = {"width": checks.widths, "nu": _smoothness}

    _called_elsewhere: ClassVar[dict] = Radial._called_elsewhere | {
        "length_scale": "it is called width here, width=length_scale",
        "lengthscale": "it is called width here, width=lengthscale",
        "range": "gstat's range is written width=√(2·nu)·range",
    }

    def __init__(
        self, width: float | Sequence[float] = 1.0, nu: float = 1.5, columns: Any = None
    ) -> None:
        self.width = width
        self.nu = nu
        self.columns = columns

    @property
    def _curvature(self):
        nu = float(self.nu)
        return nu / (nu - 1.0) if 1.0 < nu < np.inf else np.inf if nu <= 1.0 else 1.0

    def _fill(self, X, Z):
        if self.nu == np.inf and sqrt(2.0) * self._scale < np.inf:
            return Gaussian(sqrt(2.0) * self._scale)._fill(*self._both_coordinates(X, Z))
        return super()._fill(X, Z)

    def _value_and_slope(self, r, slope):
        r /= self._scale
        if self.nu == np.inf:
            r /= sqrt(2.0)
            Gaussian()._value_and_slope(r, slope)
        else:
            _matern_slope(r, slope, float(self.nu))

    def _profile(self, r):
        nu, width = float(self.nu), self._scale
        rate = sqrt(2.0 * nu) / width
        if nu == np.inf:  # only for widths so large that √2·width overflows
            r /= sqrt(2.0)
            profiles.gaussian(r, width)
        elif nu == 0.5:
            profiles.exponential(r, 1.0 / width)
        elif nu == 1.5:
            profiles.matern(r, rate, 1.0, 0.0)
        elif nu == 2.5:
            profiles.matern(r, rate, 1.0, 1.0 / 3.0)
        else:
            r *= rate
            r[...] = _bessel_profile(r, nu)


def _matern_slope(t, slope, nu):
    """Turn t = r/width into φ_ν, and write σ_ν = s^(ν+1) K_(ν−1)(s)·2^(1−ν)/Γ(ν), s = √(2ν)·t.

    For ν > 1 this is s²/(2ν − 2)·φ_(ν−1)(s), and for ν < 1, as K_(ν−1) = K_(1−ν), a multiple of
    s^(2ν) φ_(1−ν)(s).
    """
    t *= sqrt(2.0 * nu)
    np.minimum(t, 2000.0, out=t)  # 2000^50 exp(−2000) is 0, and 0 · ∞ would not be
    if nu in (0.5, 1.5, 2.5):
        decay = t.copy()
        profiles.exponential(decay, 1.0)
        if nu == 0.5:
            value, factor = 1.0, t
        elif nu == 1.5:
            value, factor = 1.0 + t, t * t
        else:
            value, factor = 1.0 + t * (1.0 + t / 3.0), t * t * (1.0 + t) / 3.0
        np.multiply(factor, decay, out=slope)
        np.multiply(value, decay, out=t)
        return
    if nu > 1.0:
        slope[...] = t**2 / (2.0 * nu - 2.0) * _bessel_profile(t, nu - 1.0)
    elif nu == 1.0:
        slope[...] = np.where(t > 0, t**2 * special.k0(t), 0.0)
    else:
        ratio = 2.0 ** (1.0 - 2.0 * nu) * special.gamma(1.0 - nu) / special.gamma(nu)
        slope[...] = ratio * t ** (2.0 * nu) * _bessel_profile(t, 1.0 - nu)
    t[...] = _bessel_profile(t, nu)


def _bessel_profile(s, nu):
    """2^(1−ν)/Γ(ν) · s^ν K_ν(s) for 0 < ν ≤ 50, where the plain formula gives 0·∞ at both ends."""
    far = np.minimum(s, 2000.0)  # 2000^50 exp(−2000) is 0 in floating point
    near = _near_zero(far, nu) if nu > 2 else 1.0
    bessel = special.kve(nu, far)  # exp(s) K_ν(s)
    value = 2.0 ** (1.0 - nu) / special.gamma(nu) * far**nu * bessel * np.exp(-far)
    return np.where(np.isfinite(bessel), np.minimum(value, 1.0), near)


def _near_zero(s, nu):
    """The start of the series in s².  K_ν overflows only where the next term is below 1e-16."""
    return 1.0 - s**2 / (4.0 * (nu - 1.0)) + s**4 / (32.0 * (nu - 1.0) * (nu - 2.0))


class RationalQuadratic(Radial):
    """K(x, z) = (1 + ‖x−z‖²/(alpha·width²))^(−alpha): a mixture of Gaussians of many widths.

    Large `alpha` give `Gaussian(width)`; small ones let distant points matter.  scikit-learn's
    `length_scale` is width/√2.

    Parameters
    ----------
    width : float, or a list with one for each column
    alpha : float
    columns : int, str or list of those, optional
        The columns that the kernel sees; by default all.

    Examples
    --------
    >>> from kernelbook import RationalQuadratic
    >>> RationalQuadratic(width=2.0, alpha=1.0)([[0.0]], [[2.0], [4.0]])
    array([[0.5, 0.2]])
    """

    _proven = True
    _has_gradient = True
    _tunable = ("width", "alpha")
    _rules: ClassVar[dict] = {"width": checks.widths, "alpha": checks.positive}
    _curvature = 2.0

    _called_elsewhere: ClassVar[dict] = Radial._called_elsewhere | {
        "length_scale": "it is written width=√2·length_scale",
        "lengthscale": "it is written width=√2·lengthscale",
    }

    def __init__(
        self,
        width: float | Sequence[float] = 1.0,
        alpha: float = 1.0,
        columns: Any = None,
    ) -> None:
        self.width = width
        self.alpha = alpha
        self.columns = columns

    def _growth(self, r):
        """log(1 + s²/α) at s = r/width; where s² would overflow, 2 log s − log α."""
        s = r / self._scale
        alpha = float(self.alpha)
        near = np.log1p(np.minimum(s, 1e100) ** 2 / alpha)
        return np.where(s < 1e100, near, 2.0 * np.log(s) - np.log(alpha))

    def _profile(self, r):
        r[...] = np.exp(-float(self.alpha) * self._growth(r))

    def _value_and_slope(self, r, slope):
        growth = self._growth(r)
        np.exp(-float(self.alpha) * growth, out=r)
        np.multiply(-2.0 * float(self.alpha) * np.expm1(-growth), r, out=slope)

    def _fill_slopes(self, X, Z):
        fill_distances = self._distances(*self._both_coordinates(X, Z))
        fill_widths = super()._fill_slopes(X, Z)

        def fill(rows, cols, out, slopes):
            fill_distances(rows, cols, out)
            growth, alpha = self._growth(out), float(self.alpha)
            fill_widths(rows, cols, out, slopes[:-1])
            slopes[-1] = alpha * out * (-np.expm1(-growth) - growth)

        return fill

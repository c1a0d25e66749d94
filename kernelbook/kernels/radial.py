"""Kernels of the distance: K(x, z) = φ(r), r = ‖x − z‖.

**Positive definite** at every dimension: by Schoenberg (1938) exactly the mixtures of Gaussians,
φ(r) = ∫ exp(−r²t) dμ(t) with μ ≥ 0: the Gaussian (one t), the Laplacian exp(−r), the Matérn
functions (gamma-distributed 1/t), the rational quadratic (gamma-distributed t).
They are strictly positive definite unless μ sits at t = 0.

**Conditionally positive definite** by Micchelli's theorem (1986): let ψ(t) = φ(√t); if (−1)^q ψ^(q)
is completely monotone and not constant, φ is strictly conditionally positive definite of order q
in every dimension.  Hence

    (−1)^⌈b/2⌉ r^b           order ⌈b/2⌉      for b > 0 not an even integer,
    (−1)^(k+1) r^(2k) log r   order k + 1      for b = 2k,
    −√(1 + r²/width²)         order 1,

with the signs of SciPy's `RBFInterpolator`.  The first two are the *polyharmonic* splines: if b
and the dimension d are both odd, or both even, they are fundamental solutions of Δ^((b+d)/2), up to
a factor, and interpolation with them minimizes a bending energy.  They have no width: changing the
unit of length multiplies them and adds a polynomial, which the free features absorb.

**A width for each column**, `width=[1.0, 3.0]`, divides each column by its own: the distance is
r² = Σ (x_k − z_k)²/w_k² (automatic relevance determination, when the widths are learned).  Dividing
a number rounds it in its last digit; differences lose no more than that digit was worth.

**Derivatives.**  One function of the distance gives them all, σ(s) = −s φ'(s) with s = r/width:
∂K/∂log width = σ, of one width among several σ·(x_k − z_k)²/(w_k s)², and in x the vector
−σ·(x − z)/r².  All are finite, and at r = 0 they are 0.

References
----------
Schoenberg, Annals of Mathematics 39 (1938); Micchelli, Constructive Approximation 2 (1986);
Wendland, *Scattered Data Approximation* (2005), chapters 7 and 8; Rasmussen & Williams,
*Gaussian Processes for Machine Learning* (2006), section 4.2.
"""

from collections.abc import Sequence
from math import ceil, sqrt
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import special

from kernelbook.kernels import checks, gaussian_sums, profiles
from kernelbook.kernels.base import Kernel
from kernelbook.numeric.distances import DIRECT, distances

__all__ = [
    "Gaussian",
    "Laplacian",
    "Matern",
    "Multiquadric",
    "Polyharmonic",
    "RationalQuadratic",
    "ThinPlate",
]

_LARGEST = 2.0**1000  # above, differences of two numbers might overflow
_COARSE = 1e-5  # what an exponent may be wrong by where a matrix is only searched with


class _Radial(Kernel):
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
        return X / self._widths(X) if isinstance(self.width, tuple) else X

    def _value_and_slope(self, r, slope):
        """Turn distances into φ, and write σ, the derivative in log width."""
        raise NotImplementedError

    def _fill_slopes(self, X, Z):
        U = self._coordinates(X)
        V = U if X is Z else self._coordinates(Z)
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
        fill_distances = self._distances(X, Z)

        def fill(rows, cols, out):
            fill_distances(rows, cols, out)
            self._profile(out)

        return fill

    @staticmethod
    def _distances(X, Z, squared=False):
        for name, rows in (("X", X),) if X is Z else (("X", X), ("Z", Z)):
            if rows.size and max(rows.max(), -rows.min()) > _LARGEST:
                raise ValueError(
                    f"{name} has entries up to {np.abs(rows).max():.3g}, and their distances may "
                    f"overflow. Scale the columns (StandardScaler)."
                )
        return distances(X, Z, squared=squared)

    def _diag(self, X):
        return np.full(X.shape[0], self._at_zero)


class Gaussian(_Radial):
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

    def __init__(self, width: float | Sequence[float] = 1.0, columns: Any = None) -> None:
        self.width = width
        self.columns = columns

    def _fill(self, X, Z):
        width = self._scale
        # Squares are enough, and faster, unless 1/width² itself leaves the floating-point range.
        ordinary = 2.0**-400 < width < 2.0**400
        fill_distances = self._distances(X, Z, squared=ordinary)

        def fill(rows, cols, out):
            fill_distances(rows, cols, out)
            if ordinary:
                profiles.exponential(out, 1.0 / width**2)
            else:
                profiles.gaussian(out, width)

        return fill

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
        width = self._scale
        own = type(self)._fill is Gaussian._fill  # a subclass may be another kernel
        if not own or X.shape[1] > DIRECT or not 2.0**-400 < width < 2.0**400:
            return None
        self._distances(X, Z)  # refuses what is too large
        factor = -profiles.LOG2_E / width**2
        if X is Z:
            return gaussian_sums.gram_sums(X, factor, c)
        return gaussian_sums.sums(X, Z, factor, c)

    def _exponents(self, X):
        """(Z, s) with log₂ K(x_i, x_j) = z_i·z_j + s_i + s_j, or None where that is inaccurate.

        z = (x − mean)·√(2 log₂e)/width and s = −½‖z‖².  The sum loses (d+4)·2⁻⁵²·max‖z‖², at most,
        to cancellation: it is for single precision, and data not too far apart for the width.
        """
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
        d = X.shape[1]
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


class Laplacian(_Radial):
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


class Matern(_Radial):
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
            return Gaussian(sqrt(2.0) * self._scale)._fill(X, Z)
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


class RationalQuadratic(_Radial):
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
        U = self._coordinates(X)
        V = U if X is Z else self._coordinates(Z)
        fill_distances, fill_widths = self._distances(U, V), super()._fill_slopes(X, Z)

        def fill(rows, cols, out, slopes):
            fill_distances(rows, cols, out)
            growth, alpha = self._growth(out), float(self.alpha)
            fill_widths(rows, cols, out, slopes[:-1])
            slopes[-1] = alpha * out * (-np.expm1(-growth) - growth)

        return fill


def _exponent(name, value):
    checks.positive(name, value)
    if value > 100:
        raise ValueError(
            f"{name} must be at most 100; got {value!r}. Order ⌈b/2⌉ needs all polynomials of "
            f"degree below it among the free features: choose a small {name}, such as 1, 2 or 3."
        )


class Polyharmonic(_Radial):
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


class Multiquadric(_Radial):
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

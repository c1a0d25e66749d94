"""An equispaced Fourier basis for a stationary kernel, and a bound on what it leaves out.

For k(x, z) = κ(‖x − z‖) with Fourier transform k̂(ξ) = ∫ κ(‖t‖) e^(−2πi⟨ξ,t⟩) dt ≥ 0, take the
trapezoidal rule of spacing h_k = 1/p_k in frequency, and of its terms those with ‖jh‖ ≤ R:

    k̃(x, z) = Σ_j D_j² e^(2πi⟨jh, x − z⟩),      D_j² = h_1…h_d k̂(jh).

k̃ is positive semidefinite, of finite rank, and periodic with periods p_k: it is the kernel of the
*basis expansion* in the functions D_j e^(2πi⟨jh,x⟩), which are orthonormal in its Hilbert space.

**Aliasing.**  By Poisson's formula the sum over *all* j is Σ_n κ(‖x − z + n∘p‖): the kernel and its
periodic images.  κ decreases, so if |x_k − z_k| ≤ p_k − g for all k, the images n with
max|n_k| = s, of which there are (2s+1)^d − (2s−1)^d, are at least g + (s−1) min p away:

    images ≤ a(g) = Σ_{s≥1} ((2s+1)^d − (2s−1)^d) κ(g + (s−1) min p).

**Truncation.**  The terms are positive, so what the cut removes is largest at x = z, where
Poisson's formula gives the whole sum: the cut costs at most

    κ(0) + Σ_{n≠0} κ(‖n∘p‖) − Σ_{‖jh‖≤R} D_j²  ≤  κ(0) + a(min p) − Σ D_j²,

a number that is *computed*, not estimated.  (It cannot be seen below rounding, 10⁻¹⁵κ(0).)

**Which periods?**  Let the *support radius* ρ be a distance with a(ρ) ≤ ε/5, and
p_k = side of the box + 2ρ.  Two points of the box are then 2ρ from each other's images, and a point
within ρ of the box is still ρ from all images of the box: there k̃ is right to ε.  Farther away the
kernel itself is below ε/5 at every point of the box, and the kernel part of f is taken to be zero.
So f is right everywhere, and no periodic image of the data is ever mistaken for the data.

**Smoothness decides the cost.**  The number of frequencies is at most about Π 2R p_k.  For the
Gaussian R grows like √log(1/ε); for Matérn's functions the cut costs about R^(−2ν), so that high
accuracy is affordable for smooth kernels, or on the line, only.

Chapter: book/computing/beyond

References
----------
Greengard, Rachh & Barnett, *Equispaced Fourier representations for efficient Gaussian process
regression from a billion data points*, arXiv:2210.10210 (2022);
Barnett, Greengard & Rachh, *Uniform approximation of common Gaussian process kernels using
equispaced Fourier grids*, Applied and Computational Harmonic Analysis 71 (2024).
"""

from dataclasses import dataclass
from math import inf, pi, sqrt

import numpy as np
from scipy import special

from kernelbook.kernels import Gaussian, Laplacian, Matern, Scaled, Sum

__all__ = ["MODES", "Grid", "NoSpectrum", "TooManyModes", "design", "spectrum"]

MODES = 2**20
"""The largest box of frequencies; products with it take an FFT of 2^d times that size."""

_ROUNDING = 1e-15
_COARSEST = 1e-2  # of κ(0): a kernel that is wrong in the second digit is another kernel
_SHELLS = 60
_ATTEMPTS = 30


class NoSpectrum(ValueError):
    """The kernel is not stationary, or its Fourier transform is not known here."""


class TooManyModes(ValueError):
    """The box is so many widths across that the Fourier basis would not fit."""


# ---------------------------------------------------------------------------- the transform


@dataclass(frozen=True)
class _Term:
    """One summand: k̂(ξ) from |ξ|², and the share of ∫k̂ that lies outside |ξ| ≤ R."""

    factor: float
    width: float
    nu: float  # of Matérn's functions; infinite for exp(−r²/width²)

    def density(self, squares, d):
        w = self.width
        if self.nu == inf:
            return self.factor * (sqrt(pi) * w) ** d * np.exp(-((pi * w) ** 2) * squares)
        log = special.gammaln(self.nu + d / 2) - special.gammaln(self.nu) - d / 2 * np.log(self.nu)
        scale = self.factor * (sqrt(2 * pi) * w) ** d * np.exp(log)
        return scale * (1 + (2 * pi * w) ** 2 * squares / (2 * self.nu)) ** -(self.nu + d / 2)

    def outside(self, radius, d):
        u = (pi * self.width * radius) ** 2
        if self.nu == inf:
            return self.factor * special.gammaincc(d / 2, u)
        # 2πξ·width is distributed like Student's t with 2ν degrees of freedom.
        return self.factor * special.betainc(self.nu, d / 2, self.nu / (self.nu + 2 * u))


def _terms(kernel, factor=1.0):
    if type(kernel) is Scaled:
        return _terms(kernel.kernel, factor * float(kernel.factor))
    if type(kernel) is Sum:
        return _terms(kernel.left, factor) + _terms(kernel.right, factor)
    if kernel.columns is not None or isinstance(getattr(kernel, "width", 1.0), tuple):
        raise NoSpectrum(
            f"solver='fourier' needs kernels of all columns and of one width; {kernel!r} is not: "
            "use another solver."
        )
    if type(kernel) is Gaussian:
        return [_Term(factor, float(kernel.width), inf)]
    if type(kernel) is Laplacian:
        return [_Term(factor, float(kernel.width), 0.5)]
    if type(kernel) is Matern:
        smooth = kernel.nu == inf
        width = float(kernel.width) * (sqrt(2.0) if smooth else 1.0)
        return [_Term(factor, width, float(kernel.nu))]
    raise NoSpectrum(
        f"solver='fourier' needs a kernel whose Fourier transform is known, which {kernel!r} is "
        "not: use Gaussian, Laplacian, Matern, or sums and multiples of them; or another solver."
    )


def spectrum(kernel, d):
    """The function |ξ|² ↦ k̂(ξ) on ℝᵈ, ξ in cycles per unit of length; `NoSpectrum` without one."""
    terms = _terms(kernel)
    return lambda squares: sum(term.density(np.asarray(squares, float), d) for term in terms)


# --------------------------------------------------------------------------------- the grid


@dataclass(frozen=True)
class Grid:
    """Frequencies and weights of k̃ for points in a box.

    Attributes
    ----------
    low, high : (d,) arrays
        The box that holds the data.
    support_radius : float
        Farther than this from the box, the kernel part of f counts as zero.
    period : (d,) array
    max_frequency : (d,) array of int
        The largest |j_k|.
    frequencies : (n, d) array of int
        One of each pair ±j, the zero frequency first, then in descending order of weight.
    sqrt_weights : (n,) array
        D_j = √(h_1…h_d k̂(jh)).
    peak : float
        κ(0).
    error : float
        A bound on |k − k̃| for two points of the box.
    error_anywhere : float
        The same for a point of the box and any point at all (zero beyond the support radius).
    """

    low: np.ndarray
    high: np.ndarray
    support_radius: float
    period: np.ndarray
    max_frequency: np.ndarray
    frequencies: np.ndarray
    sqrt_weights: np.ndarray
    peak: float
    error: float
    error_anywhere: float

    @property
    def modes(self):
        """The number of real functions."""
        return 2 * len(self.sqrt_weights) - 1

    @property
    def box(self):
        """The shape of the smallest array of frequencies that holds all of them."""
        return tuple(int(n) for n in 2 * self.max_frequency + 1)

    def angles(self, X):
        """2π(x − centre)/p, a contiguous row for each coordinate."""
        centre = self.low / 2 + self.high / 2
        return np.ascontiguousarray(((X - centre) * (2 * pi / self.period)).T)

    def near(self, X):
        """Which rows are within the support radius of the box."""
        return ((X >= self.low - self.support_radius) & (X <= self.high + self.support_radius)).all(
            axis=1
        )

    def outside(self, X):
        """Which rows are outside the box (by more than the rounding of its corners)."""
        slack = 4 * np.finfo(float).eps * np.maximum(np.abs(self.low), np.abs(self.high))
        return ((X < self.low - slack) | (X > self.high + slack)).any(axis=1)


def design(kernel, low, high, eps, modes=MODES) -> Grid:
    """The smallest grid with |k − k̃| ≤ eps·κ(0), or the most exact one with that many modes.

    Parameters
    ----------
    kernel : Kernel
        Gaussian, Laplacian, Matern, or sums and multiples of them.
    low, high : (d,) arrays
        The box of the data.
    eps : float
        The accuracy asked for; what was achieved is `Grid.error`.
    modes : int
        The largest box of frequencies.
    """
    terms = _terms(kernel)
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    peak = float(sum(term.factor for term in terms))
    if peak == 0:
        raise NoSpectrum(f"{kernel!r} is zero everywhere: only the features would be learned.")
    accuracies = np.geomspace(max(min(eps, _COARSEST), 4 * _ROUNDING), _COARSEST, _ATTEMPTS)
    for relaxed in accuracies:
        found = _sizes(kernel, terms, low, high, relaxed * peak)
        count = np.prod(2.0 * found[2] + 1)
        while count <= modes:
            grid = _grid(kernel, terms, low, high, peak, *found)
            if grid.error_anywhere <= relaxed * peak or relaxed < 8 * _ROUNDING:
                return grid
            # The radius came from an integral, and this is a sum: take a little more.
            support, period, _, radius = found
            found = support, period, np.ceil(1.02 * radius * period), 1.02 * radius
            count = np.prod(2.0 * found[2] + 1)
    raise TooManyModes(
        f"{kernel!r} on a box with sides {np.array2string(high - low, precision=3)} needs "
        f"{count:.1e} Fourier modes even for two digits, and at most {modes} are taken: the box is "
        "too many widths across.  Take a wider or smoother kernel, a smaller box, or another "
        "solver."
    )


def aliasing_bound(kernel, gap, pitch, d):
    """a(g): a bound on the sum of the kernel's periodic images, the nearest `gap` away."""
    s = np.arange(1.0, _SHELLS + 1)
    kappa = kernel(np.zeros((1, 1)), (gap + (s - 1) * pitch)[:, None])[0]
    terms = ((2 * s + 1) ** d - (2 * s - 1) ** d) * kappa
    # Once they fall by half at every step, as here after a few, the rest is below the last.
    return float(terms.sum() + terms[-1])


def _sizes(kernel, terms, low, high, eps):
    """Reach, periods, largest frequencies and cut-off for an absolute accuracy eps."""
    d = len(low)
    sides = high - low

    def excess(r):
        return aliasing_bound(kernel, r, float(np.min(sides)) + 2 * r, d) - 0.2 * eps

    support = _smallest(excess, max(term.width for term in terms))

    def cut(radius):
        return sum(term.outside(radius, d) for term in terms) - 0.7 * eps

    radius = _smallest(cut, 1.0 / max(term.width for term in terms))
    period = sides + 2 * support
    with np.errstate(over="ignore"):
        J = np.ceil(radius * period)
    return support, period, J, radius


def _smallest(decreasing, start):
    """A point just right of the zero of a decreasing function of r > 0."""
    right = start
    for _ in range(200):
        if decreasing(right) <= 0:
            break
        right *= 2.0
    left = right / 2 if right > start else 0.0
    for _ in range(12):
        middle = (left + right) / 2
        left, right = (left, middle) if decreasing(middle) <= 0 else (middle, right)
    return right


def _grid(kernel, terms, low, high, peak, support, period, J, radius):
    d, J = len(low), J.astype(np.int64)
    axes = [np.arange(-n, n + 1) for n in J[:-1]] + [np.arange(J[-1] + 1)]
    K = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    K = K[_first_of_pairs(K)]
    squares = np.sum((K / period) ** 2, axis=1)
    inside = squares <= radius**2
    K, squares = K[inside], squares[inside]
    squared = sum(term.density(squares, d) for term in terms) / np.prod(period)
    order = np.lexsort((*K.T, -squared))  # ties broken by K: one order on every machine
    order = np.r_[order[(K[order] == 0).all(axis=1)], order[(K[order] != 0).any(axis=1)]]
    K, squared = K[order], squared[order]
    pitch = float(period.min())
    trace = squared[0] + 2 * np.sum(squared[1:])
    truncation = max(peak + aliasing_bound(kernel, pitch, pitch, d) - trace, 0.0) + _ROUNDING * peak
    return Grid(
        low=low,
        high=high,
        support_radius=float(support),
        period=period,
        max_frequency=np.abs(K).max(axis=0),
        frequencies=K,
        sqrt_weights=np.sqrt(squared),
        peak=peak,
        error=truncation + aliasing_bound(kernel, 2 * support, pitch, d),
        error_anywhere=truncation + aliasing_bound(kernel, support, pitch, d),
    )


def _first_of_pairs(K):
    """One of each pair ±j: the one whose last non-zero entry is positive; and zero."""
    keep = np.zeros(len(K), dtype=bool)
    undecided = np.ones(len(K), dtype=bool)
    for column in K.T[::-1]:
        keep |= undecided & (column > 0)
        undecided &= column == 0
    return keep | undecided

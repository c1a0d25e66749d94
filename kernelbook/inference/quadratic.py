"""The distribution of a ratio of quadratic forms in independent normal variables.

For T = zᵀBz/zᵀz with z ~ N(0, sI) the scale s cancels, and with the eigenvalues b_k of B

    P(T > t) = P(Σ a_k z_k² > 0),      a_k = b_k − t,

which Imhof (1961) writes as one integral,

    ½ + (1/π) ∫₀^∞ sin θ(u) / (u ρ(u)) du,    θ = ½ Σ arctan(a_k u),    ρ = Π (1 + a_k² u²)^¼.

With u = eᵗ the integrand is analytic in a strip around the real line and decays exponentially at
both ends: there the trapezoidal rule converges exponentially, and halving its step until nothing
changes gives the tail to some 10⁻¹², absolutely.

References
----------
Imhof, *Computing the distribution of quadratic forms in normal variables*, Biometrika 48 (1961);
Trefethen & Weideman, *The exponentially convergent trapezoidal rule*, SIAM Review 56 (2014).
"""

import numpy as np

__all__ = ["ratio_tail"]

_TOLERANCE = 1e-12
_CHUNK = 2**20  # entries of arctan(a_k u) at a time


def ratio_tail(eigenvalues: np.ndarray, t: float) -> float:
    """P(zᵀBz/zᵀz > t), to some 10⁻¹² absolutely, from the eigenvalues of B."""
    b = np.asarray(eigenvalues, dtype=np.float64)
    if t >= b.max():
        return 0.0
    if t <= b.min():
        return 1.0
    a = b - t
    a = a / np.abs(a).max()
    a = a[np.abs(a) > 1e-14]
    # sin θ/ρ < 10⁻¹⁶ below the first point, and beyond the last.
    low = np.log(1e-16 / np.abs(a).sum())
    high = 2.0
    while high < 80 and 0.25 * np.log1p((a * np.exp(high)) ** 2).sum() < 37:
        high += 1.0
    step, former = 0.25, np.inf
    while step > 1e-4:
        value = _integral(a, np.arange(low, high, step)) * step
        if abs(value - former) < _TOLERANCE:
            break
        step, former = step / 2, value
    return float(min(max(0.5 + value / np.pi, 0.0), 1.0))


def _integral(a, grid):
    total, size = 0.0, max(1, _CHUNK // len(a))
    for i in range(0, len(grid), size):
        au = np.multiply.outer(np.exp(grid[i : i + size]), a)
        theta = 0.5 * np.arctan(au).sum(axis=1)
        total += float(np.sum(np.sin(theta) * np.exp(-0.25 * np.log1p(au**2).sum(axis=1))))
    return total

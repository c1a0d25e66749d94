"""Linear functionals of f, given the sample: means, variances, joint covariances and draws.

For a functional L, applied to a function of x, let k = (L K(·, x_i))_i, p = (L φ_q)_q and
v = L L' K.  With A = Φ + ρD⁻¹ and V = (PᵀA⁻¹P)⁻¹, both per unit of the scale s,

    mean of L f        kᵀc + pᵀλ
    variance of L f    s·(v − kᵀA⁻¹k + (p − PᵀA⁻¹k)ᵀ V (p − PᵀA⁻¹k)),

and the same with two functionals for a covariance.  A value f(x) has k_i = K(x, x_i), p = φ(x) and
v = K(x, x); a derivative has the derivatives of all three; the part of f that a summand of the
kernel explains has that summand in place of K, and p = 0: g = Σ_t g_t with independent g_t, and
Cov(g_t(x), y_i) = s·K_t(x, x_i).

A kernel of order q > 0 is a covariance only for functionals that annihilate the polynomials.  The
error Lf − aᵀy of the best estimate aᵀy does; so the formula holds for it as well, as long as L is
a functional of the whole f.

Chapter: book/free/effects
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Functionals", "draws", "of_values"]

ROW_BLOCK = 512


@dataclass(frozen=True)
class Functionals:
    """n linear functionals.

    Attributes
    ----------
    k : (n, m) array
        Of the translates K(·, x_i).
    p : (n, ℓ) array
        Of the features.
    prior : (n,) or (n, n) array
        Of the kernel in both arguments: prior variances, or covariances, per unit of scale.
    """

    k: np.ndarray
    p: np.ndarray
    prior: np.ndarray

    def mean(self, c: np.ndarray, lam: np.ndarray) -> np.ndarray:
        """A row for each functional, a column for each output."""
        return self.k @ c + self.p @ lam

    def blocks(self) -> Iterator[tuple[slice, "Functionals"]]:
        """Some functionals at a time, for their variances."""
        for i in range(0, len(self.k), ROW_BLOCK):
            rows = slice(i, i + ROW_BLOCK)
            yield rows, Functionals(self.k[rows], self.p[rows], self.prior[rows])


def of_values(kernel: Any, X: Any, centers: Any, P: np.ndarray, joint: bool = False) -> Functionals:
    """The values f(x), x a row of X."""
    return Functionals(kernel(X, centers), P, kernel(X) if joint else kernel.diag(X))


def draws(mean: np.ndarray, covariance: np.ndarray, count: int, rng: Any) -> np.ndarray:
    """`count` draws from N(mean, covariance), (count, n).

    The root comes from eigenvectors: a posterior covariance is singular to rounding wherever
    points are close together, and Cholesky would fail.
    """
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return mean + rng.standard_normal((count, len(values))) @ root.T

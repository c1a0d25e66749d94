"""Derivatives of f, and their averages over a sample: marginal effects.

∂f/∂x_k is a linear functional of f: (∂K(x, x_i)/∂x_k)_i, (∂φ_q/∂x_k)_q, and the prior variance
∂²K(x, z)/∂x_k∂z_k at z = x (`kernels.gradients`).  Where that is infinite, as for the Laplacian,
the process has no derivative, and the standard error is infinite, too; the derivative of its mean
exists almost everywhere.

Features are differentiated by differences: `kernelbook.features.slopes`.

**Averages** are over given rows; that others might have been drawn is not in the error.  The
average a = Σ_i s_i ∂f/∂x_k(x_i), Σs_i = 1, has the prior variance
Σ_ij s_i s_j ∂²K(x_i, x_j)/∂x_k∂z_k.  For i ≠ j the second derivative is a difference of first ones.
"""

from typing import Any

import numpy as np

from kernelbook.features import FACTORS, STEPS, spread
from kernelbook.inference.functionals import Functionals

__all__ = ["average_slope", "of_slopes"]

_BLOCK = 256


def of_slopes(kernel: Any, column: int, X: Any, centers: Any, slopes: np.ndarray) -> Functionals:
    """∂f/∂x_k at the rows of X, from the derivatives of the features there."""
    n, m = len(X), len(centers)
    k = np.empty((n, m))
    for i in range(0, n, _BLOCK):
        k[i : i + _BLOCK] = kernel.gradient_x(X[i : i + _BLOCK], centers)[column]
    return Functionals(k, slopes, kernel.gradient_variance(X)[column])


def average_slope(
    kernel: Any, column: int, X: np.ndarray, shares: np.ndarray, at: Functionals
) -> Functionals:
    """Σ s_i ∂f/∂x_k(x_i) as one functional, `at` being those of the points."""
    prior = _prior_of_average(kernel, column, X, shares)
    return Functionals((shares @ at.k)[None], (shares @ at.p)[None], np.array([prior]))


def _prior_of_average(kernel, column, X, shares):
    points, index = np.unique(X, axis=0, return_inverse=True)
    s = np.bincount(index.ravel(), weights=shares, minlength=len(points))
    same = kernel.gradient_variance(points)[column]
    if not np.isfinite(same).all():
        return np.inf
    # A kernel may have a kink of second order at equal entries: h is small for their sake.
    h, total = 1e-6 * spread(points[:, column]), float(s**2 @ same)
    for i in range(0, len(points), _BLOCK):
        rows = slice(i, min(i + _BLOCK, len(points)))
        mixed = np.zeros((rows.stop - i, len(points)))
        for step, factor in zip(STEPS, FACTORS, strict=True):
            ahead, behind = points.copy(), points.copy()
            ahead[:, column] += step * h
            behind[:, column] -= step * h
            gap = (ahead[:, column] - behind[:, column]) / (2 * step)
            change = kernel.gradient_x(points[rows], ahead)[column]
            change -= kernel.gradient_x(points[rows], behind)[column]
            mixed += factor * change / gap
        mixed[np.arange(len(mixed)), np.arange(i, rows.stop)] = 0.0
        total += float(s[rows] @ mixed @ s)
    return max(total, 0.0)

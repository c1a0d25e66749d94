"""Derivatives of features, of which only values are known: a formula, a transformer, a function.

They are differentiated by differences of order eight, h = 10⁻³ of the column's spread: exact to
rounding for polynomials of degree up to eight, and to some 10⁻¹¹ for what is smooth at that scale.
At the border of their domain (√x near 0) h shrinks until all points lie inside.
"""

from collections.abc import Callable

import numpy as np

__all__ = ["FACTORS", "STEPS", "feature_slopes", "spread"]

STEPS = (1, 2, 3, 4)
FACTORS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
"""Σ_s factor_s (φ(x + sh) − φ(x − sh))/h = φ'(x) + O(h⁸)."""


def spread(column: np.ndarray) -> float:
    """A length on which a column varies: its deviation, or what replaces it where that is zero."""
    deviation = float(np.std(column))
    return deviation if deviation > 0 else max(1.0, float(np.abs(column).max(initial=0.0)))


def feature_slopes(evaluate: Callable[[np.ndarray], np.ndarray], column: np.ndarray) -> np.ndarray:
    """∂φ_q/∂x_k at every row, (n, ℓ).

    Parameters
    ----------
    evaluate : callable
        evaluate(t) is the feature matrix with the entries t in column k; NaN or infinite outside.
    column : (n,) array
    """
    size = 1e-3 * spread(column)
    slopes = np.full(np.shape(evaluate(column)), np.nan)
    for h in (size, 1e-2 * size, 1e-4 * size, 1e-6 * size):
        left = ~np.isfinite(slopes).all(axis=1)
        if not left.any():
            break
        trial = np.zeros_like(slopes)
        with np.errstate(all="ignore"):
            for s, factor in zip(STEPS, FACTORS, strict=True):
                right, lower = column + s * h, column - s * h
                gap = (right - lower) / (2 * s)  # h as it is in floating point
                change = evaluate(right) - evaluate(lower)
                trial += factor * change / gap[:, None]
        slopes[left] = trial[left]
    return slopes

"""What the G-RLS learners refuse, in words: the argument, its value and the remedy."""

from numbers import Real

import numpy as np

__all__ = ["check_number", "symmetric_copy", "total"]

_BLOCK = 512


def check_number(name, value, smallest=0.0):
    """A finite real number ≥ `smallest`, or an error that says so."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a number; got {value!r} of type {type(value).__name__}.")
    if not smallest <= value < np.inf:
        raise ValueError(f"{name}={value!r} must be a finite number ≥ {smallest:g}.")


def total(w):
    """Σw, infinite if so be."""
    with np.errstate(over="ignore"):
        return float(np.sum(w))


def symmetric_copy(gram):
    """(G + Gᵀ)/2 in new memory; an error where the two differ by more than rounding."""
    G = np.array(gram, dtype=np.float64, order="C")
    largest = max(G.max(), -G.min())
    for i in range(0, len(G), _BLOCK):
        rows, rest = slice(i, i + _BLOCK), slice(i, None)
        upper, lower = G[rows, rest], G[rest, rows].T
        if np.abs(upper - lower).max() > 1e-6 * largest:
            raise ValueError("the precomputed kernel matrix is not symmetric; it must be, in fit.")
        mean = upper / 2 + lower / 2
        G[rows, rest], G[rest, rows] = mean, mean.T
    return G

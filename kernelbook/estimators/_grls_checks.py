"""What the G-RLS learners refuse, in words: the argument, its value and the remedy."""

from numbers import Real

import numpy as np

from kernelbook.features import feature_range

__all__ = ["check_number", "doubts_about_rank", "rounding_of", "symmetric_copy", "total"]

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


def rounding_of(gram):
    """How exact, relatively, the entries of a Gram matrix can be: some come in float32."""
    with np.errstate(over="ignore"):
        for i in range(0, len(gram), _BLOCK):
            rows = gram[i : i + _BLOCK]
            if not np.array_equal(rows.astype(np.float32), rows):
                return 64 * np.finfo(np.float64).eps
    return 4 * float(np.finfo(np.float32).eps)


def doubts_about_rank(features, P):
    """Warnings where rounding, and not the features, has decided which of them count."""
    r, l = features.rank, P.shape[1]
    if r < l and r < feature_range(P).rank:
        return [
            f"sample_weight spans so many orders of magnitude that only {r} directions of the "
            f"{l} free features are left on the weighted sample; without weights there are more.  "
            "Use weights of more moderate ratios, or drop the samples whose weight is negligible."
        ]
    if features.doubtful:
        return [
            f"the {l} free features are dependent on the sample only to rounding: their singular "
            f"values fall to {features.values[r - 1]:.0e} of the largest without a gap, {r} were "
            f"kept, and what the other {l - r} could have fitted is left to the kernel.  Scale "
            "the features (Polynomials(scaled=True), StandardScaler), or take fewer of them."
        ]
    return []

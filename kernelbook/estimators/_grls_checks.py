"""What the G-RLS learners refuse, in words: the argument, its value and the remedy."""

from numbers import Real

import numpy as np
from scipy.special import comb

from kernelbook.features import Polynomials

__all__ = ["check_contains_polynomials", "check_number", "symmetric_copy"]

_BLOCK = 512


def check_number(name, value, smallest=0.0):
    """A finite real number ≥ `smallest`, or an error that says so."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a number; got {value!r} of type {type(value).__name__}.")
    if not smallest <= value < np.inf:
        raise ValueError(f"{name}={value!r} must be a finite number ≥ {smallest:g}.")


def check_contains_polynomials(sample, order, kernel):
    """Raise unless, on the sample, every polynomial of degree < order is in the span of P."""
    X, P = sample.X, sample.P
    wanted = f"all polynomials of degree < {order}" if order > 1 else "the constant"
    remedy = f"features=Polynomials({order - 1})" if order > 1 else "features='constant'"
    error = (
        f"{kernel!r} is conditionally positive definite of order {order} and needs {wanted} in the "
        f"span of the features; {{}}.  Use {remedy}, or features that contain them."
    )
    count = comb(X.shape[1] + order - 1, order - 1, exact=True)
    if count > max(len(X), P.shape[1]) * 100:
        raise ValueError(error.format(f"with {X.shape[1]} columns these are {count}"))
    N = Polynomials(order - 1).fit_transform(X)
    size = np.abs(P).max(axis=0, initial=0.0)
    basis = P / np.where(size > 0, size, 1.0)
    rest = N - basis @ np.linalg.lstsq(basis, N, rcond=None)[0]
    worst = np.max(np.linalg.norm(rest, axis=0) / np.linalg.norm(N, axis=0))
    if worst > 1e-8:
        raise ValueError(error.format(f"on this sample a polynomial is {worst:.1e} away from it"))


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

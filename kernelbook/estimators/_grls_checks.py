"""What the G-RLS learners refuse, in words: the argument, its value and the remedy."""

from numbers import Real

import numpy as np

from kernelbook.features import Polynomials, feature_range
from kernelbook.solvers.grls_factor import project

__all__ = ["check_contains_polynomials", "check_number", "symmetric_copy", "total"]

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
    # The powers (a·x + b)^(q−1) of linear forms span the polynomials, so a few random ones are
    # all in a subspace only if every polynomial is (with probability one).
    forms = np.random.default_rng(0).normal(size=(X.shape[1] + 1, 4)) / np.sqrt(X.shape[1] + 1)
    probes = (Polynomials(1).fit_transform(X) @ forms) ** (order - 1)
    outside = project(feature_range(P).Q, probes)
    worst = np.max(np.linalg.norm(outside, axis=0) / np.linalg.norm(probes, axis=0))
    if worst > 1e-8:
        raise ValueError(error.format(f"on this sample, one is {worst:.1e} away from it"))


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

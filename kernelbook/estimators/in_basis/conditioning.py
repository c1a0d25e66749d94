"""Warnings that rounding, or what a basis has dropped, is visible in f.

*Rounding of inner products*: computed ⟨x̂_i, x̂⟩ are right up to ε‖x̂‖².  Far from the origin that is
large, although all numbers fit each other and the gap is small: another problem has been solved.

*Drift*: the path is about a grown f = X̂w; `predict` computes B(Tw).  The two are equal in exact
arithmetic.  But T is large where functions are nearly dependent, and so is the rounding of Tw: with
wide Gaussians and a large C the objective of the one can be percents above the other's.  The
learner says so, and from which size on; its `certificate_` is of f as predicted.
"""

import warnings
from typing import Any

import numpy as np

__all__ = [
    "WARN_DROPPED",
    "prediction_drift",
    "rounding_bound",
    "warn_of_drift",
    "warn_of_rounding",
]

WARN_DROPPED = 1e-3
"""Dropped basis functions larger than this at the samples, relative to x̂, are worth a warning."""

WARN_ROUNDING = 1e-5
"""The same for a change of f by rounding, in units of the margin."""


def rounding_bound(basis: Any, coordinates: Any, solutions: Any) -> float:
    """By how much rounding of the inner products may change f, in units of the margin.

    f = Σ β_i ⟨x̂_i, x̂⟩ + …; the coordinates of an orthonormal basis are used as they are given.
    """
    if basis.orthonormal:
        return 0.0
    square = np.einsum("ij,ij->i", coordinates, coordinates).max()
    return np.finfo(float).eps * square * max(np.abs(s.beta).sum() for s in solutions)


def warn_of_rounding(bound: float) -> None:
    if bound > WARN_ROUNDING:
        warnings.warn(
            f"rounding in the inner products of the basis may change f by {bound:.1e}, where the "
            "margin is 1, and the certificate cannot see it: the samples are far from the origin, "
            "or C is very large.  Centre the data, use LinearBasis() for KernelBasis(Linear()), "
            "or a smaller C.",
            UserWarning,
            stacklevel=3,
        )


def prediction_drift(factor: Any, weights: list) -> np.ndarray:
    """For each size the largest difference at a sample, in units of the margin or, if larger, of f.

    Where no difference is worth a warning f is not computed, and they are in units of the margin.

    Parameters
    ----------
    factor : GrowingFactor
    weights : list, for each size a (problems, size) array of w
    """
    difference, X, steps = factor.drift(), factor.X, len(weights)
    worst = np.zeros(steps)
    for problem in range(len(weights[0]) if steps else 0):
        W = np.zeros((X.shape[1], steps))
        for k, w in enumerate(weights):
            W[: w.shape[1], k] = w[problem]
        with np.errstate(over="ignore", invalid="ignore"):  # NaN then fails the comparison
            share = np.abs(difference @ W)
            if not share.max(initial=0.0) <= WARN_ROUNDING:
                share /= np.maximum(1.0, np.abs(X @ W))
        worst = np.maximum(worst, share.max(axis=0))
    return worst


def warn_of_drift(drift: np.ndarray) -> None:
    visible = np.flatnonzero(~(drift <= WARN_ROUNDING))
    if visible.size:
        warnings.warn(
            f"from {visible[0] + 1} functions on they are so nearly dependent that rounding in "
            f"their coefficients changes f at the samples, by up to {drift.max():.1e} where the "
            "margin is 1: path_ speaks of f before that, certificate_ of f as predicted.  Use "
            "fewer (max_basis, n_basis) or narrower functions, a larger rtol, or "
            "PrimalSVMClassifier.",
            UserWarning,
            stacklevel=4,
        )

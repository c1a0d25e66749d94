"""Where a grown f = X̂w and what `predict` makes of it, B(Tw), come apart.

The path and its certificates know the first; `predict` can only compute the second.  In exact terms
they are the same.  But T is large where functions are nearly dependent, and so is the rounding of
Tw: with wide Gaussians and a large C the objective of the one can be percents above the other's.
Nothing is wrong with either; the learner says so, and from which size on.
"""

import warnings

import numpy as np

from kernelbook.estimators.primal_svm import BLURRED

__all__ = ["drift", "warn_of_drift"]


def drift(factor, weights):
    """For each size the largest difference at a sample, in units of the margin or, if larger, of f.

    Where no difference is worth a warning f is not asked for, and they are in units of the margin.

    Parameters
    ----------
    factor : GrowingFactor
    weights : list, for each size a (problems, size) array of w
    """
    apart, X, steps = factor.drift(), factor.X, len(weights)
    worst = np.zeros(steps)
    for problem in range(len(weights[0]) if steps else 0):
        W = np.zeros((X.shape[1], steps))
        for k, w in enumerate(weights):
            W[: w.shape[1], k] = w[problem]
        with np.errstate(over="ignore", invalid="ignore"):  # then it is not below anything
            share = np.abs(apart @ W)
            if not share.max(initial=0.0) <= BLURRED:
                share /= np.maximum(1.0, np.abs(X @ W))
        worst = np.maximum(worst, share.max(axis=0))
    return worst


def warn_of_drift(apart):
    blurred = np.flatnonzero(~(apart <= BLURRED))
    if blurred.size:
        warnings.warn(
            f"from {blurred[0] + 1} functions on they are so nearly dependent that rounding in "
            f"their coefficients changes f at the samples, by up to {apart.max():.1e} where the "
            "margin is 1: path_ and certificate_ speak of the f before that.  Use fewer "
            "(max_basis, n_basis) or narrower functions, a larger rtol, or PrimalSVMClassifier.",
            UserWarning,
            stacklevel=4,
        )

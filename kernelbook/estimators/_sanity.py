"""Fits that succeed and mean nothing: what a learner says of them, once each, with the remedy.

- *A Gram matrix that is practically the identity.*  No sample has a neighbour, as the kernel sees
  it: f is right at the samples and the free features everywhere else.  Columns in their own units
  under the default kernel do that.
- *One that is practically constant.*  All samples are the same point to the kernel.
- *Features without the constant*, where the constant would have explained most of what they leave:
  `features` replaces the default, "constant", and does not add to it.
- *More free columns than samples can bear.*  ℓ features separate random labels of m < 2ℓ samples
  more often than not (Cover), and take up half the noise of a regression.
- *Dates*, which NumPy turns into nanoseconds since 1970.

References
----------
T. M. Cover, *Geometrical and statistical properties of systems of linear inequalities with
applications in pattern recognition*, IEEE Transactions on Electronic Computers 14 (1965).
"""

import sys
import warnings
from pathlib import Path

import numpy as np

from kernelbook.features import GivenFeatures
from kernelbook.kernels import Gaussian
from kernelbook.numeric.column_space import column_space

__all__ = ["check_dates", "check_features", "check_kernel", "check_learner"]

PROBES = 20
"""Rows that are compared with all others."""
FEWEST = 20
"""Fewer samples than this are somebody's example, and that somebody is looking at it."""
ALONE = 1e-3
"""A sample is alone if its kernel with every other one is below this part of the diagonal."""
EQUAL = 1e-9
"""Samples are equal if their kernels differ by less than this part."""
LOST = 0.8
"""The share of what the features leave of y that a lost constant explains."""
MUCH = 0.1
"""Of y, in squares: less than that may be left unexplained, and nothing is said."""
PACKAGE = str(Path(__file__).parents[1])


def check_learner(learner, sample, Y):
    """Everything that can be seen of a sample when kernel or basis and features are fitted.

    Parameters
    ----------
    learner : FreeFeatureEstimator
    sample : Sample
        With its P, or None where that is never a matrix as a whole.
    Y : (m,) or (m, k) array
        Targets: numbers, or for classifiers codes of the classes, whole numbers.
    """
    if learner._pairwise:
        check_kernel(None, sample.X)
    elif (kernel := _kernel_of(learner)) is not None:
        check_kernel(kernel, sample.X)
    if sample.P is not None:
        given = isinstance(learner.features_, GivenFeatures)
        words = " ".join(repr(learner.features).split())
        # Who passes P has seen its columns; who passes a feature map may have meant to add to 1.
        check_features(*("P", sample.P, None) if given else (f"features={words:.60}", sample.P, Y))


def _kernel_of(learner):
    """The kernel of a learner or of its basis, None for a basis of other functions."""
    basis = getattr(learner, "basis_", None)
    if basis is None:
        return learner.kernel_
    widths = getattr(basis, "widths_", None)
    return getattr(basis, "kernel_", None) if widths is None else Gaussian(float(np.max(widths)))


def check_kernel(kernel, X):
    """Warn if to the kernel no sample has a neighbour, or all are the same.

    Parameters
    ----------
    kernel : Kernel, or None where X is the Gram matrix
    X : (m, d) rows
    """
    m = X.shape[0]
    if m < FEWEST or (kernel is not None and (kernel.cpd_order or not kernel._proven)):
        return
    some = np.unique(np.linspace(0, m - 1, PROBES).astype(int))
    if kernel is None:
        K, diagonal = np.array(X[some], dtype=float), X.diagonal()
    else:
        K, diagonal = kernel(X[some], X), kernel.diag(X)
    if not (np.isfinite(K).all() and np.isfinite(diagonal).all() and (diagonal > 0).all()):
        return
    with np.errstate(over="ignore", under="ignore"):
        K = K / np.sqrt(diagonal[some])[:, None] / np.sqrt(diagonal)
    own = np.arange(len(some)), some
    K[own] = 0.0
    nearest = np.abs(K).max(axis=1)
    what = "the Gram matrix" if kernel is None else f"{kernel!r} on these {m} samples"
    if nearest.max() < ALONE:
        tell(
            f"{what} is practically the identity: the largest value between two samples is "
            f"{nearest.max():.1e} of that on the diagonal.  f can be right at the samples and is "
            "the free features alone everywhere else.  Scale the columns (StandardScaler), or take "
            "a wider kernel."
        )
    K[own] = 1.0
    # Where K(x, x) is not the same everywhere, as of linear kernels, a constant is not what counts.
    if np.ptp(diagonal) == 0.0 and K.min() > 1.0 - EQUAL and _differ(X, kernel):
        tell(
            f"{what} is practically constant: it varies by {1.0 - K.min():.1e} of its size.  To "
            "the kernel all samples are the same point.  Scale the columns (StandardScaler), or "
            "take a narrower kernel."
        )


def _differ(X, kernel):
    """Whether there is anything to tell apart."""
    return kernel is None or (X.shape[0] > 1 and abs(X - X[0]).max() > 0)


def check_features(name, P, Y):
    """Warn if free features lose a constant that matters, or are too many.

    Parameters
    ----------
    name : str
        What the user passed.
    P : (m, ℓ) array
    Y : (m,) or (m, k) array
        Targets, of classifiers ±1 for each problem; may be None.
    """
    m, l = P.shape
    if m < FEWEST or l == 0 or name == "features='constant'":
        return
    Q = column_space(P).Q
    if 2 * Q.shape[1] > m:
        tell(
            f"{name} has {Q.shape[1]} independent columns for {m} samples: free features that "
            "many fit noise as well as they fit anything, since nothing penalizes them.  Take at "
            f"most {m // 2}, better a tenth of the samples, and leave the rest to the kernel."
        )
        return
    if Y is None:
        return
    left = 1.0 - Q @ Q.sum(axis=0)  # of the constant
    if left @ left <= 1e-12 * m:
        return
    Y = np.asarray(Y, dtype=float).reshape(m, -1)
    size = np.abs(Y).max(axis=0)
    Y = Y / np.where(size > 0, size, 1.0)
    rest = Y - Q @ (Q.T @ Y)
    squares = np.einsum("ij,ij->j", rest, rest)
    some = squares > MUCH * np.einsum("ij,ij->j", Y, Y)
    share = np.max((left @ rest[:, some]) ** 2 / (left @ left * squares[some]), initial=0.0)
    if share > LOST:
        tell(
            f"{name} has no constant in its span, which the default has, and a constant would "
            f"explain {share:.0%} of what is left of y.  Add a column of ones, or take "
            "Polynomials(1), which has one; or subtract the mean from y."
        )


def check_dates(X):
    """Warn of columns of dates, times or durations that become plain numbers."""
    dtypes = list(getattr(X, "dtypes", None) if hasattr(X, "iloc") else [getattr(X, "dtype", None)])
    dates = [i for i, dtype in enumerate(dtypes) if getattr(dtype, "kind", "") in ("m", "M")]
    if dates:
        names = [X.columns[i] for i in dates] if hasattr(X, "columns") else "all columns"
        tell(
            f"X has dates or durations ({names}), which become numbers of nanoseconds or whatever "
            "their unit is.  Say which unit you mean: (t - t.min()) / np.timedelta64(1, 'D')."
        )


def tell(text):
    """A warning at the first line outside of this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)

"""What a learner says of fits that succeed and mean nothing, once each, with the remedy.

- *A Gram matrix that is practically the identity.*  No sample has a neighbour, as the kernel sees
  it: f is right at the samples and the free features everywhere else.  Columns in their own units
  under the default kernel do that.
- *One that is practically constant.*  All samples are the same point to the kernel.
- *Features without the constant*, where the constant would have explained most of what they leave:
  `features` replaces the default, "constant", and does not add to it.
- *More free columns than samples can bear.*  ℓ features separate random labels of m < 2ℓ samples
  more often than not (Cover), and take up half the noise of a regression.
- *Dates*, which NumPy turns into nanoseconds since 1970.

The numbers come from `kernelbook.numeric.facts`.

References
----------
T. M. Cover, *Geometrical and statistical properties of systems of linear inequalities with
applications in pattern recognition*, IEEE Transactions on Electronic Computers 14 (1965).
"""

import sys
import warnings
from pathlib import Path
from typing import Any

__all__ = [
    "ALONE", "EQUAL", "FEWEST", "LOST", "tell", "tell_of_dates", "tell_of_features",
    "tell_of_kernel",
]  # fmt: skip

FEWEST = 20
"""A smaller sample is an example made by hand: its author can see what it is."""
ALONE = 1e-3
"""A sample is alone if its kernel with every other one is below this part of the diagonal."""
EQUAL = 1e-9
"""Samples are equal if their kernels differ by less than this part."""
LOST = 0.8
"""The share of what the features leave of y that a lost constant explains."""
PACKAGE = str(Path(__file__).parents[1])


def tell_of_kernel(kernel: Any, X: Any, facts: Any) -> None:
    """That to the kernel no sample has a neighbour, or all are the same.

    Parameters
    ----------
    kernel : Kernel, or None where X is the Gram matrix
    X : (m, d) rows
    facts : GramFacts
    """
    what = "the Gram matrix" if kernel is None else f"{kernel!r} on these {X.shape[0]} samples"
    if facts.largest < ALONE:
        tell(
            f"{what} is practically the identity: the largest value between two samples is "
            f"{facts.largest:.1e} of that on the diagonal.  f can be right at the samples and is "
            "the free features alone everywhere else.  Scale the columns (StandardScaler), or take "
            "a wider kernel."
        )
    elif kernel is None or abs(X - X[0]).max() > 0:  # otherwise they are the same point
        tell(
            f"{what} is practically constant: it varies by {facts.variation:.1e} of its size.  To "
            "the kernel all samples are the same point.  Scale the columns (StandardScaler), or "
            "take a narrower kernel."
        )


def tell_of_features(features: Any, facts: Any, m: int) -> None:
    """That features lose a constant that matters, or are too many for m samples.

    Parameters
    ----------
    features : what the user passed, or None for a matrix P
    facts : FeatureFacts
    """
    name = "P" if features is None else f"features={' '.join(repr(features).split()):.60}"
    if 2 * facts.rank > m:
        tell(
            f"{name} has {facts.rank} independent columns for {m} samples: free features that "
            "many fit noise as well as they fit anything, since nothing penalizes them.  Take at "
            f"most {m // 2}, better a tenth of the samples, and leave the rest to the kernel."
        )
        return
    tell(
        f"{name} has no constant in its span, which the default has, and a constant would "
        f"explain {facts.lost:.0%} of what is left of y.  Add a column of ones, or take "
        "Polynomials(1), which has one; or subtract the mean from y."
    )


def tell_of_dates(names: Any) -> None:
    """That columns of dates, times or durations become plain numbers."""
    tell(
        f"X has dates or durations ({names}), which become numbers of nanoseconds or whatever "
        "their unit is.  Say which unit you mean: (t - t.min()) / np.timedelta64(1, 'D')."
    )


def tell(text: str) -> None:
    """A warning at the first line outside of this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)

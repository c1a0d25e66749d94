"""How the chapters print a check: the size of an error beside its bound.

A reader learns more from "largest difference < 1e-10" than from "True".  The last digits of a
rounding error differ from one machine to the next, so the bound is printed where it holds, and the
error itself where it does not.
"""

import numpy as np
from numpy.typing import ArrayLike


def below(error: ArrayLike, bound: float) -> str:
    """``"< 1e-10"`` if every entry of `error` is smaller than `bound` in absolute value.

    Otherwise the largest entry and the bound it exceeds.  A NaN is never below anything.

    >>> below([3e-13, -2e-12], 1e-10)
    '< 1e-10'
    >>> below(0.25, 1e-2)
    '0.25, not < 1e-2'
    """
    largest = float(np.max(np.abs(error)))
    limit = f"{bound:.0e}".replace("e-0", "e-")
    return f"< {limit}" if largest < bound else f"{largest:.2g}, not < {limit}"

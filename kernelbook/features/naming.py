"""What the free features are called, and which of them belong together.

A group is what a reader would test or draw as one: the columns of a term of a formula, C(soil) with
all of its levels; otherwise every column by itself.  The constant is called Intercept.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelbook.features.formula import Formula
from kernelbook.numeric.column_space import column_space

__all__ = ["feature_groups", "feature_names", "lost_features"]

INTERCEPT = "Intercept"


def feature_names(features: Any, count: int, columns: Sequence[str] | None = None) -> list[str]:
    """A name for each of the `count` columns of a fitted feature map.

    Parameters
    ----------
    features : fitted feature map
    count : int
    columns : list of str, optional
        What the columns of X are called, for maps that were fitted to an array of them.
    """
    given = getattr(features, "names", None)  # of a matrix P that was passed as a frame
    if given is None:
        given = _names_out(features, columns)
    if given is None or len(given) != count:
        given = [f"feature {k}" for k in range(count)]
    return [INTERCEPT if name == "1" else str(name) for name in given]


def _names_out(features, columns):
    if not hasattr(features, "get_feature_names_out"):
        return None
    for names in (None, columns):
        try:
            return list(features.get_feature_names_out(names))
        except (AttributeError, TypeError, ValueError):
            continue
    return None


def feature_groups(features: Any, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Which columns of P belong together, by the name of the group."""
    if not isinstance(features, Formula):
        return {name: (k,) for k, name in enumerate(names)}
    terms = features.spec_.term_slices.items()
    groups = {
        INTERCEPT if str(term) == "1" else str(term): tuple(range(*where.indices(len(names))))
        for term, where in terms
    }
    return {name: columns for name, columns in groups.items() if columns}


def lost_features(P: np.ndarray, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The features that are zero on the sample, and those whose coefficients are not unique.

    A coefficient λ_p is determined by Pλ iff e_p lies in the row space of P.
    """
    size = np.abs(P).max(axis=0, initial=0.0)
    zero = [name for name, s in zip(names, size, strict=True) if s == 0]
    space = column_space(P)
    if space.rank == P.shape[1] - len(zero):
        return zero, []
    rows, _ = np.linalg.qr(space.T * np.where(size > 0, size, 1.0)[:, None])
    known = np.einsum("ij,ij->i", rows, rows) > 1 - 1e-8
    return zero, [n for n, s, k in zip(names, size, known, strict=True) if s > 0 and not k]

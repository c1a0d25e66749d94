"""R² and the share of right labels on Dask collections, in one pass.

A block says how much it weighs, the mean of its y, the squares about that mean, and the squares
that f leaves; two blocks together weigh W = W₁ + W₂ and have [1], with δ = mean₂ − mean₁,

    mean = mean₁ + (W₂/W) δ,      squares = squares₁ + squares₂ + (W₁W₂/W) δ²,

so that nothing cancels where y is far from zero.  These few numbers travel; the data stay where
they are.  The conventions are scikit-learn's: outputs count the same, a constant y is explained
completely or not at all, and a single sample has no R².

References
----------
[1] Chan, Golub & LeVeque, *Algorithms for computing the sample variance*, The American
Statistician 37 (1983).
"""

import warnings
from functools import reduce

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import check_is_fitted

from kernelbook.distributed import _aligned, _reduced, two_axes

__all__ = ["score_collection"]


def score_collection(learner, X, y, sample_weight=None):
    """`learner.score` for Dask collections with the same blocks; computed now."""
    import dask

    check_is_fitted(learner, "coef_")
    blocks = _aligned(X, y, sample_weight)
    frozen = dask.delayed(learner, traverse=False)
    block = _labels_right if is_classifier(learner) else _squares
    parts = [dask.delayed(block)(frozen, *one) for one in blocks]
    total = _reduced(parts, _together if is_classifier(learner) else _combined)
    if total is None or not total[0] > 0:
        raise ValueError("X has no rows, or sample_weight is zero for all: there is no score.")
    if is_classifier(learner):
        return float(total[1] / total[0])
    weight, rows, _, about, left = total
    if rows < 2:
        warnings.warn(
            "R² is not defined for a single sample: NaN.", UndefinedMetricWarning, stacklevel=3
        )
        return float("nan")
    about, left = about / weight, left / weight
    shares = np.where(left == 0, 1.0, 0.0)
    np.divide(left, about, out=left, where=about > 0)
    return float(np.mean(np.where(about > 0, 1.0 - left, shares)))


# --------------------------------------------------------------------------- inside a task


def _weights(w, rows):
    if w is None:
        return np.ones(rows)
    w = check_array(w, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    w = column_or_1d(w)
    if (w < 0).any():
        raise ValueError("sample_weight has negative numbers; weights count observations.")
    return w


def _same_rows(*arrays):
    rows = {len(a) for a in arrays if a is not None}
    if len(rows) > 1:
        raise ValueError(
            f"blocks of X, y and the weights have {sorted(rows)} rows: cut them alike."
        )


def _squares(learner, X, y, w):
    """(W, rows, mean of y, squares about it, squares that are left), a column for each output."""
    _same_rows(X, y, w)
    if len(X) == 0:
        return None
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    f = learner.predict(X)
    if np.shape(y) != np.shape(f):
        raise ValueError(f"y has rows of shape {y.shape[1:]}, and f of shape {f.shape[1:]}.")
    y, f, w = two_axes(y), two_axes(f), _weights(w, len(f))
    weight = w.sum()
    if weight == 0:
        return None
    mean = w @ y / weight
    return weight, len(y), mean, w @ (y - mean) ** 2, w @ (y - f) ** 2


def _combined(parts):
    return reduce(_pair, (part for part in parts if part is not None), None)


def _pair(a, b):
    if a is None:
        return b
    weight, delta = a[0] + b[0], b[2] - a[2]
    mean = a[2] + b[0] / weight * delta
    about = a[3] + b[3] + a[0] * (b[0] / weight) * delta**2
    return weight, a[1] + b[1], mean, about, a[4] + b[4]


def _labels_right(learner, X, y, w):
    """(W, the weight of the labels that are right)"""
    _same_rows(X, y, w)
    if len(X) == 0:
        return None
    w, y = _weights(w, len(X)), column_or_1d(np.asarray(y))
    kinds = y.dtype.kind + learner.classes_.dtype.kind
    if "U" in kinds and not set(kinds) <= set("UO"):
        raise ValueError(
            f"y has labels like {y[0]!r}, and the classes are {learner.classes_.tolist()}: "
            "text and numbers are never equal."
        )
    return w.sum(), w @ (learner.predict(X) == y)


def _together(parts):
    parts = [part for part in parts if part is not None]
    return tuple(map(sum, zip(*parts, strict=True))) if parts else None

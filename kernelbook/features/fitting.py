"""Fitting a feature map to weighted rows, evaluating it, checking what comes out.

**Weights.**  Where a learner is given sample weights, a row of weight 2 is two rows, for the
features as well.  A transformer that learns from the rows (means, quantiles, principal components)
is fitted with `sample_weight` if its `fit` takes it (in a `Pipeline`, if every step does), and
otherwise, if the weights are whole numbers, on rows repeated that often.  With other weights a
transformer, or a step of a pipeline, that takes none is fitted to the rows unweighted.  It never
sees rows of weight zero.
"""

from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from kernelbook.features.maps import Constant, FunctionFeatures, NoFeatures, Polynomials
from kernelbook.features.tables import is_frame, take_rows

__all__ = ["GivenFeatures", "check_feature_matrix", "evaluate", "fit_features"]

MAX_REPEATED_ROWS = 1_000_000
"""To so many rows a sample is repeated, at most."""


def fit_features(features: Any, X: Any, y: np.ndarray, w: np.ndarray) -> Any:
    """The feature map fitted to rows that count w > 0 times; see "Weights" in the module's text."""
    ignores_weights = isinstance(features, (Constant, Polynomials, NoFeatures, FunctionFeatures))
    if ignores_weights or np.all(w == 1):
        return features.fit(X, y)
    takers, all_take = _weight_arguments(features)
    if not all_take and np.all(w == np.floor(w)) and w.sum() <= MAX_REPEATED_ROWS:
        rows = np.repeat(np.arange(len(w)), w.astype(np.intp))
        return features.fit(take_rows(X, rows), y[rows])
    return features.fit(X, y, **dict.fromkeys(takers, w))


def _weight_arguments(features):
    """The arguments of `fit` that take weights, and whether they reach every step."""
    if not isinstance(features, Pipeline):
        takes = has_fit_parameter(features, "sample_weight")
        return ["sample_weight"] * takes, takes
    if get_config()["enable_metadata_routing"]:  # then the pipeline's own requests decide
        takes = features.get_metadata_routing().consumes("fit", ["sample_weight"])
        return list(takes), False
    steps = {name: step for name, step in features.steps if hasattr(step, "fit")}
    takers = [name for name, step in steps.items() if has_fit_parameter(step, "sample_weight")]
    return [f"{name}__sample_weight" for name in takers], len(takers) == len(steps)


def evaluate(features: Any, X: Any) -> np.ndarray:
    """The matrix P of a fitted feature map at X, dense, float64 and checked."""
    names = getattr(features, "feature_names_in_", None)
    if names is not None and not is_frame(X) and X.shape[1] == len(names):
        # The learner has already warned that the columns of X have no names.
        X = import_module("pandas").DataFrame(X, columns=names)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is an error below
        P = features.transform(X)
    return check_feature_matrix(P, X.shape[0], "features(X)")


def check_feature_matrix(P: Any, n_rows: int, name: str) -> np.ndarray:
    """A copy of P as a finite float64 matrix with `n_rows` rows, or an error that names it."""
    if np.iscomplexobj(P):
        raise ValueError(f"{name} is complex; features must be real.")
    try:
        P = np.array(P.toarray() if sparse.issparse(P) else P, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a matrix of numbers, not {P!r:.60}.") from error
    if P.ndim != 2 or P.shape[0] != n_rows:
        raise ValueError(
            f"{name} has shape {P.shape}; it must be a matrix with one row for each of the "
            f"{n_rows} samples and one column a feature."
        )
    if not np.isfinite(P).all():
        row, column = np.argwhere(~np.isfinite(P))[0]
        raise ValueError(
            f"{name} is {P[row, column]} at sample {row}, feature {column}; "
            "features must be finite: scale the columns (StandardScaler), or drop that feature."
        )
    return P


class GivenFeatures:
    """The columns of a matrix P that is passed beside a precomputed kernel, in fit and predict."""

    def __init__(self, P: Any) -> None:
        self.names = _column_names(P)
        self.count = None

    def matrix(self, P: Any, n_rows: int) -> np.ndarray:
        """P, checked; its columns must be those of the first call."""
        if self.names is not None and _column_names(P) not in (None, self.names):
            raise ValueError(
                f"P has the columns {_column_names(P)}, and in fit it had {self.names}; they must "
                "be the same, in the same order."
            )
        P = check_feature_matrix(P, n_rows, "P")
        if self.count not in (None, P.shape[1]):
            raise ValueError(f"P has {P.shape[1]} columns, and in fit it had {self.count}.")
        self.count = P.shape[1]
        return P


def _column_names(P):
    return list(P.columns) if is_frame(P) else None

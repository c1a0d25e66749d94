"""Feature maps: what the argument `features` may be, how a map is fitted, evaluated and checked.

**Weights.**  Where a learner is given sample weights, a row of weight 2 is two rows, for the
features as well.  A transformer that learns from the rows (means, quantiles, principal components)
is fitted with `sample_weight` if its `fit` takes it (in a `Pipeline`, if every step does), and
otherwise, if the weights are whole numbers, on rows repeated that often.  With other weights a
transformer, or a step of a pipeline, that takes none is fitted to the rows unweighted.  It never
sees rows of weight zero.
"""

from collections.abc import Callable
from importlib import import_module
from itertools import combinations_with_replacement
from math import comb
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from kernelbook.features.formula import Formula
from kernelbook.features.tables import take_rows
from kernelbook.numeric.arrays import explained, is_frame

__all__ = [
    "Constant",
    "FunctionFeatures",
    "NoFeatures",
    "Polynomials",
    "as_features",
    "check_count",
    "check_feature_matrix",
    "evaluate",
    "fit_features",
]

MAX_MONOMIALS = 100_000
"""Far more than any sample can tell apart."""

MAX_REPEATED_ROWS = 1_000_000
"""To so many rows a sample is repeated, at most."""


class Constant(TransformerMixin, BaseEstimator):
    """The single feature φ(x) = 1: the bias term of the standard support vector machine.

    Examples
    --------
    >>> from kernelbook import Constant
    >>> Constant().fit_transform([[3.0], [5.0]])
    array([[1.],
           [1.]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        self._rows(X, reset=True)
        return self

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return np.ones((self._rows(X, reset=False), 1))

    def _rows(self, X, reset):
        # 1 is 1 whatever the point: a data frame may hold words, and numbers need no check.
        frame = is_frame(X)
        numbers = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f" and X.size
        if frame or numbers:
            return validate_data(self, X, reset=reset, skip_check_array=True).shape[0]
        options = {"accept_sparse": True, "ensure_all_finite": False}
        with explained("a table or an array, one sample a row", X=X):
            return validate_data(self, X, reset=reset, **options).shape[0]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.asarray(["1"], dtype=object)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


class Polynomials(TransformerMixin, BaseEstimator):
    """All monomials of total degree ≤ `degree`, the constant included.

    Parameters
    ----------
    degree : int
        0 gives the constant, 1 adds the coordinates, 2 their squares and products, …
    scaled : bool
        Evaluate the monomials in coordinates shifted and scaled so that the training data fill
        [−1, 1]: the span is the same and the matrix far better conditioned.  Set it to False
        when the coefficients are to be read as those of 1, x, x², …

    Attributes
    ----------
    powers_ : (ℓ, d) array
        The exponents of each monomial, by degree, then lexicographically.
    center_, half_range_ : (d,) arrays
        The scaled coordinate is (x − center_) / half_range_.

    Examples
    --------
    >>> from kernelbook import Polynomials
    >>> quadratic = Polynomials(2, scaled=False).fit([[0.0, 1.0], [2.0, 3.0]])
    >>> quadratic.get_feature_names_out(["a", "b"]).tolist()
    ['1', 'a', 'b', 'a^2', 'a b', 'b^2']
    >>> quadratic.transform([[2.0, 3.0]])
    array([[1., 2., 3., 4., 6., 9.]])
    """

    def __init__(self, degree: int = 1, scaled: bool = True) -> None:
        self.degree = degree
        self.scaled = scaled

    def fit(self, X: Any, y: Any = None) -> Self:
        integer = isinstance(self.degree, (int, np.integer)) and not isinstance(self.degree, bool)
        if not (integer and self.degree >= 0):
            raise ValueError(f"degree must be an integer ≥ 0, not {self.degree!r}.")
        if not isinstance(self.scaled, bool | np.bool_):
            raise ValueError(f"scaled={self.scaled!r} must be True or False.")
        X = self._rows(X, reset=True)
        d = X.shape[1]
        if (count := comb(d + self.degree, d)) > MAX_MONOMIALS:
            raise ValueError(
                f"degree={self.degree} on {d} columns means {count} monomials; choose a smaller "
                "degree, or fewer columns."
            )
        self.powers_ = np.array(
            [
                np.bincount(chosen, minlength=d)
                for total in range(self.degree + 1)
                for chosen in combinations_with_replacement(range(d), total)
            ],
            dtype=np.intp,
        ).reshape(-1, d)
        low, high = X.min(axis=0), X.max(axis=0)
        # Halve before subtracting: the range of data near 1e308 would overflow.
        self.center_ = low / 2 + high / 2 if self.scaled else np.zeros(d)
        half = high / 2 - low / 2 if self.scaled else np.ones(d)
        self.half_range_ = np.where(half > 0, half, 1.0)
        return self

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        P, d = np.empty((len(X), len(self.powers_))), X.shape[1]
        P[:, 0] = 1.0
        # The scaled coordinates are monomials too: they go into P, and the others read them there.
        U = P[:, 1 : 1 + d] if self.degree else np.empty(X.shape)
        np.divide(np.subtract(X, self.center_, out=U), self.half_range_, out=U)
        for column, powers in zip(P.T[1 + d :], self.powers_[1 + d :], strict=True):
            column[:] = 1.0
            for j in np.flatnonzero(powers):
                column *= U[:, j] ** powers[j]
        return P

    def _rows(self, X, reset):
        with explained("finite numbers, one sample a row", X=X):
            return validate_data(self, X, reset=reset, dtype=np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.asarray([_monomial(names, powers) for powers in self.powers_], dtype=object)


def _monomial(names, powers):
    factors = [
        name if power == 1 else f"{name}^{power}"
        for name, power in zip(names, powers, strict=True)
        if power
    ]
    return " ".join(factors) or "1"


class NoFeatures(TransformerMixin, BaseEstimator):
    """No feature: P has no columns, and all of f is regularized."""

    def fit(self, X: Any, y: Any = None) -> Self:
        return self

    def transform(self, X: Any) -> np.ndarray:
        return np.empty((X.shape[0], 0))


class FunctionFeatures(TransformerMixin, BaseEstimator):
    """A plain function `X -> (m, ℓ)` as a feature map."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def fit(self, X: Any, y: Any = None) -> Self:
        return self

    def transform(self, X: Any) -> np.ndarray:
        return self.function(X)


def as_features(features: Any) -> Any:
    """A fresh, unfitted feature map for anything a user may pass as `features`."""
    if features is None:
        return NoFeatures()
    if isinstance(features, str):
        return Constant() if features == "constant" else Formula(features)
    if isinstance(features, list | tuple | int | float):
        raise TypeError(f"features={features!r}: {_as_formula(features)}")
    if isinstance(features, type):
        raise TypeError(
            f"features must be an instance, and {features.__name__} is a class: "
            f"write features={features.__name__}(…)."
        )
    if hasattr(features, "fit") and hasattr(features, "transform"):
        return clone(features)
    if hasattr(features, "cpd_order"):
        raise TypeError(
            f"features={features!r} is a kernel; pass it as kernel, or as features a function of "
            "X alone: lambda X: kernel(X, centres)."
        )
    if callable(features):
        return FunctionFeatures(features)
    raise TypeError(
        f"features={features!r} is neither 'constant', None, a formula such as '1 + x0', a "
        "transformer with fit and transform, nor a function of X."
    )


def _as_formula(features):
    """What to write for a list of columns, or a number."""
    if isinstance(features, list | tuple) and features:
        terms = [f"x{c}" if isinstance(c, int) else str(c) for c in features]
        formula = " + ".join(["1", *terms])
        return f"columns that go free are written as a formula, features={formula!r}."
    return "for the constant write features='constant', for no feature features=None."


# ------------------------------------------------------------------- fitted, evaluated, checked


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


def check_count(count: int, samples: int, observations: float) -> None:
    """An error where there are more free features than rows; weights count as repeated rows."""
    if count > max(samples, observations):
        raise ValueError(
            f"{count} free features on {samples} samples: more features than samples fit any y. "
            "Take fewer features, or more samples."
        )

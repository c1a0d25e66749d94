"""Predefined features: the functions φ_1 … φ_ℓ that a learner may use for free.

A feature map is anything that turns m points into an m×ℓ matrix P, P_ip = φ_p(x_i):

- a scikit-learn transformer (`fit`/`transform`), used as it is;
- a callable `X -> (m, ℓ)` array;
- `"constant"`, the bias of the classical support vector machine;
- `None`, no free feature at all.

What a learner finds depends only on the *span* H₀ of the features: an invertible change
φ → φA changes λ → A⁻¹λ and leaves the function alone (the book's chapter on anchor
invariance).  So a map is free to scale its features for the sake of the arithmetic, and
`Polynomials` does.

**Weights.**  Where a learner is given sample weights, a row of weight 2 is two rows, also for the
features.  A transformer that learns from the rows (means, quantiles, principal components) is
fitted with `sample_weight` if its `fit` takes it (in a `Pipeline`, if every step does), and
otherwise, if the weights are whole numbers, on rows repeated that often (`fit_features`).  With
other weights a transformer, or a step of a pipeline, that takes none sees the rows unweighted.
Rows of weight zero it never sees.

On a sample the features may be linearly dependent although they are independent as
functions (two class indicators that never fire in the training set are both zero).
Then λ is not unique; `column_space` reduces P to its range and fixes one λ.
"""

from itertools import combinations_with_replacement
from math import comb

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

from kernelbook.numeric.column_space import column_space

__all__ = [
    "Constant",
    "Polynomials",
    "as_features",
    "check_feature_matrix",
    "check_order",
    "evaluate",
    "fit_features",
]


_MOST = 100_000  # monomials, far more than any sample can tell apart

_ROWS = 1_000_000  # to which a sample is repeated, at most


class Constant(TransformerMixin, BaseEstimator):
    """The single feature φ(x) = 1: the bias term of the standard support vector machine."""

    def fit(self, X, y=None):
        self._rows(X, reset=True)
        return self

    def transform(self, X):
        check_is_fitted(self)
        return np.ones((self._rows(X, reset=False), 1))

    def _rows(self, X, reset):
        # 1 is 1 whatever the point: a data frame may hold words, and numbers are not looked at.
        numbers = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f" and X.size
        options = {"skip_check_array": True} if _is_frame(X) or numbers else {"accept_sparse": True}
        return validate_data(self, X, reset=reset, **options).shape[0]

    def get_feature_names_out(self, input_features=None):
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
    """

    def __init__(self, degree=1, scaled=True):
        self.degree = degree
        self.scaled = scaled

    def fit(self, X, y=None):
        integer = isinstance(self.degree, (int, np.integer)) and not isinstance(self.degree, bool)
        if not (integer and self.degree >= 0):
            raise ValueError(f"degree must be an integer ≥ 0, not {self.degree!r}.")
        X = validate_data(self, X, dtype=np.float64)
        d = X.shape[1]
        if (count := comb(d + self.degree, d)) > _MOST:
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

    def transform(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        P, d = np.empty((len(X), len(self.powers_))), X.shape[1]
        P[:, 0] = 1.0
        # The monomials of degree one stand where the others find them.
        U = P[:, 1 : 1 + d] if self.degree else np.empty(X.shape)
        np.divide(np.subtract(X, self.center_, out=U), self.half_range_, out=U)
        for column, powers in zip(P.T[1 + d :], self.powers_[1 + d :], strict=True):
            column[:] = 1.0
            for j in np.flatnonzero(powers):
                column *= U[:, j] ** powers[j]
        return P

    def get_feature_names_out(self, input_features=None):
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

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.empty((X.shape[0], 0))


class FunctionFeatures(TransformerMixin, BaseEstimator):
    """A plain function `X -> (m, ℓ)` as a feature map."""

    def __init__(self, function):
        self.function = function

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.function(X)


def _is_frame(X):
    return hasattr(X, "iloc")


def as_features(features):
    """A fresh, unfitted feature map for anything a user may pass as `features`."""
    if features is None:
        return NoFeatures()
    if isinstance(features, str):
        if features == "constant":
            return Constant()
        raise ValueError(
            f"features={features!r} is not known; pass 'constant', None, a scikit-learn "
            "transformer, or a function of X that returns an (m, ℓ) array."
        )
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
        f"features={features!r} is neither 'constant', None, a transformer with fit and "
        "transform, nor a function of X."
    )


def fit_features(features, X, y, w):
    """The feature map fitted to rows that count w > 0 times; see "Weights" above."""
    blind = isinstance(features, (Constant, Polynomials, NoFeatures, FunctionFeatures))
    if blind or np.all(w == 1):
        return features.fit(X, y)
    takers, all_take = _weight_arguments(features)
    if not all_take and np.all(w == np.floor(w)) and w.sum() <= _ROWS:
        rows = np.repeat(np.arange(len(w)), w.astype(np.intp))
        return features.fit(X.iloc[rows] if _is_frame(X) else X[rows], y[rows])
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


def evaluate(features, X) -> np.ndarray:
    """The matrix P of a fitted feature map at X, dense, float64 and checked."""
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is an error below
        P = features.transform(X)
    return check_feature_matrix(P, X.shape[0], "features(X)")


def check_feature_matrix(P, n_rows, name) -> np.ndarray:
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

    def __init__(self, P):
        self.names = _column_names(P)
        self.count = None

    def matrix(self, P, n_rows) -> np.ndarray:
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
    return list(P.columns) if _is_frame(P) else None


def check_order(P, X, kernel) -> None:
    """Raise unless the features contain the polynomials that the kernel's `cpd_order` needs.

    A kernel of order q is definite on coefficients that annihilate the polynomials of degree less
    than q; Pᵀc = 0 sees to that if they are in the span of the features.  Whether they are is
    tried on the sample: P their feature matrix, X the points.

    For *every* set of features that contains them this is right; that it is necessary is not
    true.  On the line, with φ = 1 + |x| as the only feature, −|x−z| = B(x, z) − |x| − |z| with the
    positive definite B = |x| + |z| − |x−z|, and where Σ c_i (1 + |x_i|) = 0 this gives
    cᵀΦc = cᵀBc + 2(Σ c_i)² ≥ 0, without the constant.  Such luck needs a proof of its own, so we
    ask for the polynomials; who has the proof passes the Gram matrix (kernel="precomputed"),
    which G-RLS then tries on Pᵀc = 0 itself.
    """
    if kernel.cpd_order == 0:
        return
    degree, (m, d) = kernel.cpd_order - 1, X.shape
    needs = (
        f"{kernel!r} is conditionally positive definite of order {kernel.cpd_order}: it needs "
        + (f"all polynomials of degree ≤ {degree}" if degree else "the constant")
        + " among the free features"
    )
    count = comb(d + degree, degree)
    if count > 100 * max(m, P.shape[1]):
        raise ValueError(f"{needs}; on points with {d} columns these are {count}.")
    needed = Polynomials(degree).fit(X)
    V = needed.transform(X)
    Q = column_space(P).Q
    missing = np.linalg.norm(V - Q @ (Q.T @ V), axis=0) / np.sqrt(m)
    worst = np.argmax(missing)
    # About the square root of rounding: features may contain them in a poorly scaled basis.
    if missing[worst] > 1e-8:
        remedy = f"Polynomials({degree})" if degree else "'constant'"
        raise ValueError(
            f"{needs}, and {needed.get_feature_names_out()[worst]} is no combination of yours on "
            f"this sample.  Use features={remedy}, or add it to yours.  (Other features may do, "
            "with a proof of their own: pass the Gram matrix, kernel='precomputed'.)"
        )

"""What all learners share: from what a user passes to (Gram matrix, P, y, w), and back to f.

The estimators contain no mathematics.  They check the input, evaluate the kernel and the
features, pass arrays to a solver, and keep its arrays as fitted attributes.  The part of this
that does not depend on the loss is here.

With `kernel="precomputed"`, X is the Gram matrix itself (m×m in `fit`, n×m in `predict`), and the
feature matrix is passed beside it as `P`, in `fit` and in `predict`, unless the features are
`None` or `"constant"`.
"""

import os
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from kernelbook.estimators._refusals import check_columns, rows_explained
from kernelbook.estimators._sanity import (
    ALONE,
    EQUAL,
    FEWEST,
    LOST,
    tell,
    tell_of_dates,
    tell_of_features,
    tell_of_kernel,
)
from kernelbook.features import (
    Formula,
    GivenFeatures,
    as_features,
    check_count,
    encoded,
    evaluate,
    feature_names,
    fit_features,
    is_frame,
    lost_features,
    refuse_text,
    take_rows,
    text_levels,
)
from kernelbook.kernels import Kernel, as_kernel
from kernelbook.kernels.parameters import require_known, translate_parameters
from kernelbook.numeric.arrays import dates_in, explained, fingerprint, is_collection
from kernelbook.numeric.facts import facts_of_rows, feature_facts, gram_facts, probe_rows
from kernelbook.saving import save

__all__ = ["FreeFeatureEstimator", "Sample", "as_given", "constant_columns", "in_memory"]

# What to suggest where a search reaches for a parameter of a value that has none.
_REMEDIES = {
    "kernel": "kernel=Gaussian(), for instance, whose width is kernel__width",
    "features": "features=Polynomials(), for instance, whose degree is features__degree",
    "basis": "an instance of a basis",
}


def as_given(raw: Any, X: Any) -> Any:
    """X as the features see it: a data frame as it is, since they may select columns by name."""
    return X if isinstance(raw, np.ndarray) or not is_frame(raw) else raw


def constant_columns(P: np.ndarray) -> np.ndarray:
    """The numbers of the columns that are a constant other than zero."""
    return np.flatnonzero((P == P[:1]).all(axis=0) & (P[:1] != 0).any(axis=0))


def in_memory(what: str, *arrays: Any) -> None:
    """An error for Dask collections, where scikit-learn would gather them on this machine."""
    if any(map(is_collection, arrays)):
        raise TypeError(
            f"{what} needs arrays in memory: pass X.compute() and y.compute(), or part of them.  "
            "On Dask collections there are fit and predict of GRLSRegressor and GRLSClassifier, "
            "with solver='fourier' or 'nystrom', and score: X, y and the weights must all be "
            "collections then."
        )


@dataclass
class Sample:
    """The training sample as the solvers want it; rows of zero weight are gone.

    Attributes
    ----------
    X, y, w : arrays
        For kernel="precomputed", X is the Gram matrix of the rows that are left.
    given : array or data frame
        X as the features see it.
    kept : array of int
        Which rows are left.
    size : int
        How many rows there were.
    P : (m, ℓ) array
    """

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray
    given: object
    kept: np.ndarray
    size: int
    P: np.ndarray | None = None


class FreeFeatureEstimator(BaseEstimator):
    """Base of every learner f = Σ λ_p φ_p + Σ c_i K(x_i, ·) with parameters kernel and features."""

    _called_elsewhere: ClassVar[dict] = {
        "alpha": "C multiplies the errors, and SGDClassifier's alpha is 1/(C·m) for m samples",
        "coef0": "write kernel=Polynomial(degree, offset=coef0)",
        "data": "pass the data frame to fit, and its columns go by name: fit(table, y)",
        "degree": "write kernel=Polynomial(degree), or features=Polynomials(degree)",
        "fit_intercept": "write features='constant' for an intercept, features=None for none",
        "formula": "a formula is written as features, without y: features='1 + x + C(group)'",
        "gamma": "a width belongs to the kernel: kernel=Gaussian(width=1/√gamma)",
        "groups": "an effect of each group is C(group) in features, free, or the kernel "
        "Categorical('group'), penalized",
        "length_scale": "a width belongs to the kernel: kernel=Gaussian(width=√2·length_scale)",
        "lengthscale": "a width belongs to the kernel: kernel=Gaussian(width=√2·lengthscale)",
        "nu": "smoothness belongs to the kernel: kernel=Matern(width, nu=nu)",
        "range": "a range belongs to the kernel: kernel=Matern(width=range, nu=0.5) is the "
        "exponential variogram",
        "reg": "C multiplies the errors: C=C_from_reg(reg, m) for m samples",
        "sigma": "a width belongs to the kernel: kernel=Gaussian(width=√2·sigma)",
        "width": "a width belongs to the kernel: kernel=Gaussian(width=width)",
    }

    _check_y: ClassVar[dict] = {}  # options of scikit-learn's validation

    def __new__(cls, *args, **params):
        translate_parameters(cls, params)
        require_known(cls, args, params)
        return super().__new__(cls)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        # The Gaussian, which None stands for, needs dense rows.
        kernel = getattr(self, "kernel", None)  # learners over a basis have none
        tags.input_tags.sparse = isinstance(kernel, Kernel) and kernel.accepts_sparse
        tags.target_tags.multi_output = self._check_y.get("multi_output", False)
        return tags

    @property
    def _precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, `kernel__width` reaching into the kernel; returns the learner."""
        translate_parameters(type(self), params, ValueError)
        for name, inside, rest in (key.partition("__") for key in params):
            value = params.get(name, getattr(self, name, None))
            if inside and name in _REMEDIES and not hasattr(value, "set_params"):
                raise ValueError(
                    f"{name}__{rest}: {name}={value!r} has no parameters to set.  Start from one "
                    f"that has: {_REMEDIES[name]}."
                )
        return super().set_params(**params)

    @contextmanager
    def _fresh(self):
        """Inside, a fit: from nothing, and if it fails, leaving nothing half fitted behind."""
        self._reset()
        try:
            self._check_common()
            yield
        except KeyboardInterrupt as interrupt:
            self._reset()
            what = interrupt.args or ("fit was interrupted and has kept nothing.",)
            raise KeyboardInterrupt(*what) from None
        except BaseException as error:
            self._reset()
            # Ctrl-C may strike where Numba unpacks its arguments, and then has another name.
            while isinstance(error, SystemError):
                error = error.__cause__
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt("fit was interrupted and has kept nothing.") from None
            raise

    def _check_common(self):
        """The parameters that mean the same for every learner."""
        verbose = getattr(self, "verbose", 0)
        if not (isinstance(verbose, Integral | np.bool_) and verbose >= 0):
            raise ValueError(f"verbose={verbose!r} must be 0 for silence, or 1 for progress.")
        start = getattr(self, "warm_start", False)
        if not isinstance(start, bool | np.bool_):
            raise ValueError(f"warm_start={start!r} must be True or False.")
        seed = getattr(self, "random_state", None)
        if seed is not None:
            with explained(
                "None, an integer from 0 to 2³² − 1, or a RandomState", random_state=seed
            ):
                check_random_state(seed)

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted learner to a file without code, conventionally "….kb".

        `kernelbook.load` reads it.  What is code, such as a function as a kernel or a feature,
        cannot be written, and the error names it.
        """
        check_is_fitted(self)
        save(self, path)

    _private_state: tuple[str, ...] = (
        "_pairwise",
        "_takes_sparse",
        "_n_free",
        "_columns",
        "_centers",
    )
    """Attributes of a fit whose names do not end in an underscore."""

    def _reset(self):
        for name in list(vars(self)):
            if name.endswith("_") or name in self._private_state:
                delattr(self, name)

    def _rows(self, X, *y, **check_y):
        """X and y, checked, in `fit`; without y, X as it must be after `fit`."""
        in_memory(type(self).__name__, X, *y)
        if y:
            self._pairwise = self._precomputed
            self._takes_sparse = self.__sklearn_tags__().input_tags.sparse
        if sparse.issparse(X) and not self._takes_sparse:
            which = "kernel" if hasattr(self, "kernel") else "basis"
            raise TypeError(
                f"Sparse data was passed, and {which}={getattr(self, which)!r} needs dense rows: "
                "pass X.toarray(), or use Linear or Polynomial kernels, which take sparse rows."
            )
        options = {"dtype": np.float64, "accept_sparse": "csr" if self._takes_sparse else False}
        if y:
            if isinstance(y[0], str):
                raise TypeError(
                    f"y={y[0]!r} is a name: pass the column itself, table[{y[0]!r}], and X without "
                    "it."
                )
            table = is_frame(X) and len(np.shape(X)) == 2
            if (table or not is_frame(X)) and (dates := dates_in(X)) is not None:
                tell_of_dates(dates)
            self.levels_ = self._levels_of(X) if table else {}
        else:
            check_columns(self, X)
        if self.levels_:
            X = encoded(X, self.levels_)
        if y:
            what = "X as rows of finite real numbers, and y with an entry for each row"
            try:
                return validate_data(self, X, *y, **options, **check_y)
            except (TypeError, ValueError):
                with rows_explained(what, X=X, y=y[0]):
                    raise
        if self._pairwise and np.ndim(X) == 2 and np.shape(X)[1] != self.n_features_in_:
            raise ValueError(
                f"X has {np.shape(X)[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input: with kernel='precomputed', X is the "
                "matrix Φ(x, x_i) with a column for each sample of the fit."
            )
        with rows_explained("X as rows of finite real numbers", X=X):
            return validate_data(self, X, reset=False, **options)

    def _levels_of(self, X):
        """The levels of the columns of text, by number; an error where there can be none."""
        levels = text_levels(X)
        if levels and (self._pairwise or not hasattr(self, "kernel")):
            name = X.columns[next(iter(levels))]
            raise ValueError(
                f"column {name!r} of X holds text, and {type(self).__name__} needs numbers here: "
                "encode it (OneHotEncoder), or drop it."
            )
        return levels

    def _weights_of(self, X, sample_weight):
        """A weight for each row, not negative, not all zero, of finite sum."""
        if sample_weight is None:
            return np.ones(X.shape[0])
        in_memory(type(self).__name__, sample_weight)
        what = "None, or a number ≥ 0 for each row, not all of them zero"
        with explained(what, sample_weight=sample_weight):
            w = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True
            )
        with np.errstate(over="ignore"):
            if not np.isfinite(w.sum()):
                raise ValueError(
                    "the sum of sample_weight overflows; only ratios matter: scale it."
                )
        if not w.any():
            raise ValueError(
                "sample_weight is zero for every sample; at least one must be positive."
            )
        return w

    def _sample(self, X, y, sample_weight=None, P=None, **check_y) -> Sample:
        """Validate, drop absent rows, fit `kernel_` and `features_`, evaluate P."""
        sample = self._checked(X, y, sample_weight, **check_y)
        given_P = None if P is None else self._fit_given(P, sample)
        if not self._pairwise:
            self._fit_kernel(sample.X, sample.w)
        sample.P = self._fit_features(sample) if given_P is None else given_P
        return sample

    def _checked(self, X, y, sample_weight=None, **check_y) -> Sample:
        """Validate and drop absent rows."""
        raw = X
        X, y = self._rows(X, y, **check_y)
        m = X.shape[0]
        if self._pairwise and X.shape[1] != m:
            raise ValueError(
                f"kernel='precomputed' needs a square Gram matrix in fit, not shape {X.shape}."
            )
        w = self._weights_of(X, sample_weight)
        self.fingerprint_ = fingerprint(X, y, w)
        return self._present(raw, X, y, w)

    def _present(self, raw, X, y, w) -> Sample:
        """The rows of positive weight."""
        m, kept, given = X.shape[0], np.flatnonzero(w > 0), as_given(raw, X)
        if kept.size < m:
            X, y, w, given = X[kept], y[kept], w[kept], take_rows(given, kept)
            X = X[:, kept] if self._pairwise else X
        return Sample(X, y, w, given, kept, m)

    def _question(self, sample, Y, facts=None):
        """Warn of a fit that succeeds and means nothing, as far as a sample can show it.

        Parameters
        ----------
        sample : Sample
            With its P, or None where that is never a matrix as a whole.
        Y : (m,) or (m, k) array
            Targets: numbers, or for classifiers ±1.
        facts : GramFacts, optional
            Of the Gram matrix, where a solver has had it.
        """
        m = sample.X.shape[0]
        if m < FEWEST:
            return
        kernel = None if self._pairwise else self._kernel_seen()
        if self._pairwise or (kernel is not None and kernel._proven and not kernel.cpd_order):
            if facts is None:
                facts = self._gram_facts(kernel, sample.X)
            if facts is not None and (facts.largest < ALONE or facts.variation < EQUAL):
                tell_of_kernel(kernel, sample.X, facts)
        P = sample.P
        if P is None or P.shape[1] == 0 or (2 * P.shape[1] <= m and constant_columns(P).size):
            return
        # A matrix P is passed by a user who has seen its columns; a feature map may have been meant
        # as an addition to the constant.
        given = isinstance(self.features_, GivenFeatures)
        facts = feature_facts(P, None if given else Y)
        if 2 * facts.rank > m or facts.lost > LOST:
            tell_of_features(None if given else self.features, facts, m)

    def _keep_intercept(self, P, rank):
        """`intercept_`, where one column of P is a constant and the others cannot replace it."""
        constant = constant_columns(P)
        if constant.size == 1 and np.all(np.equal(rank, P.shape[1])):
            self.intercept_ = self.coef_[..., constant[0]] * P[0, constant[0]]

    def _kernel_seen(self):
        """The kernel, in which samples may be too far apart or all the same; may be None."""
        return self.kernel_

    @staticmethod
    def _gram_facts(kernel, X):
        if kernel is None:
            return gram_facts(X)
        rows = probe_rows(X.shape[0])
        return facts_of_rows(kernel(X[rows], X), rows, kernel.diag(X))

    def _fit_kernel(self, X, w):
        """What the regularized part of f is made of; primal learners have a basis instead."""
        # A copy: changing the parameters of a learner must not change what it has learned.
        given = self.kernel
        kernel = given if isinstance(given, Kernel) else as_kernel(given, X.shape[1])
        names = getattr(self, "feature_names_in_", None)
        self.kernel_ = kernel.bound(names)
        if self.levels_:
            refuse_text(self.kernel_, list(names), self.levels_)

    def _fit_given(self, P, sample):
        if not self._pairwise:
            raise ValueError("P is taken only with kernel='precomputed'; use features instead.")
        self.features_ = GivenFeatures(P)
        P = self.features_.matrix(P, sample.size)[sample.kept]
        check_count(P.shape[1], len(P), sample.w.sum())
        return P

    def _fit_features(self, sample):
        if self._pairwise and not (self.features is None or isinstance(self.features, str)):
            raise ValueError(
                f"kernel='precomputed' cannot evaluate features={self.features!r}: X is a Gram "
                "matrix.  Pass the feature matrix itself: fit(G, y, P=...), predict(G, P=...)."
            )
        with self._explained_text(sample.given):
            features = as_features(self.features)
            self.features_ = fit_features(features, sample.given, sample.y, sample.w)
            P = evaluate(self.features_, sample.given)
            check_count(P.shape[1], len(P), sample.w.sum())
        self._n_free = P.shape[1]
        self._tell_of_lost(P)
        return P

    def _tell_of_lost(self, P):
        """A warning that names the features of a table of which the sample says nothing.

        A matrix of features without names may be redundant on purpose, and nothing is said.
        """
        columns = getattr(self, "feature_names_in_", None)
        if columns is None and not isinstance(self.features_, Formula):
            return
        zero, dependent = lost_features(P, feature_names(self.features_, P.shape[1], columns))
        said = [f"zero in every row: {', '.join(zero)}"] if zero else []
        if dependent:
            said.append(f"linear combinations of each other: {', '.join(dependent)}")
        if said:
            tell(
                f"free features on these {len(P)} samples that are {'; '.join(said)}.  Their "
                "coefficients are not unique, and f is the same without the redundant ones: leave "
                "those out."
            )

    @contextmanager
    def _explained_text(self, given):
        """A map that cannot read text gets an error that names the columns."""
        try:
            yield
        except (TypeError, ValueError) as error:
            if not (self.levels_ and "could not convert" in str(error)):
                raise
            texts = ", ".join(str(given.columns[k]) for k in self.levels_)
            raise ValueError(
                f"features={self.features!r} needs numbers, and these columns of X hold text: "
                f"{texts}.  Name the columns in a formula, such as '1 + C({texts.split(',')[0]})', "
                "or select them with a ColumnTransformer."
            ) from error

    def _gram(self, X):
        """The Gram matrix of the training sample; may be the caller's own array: do not write."""
        return X if self._precomputed else self.kernel_(X)

    def _remember(self, sample: Sample, rows=slice(None), origin=None):
        """Keep what `_evaluate` needs: the centres x_i, i in `rows`, of the kernel expansion,
        seen from `origin`.
        """
        if self._precomputed:
            self._columns = sample.kept[rows]
        else:
            # Rows may still be the caller's own array, which the caller may change after the fit.
            self._centers = sample.X[rows].copy()
            if origin is not None:
                self._centers -= origin

    def _evaluate(self, X, dual_coef, coef, P=None):
        """f(X) = K(X, centres) dual_coef + P(X) coef."""
        check_is_fitted(self)
        raw, X = X, self._rows(X)
        return self._kernel_part(X, dual_coef) + self._features_at(as_given(raw, X), P) @ coef

    def _kernel_part(self, X, dual_coef):
        if self._pairwise:
            return X[:, self._columns] @ dual_coef
        return self.kernel_.matvec(X, self._centers, dual_coef)

    def _features_at(self, X, P=None):
        if isinstance(self.features_, GivenFeatures):
            if P is None:
                raise ValueError("this learner was fitted with P=...; predict needs P=... too.")
            return self.features_.matrix(P, X.shape[0])
        if P is not None:
            raise ValueError("P is taken only by learners that were fitted with P=...")
        P = evaluate(self.features_, X)
        if P.shape[1] != self._n_free:
            raise ValueError(
                f"features(X) has {P.shape[1]} columns, and in fit it had {self._n_free}: the "
                "number of features must not depend on the rows they are asked about."
            )
        return P

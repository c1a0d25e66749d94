"""Generalized regularized least squares: `GRLSRegressor` and `GRLSClassifier`.

Both minimize

    (1/W) Σ w_i (y_i − f(x_i))² + reg·‖P₁f‖²,      W = Σ w_i,

over f = Σ λ_p φ_p + Σ c_i K(x_i, ·), where the seminorm ‖P₁f‖ is blind to the features φ_p.
`kernelbook.solvers.grls.dense` says how, and why it is exact.

**Weights count observations.**  A row of weight 2 is two equal rows, a row of weight 0 is absent.
So m reads W wherever samples are counted: in the mean above (where only the ratios of the weights
matter) and in scale_ = yᵀGy / (W − rank P) (where their sum does: weights that sum to one say that
there was one observation, and then there is no estimate of scale).

**Several outputs**, and the ±1 targets of several classes, share one factorization and one `reg`.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import check_is_fitted

from kernelbook.distributed.predict import map_labels
from kernelbook.distributed.score import Accuracy, Squares, score_blocks
from kernelbook.estimators._base import in_memory
from kernelbook.estimators._validation import check_flags, labels
from kernelbook.estimators.least_squares.docs import ATTRIBUTES, MATRIX_FREE, PARAMETERS
from kernelbook.estimators.least_squares.learner import columns
from kernelbook.estimators.least_squares.slopes import EffectsAndSlopes
from kernelbook.estimators.least_squares.stream import StreamingLearner, streaming
from kernelbook.numeric.arrays import is_collection

__all__ = ["GRLSClassifier", "GRLSRegressor"]


class GRLSRegressor(EffectsAndSlopes, RegressorMixin, StreamingLearner):
    __doc__ = f"""Regularized least squares in which some features are not penalized.

    Minimizes (1/W) Σ w_i (y_i − f(x_i))² + reg·‖P₁f‖².  The same function is the universal
    kriging predictor, and for polyharmonic kernels with polynomials the smoothing spline.
{PARAMETERS}
    Attributes
    ----------{ATTRIBUTES}{MATRIX_FREE}
    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook import GRLSRegressor, Gaussian, Polynomials
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> y = 2 + 3 * X[:, 0]
    >>> f = GRLSRegressor(Gaussian(0.2), features=Polynomials(1, scaled=False)).fit(X, y)
    >>> f.coef_.round(6), bool(np.abs(f.dual_coef_).max() < 1e-9)
    (array([2., 3.]), True)
    """

    _check_y: ClassVar[dict] = {"multi_output": True, "y_numeric": True}

    @streaming
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add a chunk to what has been learned, and solve.

        For solver="fourier", whose first call needs `bounds`, and for "nystrom" with an array of
        centers.  A chunk that is refused leaves the learner as it was.  To solve only once after
        many chunks, use `fit_chunks`.
        """
        self._partial_fit(X, y, sample_weight)
        return self._warned()

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        P: Any = None,
        diag: Any = None,
        *,
        return_cov: bool = False,
        interval: float | None = None,
        noise: bool = False,
    ) -> np.ndarray | tuple[np.ndarray, ...]:
        """f(X), and how sure it is: `f`, `(f, std)`, `(f, cov)` or `(f, low, high)`.

        Parameters
        ----------
        X : (n, d) array, or (n, m) matrix of Φ(x, x_i) for kernel="precomputed"
        return_std : bool
            The deviation of f, without the noise of an observation, under the Gaussian process
            with covariance scale_·Φ, noise variance scale_·reg·W/w_i and a flat prior on λ.  It
            factors the system again on the first call (a fitted learner keeps no m×m array).
            Where rank P < ℓ, what the sample says nothing about counts as known: λ there is
            chosen by a rule, not estimated.
        P : (n, ℓ) array, optional
            The feature matrix; for learners that were fitted with one.
        diag : (n,) array, optional
            Φ(x, x), needed for `return_std` when kernel="precomputed".
        return_cov : bool
            The joint covariance of f at the rows of X, (n, n) or (n, n, k).
        interval : float, optional
            0.95 asks for the ends of intervals that hold f(x) with that probability, by Student's
            t with W − rank P degrees of freedom.
        noise : bool
            Whether std, cov and interval are those of a new observation of weight one, f(x) plus
            noise, in place of those of f(x).
        """
        check_flags(return_std=return_std, return_cov=return_cov, noise=noise)
        if return_std + return_cov + (interval is not None) > 1:
            raise ValueError(
                f"return_std={return_std!r}, return_cov={return_cov!r} and interval={interval!r} "
                "ask for different answers; pass one of them."
            )
        if not is_collection(X) and not isinstance(X, Iterator):
            check_is_fitted(self, "coef_")
            X = self._points(X)
        f = self._values(X, P)
        if interval is not None:
            return self._interval(X, f, P, diag, interval, noise)
        if return_std:
            std = self._std(X, P, diag)
            return f, (np.hypot(std, self._noise_deviation()) if noise else std)
        if return_cov:
            V = self._covariance(X, noise)
            return f, np.multiply.outer(V, self._deviations() ** 2)
        if noise:
            raise ValueError(
                "noise=True changes how sure a prediction is, not the prediction: pass it with "
                "return_std, return_cov or interval."
            )
        return f

    def score(self, X: Any, y: Any, sample_weight: Any = None, P: Any = None) -> float:
        """R², the share of the variance of y that is explained; P as for `predict`.

        On Dask collections it takes one pass, and only sums travel.
        """
        check_is_fitted(self, "coef_")
        if not is_collection(X) or P is not None:
            in_memory("score", X, y, sample_weight)
            return r2_score(y, self.predict(X, P=P), sample_weight=sample_weight)
        score = score_blocks(partial(squares_of_block, self), X, y, sample_weight)
        if np.isnan(score):
            text = "R² is not defined for a single sample: NaN."
            warnings.warn(text, UndefinedMetricWarning, stacklevel=2)
        return score


class GRLSClassifier(ClassifierMixin, StreamingLearner):
    __doc__ = f"""Least-squares classification in which some features are not penalized.

    Fits ±1 targets by regularized least squares: one output for two classes, one against the rest
    for more, all on one factorization.
{PARAMETERS}
    Attributes
    ----------
    classes_ : array{ATTRIBUTES}{MATRIX_FREE}
    Notes
    -----
    For two classes there is one output (k = 1), where positive values of f mean `classes_[1]`;
    otherwise there is one for each class.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook import GRLSClassifier, Gaussian
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> f = GRLSClassifier(Gaussian(0.2), reg=1e-3).fit(X, X[:, 0] > 0.5)
    >>> f.predict([[0.1], [0.9]]), f.coef_.shape
    (array([False,  True]), (1, 1))
    """

    _single_row = True

    def _learn_classes(self, y):
        self.classes_, _ = labels(np.asarray(y))

    def _targets(self, y):
        self._learn_classes(y)
        return self._targets_of(y)

    def _targets_of(self, y):
        """±1 for the classes that are known: one column for two of them, else one for each."""
        y = np.asarray(y)
        index = np.searchsorted(self.classes_, y).clip(max=self.classes_.size - 1)
        unknown = self.classes_[index] != y
        if unknown.any():
            raise ValueError(
                f"y has the label {y[unknown].tolist()[0]!r}, which is none of the classes "
                f"{self.classes_.tolist()}: name all of them in classes=..."
            )
        if self.classes_.size == 2:
            return 2.0 * index - 1.0
        return np.where(index[:, None] == np.arange(self.classes_.size), 1.0, -1.0)

    @streaming
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a chunk to what has been learned, and solve.

        For solver="fourier", whose first call needs `bounds`, and for "nystrom" with an array of
        centers.  The first call needs `classes`, all the labels that will come.  A chunk that is
        refused leaves the learner as it was.
        """
        self._partial_fit(X, y, sample_weight, classes)
        return self._warned()

    def decision_function(self, X: Any, P: Any = None) -> np.ndarray:
        """f(X): (n,) for two classes, otherwise (n, number of classes)."""
        return self._values(X, P)

    def predict(self, X: Any, P: Any = None) -> np.ndarray:
        """The label of the largest value of f."""
        f = self.decision_function(X, P)
        if is_collection(f):
            return map_labels(self.classes_, f)
        return self.classes_[(f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None, P: Any = None) -> float:
        """The share of labels that are right; P as for `predict`.

        On Dask collections it takes one pass, and only sums travel.
        """
        check_is_fitted(self, "coef_")
        if is_collection(X) and P is None:
            return score_blocks(partial(accuracy_of_block, self), X, y, sample_weight)
        in_memory("score", X, y, sample_weight)
        return accuracy_score(y, self.predict(X, P), sample_weight=sample_weight)


def _weights(w, rows):
    if w is None:
        return np.ones(rows)
    w = check_array(w, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    w = column_or_1d(w)
    if (w < 0).any():
        raise ValueError("sample_weight has negative numbers; weights count observations.")
    return w


def squares_of_block(learner: Any, X: Any, y: Any, w: np.ndarray) -> Any:
    """What a block of a collection adds to R²."""
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    f = learner.predict(X)
    if np.shape(y) != np.shape(f):
        raise ValueError(f"y has rows of shape {y.shape[1:]}, and f of shape {f.shape[1:]}.")
    return Squares.of(columns(y), columns(f), _weights(w, len(f)))


def accuracy_of_block(learner: Any, X: Any, y: Any, w: np.ndarray) -> Any:
    """What a block of a collection adds to the share of labels that are right."""
    w, y = _weights(w, len(X)), column_or_1d(np.asarray(y))
    kinds = y.dtype.kind + learner.classes_.dtype.kind
    if "U" in kinds and not set(kinds) <= set("UO"):
        raise ValueError(
            f"y has labels like {y[0]!r}, and the classes are {learner.classes_.tolist()}: "
            "text and numbers are never equal."
        )
    return Accuracy(w.sum(), w @ (learner.predict(X) == y))

"""Generalized regularized least squares: `GRLSRegressor` and `GRLSClassifier`.

Both minimize

    (1/W) Σ w_i (y_i − f(x_i))² + reg·‖P₁f‖²,      W = Σ w_i,

over f = Σ λ_p φ_p + Σ c_i K(x_i, ·), where the seminorm ‖P₁f‖ does not feel the features φ_p.
How, and why it is exact, stands in `kernelbook.solvers.grls.dense`.

**Weights count observations.**  A row of weight 2 is two equal rows, a row of weight 0 is absent.
So m reads W wherever samples are counted: in the mean above (where only the ratios of the weights
matter) and in scale_ = yᵀGy / (W − rank P) (where their sum does: weights that sum to one say that
there was one observation, and then there is no estimate of scale).

**Several outputs**, and the ±1 targets of several classes, share one factorization and one `reg`.
"""

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples

from kernelbook.distributed import in_memory, is_collection, map_labels
from kernelbook.distributed_scores import score_collection
from kernelbook.estimators._grls_base import GRLS
from kernelbook.estimators._grls_stream import StreamingLearner, streaming
from kernelbook.estimators._grls_text import ATTRIBUTES, MATRIX_FREE, PARAMETERS

__all__ = ["GRLSClassifier", "GRLSRegressor"]


class GRLSRegressor(RegressorMixin, StreamingLearner, GRLS):
    __doc__ = f"""Regularized least squares in which some features go unpunished.

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

    def fit(self, X, y, sample_weight=None, P=None):
        """Fit to y of shape (m,) or (m, k).

        Parameters
        ----------
        X : (m, d) array, or (m, m) Gram matrix for kernel="precomputed"
            Or, with y and the weights, Dask collections: `kernelbook.distributed`.
        y : (m,) or (m, k) array
        sample_weight : (m,) array, optional
            Numbers ≥ 0 that count observations.
        P : (m, ℓ) array, optional
            The feature matrix; only for kernel="precomputed".
        """
        if is_collection(X):
            self._fit_collection(X, y, sample_weight, P)
            return self._warned()
        if self._by_fourier(X):
            self._fit_fourier(X, y, sample_weight, P)
            return self._warned()
        with self._fresh():
            sample = self._numeric_sample(X, y, sample_weight, P)
            self._fit_targets(sample, sample.y, self.reg, _num_samples(X))
        return self._warned()

    @streaming
    def partial_fit(self, X, y, sample_weight=None):
        """Add a chunk to what has been learned, and solve; only with solver="fourier".

        The first call needs `bounds`.  A chunk that is refused leaves the learner as it was.
        To solve only once after many chunks, use `fit_chunks`.
        """
        self._partial_fit(X, y, sample_weight)
        return self._warned()

    def _numeric_sample(self, X, y, sample_weight, P):
        sample = self._sample(X, y, sample_weight, P, multi_output=True, y_numeric=True)
        sample.y = np.asarray(sample.y, dtype=np.float64)
        return sample

    def predict(self, X, return_std=False, P=None, diag=None):
        """f(X), and with `return_std` also the standard deviation of f(x).

        Parameters
        ----------
        X : (n, d) array, or (n, m) matrix of Φ(x, x_i) for kernel="precomputed"
        return_std : bool
            The deviation of f, without the noise of an observation, under the Gaussian process
            with covariance scale_·Φ, noise variance scale_·reg·W/w_i and a flat prior on λ.  It
            factors the system anew on the first call (a fitted learner keeps no m×m array).
            Where rank P < ℓ, what the sample says nothing about counts as known: λ there is
            chosen by a rule, not estimated.
        P : (n, ℓ) array, optional
            The feature matrix; for learners that were fitted with one.
        diag : (n,) array, optional
            Φ(x, x), needed for `return_std` when kernel="precomputed".
        """
        values = self._values(X, P)
        return (values, self._std(X, P, diag)) if return_std else values

    def score(self, X, y, sample_weight=None, P=None):
        """R², the share of the variance of y that is explained; P as for `predict`.

        On Dask collections it takes one pass, and only sums travel.
        """
        if is_collection(X) and P is None:
            return score_collection(self, X, y, sample_weight)
        in_memory("score", X, y, sample_weight)
        return r2_score(y, self.predict(X, P=P), sample_weight=sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class GRLSClassifier(ClassifierMixin, StreamingLearner, GRLS):
    __doc__ = f"""Least-squares classification in which some features go unpunished.

    Fits ±1 targets by regularized least squares: one column for two classes, one against the rest
    for more, all on one factorization.
{PARAMETERS}
    Attributes
    ----------
    classes_ : array{ATTRIBUTES}{MATRIX_FREE}
    Notes
    -----
    The attributes have one column (k = 1, shape (m,), (ℓ,), …) for two classes, where positive
    values of f mean `classes_[1]`, and a column for each class otherwise.
    """

    def fit(self, X, y, sample_weight=None, P=None):
        """Fit to labels y.

        Parameters
        ----------
        X : (m, d) array, or (m, m) Gram matrix for kernel="precomputed"
            Or, with y and the weights, Dask collections: `kernelbook.distributed`.
        y : (m,) array of labels
        sample_weight : (m,) array, optional
            Numbers ≥ 0 that count observations.
        P : (m, ℓ) array, optional
            The feature matrix; only for kernel="precomputed".
        """
        if is_collection(X):
            self._fit_collection(X, y, sample_weight, P)
            return self._warned()
        if self._by_fourier(X):
            self._fit_fourier(X, y, sample_weight, P)
            return self._warned()
        with self._fresh():
            sample, targets = self._labelled_sample(X, y, sample_weight, P)
            self._fit_targets(sample, targets, self.reg, _num_samples(X))
        return self._warned()

    @streaming
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Add a chunk to what has been learned, and solve; only with solver="fourier".

        The first call needs `bounds`, and `classes`, all the labels that will come.  A chunk that
        is refused leaves the learner as it was.
        """
        self._partial_fit(X, y, sample_weight, classes)
        return self._warned()

    def _labelled_sample(self, X, y, sample_weight, P):
        sample = self._sample(X, y, sample_weight, P)
        check_classification_targets(sample.y)
        self.classes_, index = np.unique(sample.y, return_inverse=True)
        if self.classes_.size == 1:
            raise ValueError(
                f"y has one class only, {self.classes_.tolist()}; a classifier needs at least two "
                "classes with positive weight."
            )
        if self.classes_.size == 2:
            return sample, 2.0 * index - 1.0
        return sample, np.where(index[:, None] == np.arange(self.classes_.size), 1.0, -1.0)

    def decision_function(self, X, P=None):
        """f(X): (n,) for two classes, otherwise (n, number of classes)."""
        return self._values(X, P)

    def predict(self, X, P=None):
        """The label of the largest value of f."""
        f = self.decision_function(X, P)
        if is_collection(f):
            return map_labels(self.classes_, f)
        return self.classes_[(f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)]

    def score(self, X, y, sample_weight=None, P=None):
        """The share of labels that are right; P as for `predict`.

        On Dask collections it takes one pass, and only sums travel.
        """
        if is_collection(X) and P is None:
            return score_collection(self, X, y, sample_weight)
        in_memory("score", X, y, sample_weight)
        return accuracy_score(y, self.predict(X, P), sample_weight=sample_weight)

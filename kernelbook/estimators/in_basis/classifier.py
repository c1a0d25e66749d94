"""What the learners with a basis in place of a kernel share."""

from sklearn.base import ClassifierMixin

from kernelbook.bases import as_basis
from kernelbook.estimators._base import FreeFeatureEstimator
from kernelbook.estimators._validation import classes_and_penalties

__all__ = ["BasisClassifier"]


class BasisClassifier(ClassifierMixin, FreeFeatureEstimator):
    """Base of the classifiers f = Σ w_k e_k + Σ λ_p φ_p with parameters basis and features."""

    _precomputed = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(getattr(self.basis, "accepts_sparse", False))
        return tags

    def _fit_kernel(self, X, w):
        self.basis_ = seeded(as_basis(self.basis), self._seed).fit(X, sample_weight=w)

    def _penalized_sample(self, X, y, sample_weight):
        """The sample, its classes, their codes, and the penalty C_i of each sample's loss."""
        sample = self._sample(X, y, sample_weight)
        return sample, *classes_and_penalties(self, sample)


def seeded(basis, seed):
    """The basis, which must be a copy, with `seed` wherever it has no random_state of its own."""
    parameters = basis.get_params() if hasattr(basis, "get_params") else {}
    empty = [
        name
        for name, value in parameters.items()
        if name.split("__")[-1] == "random_state" and value is None
    ]
    return basis.set_params(**dict.fromkeys(empty, seed)) if empty else basis

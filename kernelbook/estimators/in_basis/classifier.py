"""What the learners with a basis in place of a kernel share."""

from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from kernelbook.bases import as_basis
from kernelbook.estimators._base import FreeFeatureEstimator
from kernelbook.estimators._validation import classes_and_penalties
from kernelbook.kernels import Gaussian
from kernelbook.numeric.memory import room_for

__all__ = ["BasisClassifier"]

FEWER_FUNCTIONS = (
    "take fewer functions, as KernelBasis(kernel, centers='subset', n_centers=1000) does, or fewer "
    "samples."
)


class BasisClassifier(ClassifierMixin, FreeFeatureEstimator):
    """Base of the classifiers f = Σ w_k e_k + Σ λ_p φ_p with parameters basis and features."""

    _precomputed = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(getattr(self.basis, "accepts_sparse", False))
        return tags

    def _fit_kernel(self, X, w):
        self.basis_ = seeded(as_basis(self.basis), self._seed).fit(X, sample_weight=w)

    def _kernel_seen(self):
        """The kernel whose translates the basis has; None for other functions."""
        widths = getattr(self.basis_, "widths_", None)
        if widths is None:
            return getattr(self.basis_, "kernel_", None)
        return Gaussian(float(np.max(widths)))

    def _room(self, m):
        """Room for the basis at m samples and its Gram matrix; an error where it is not there."""
        M = self.basis_.count()
        if M is None:
            return nullcontext()
        # Evaluations, coordinates and a copy of either; G, its factor and the inverse.
        numbers = 3.0 * m * M + (0.0 if self.basis_.orthonormal else 3.0 * M * M)
        what = f"m={m} samples and {M} basis functions need {{}} for the basis at the samples"
        return room_for(8.0 * numbers, what, FEWER_FUNCTIONS)

    def _penalized_sample(self, X, y, sample_weight):
        """The sample, its classes, their codes, and the penalty C_i of each sample's loss."""
        sample = self._sample(X, y, sample_weight)
        classes, codes, signs, C = classes_and_penalties(self, sample)
        self._question(sample, signs)
        return sample, classes, codes, C


def seeded(basis: Any, seed: int) -> Any:
    """The basis, which must be a copy, with `seed` wherever it has no random_state of its own."""
    parameters = basis.get_params() if hasattr(basis, "get_params") else {}
    empty = [
        name
        for name, value in parameters.items()
        if name.split("__")[-1] == "random_state" and value is None
    ]
    return basis.set_params(**dict.fromkeys(empty, seed)) if empty else basis

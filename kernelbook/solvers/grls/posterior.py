"""How sure the exact solver is of its f: variances from the factored system.

The factor is m×m, where a fitted learner is m×d.  So it is computed again when variances are first
asked for, except for a precomputed kernel matrix, which could not be had again.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbook.numeric.memory import room_for_gram
from kernelbook.numeric.threads import serial_blas

__all__ = ["DensePosterior"]

_ROW_BLOCK = 512


@dataclass
class DensePosterior:
    """The posterior of `dense.fit`, per unit of scale, under a flat prior on λ.

    Attributes
    ----------
    predictor : KernelExpansion or GramColumns
    refit : tuple
        (P, reg, weights, method), from which the system can be made again.
    make : type
        `dense.System`, which makes it.
    system : dense.System or None
        Where it is kept.
    covariance : (ℓ, ℓ) array or None
        (Pᵀ(Φ + ρD⁻¹)⁻¹P)⁻¹; None where λ depends on the representative of Φ.
    known_psd : bool
        Whether Φ is known to be positive semidefinite.
    """

    predictor: Any
    refit: tuple
    make: type
    system: Any
    covariance: np.ndarray | None
    known_psd: bool

    @property
    def P(self):
        """The feature matrix of the sample."""
        return self.refit[0]

    @property
    def reg(self):
        return self.refit[1]

    @property
    def weights(self):
        """How many observations each row is."""
        given = self.refit[2]
        return np.ones(len(self.P)) if given is None else given

    @property
    def noise(self):
        """ρ/w_i, the variance of the noise of y_i per unit of scale."""
        return self.refit[1] * self.weights.sum() / self.weights

    def factored(self):
        """The system, factored again where it was not kept."""
        if self.system is None:
            m = len(self.P)
            with room_for_gram(m, 1, "ask a learner that was fitted to part of the sample."):
                gram = self.predictor.gram()
                with serial_blas:
                    self.system = self.make(gram, *self.refit)
        return self.system

    def has_coef_covariance(self):
        """Whether Φ is positive semidefinite, and not only where Pᵀc = 0."""
        if self.covariance is None:
            return False
        return bool(self.known_psd or self.factored().is_semidefinite())

    def coef_covariance(self):
        """(Pᵀ(Φ + ρD⁻¹)⁻¹P)⁻¹; an AttributeError where it is not defined."""
        if self.covariance is None:
            raise AttributeError(
                f"coef_cov_ is not defined for {self.predictor.kernel!r}: the kernel is only "
                "conditionally positive definite, so λ depends on its representative.  "
                "Predictions, and predict(..., return_std=True), do not."
            )
        if not self.has_coef_covariance():
            raise AttributeError(
                "coef_cov_ is not defined: the kernel matrix is not positive semidefinite."
            )
        return self.covariance

    def variance(self, X, P, diag=None):
        """The variance of f at the rows of X, and a warning or None.

        Where it is below rounding, an upper bound.  `diag` holds Φ(x, x) for a precomputed kernel.
        """
        predictor = self.predictor
        if diag is None:
            diag = predictor.kernel.diag(predictor.from_origin(X))
        blocks = (slice(i, i + _ROW_BLOCK) for i in range(0, X.shape[0], _ROW_BLOCK))
        return self.spread((predictor.block(X[rows]), P[rows], diag[rows]) for rows in blocks)

    def spread(self, blocks):
        """The variances of linear functionals of f, and a warning or None.

        Parameters
        ----------
        blocks : iterable of (k, p, prior)
            What the functionals are of the translates K(·, x_i), (n, m), of the features, (n, ℓ),
            and of the kernel in both arguments, (n,); see `kernelbook.inference.functionals`.
        """
        system = self.factored()
        parts = [system.variance(prior, k, p) for k, p, prior in blocks]
        variance, rounding = np.hstack([np.empty((2, 0)), *map(np.array, parts)])
        lost = variance < 10 * rounding
        if not lost.any():
            return variance, None
        return np.where(lost, variance + rounding, variance), (
            f"the standard deviation at {lost.sum()} of {lost.size} points is below rounding, "
            f"{np.sqrt(rounding[lost].max()):.1e}·√scale_; what is returned there is an upper "
            "bound.  A larger reg makes it computable."
        )

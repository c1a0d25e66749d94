"""`solver="fourier"` after the fit: f = Fourier sum + Pλ at new points, and how sure it is of it.

Points go through in chunks; Dask collections block by block (`kernelbook.distributed`).  A learner
that was fitted by another solver is passed on to the base class.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kernelbook.distributed import in_memory, is_collection, map_rows, two_axes
from kernelbook.solvers.grls.fourier import solve as fourier
from kernelbook.solvers.grls.fourier.sums import chunk_rows, slices

__all__ = ["FourierValues"]

_VARIANCE = 1e-8  # accuracy of the variance, in units of scale_·κ(0)
_NUMBERS = 2**23  # of a block of basis functions at points


class FourierValues:
    """What a fitted learner says at new points; mixed in before the base class."""

    _fourier = None

    def _values(self, X, P=None):
        check_is_fitted(self, "coef_")
        if is_collection(X) and P is None:
            return map_rows(self, X)
        if self._fourier is None:
            return super()._values(X, P)
        if P is not None:
            raise ValueError("P is taken only by learners that were fitted with P=...")
        given, X = X, self._rows(X)
        given = given if hasattr(given, "iloc") else X
        fit = self._fourier
        out = np.empty((len(X), len(fit.coefficients)))
        for rows in slices(len(X), chunk_rows(fit.frame.grid)):
            part = given.iloc[rows] if hasattr(given, "iloc") else given[rows]
            free = self._features_at(part) @ two_axes(self.coef_)
            kernel = fourier.values(fit.frame.grid, fit.coefficients, X[rows], fit.frame.eps)
            out[rows] = kernel + free
        return out.reshape(len(X), *fit.columns)

    def _require_std(self):
        if self._fourier is None:
            super()._require_std()
        elif np.isnan(self.scale_).any():
            raise ValueError(
                "return_std needs scale_ = yᵀGy/(W − rank P), but the observations (the sum of "
                f"the weights) do not exceed rank P = {self.rank_}."
            )

    def _std(self, X, P, diag):
        self._require_std()
        if is_collection(X) and P is None and diag is None:
            return map_rows(self, X, deviation=True)
        in_memory("return_std with P or diag", X)
        if self._fourier is None:
            return super()._std(X, P, diag)
        if P is not None or diag is not None:
            raise ValueError("P and diag are taken only with kernel='precomputed'.")
        given, X = X, self._rows(X)
        P = self._features_at(given if hasattr(given, "iloc") else X)
        fit = self._fourier
        system = fourier.System(fit.frame, fit.statistics, self._reg)
        variance, error = np.empty((2, len(X)))
        for rows in slices(len(X), max(1, min(512, _NUMBERS // self.n_modes_))):
            variance[rows], error[rows] = system.variance(X[rows], P[rows], _VARIANCE)
        if error.max(initial=0.0) > 2 * _VARIANCE * fit.frame.grid.peak:
            warnings.warn(
                f"the variance is exact only to {error.max():.1e}·scale_: conjugate gradients did "
                "not converge.  A larger reg helps.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return np.multiply.outer(np.sqrt(variance), self._deviation)

    @property
    def coef_cov_(self):
        """The posterior covariance of `coef_`, in the Bayesian reading of the fit."""
        if self._fourier is None:
            return super().coef_cov_
        check_is_fitted(self, "coef_")
        system = fourier.System(self._fourier.frame, self._fourier.statistics, self._reg)
        return np.multiply.outer(self.scale_, system.coef_covariance())

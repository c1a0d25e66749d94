"""What `GRLSRegressor` and `GRLSClassifier` share: from columns of targets to a fitted learner.

The solvers that hold the Gram matrix are called here.  `_grls_centers` calls those that never see
it ("nystrom", "cg"); `_grls_fourier`, mixed in before this class, the one that needs no centres.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kernelbook.certificates import Certificate
from kernelbook.estimators._base import FreeFeatureEstimator, Sample
from kernelbook.estimators._centering import Tilt
from kernelbook.estimators._grls_centers import BlockwiseCenters, fit_with_centers
from kernelbook.estimators._grls_checks import (
    check_number,
    doubts_about_rank,
    room_for,
    rounding_of,
    symmetric_copy,
    total,
)
from kernelbook.features import check_order
from kernelbook.solvers.grls.dense import METHODS, System
from kernelbook.solvers.grls.saddle_factor import SchurFactor

__all__ = ["GRLS"]

_BLOCK = 512

_WITHOUT_GRAM = {"nystrom": fit_with_centers, "cg": fit_with_centers}
"""solver → function (learner, sample, Y, reg, m) that fits without a Gram matrix."""


class GRLS(BlockwiseCenters, FreeFeatureEstimator):
    """What regressor and classifier share: fit columns of targets, evaluate them, say how sure."""

    def __init__(
        self,
        kernel=None,
        features="constant",
        reg=1e-3,
        solver="auto",
        tol=1e-8,
        centers="uniform",
        n_centers=None,
        max_iter=1000,
        random_state=None,
        verbose=0,
        bounds=None,
    ):
        self.kernel = kernel
        self.features = features
        self.reg = reg
        self.solver = solver
        self.tol = tol
        self.centers = centers
        self.n_centers = n_centers
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.bounds = bounds

    _solvers = (*METHODS, *_WITHOUT_GRAM, "fourier")

    # ------------------------------------------------------------------------------ fitting

    def _fit_targets(self, sample: Sample, Y, reg, m):
        """Minimize for every column of Y and keep the fitted attributes; m includes absent rows."""
        check_number("reg", reg)
        check_number("tol", self.tol)
        method = self._method(sample)
        self._dense, self._fourier = method not in _WITHOUT_GRAM, None
        if not self._dense:
            _WITHOUT_GRAM[method](self, sample, Y, reg, m)
            self.solver_ = method
            return
        with room_for(len(Y), 1, self._remedy()):
            gram = self._own_gram(sample)
        self._remember(sample)
        if self._tilt is not None:
            self._centers -= self._tilt.origin
        system = System(gram, sample.P, reg, sample.w, method, self._rounding(gram))
        solution = system.solve(Y.reshape(len(Y), -1), self._predicted_at(sample))
        lam = self._untilted(solution.c, solution.lam)
        self.solver_ = "cholesky" if isinstance(system.factor, SchurFactor) else "nullspace"

        columns = Y.shape[1:]
        self._doubts = doubts_about_rank(system.scaling.features, sample.P)
        if system.noise == 0 and system.rank < len(Y):
            self._doubts.append(
                "the kernel is zero at every pair of samples: only the features are learned.  If "
                "its values underflow, scale X."
            )
        self._kept = sample.kept
        self.dual_coef_ = np.zeros((m, *columns))
        self.dual_coef_[sample.kept] = solution.c.reshape(-1, *columns)
        self.coef_ = lam.reshape(-1, *columns)
        self.rank_ = system.rank
        self.n_iter_ = 1
        self.certificate_ = Certificate.joint(solution.certificates)
        free = total(sample.w) - system.rank
        free = free if free > 0 else np.nan
        # The root first: y near 1e±300 has a representable deviation, if not a variance.
        deviation = np.sqrt(solution.energy / free) / np.sqrt(system.scaling.unit) * solution.y_unit
        with np.errstate(over="ignore"):
            scale = deviation**2
        self._deviation = deviation.reshape(columns)
        self.scale_ = scale.reshape(columns) if columns else float(scale[0])
        self._coef_cov = None if self._order() else self._covariance(system)
        # The factor is m×m: keep it only where it could not be computed again (see `_posterior`).
        self._factored = system if self._pairwise else None
        self._refit = (sample.P, reg, sample.w, method)

    def _method(self, sample):
        """The solver to use; errors for what the kernel or the features make impossible."""
        if self.solver not in self._solvers:
            raise ValueError(f"solver={self.solver!r} is not known; choose one of {self._solvers}.")
        m, l = sample.P.shape
        if l > max(m, total(sample.w)):
            raise ValueError(
                f"{l} free features on {m} samples: more features than samples interpolate any y. "
                "Take fewer features, or more samples."
            )
        order = self._order()
        if order == 0:
            return self.solver
        if self.solver == "cholesky":
            raise ValueError(
                f"solver='cholesky' needs a positive definite kernel, and {self.kernel_!r} is only "
                f"conditionally so (order {order}); use solver='nullspace' or 'auto'."
            )
        check_order(sample.P, sample.X, self.kernel_)
        return self.solver if self.solver in _WITHOUT_GRAM else "nullspace"

    def _remedy(self):
        """What to do where the Gram matrix does not fit in memory."""
        if self._pairwise:
            return "pass the points and a kernel, with solver='nystrom' or 'cg'."
        if not self.reg > 0:
            return "interpolation (reg=0) needs it; with reg > 0 there is solver='cg'."
        return (
            "solver='cg' needs none and is exact, to tol; solver='nystrom' is faster, with "
            "n_centers translates only.  (solver='auto' takes 'fourier' from m = 20,000 on where "
            "kernel, columns, reg and tol allow it.)"
        )

    def _order(self):
        return 0 if self._pairwise else self.kernel_.cpd_order

    def _rounding(self, gram):
        """None where it is known that the kernel is definite; else how exact its matrix can be."""
        proven = not self._pairwise and self.kernel_._proven
        return None if proven else rounding_of(gram)

    def _predicted_at(self, sample):
        """The function of (c, λ) that gives f on the sample, by the arithmetic of `predict`."""

        def evaluate(c, lam):
            return self._kernel_part_of(sample, c) + sample.P @ self._untilted(c, lam)

        return evaluate

    def _kernel_part_of(self, sample, c):
        """Σ c_i K(x_i, ·) on the sample itself, from the very entries that `predict` computes."""
        if self._pairwise:  # the columns of a given matrix, which `_kernel_part` picks, are picked
            return sample.X @ c
        # With a tilt, x and the centres differ by the origin; and a kernel of the user's own may
        # compute K(X) otherwise than K(X, Z), which the certificate must show.
        if self._tilt is not None or not self.kernel_._proven:
            return self._kernel_part(sample.X, c)
        return self.kernel_.gram_matvec(sample.X, c)

    def _own_gram(self, sample):
        """The Gram matrix in memory that the solver may overwrite; see `_centering` for `_tilt`."""
        self._tilt = None
        if self._pairwise:
            return symmetric_copy(sample.X)
        self._tilt = Tilt.of(self.kernel_, sample.X, sample.P)
        return self._gram(self._near(sample.X))

    def _near(self, X):
        """X from the origin that the kernel's matrices are computed at."""
        return X if self._tilt is None else X - self._tilt.origin

    def _untilted(self, c, lam):
        if self._tilt is None:
            return lam
        return self._tilt.coef(lam, self._kernel_part(self._tilt.origin[None], c)[0])

    def _covariance(self, system):
        V = system.coef_covariance()
        if self._tilt is None:
            return V
        at_g = system.solve(self._tilt.g[:, None])
        return self._tilt.covariance(V, at_g.c[:, 0], at_g.lam[:, 0])

    def _warned(self):
        """The learner, after a warning if it has not converged; to be called by `fit`."""
        for doubt in self.__dict__.pop("_doubts"):
            warnings.warn(doubt, UserWarning, stacklevel=3)
        if not self.certificate_.kkt <= self.tol:
            warnings.warn(self._unreached(), ConvergenceWarning, stacklevel=3)
        return self

    def _unreached(self):
        """What to say, and to advise, when `tol` was not reached."""
        certificate = self.certificate_
        reached = (
            f"kkt={certificate.kkt:.1e}, duality gap {certificate.gap:.1e} at the objective "
            f"{certificate.primal:.3g}"
        )
        if self._dense:
            return (
                f"the linear system is too ill-conditioned for tol={self.tol}: {reached}.  A "
                "larger reg, a narrower kernel or scaled data help."
            )
        return (
            f"solver={self.solver!r} ended before tol={self.tol}, after {self.n_iter_} steps: "
            f"{reached}.  {self._help}"
        )

    @property
    def coef_cov_(self):
        """The posterior covariance of `coef_`, in the Bayesian reading of the fit."""
        check_is_fitted(self, "dual_coef_")
        if not self._dense:
            raise AttributeError(
                "coef_cov_ is not available for a learner fitted with solver='nystrom' or 'cg': it "
                "needs the factored m×m system.  Use solver='fourier' or 'cholesky'."
            )
        if self._coef_cov is None:
            raise AttributeError(
                f"coef_cov_ is not defined for {self.kernel_!r}: the kernel is only conditionally "
                "positive definite, so λ depends on its representative.  Predictions, and "
                "predict(..., return_std=True), do not."
            )
        if self._pairwise or not self.kernel_._proven:
            if not self._posterior().semidefinite():
                raise AttributeError(
                    "coef_cov_ is not defined: the kernel matrix is not positive semidefinite."
                )
        return np.multiply.outer(self.scale_, self._coef_cov)

    # --------------------------------------------------------------------------- evaluation

    def _values(self, X, P=None):
        check_is_fitted(self, "dual_coef_")
        return self._evaluate(X, self.dual_coef_[self._kept], self.coef_, P)

    def _posterior(self):
        """The factored system: m×m, where a fitted learner is m×d, so made when asked for."""
        if self._factored is None:
            self._factored = System(self.kernel_(self._centers), *self._refit)
        return self._factored

    def _require_std(self):
        """An error where there is no standard deviation, before anything is computed."""
        if not self._dense:
            raise ValueError(
                "return_std is not available for a learner fitted with solver='nystrom' or 'cg': "
                "it needs the factored m×m system.  For one to three columns solver='fourier' has "
                "it; else use solver='cholesky' or 'nullspace', on part of the sample if it is too "
                "large."
            )
        if np.isnan(self._deviation).any():
            raise ValueError(
                f"return_std needs scale_ = yᵀGy/(W − rank P), but W = {total(self._refit[2]):g} "
                f"observations (the sum of the weights) do not exceed rank P = {self.rank_}."
            )

    def _std(self, X, P, diag):
        """The standard deviation of f(x), (n,) or (n, k)."""
        self._require_std()
        raw, X = X, self._rows(X)
        p = self._features_at(raw if hasattr(raw, "iloc") else X, P)
        X = self._near(X)
        system, diag = self._posterior(), self._diagonal(X, diag)
        variance, rounding = np.empty((2, X.shape[0]))
        for i in range(0, X.shape[0], _BLOCK):
            rows = slice(i, i + _BLOCK)
            variance[rows], rounding[rows] = system.variance(
                diag[rows], self._kernel_block(X[rows]), p[rows]
            )
        return np.multiply.outer(np.sqrt(self._bounded(variance, rounding)), self._deviation)

    @staticmethod
    def _bounded(variance, rounding):
        """The variance where it is more than rounding; elsewhere a bound of it, and a warning."""
        lost = variance < 10 * rounding
        if lost.any():
            warnings.warn(
                f"the standard deviation at {lost.sum()} of {lost.size} points is below rounding, "
                f"{np.sqrt(rounding[lost].max()):.1e}·√scale_; what is returned there is an upper "
                "bound.  A larger reg makes it computable.",
                UserWarning,
                stacklevel=4,
            )
        return np.where(lost, variance + rounding, variance)

    def _kernel_block(self, X):
        return X[:, self._columns] if self._pairwise else self.kernel_(X, self._centers)

    def _diagonal(self, X, diag):
        if not self._pairwise:
            if diag is not None:
                raise ValueError("diag is taken only with kernel='precomputed'.")
            return self.kernel_.diag(X)
        if diag is None:
            raise ValueError(
                "return_std with kernel='precomputed' needs Φ(x, x) at the new points, which G "
                "does not contain: predict(G, return_std=True, diag=...)."
            )
        diag = np.asarray(diag, dtype=np.float64)
        if diag.shape != (X.shape[0],) or not np.isfinite(diag).all():
            raise ValueError(
                f"diag must be {X.shape[0]} finite numbers; its shape is {diag.shape}."
            )
        return diag

"""What the G-RLS learners share: sample → method → solution → fitted attributes.

The method is chosen in one place, `solvers.grls.methods`.  Fits by sums over blocks of rows are in
`stream`.  A fitted learner keeps one private `_solution` beside its public attributes.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kernelbook.bases.centers import choose_centers, given_centers
from kernelbook.certificates import WARN_GAP, Certificate
from kernelbook.distributed.predict import map_rows
from kernelbook.estimators._base import FreeFeatureEstimator, as_given, in_memory
from kernelbook.estimators.least_squares.progress import rows_bar
from kernelbook.estimators.least_squares.tuning import tune_learner
from kernelbook.features import check_order, evaluate, take_rows
from kernelbook.numeric.arrays import explained, is_collection
from kernelbook.numeric.memory import room_for, room_for_gram
from kernelbook.numeric.threads import n_threads
from kernelbook.numeric.tiles import slices
from kernelbook.solvers.grls import cg, dense
from kernelbook.solvers.grls.methods import (
    METHODS,
    Facts,
    alternatives,
    choose,
    goes_on,
    handed_over,
    memory_advice,
    more_work_than_exact,
)
from kernelbook.solvers.grls.nystrom import solve as nystrom
from kernelbook.solvers.grls.nystrom.basis import CenterBasis
from kernelbook.solvers.grls.predictor import OriginShift
from kernelbook.solvers.grls.tuning.settings import as_tuning

__all__ = ["GRLS", "check_number"]

N_CENTERS = 1000
PRECONDITIONER_ENTRIES = 10**8  # of the m×n factor: 800 MB
_ROW_BLOCK = 2**20  # rows for which the feature matrix is held at once in `predict`


@dataclass(frozen=True)
class Points:
    """Rows that f is asked about: numbers, and as the features see them."""

    X: Any
    given: Any


class GRLS(FreeFeatureEstimator):
    """What regressor and classifier share: fit columns of targets, evaluate them, say how sure."""

    def __init__(
        self,
        kernel: Any = None,
        features: Any = "constant",
        reg: float = 1e-3,
        solver: str = "auto",
        tol: float = 1e-8,
        centers: Any = "uniform",
        n_centers: int | None = None,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
        bounds: Any = None,
        tune: Any = None,
    ) -> None:
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
        self.tune = tune

    _called_elsewhere: ClassVar[dict] = FreeFeatureEstimator._called_elsewhere | {
        "reg": "give the values to choose from, regs=[1e-3, 1e-2]",
        "C": "the weight of the penalty is reg, the smaller the closer to the data",
        "alpha": "the weight of the penalty is reg, and KernelRidge's alpha is reg·m for m samples",
        "lam": "the weight of the penalty is reg",
        "method": "parameters are chosen by tune='reml', 'ml', 'loo' or 'gcv'",
        "n_restarts_optimizer": "parameters are chosen by tune=Tuning(starts=…)",
        "noise": "reg·m is the variance of the noise divided by that of the kernel, for m samples; "
        "tune='reml' finds it",
        "regs": "reg is one number here; GRLSRegressorCV and GRLSClassifierCV choose among regs",
        "nugget": "reg·m is the nugget divided by the partial sill, for m samples; tune='reml' "
        "finds it",
        "optimizer": "parameters are chosen by tune='reml', 'ml', 'loo' or 'gcv'",
    }

    _methods: tuple[str, ...] = tuple(METHODS)
    _private_state = (*FreeFeatureEstimator._private_state, "_solution", "_observations", "_blocks")
    _single_row = False  # whether `coef_` of one output is a row, as for a classifier

    # ------------------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None, P: Any = None) -> Self:
        """Fit the learner.

        Parameters
        ----------
        X : (m, d) array, or (m, m) Gram matrix for kernel="precomputed"
            Or, with y and the weights, Dask collections: `kernelbook.distributed`.
        y : (m,) or (m, k) array
            Numbers; for classifiers (m,) labels.
        sample_weight : (m,) array, optional
            Numbers ≥ 0 that count observations.
        P : (m, ℓ) array, optional
            The feature matrix; only for kernel="precomputed".
        """
        with self._fresh():
            in_blocks = is_collection(X)
            self._take_parameters(in_blocks)
            if in_blocks:
                self._fit_collection(X, y, sample_weight, P)
            else:
                self._fit_sample(self._checked(X, y, sample_weight, **self._check_y), P)
        return self._warned()

    tune = None  # learners that choose reg on a grid have no such parameter

    def _take_parameters(self, in_blocks=False):
        """Check the parameters; what may be chosen is first what was given."""
        self._check_parameters()
        self.reg_, self.tuning_ = float(self.reg), None
        if in_blocks and self.tune is not None:
            raise ValueError(
                f"tune={self.tune!r} needs the sample in memory: fit on part of it, and pass what "
                "was chosen there on, kernel=model.kernel_ and reg=model.reg_ with tune=None."
            )

    def _check_parameters(self):
        check_number("reg", self.reg)
        check_number("tol", self.tol)
        if self.tune is not None:
            as_tuning(self.tune)
        steps = self.max_iter
        if not isinstance(steps, Integral) or isinstance(steps, bool | np.bool_) or steps < 1:
            raise ValueError(f"max_iter must be an integer ≥ 1, not {steps!r}.")

    def _box(self):
        """`bounds` as two arrays, or None."""
        if self.bounds is None:
            return None
        try:
            bounds = np.asarray(self.bounds, dtype=np.float64)
        except (TypeError, ValueError):
            bounds = np.empty(0)
        if bounds.shape != (self.n_features_in_, 2) or not np.isfinite(bounds).all():
            raise ValueError(
                f"bounds={self.bounds!r} must be a pair (low, high) of finite numbers for each "
                f"column; X has {self.n_features_in_} columns."
            )
        if (bounds[:, 0] > bounds[:, 1]).any():
            raise ValueError(f"bounds={self.bounds!r}: low must not exceed high.")
        return bounds[:, 0], bounds[:, 1]

    def _targets(self, y):
        """The columns to be fitted, in `fit`; `_targets_of` the same after it."""
        if y.dtype.kind in "biuf":
            return y.astype(np.float64, copy=False)
        with explained("numbers; for labels there is GRLSClassifier", y=y):
            return np.asarray(y, dtype=np.float64)

    def _targets_of(self, y):
        return self._targets(y)

    def _facts(self, X, **more):
        """What the choice of a method depends on."""
        kernel = None if self._pairwise else self.kernel_
        sparse_rows = sparse.issparse(X)
        return Facts(kernel, X.shape[1], self.reg_, self.tol, sparse=sparse_rows, **more)

    def _fit_sample(self, sample, P):
        m = sample.X.shape[0]
        given_P = None if P is None else self._fit_given(P, sample)
        box = None
        if not self._pairwise:
            self._fit_kernel(sample.X, sample.w)
            if not sparse.issparse(sample.X):
                box = self._box() or (sample.X.min(axis=0), sample.X.max(axis=0))
        Y = self._targets(sample.y)
        if self.tune is not None:
            sample.P = self._fit_features(sample) if given_P is None else given_P
            tune_learner(self, sample, columns(Y))
        facts = self._facts(sample.X, m=m, box=box, growing=self._box() is not None)
        method, grid = choose(self.solver, facts, self._methods)
        replaced = self.solver == "fourier" and method.name != "fourier"
        if facts.growing and method.name == "fourier" and more_work_than_exact(box, facts):
            warnings.warn(goes_on(m), UserWarning, stacklevel=3)
        if method.sums and method.std:  # Fourier: sums in memory, too
            self._fit_by_sums(sample, Y, box, grid)
            self._question(sample, Y)
            return
        if sample.P is None:
            sample.P = self._fit_features(sample) if given_P is None else given_P
        if not self._pairwise and self.kernel_.cpd_order:
            check_order(sample.P, sample.X, self.kernel_)
        shift = self._origin_shift(sample) if method.gram else None
        reg = self._choose_reg(sample, Y, shift, facts)
        if method.gram:
            kernel = None if self._pairwise else self.kernel_
            arrays = sample.X, sample.P, columns(Y), reg, sample.w
            with room_for_gram(m, 1, partial(self._memory_advice, facts)):
                solution = dense.fit(kernel, *arrays, method.name, shift, sample.kept)
        else:
            solution = self._solve_with_centers(method, sample, Y, reg)
        self._question(sample, Y, solution.facts)
        if replaced:
            solution.warnings = [*solution.warnings, handed_over(m)]
        self._keep(solution, Y.shape[1:], total(sample.w), sample.P)
        if method.name == "nystrom":
            full, self.centers_ = solution.full_gap, solution.predictor.centers
            self.full_gap_ = full if full is None or Y.ndim > 1 else float(full[0])
        else:
            self.origin_ = None if shift is None else shift.origin
            c = np.zeros((sample.size, solution.c.shape[1]))
            c[sample.kept] = solution.c
            self.dual_coef_ = self._outputs_first(c, Y.shape[1:])

    def _choose_reg(self, sample, Y, shift, facts):
        return self.reg_

    def _memory_advice(self, facts):
        return memory_advice(facts)

    def _origin_shift(self, sample):
        origin = None if self._pairwise else self.kernel_.far_origin(sample.X, sample.P)
        if origin is None:
            return None
        return OriginShift.to(origin, self.kernel_, sample.X, sample.P)

    def _solve_with_centers(self, method, sample, Y, reg):
        """By a method that never sees the Gram matrix: its centres, their basis, the solution."""
        rng, m = check_random_state(self.random_state), sample.X.shape[0]
        arrays = sample.X, sample.P, columns(Y), reg, sample.w
        bar = rows_bar(self.verbose, 2 if method.name == "nystrom" else 20, m)
        with self._room_for_centers(method, m), bar as tick:
            centers, rows = self._centers_of(method, sample, reg, rng, tick)
            P = None
            if self.kernel_.cpd_order:
                P = evaluate(self.features_, centers) if rows is None else sample.P[rows]
            options = {"tol": self.tol, "max_iter": self.max_iter, "tick": tick}
            if method.name == "cg":
                basis = CenterBasis(self.kernel_, centers, P)
                return cg.solve(self.kernel_, *arrays, basis, **options)
            basis = nystrom.suitable_basis(
                self.kernel_, centers, P, reg, self.tol, arrays[2].shape[1]
            )
            return nystrom.solve(basis, *arrays, random_state=rng, **options)

    def _room_for_centers(self, method, m):
        """Room for what a method keeps of its centres."""
        n = min(self._n_centers(method, m), m)
        # cg: the centres' basis at all samples, and a copy while it is made.  Both: matrices of
        # the centres, in each thread.
        numbers = 2.0 * m * n * (method.name == "cg") + (3.0 + n_threads()) * n * n
        what = f"m={m} samples and n_centers={n} need {{}} for solver={method.name!r}"
        return room_for(8.0 * numbers, what, "take a smaller n_centers, or fewer centers.")

    def _n_centers(self, method, m):
        if not isinstance(self.centers, str):
            return np.shape(self.centers)[0] if np.shape(self.centers) else 1
        if isinstance(self.n_centers, Integral):
            return int(self.n_centers)
        if method.name == "cg":
            return max(min(N_CENTERS, m // 10, PRECONDITIONER_ENTRIES // m), min(50, m))
        return N_CENTERS

    def _centers_of(self, method, sample, reg, rng, tick):
        """The centres and, where they are rows of the sample, which."""
        m, n = sample.X.shape[0], self.n_centers
        if not isinstance(self.centers, str):
            return given_centers(self.centers, sample.X.shape[1]), None
        if n is None:
            n = self._n_centers(method, m)
        return choose_centers(self.centers, sample.X, n, sample.w, rng, self.kernel_, reg, tick)

    def _keep(self, solution, outputs, observations, P):
        """The fitted attributes; P is the feature matrix at some rows, or all."""
        self._solution, self._observations = solution, observations
        self.solver_, self.rank_ = solution.solver, solution.rank
        self.n_iter_ = max(1, solution.n_iter)
        self.certificate_ = Certificate.joint(solution.certificates)
        self.coef_ = self._outputs_first(solution.lam, outputs)
        deviation = solution.deviation(observations)
        with np.errstate(over="ignore"):
            scale = deviation**2
        self.scale_ = scale.reshape(outputs) if outputs else float(scale[0])
        self._keep_intercept(P, self.rank_)
        if solution.solver == "nystrom":
            self.dual_coef_ = self._outputs_first(solution.c, outputs)

    def _outputs_first(self, columns, outputs):
        """A row for each output; for one output a vector, for a classifier a single row."""
        lead = outputs or ((1,) if self._single_row else ())
        return np.ascontiguousarray(columns.T).reshape(*lead, len(columns))

    def _warned(self):
        """The learner, after the warnings of its fit; to be called by `fit`."""
        chosen = () if self.tuning_ is None else self.tuning_.messages
        for text in (*chosen, *self._solution.warnings):
            warnings.warn(text, UserWarning, stacklevel=3)
        proof = self.certificate_
        # Where f fits to rounding the objective is nothing, and so is its unit.
        coarse = proof.relative_gap > WARN_GAP and proof.kkt > 1e-8
        if coarse or not proof.kkt <= self.tol:
            warnings.warn(self._convergence_message(), ConvergenceWarning, stacklevel=3)
        return self

    def _convergence_message(self):
        proof, name = self.certificate_, self.solver_
        steps = self._solution.n_iter
        after = f", after {steps} steps of conjugate gradients" if steps else ""
        goal = f"before tol={self.tol}" if proof.kkt > self.tol else "far from the optimum"
        return (
            f"solver={name!r} ended {goal}{after}: kkt={proof.kkt:.1e}, duality gap "
            f"{proof.gap:.1e} at the objective {proof.primal:.3g}.  {self._solution.advice}"
        )

    # --------------------------------------------------------------------------- evaluation

    def _points(self, X):
        """The rows of X, checked, once: a second look would warn again of what the first found."""
        return X if isinstance(X, Points) else Points(rows := self._rows(X), as_given(X, rows))

    def _values(self, X, P=None):
        """f at the rows of X: (n,) or (n, k)."""
        check_is_fitted(self, "coef_")
        outputs = np.shape(self.scale_)
        if isinstance(X, Iterator):
            raise TypeError(
                f"X is a {type(X).__name__}, which can be read only once: predict_chunks(X) yields "
                "f for one chunk after the other."
            )
        if is_collection(X) and P is None:
            return map_rows(self._values, X, outputs)
        points = self._points(X)
        X, given, n = points.X, points.given, points.X.shape[0]
        if n <= _ROW_BLOCK or P is not None:
            f = self._values_of(X, self._features_at(given, P))
        else:
            parts = slices(0, n, _ROW_BLOCK)
            f = [
                self._values_of(X[part], self._features_at(take_rows(given, part)))
                for part in parts
            ]
            f = np.concatenate(f)
        return f.reshape(n, *outputs)

    def _values_of(self, X, P):
        return self._solution.predictor(X) + P @ self._solution.lam

    def _require_std(self):
        """An error where there is no standard deviation, before anything is computed."""
        if self._solution.posterior is None:
            raise ValueError(
                "return_std is not available for a learner fitted with "
                f"solver={self.solver_!r}: it is for {alternatives('std')}, on part of the sample "
                "if that is too large."
            )
        if np.isnan(self.scale_).any():
            raise ValueError(
                "return_std needs scale_ = yᵀGy/(W − rank P), but W = "
                f"{self._observations:g} observations (the sum of the weights) do not exceed "
                f"rank P = {self.rank_}."
            )

    def _std(self, X, P=None, diag=None):
        """The standard deviation of f(x), (n,) or (n, k)."""
        self._require_std()
        if is_collection(X) and P is None and diag is None:
            return map_rows(partial(self._std), X, np.shape(self.scale_))
        in_memory("return_std with P or diag", X)
        points = self._points(X)
        X, p = points.X, self._features_at(points.given, P)
        variance, warning = self._solution.posterior.variance(X, p, self._checked_diagonal(X, diag))
        if warning is not None:
            warnings.warn(warning, UserWarning, stacklevel=3)
        deviation = self._solution.deviation(self._observations)
        return np.multiply.outer(np.sqrt(variance), deviation.reshape(np.shape(self.scale_)))

    def _checked_diagonal(self, X, diag):
        if not self._pairwise:
            if diag is not None:
                raise ValueError("diag is taken only with kernel='precomputed'.")
            return None
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

    @property
    def coef_cov_(self) -> np.ndarray:
        """The posterior covariance of `coef_`, in the Bayesian reading of the fit."""
        check_is_fitted(self, "coef_")
        if self._solution.posterior is None:
            raise AttributeError(
                "coef_cov_ is not available for a learner fitted with "
                f"solver={self.solver_!r}: use {alternatives('std')}."
            )
        return np.multiply.outer(self.scale_, self._solution.posterior.coef_covariance())


def check_number(name: str, value: Any, smallest: float = 0.0) -> None:
    """A finite real number ≥ `smallest`, or an error that says so."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a number; got {value!r} of type {type(value).__name__}.")
    if not smallest <= value < np.inf:  # type: ignore[operator]
        raise ValueError(f"{name}={value!r} must be a finite number ≥ {smallest:g}.")


def columns(Y: np.ndarray) -> np.ndarray:
    """A column for a vector."""
    return Y[:, None] if Y.ndim == 1 else Y


def total(w: np.ndarray) -> float:
    """Σw, ∞ where it overflows."""
    with np.errstate(over="ignore"):
        return float(np.sum(w))

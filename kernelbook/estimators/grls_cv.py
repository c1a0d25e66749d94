"""G-RLS that chooses `reg` itself: `GRLSRegressorCV` and `GRLSClassifierCV`.

One eigendecomposition gives the exact leave-one-out residuals, GCV and the degrees of freedom for
every `reg` of a grid (`solvers.grls.loo_path`); the learner is then fitted with the best.

Weights count observations here as everywhere: what is left out is one observation, and of a row
with weight w > 1 the rest stays.  So `reg_` is what the duplicated sample would give.
"""

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kernelbook.estimators.grls import GRLSClassifier, GRLSRegressor
from kernelbook.estimators.least_squares.docs import ATTRIBUTES
from kernelbook.estimators.least_squares.learner import check_number, columns
from kernelbook.numeric.linalg import power_of_two
from kernelbook.numeric.memory import room_for_gram
from kernelbook.solvers.grls.dense import gram_and_rounding
from kernelbook.solvers.grls.loo_path import Spectrum
from kernelbook.solvers.grls.methods import DENSE

__all__ = ["GRLSClassifierCV", "GRLSRegressorCV", "RegPath"]

_CV_ATTRIBUTES = f"""
    reg_ : float
        The chosen reg: the best `scoring`, and of those within 10⁻⁸ of it the largest reg.
    best_score_ : float
        Minus the criterion at `reg_`, so that greater is better.
    path_ : RegPath
        The criteria for every reg of the grid, in descending order of reg.
    loo_errors_ : (m,) or (m, k) array
        y_i − f⁽⁻ⁱ⁾(x_i) at `reg_`: exactly what a refit without observation i, with mγ held,
        would miss it by.  NaN for rows of zero weight, where a combination of the features
        vanishes on all samples but i: without i its coefficient is free, and where they are noise.
{ATTRIBUTES}"""

_CV_PARAMETERS = """
    Parameters
    ----------
    kernel, features, solver, tol
        As for `{plain}`.
    regs : array of positive numbers, or None
        The grid.  None takes 50 values in geometric progression, from 10 down to 10⁻¹⁰ times the
        largest eigenvalue (over m) of the kernel matrix projected away from the features: it
        moves with the units of the kernel.
"""


@dataclass(frozen=True)
class RegPath:
    """The criteria along a grid, as arrays of one length, in descending order of `reg`.

    Attributes
    ----------
    reg : the grid
    loo : mean squared leave-one-out residual
    gcv : generalized cross-validation; NaN where W ≤ df
    df : effective degrees of freedom
    misclassification : share of observations misclassified when left out; None for regressors

    All are NaN where reg is so small beside the rounding of the kernel matrix that they are noise.
    """

    reg: np.ndarray
    loo: np.ndarray
    gcv: np.ndarray
    df: np.ndarray
    misclassification: np.ndarray | None = None


class _ChoosesReg:
    """Mixed into a G-RLS learner: choose `reg_` on the path, then fit with it."""

    _criteria: tuple[str, ...] = ("loo", "gcv")
    _methods: tuple[str, ...] = DENSE  # the path needs the spectrum of the Gram matrix
    reg = 1.0  # for the choice of a method, which asks whether it is positive

    def __init__(
        self,
        kernel: Any = None,
        features: Any = "constant",
        regs: Any = None,
        solver: str = "auto",
        tol: float = 1e-8,
        scoring: str = "loo",
    ) -> None:
        self.kernel = kernel
        self.features = features
        self.regs = regs
        self.solver = solver
        self.tol = tol
        self.scoring = scoring

    def _check_parameters(self):
        check_number("tol", self.tol)
        self._grid()
        if self.scoring not in self._criteria:
            raise ValueError(
                f"scoring={self.scoring!r} is not known; choose one of {self._criteria}."
            )

    def _box(self):
        return None

    def _choose_reg(self, sample, Y, shift, facts):
        with room_for_gram(len(Y), 3, partial(self._memory_advice, facts)):
            kernel = None if self._pairwise else self.kernel_
            gram, rounding = gram_and_rounding(kernel, sample.X, shift)
            spectrum = Spectrum(gram, sample.P, sample.w, rounding)
        del gram
        regs = spectrum.default_grid() if self.regs is None else self._grid()
        # In units of y, whose own squares might overflow, or vanish and make all reg look alike.
        unit = power_of_two(np.abs(Y).max())
        targets = columns(Y / unit)
        path = spectrum.path(targets, regs)
        del spectrum
        self._warn_of_undefined(path.residuals[0, :, 0], sample)
        criteria = self._without_noise(self._criteria_of(path, targets, sample.w), path)
        best = self._best(criteria)
        self.reg_ = float(criteria.reg[best])
        with np.errstate(over="ignore"):
            loo, gcv = criteria.loo * unit * unit, criteria.gcv * unit * unit
        self.path_ = replace(criteria, loo=loo, gcv=gcv)
        self.best_score_ = -float(getattr(self.path_, self.scoring)[best])
        self.loo_errors_ = np.full((sample.size, *Y.shape[1:]), np.nan)
        self.loo_errors_[sample.kept] = path.residuals[best].reshape(Y.shape) * unit
        return self.reg_

    def _memory_advice(self, facts):
        plain = type(self).__name__.removesuffix("CV")
        return (
            f"search for reg with GridSearchCV over {plain}(solver='nystrom'), or 'cg', or "
            "'fourier' for one to three columns; or choose it here on part of the sample."
        )

    def _grid(self):
        """The values of `regs` in descending order, or None."""
        if self.regs is None:
            return None
        try:
            regs = np.asarray(self.regs, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"regs must be a list of numbers; got {self.regs!r}.") from None
        if regs.ndim != 1 or regs.size == 0:
            raise ValueError(f"regs must be a list of numbers; got {self.regs!r}.")
        if not (np.isfinite(regs) & (regs > 0)).all():
            raise ValueError(f"regs must be positive and finite; got {self.regs!r}.")
        return np.sort(regs)[::-1]

    def _warn_of_undefined(self, residuals, sample):
        count = int(np.isnan(residuals).sum())
        if count == len(residuals):
            raise ValueError(
                f"leave-one-out is undefined for every sample (n_samples={count}, free features of "
                f"rank {count}): they fit any y.  Take fewer features, or more samples."
            )
        if count:
            first = sample.kept[np.flatnonzero(np.isnan(residuals))[:5]].tolist()
            warnings.warn(
                f"leave-one-out is undefined for {count} of {len(residuals)} samples ({first} …):"
                " a combination of the features vanishes on all other samples.  These samples do "
                "not count in the choice of reg, and loo_errors_ is NaN there.",
                UserWarning,
                stacklevel=5,
            )

    def _criteria_of(self, path, Y, w):
        defined = ~np.isnan(path.residuals[0, :, 0])
        left_out = path.residuals[:, defined]
        share = w[defined] / w[defined].sum()
        loo = np.einsum("i,rik->r", share, left_out**2) / Y.shape[1]
        return RegPath(path.reg, loo, path.gcv, path.df, self._missed(left_out, Y[defined], share))

    def _missed(self, left_out, Y, share):
        return None

    def _without_noise(self, criteria, path):
        """NaN, and a warning, for every reg at which rounding is all that is seen."""
        noisy = path.noise > 1e-2
        if not noisy.any():
            return criteria
        remedy = "regs=None takes a grid that stays above"
        what_then = f"they are NaN there, and not chosen; {remedy}."
        if noisy.all():
            what_then = f"all are; the largest is taken, and loo_errors_ is NaN.  {remedy}."
        warnings.warn(
            f"{noisy.sum()} of {noisy.size} values of regs, from {path.reg[noisy].max():.1e} down, "
            "are so small beside the rounding of the kernel matrix that leave-one-out, GCV and df "
            f"are noise: {what_then}",
            UserWarning,
            stacklevel=5,
        )
        path.residuals[noisy] = np.nan
        values = {name: value for name, value in vars(criteria).items() if value is not None}
        del values["reg"]
        return replace(
            criteria, **{name: np.where(noisy, np.nan, value) for name, value in values.items()}
        )

    def _best(self, path):
        criterion = getattr(path, self.scoring)
        finite = np.isfinite(criterion)
        if np.isnan(path.loo).all():
            return 0
        if not finite.any():
            raise ValueError(
                f"scoring={self.scoring!r} is defined for no reg of the grid: the weights, which "
                "count observations, sum to less than the degrees of freedom."
            )
        smallest = criterion[finite].min()
        good = finite & (criterion <= smallest * (1 + 1e-8))
        return int(np.flatnonzero(good)[0])


class GRLSRegressorCV(_ChoosesReg, GRLSRegressor):
    __doc__ = f"""`GRLSRegressor` with `reg` chosen by exact leave-one-out or GCV.
{_CV_PARAMETERS.format(plain="GRLSRegressor")}
    scoring : {{"loo", "gcv"}}
        What to minimize: the mean squared leave-one-out residual, or generalized
        cross-validation; with several outputs, the mean over them.

    Attributes
    ----------{_CV_ATTRIBUTES}

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook import Gaussian, GRLSRegressorCV
    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> y = np.sin(6 * X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=60)
    >>> f = GRLSRegressorCV(Gaussian(0.2)).fit(X, y)
    >>> f.path_.reg.size, bool(f.reg_ == f.path_.reg[np.argmin(f.path_.loo)])
    (50, True)
    """


class GRLSClassifierCV(_ChoosesReg, GRLSClassifier):
    __doc__ = f"""`GRLSClassifier` with `reg` chosen by exact leave-one-out or GCV.
{_CV_PARAMETERS.format(plain="GRLSClassifier")}
    scoring : {{"loo", "gcv", "misclassification"}}
        What to minimize.  The squared residuals of "loo" and "gcv" are those of the ±1 targets;
        "misclassification" counts wrong labels, each predicted without its own observation,
        and is a step function of reg: of equally good values the largest is taken.

    Attributes
    ----------
    classes_ : array{_CV_ATTRIBUTES}

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook import Gaussian, GRLSClassifierCV
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "opposite")
    >>> f = GRLSClassifierCV(Gaussian(1.0), scoring="misclassification").fit(X, y)
    >>> f.predict([[1.0, 1.0], [1.0, -1.0]])
    array(['same', 'opposite'], dtype='<U8')
    """

    _criteria = ("loo", "gcv", "misclassification")

    def _missed(self, left_out, Y, share):
        f = Y - left_out
        if Y.shape[1] == 1:
            wrong = (f[:, :, 0] > 0) != (Y[:, 0] > 0)
        else:
            wrong = f.argmax(axis=2) != Y.argmax(axis=1)
        return wrong @ share

"""`solver="fourier"` of the G-RLS learners: from the user's arrays to sums, and back to f.

The mathematics is in `solvers.grls.fourier.solve` and the files it names; streams of chunks are in
`_grls_stream`, Dask collections in `kernelbook.distributed` (they also know solver="nystrom", see
`_grls_centers`).  All of them do the same four things:

1. fix the box, the features and the grid (`_begin`);
2. sum the statistics of the samples, chunk by chunk (`_sums`);
3. solve, once (`_finish`);
4. evaluate f = Fourier sum + Pλ, chunk by chunk (`_grls_fourier_values`).
"""

from dataclasses import dataclass
from importlib.util import find_spec
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from kernelbook.certificates import Certificate
from kernelbook.distributed import fit_collection, in_memory, two_axes
from kernelbook.estimators._grls_checks import check_number
from kernelbook.estimators._grls_fourier_values import FourierValues
from kernelbook.estimators._grls_progress import solving_bar, statistics_bar
from kernelbook.features import as_features, evaluate
from kernelbook.kernels import as_kernel
from kernelbook.solvers.grls.fourier import solve as fourier
from kernelbook.solvers.grls.fourier.grid import design, spectrum
from kernelbook.solvers.grls.fourier.sums import (
    Frame,
    Statistics,
    chunk_rows,
    frame,
    slices,
    statistics,
)

__all__ = ["FourierLearner"]

EXACT_BELOW = 20_000
"""Samples below which "auto" is exact."""

_ON_BLOCKS = "auto", "fourier", "nystrom"  # what takes Dask collections
_WORTH = 2**18  # Fourier modes above which "auto" does not choose the Fourier solver
_MOST_COLUMNS = 3
_PILOT = 2000


@dataclass(frozen=True)
class Fit:
    """What a Fourier fit keeps: the frame, the sums of the data, and the Fourier coefficients."""

    frame: Frame
    statistics: Statistics
    coefficients: np.ndarray
    columns: tuple


class FourierLearner(FourierValues):
    """Mixed into a G-RLS learner before its base class."""

    # ------------------------------------------------------------------------------ fitting

    def _by_fourier(self, X):
        """Whether `fit` is to go this way; for "auto", whether it wins."""
        return self.solver == "fourier" or (self.solver == "auto" and self._fourier_wins(X))

    def _fit_collection(self, X, y, sample_weight, P):
        """`fit` for Dask collections, with solver="auto" (which is "fourier" then) or "nystrom"."""
        if self.solver not in _ON_BLOCKS or self.solver not in self._solvers:
            raise TypeError(
                f"solver={self.solver!r} needs arrays in memory; Dask collections are for "
                "solver='fourier' (or 'auto') and 'nystrom'."
            )
        self._refuse_gram(P)
        with self._fresh():
            fit_collection(self, X, y, sample_weight)

    def _refuse_gram(self, P):
        if P is not None or self._precomputed:
            raise ValueError(
                f"solver={self.solver!r} needs the points themselves: it takes neither "
                "kernel='precomputed' nor P."
            )

    def _fourier_wins(self, X):
        shape = getattr(X, "shape", ())
        if len(shape) != 2 or shape[0] < EXACT_BELOW or not 1 <= shape[1] <= _MOST_COLUMNS:
            return False
        if not isinstance(self.reg, Real) or not self.reg > 0:
            return False
        if self._precomputed or sparse.issparse(X) or find_spec("finufft") is None:
            return False
        try:
            check_number("reg", self.reg)
            check_number("tol", self.tol)
            values = np.asarray(X, dtype=np.float64)
            low, high = values.min(axis=0), values.max(axis=0)
            kernel = as_kernel(self.kernel, shape[1])
            spectrum(kernel, shape[1])
            eps = self._accuracy(kernel, shape[1])
            grid = design(kernel, low, high, eps, _WORTH)
        except (TypeError, ValueError):  # what is wrong with them, the fit will say
            return False
        return grid.error <= 1.01 * eps * grid.peak

    def _accuracy(self, kernel, d):
        """The relative accuracy of the kernel that `tol` asks for."""
        return fourier.accuracy(self.tol, self.reg, float(kernel.diag(np.zeros((1, d)))[0]))

    def _fit_fourier(self, X, y, sample_weight, P):
        """`fit` for arrays in memory."""
        self._refuse_gram(P)
        with self._fresh():
            given, X, y, w = self._checked(X, y, sample_weight)
            if is_classifier(self):
                self._learn_classes(y)
            self._begin_kernel(X.shape[1])
            Y = self._columns_of(y)
            low, high = self._box() or (X.min(axis=0), X.max(axis=0))
            step = max(1, len(X) // _PILOT)
            pilot = given.iloc[::step] if hasattr(given, "iloc") else given[::step]
            self.features_ = as_features(self.features).fit(given, y)
            largest = np.abs(two_axes(Y)).max(axis=0)
            start = self._begin(low, high, pilot, two_axes(Y)[::step], w[::step], largest)
            with statistics_bar(self.verbose, len(X)) as bar:
                sums = self._sums(start, given, X, two_axes(Y), w, bar)
            self._finish(start, sums, Y.shape[1:])

    def _checked(self, X, y, sample_weight, reset=True, absent=False):
        """The rows as given (a frame for the features) and as numbers, y and the weights.

        `absent` says whether all weights may be zero: of a chunk yes, of a sample no.
        """
        in_memory(type(self).__name__, X, y, sample_weight)
        if sparse.issparse(X):
            raise TypeError(f"solver={self.solver!r} needs dense rows here: pass X.toarray().")
        given, numeric = X, {} if is_classifier(self) else {"multi_output": True, "y_numeric": True}
        if reset:
            X, y = self._rows(X, y, **numeric)
        else:
            X, y = self._same_rows(X, y, numeric)
        some = not absent or sample_weight is None or np.any(np.asarray(sample_weight) != 0)
        w = self._weights_of(X, sample_weight) if some else np.zeros(len(X))
        if X.shape[1] > _MOST_COLUMNS and self.solver != "nystrom":
            raise ValueError(
                f"solver='fourier' is for one to three columns, and X has {X.shape[1]}: the number "
                "of Fourier functions grows like a power of them.  Use solver='nystrom' or 'cg'."
            )
        given = given if hasattr(given, "iloc") else X
        kept = w > 0
        if not kept.all():  # a row of weight zero is absent: from the box, too
            X, y, w = X[kept], y[kept], w[kept]
            given = given.iloc[np.flatnonzero(kept)] if hasattr(given, "iloc") else X
        return given, X, y, w

    def _same_rows(self, X, y, numeric):
        return validate_data(self, X, y, reset=False, dtype=np.float64, **numeric)

    def _learn_classes(self, y):
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if self.classes_.size < 2:
            raise ValueError(
                f"y has one class only, {self.classes_.tolist()}; a classifier needs at least two "
                "classes with positive weight."
            )

    def _columns_of(self, y):
        """y as targets: numbers, or ±1 for the classes, one column for two of them."""
        if not is_classifier(self):
            return np.asarray(y, dtype=np.float64)
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

    def _box(self):
        """`bounds` as two arrays, or None."""
        if self.bounds is None:
            return None
        try:
            bounds = np.asarray(self.bounds, dtype=np.float64)
        except (TypeError, ValueError):
            bounds = np.empty(0)
        wide = f"; X has {self.n_features_in_} columns" if hasattr(self, "n_features_in_") else ""
        d = getattr(self, "n_features_in_", len(bounds))
        if bounds.shape != (d, 2) or not np.isfinite(bounds).all():
            raise ValueError(
                f"bounds={self.bounds!r} must be a pair (low, high) of finite numbers for each "
                f"column{wide}."
            )
        if (bounds[:, 0] > bounds[:, 1]).any():
            raise ValueError(f"bounds={self.bounds!r}: low must not exceed high.")
        return bounds[:, 0], bounds[:, 1]

    def _begin_kernel(self, d):
        check_number("reg", self.reg)
        check_number("tol", self.tol)
        steps = self.max_iter
        if not isinstance(steps, Integral) or isinstance(steps, bool) or steps < 1:
            raise ValueError(f"max_iter must be an integer ≥ 1, not {steps!r}.")
        self.kernel_ = as_kernel(self.kernel, d).copy()
        self._features_before = self.features, repr(as_features(self.features))
        spectrum(self.kernel_, d)

    def _begin(self, low, high, pilot, Y, w, largest=None):
        """The frame: grid and features' basis, from a pilot sample; `kernel_`, `features_` are."""
        P = evaluate(self.features_, pilot)
        self._n_free = P.shape[1]
        eps = self._accuracy(self.kernel_, len(low))
        return frame(design(self.kernel_, low, high, eps), P, Y, w, eps, largest)

    def _sums(self, start, given, X, Y, w, bar=None):
        """The statistics of a chunk of any size; an error if it leaves the box."""
        outside = start.grid.outside(X)
        if outside.any():
            row = int(np.flatnonzero(outside)[0])
            box = np.c_[start.grid.low, start.grid.high].tolist()
            raise ValueError(
                f"row {row} of the chunk, {X[row].tolist()}, is outside the box {box}: all samples "
                "must be inside.  Give bounds that hold them all, and fit again."
            )
        total = 0
        for rows in slices(len(X), chunk_rows(start.grid)):
            part = given.iloc[rows] if hasattr(given, "iloc") else given[rows]
            P = self._features_at(part)
            total = total + statistics(start, X[rows], Y[rows], w[rows], P)
            if bar is not None:
                bar.update(rows.stop - rows.start)
        return total

    def _finish(self, start, sums, columns):
        """Solve and keep the fitted attributes, all or none."""
        if not isinstance(sums, Statistics):
            raise ValueError(
                "sample_weight is zero for every sample; at least one must be positive."
            )
        l, total = len(sums.PP), sums.total * start.w_unit
        if l > max(sums.m, total):
            raise ValueError(
                f"{l} free features on {sums.m} samples: more features than samples interpolate "
                "any y.  Take fewer features, or more samples."
            )
        system = fourier.System(start, sums, self.reg)
        with solving_bar(self.verbose) as progress:
            solution = system.solve(self.tol, progress, self.max_iter)
        doubts = []
        if system.doubtful:
            doubts.append(
                f"the {l} free features are dependent on the sample only to rounding; {system.rank}"
                " directions were kept.  Scale the features (Polynomials(scaled=True), "
                "StandardScaler), or take fewer of them."
            )
        free = total - system.rank
        # The root first: y near 1e±300 has a representable deviation, if not a variance.
        deviation = np.sqrt(solution.energy / (free if free > 0 else np.nan)) * start.y_unit
        with np.errstate(over="ignore"):
            scale = deviation**2
        self._deviation = deviation.reshape(columns)
        self._doubts, self._kernel_share = doubts, solution.kernel_part
        self._fourier = Fit(start, sums, solution.coefficients, columns)
        self._dense, self._reg = False, float(self.reg)
        self.solver_ = "fourier"
        self.coef_ = solution.lam.reshape(-1, *columns)
        self.rank_ = system.rank
        self.scale_ = scale.reshape(columns) if columns else float(scale[0])
        self.n_iter_ = max(1, solution.n_iter)
        self.n_modes_ = 2 * len(start.grid.D) - 1
        self.kernel_error_ = float(system.kernel_error())
        self.certificate_ = Certificate.joint(solution.certificates)

    def _unreached(self):
        if self._fourier is None:
            return super()._unreached()
        kkt, share = self.certificate_.kkt, self._kernel_share
        remedy = (
            f"{share:.1e} of it because the kernel is exact to {self.kernel_error_:.1e} with "
            f"{self.n_modes_} Fourier functions (a bound, often pessimistic).  A larger reg or "
            "tol, a smoother or wider kernel, or an exact solver help."
            if share > kkt / 2
            else f"after {self.n_iter_} steps of conjugate gradients.  A larger max_iter, reg "
            "or tol help."
        )
        return f"solver='fourier' did not reach tol={self.tol}: kkt={kkt:.1e}, {remedy}"

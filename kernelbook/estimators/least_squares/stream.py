"""G-RLS fits by sums over blocks of rows: chunks, Dask collections, and Fourier in memory.

A block adds its sums to those of the blocks before it, so that after all of them the learner is
the one that `fit` would have found on all rows at once, whatever the order and the size of the
blocks (`blocks`).  Memory: one block and the sums.

What has to be fixed before the data come must be known: the box, by `bounds` or by given centres;
and the features.  Polynomials are scaled to the box; a transformer that learns from data must
have learned already (`sklearn.frozen.FrozenEstimator`).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import update_wrapper, wraps
from types import MethodType
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelbook.distributed.fit import Survey, fit_blocks
from kernelbook.estimators._base import Sample, in_memory
from kernelbook.estimators.least_squares.blocks import ABSENT, BlockFit, FourierSums
from kernelbook.estimators.least_squares.learner import GRLS, columns
from kernelbook.estimators.least_squares.progress import counting_bar
from kernelbook.features import as_features, fit_features, take_rows
from kernelbook.kernels import as_kernel
from kernelbook.solvers.grls.methods import Facts, choose

__all__ = ["StreamingLearner", "streaming"]

_PILOT = 2000


class streaming:
    """A method that learners have only with a solver whose sums add up; the error says why.

    What scikit-learn's `available_if` does, whose error names the method only.
    """

    def __init__(self, method: Any) -> None:
        self.method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, learner, owner=None):
        if learner is not None:
            self._check(learner)
            return MethodType(self.method, learner)

        @wraps(self.method)
        def unbound(learner, *args, **kwargs):
            self._check(learner)
            return self.method(learner, *args, **kwargs)

        return unbound

    def _check(self, learner):
        if "fourier" not in learner._methods:
            raise AttributeError(
                f"{type(learner).__name__} has no {self.method.__name__}: to choose reg it needs "
                "all samples.  Choose it on part of them, and pass it to the learner without CV, "
                "with solver='fourier'."
            )
        given = learner.solver == "nystrom" and not isinstance(learner.centers, str)
        if learner.solver != "fourier" and not given:
            raise AttributeError(
                f"{type(learner).__name__} has {self.method.__name__} only with solver='fourier', "
                "or 'nystrom' with an array of centers, whose sums over chunks add up; here "
                f"solver={learner.solver!r}."
            )


class StreamingLearner(GRLS):
    """A G-RLS learner that fits on chunks and collections, too."""

    @streaming
    def fit_chunks(self, chunks: Any, classes: Any = None) -> Self:
        """Fit to an iterable of chunks (X, y) or (X, y, sample_weight); solves once, at the end.

        Interrupted (Ctrl-C), the learner is fitted to the chunks that were complete, the
        interruption goes on, and `partial_fit` can take the rest.

        Parameters
        ----------
        chunks : iterable of tuples
            Read once if `bounds` is given, and for a classifier `classes`.  Otherwise twice,
            first to find them: then it must be something that can be iterated again (a list,
            an object with `__iter__`), not a generator.
        classes : array, optional
            All labels there are; classifiers only.
        """
        interrupted = None
        with self._fresh():
            self._take_parameters(in_blocks=True)
            _require_iterable(chunks, "(X, y) or (X, y, sample_weight)")
            survey, fit, sums, count = self._survey(chunks, classes), None, 0, 0
            length = len(chunks) if hasattr(chunks, "__len__") else None
            with counting_bar(self.verbose, length, " chunks") as tick:
                try:
                    for number, chunk in enumerate(chunks):
                        fit, part = self._next_sums(fit, chunk, number, survey, classes)
                        if fit is None:
                            continue  # rows of weight zero only
                        sums, count = sums + part, count + 1
                        tick(1)
                except KeyboardInterrupt:
                    if isinstance(sums, int):
                        raise
                    interrupted = (
                        f"interrupted: the learner is fitted to the first {count} chunks, "
                        f"{sums.m} rows; partial_fit can take the others."
                    )
            if fit is None:
                raise ValueError(
                    "chunks is empty, or all weights are zero: a fit needs at least one chunk "
                    "(X, y) with a row of positive weight."
                )
            fit.finish(sums)
        self._warned()
        if interrupted:
            raise KeyboardInterrupt(interrupted)
        return self

    def predict_chunks(self, chunks: Any, **options: Any) -> Iterator[np.ndarray]:
        """Yield `predict(X, **options)` for each X of an iterable, one chunk in memory at a time.

        For a learner fitted by any solver.  Nothing is computed before it is asked for.
        """
        check_is_fitted(self, "coef_")
        _require_iterable(chunks, "X")
        return self._predictions(chunks, options)

    def _predictions(self, chunks, options):
        for number, X in enumerate(chunks):
            try:
                values = self.predict(X, **options)
            except (TypeError, ValueError) as error:
                error.add_note(f"This was chunk {number}, counted from 0; a chunk is X, without y.")
                raise
            yield values

    def _partial_fit(self, X, y, sample_weight, classes=None):
        with self._transaction():
            self._take_parameters(in_blocks=True)
            if not hasattr(self, "coef_"):
                fit, sums = self._first_fit(X, y, sample_weight, classes), 0
            elif getattr(self, "_blocks", None) is None:
                raise ValueError(
                    "this learner was fitted by an exact solver, which keeps no sums: start with "
                    "partial_fit, fit_chunks, or fit with solver='fourier'."
                )
            else:
                fit, sums = self._blocks.resumed(self), self._blocks.total
                self._require_unchanged(classes)
            fit.finish(sums + fit.sums(X, y, sample_weight))

    def _first_fit(self, X, y, sample_weight, classes):
        if self.solver == "fourier" and self.bounds is None:
            raise ValueError(
                "partial_fit needs bounds, the box that holds all samples to come: "
                "bounds=[(low, high), ...], a pair for each column."
            )
        fit = self._begun((X, y, sample_weight), None, None, classes)
        if fit is None:
            raise ValueError(
                "sample_weight is zero for all of the first chunk: start with one that has a row "
                "of positive weight."
            )
        return fit

    @contextmanager
    def _transaction(self):
        """Inside, a change of state that happens completely or not at all."""
        before = dict(vars(self))
        try:
            yield
        except BaseException as error:
            vars(self).clear()
            vars(self).update(before)
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(
                    "interrupted: the learner is as it was before this chunk."
                ) from None
            raise

    # ------------------------------------------------------- collections, and Fourier in memory

    def _fit_collection(self, X, y, sample_weight, P):
        if P is not None or self._precomputed:
            facts = Facts(None, 1, self.reg_, self.tol, collection=True)
            choose(self.solver, facts, self._methods)
        fit = BlockFit(self)
        fit.finish(fit_blocks(fit, X, y, sample_weight))

    def _fit_by_sums(self, sample, Y, box, grid):
        """Fourier for a sample in memory."""
        step = max(1, sample.X.shape[0] // _PILOT)
        pilot = Sample(
            *(sample.X[::step], sample.y[::step], sample.w[::step]),
            *(take_rows(sample.given, slice(None, None, step)), sample.kept[::step], sample.size),
        )
        fit = BlockFit(self)
        fit.set_plan(FourierSums(self, self._facts(sample.X), grid))
        self.features_ = fit_features(as_features(self.features), sample.given, sample.y, sample.w)
        fit.fix(box, None, pilot, Y[::step], np.abs(columns(Y)).max(axis=0))
        with counting_bar(self.verbose, len(Y)) as tick:
            sums = fit.sums_of(sample, Y, tick)
        fit.finish(sums)

    # ------------------------------------------------------------------------------ a chunk

    def _block(self, X, y, w, reset, number=None) -> Sample:
        """A block of rows, checked; all of its weights may be zero."""
        try:
            in_memory(type(self).__name__, X, y, w)
            if sparse.issparse(X):
                raise TypeError(f"solver={self.solver!r} needs dense rows here: pass X.toarray().")
            raw = X
            if reset:
                X, y = self._rows(X, y, **self._check_y)
            else:
                X, y = validate_data(self, X, y, reset=False, dtype=np.float64, **self._check_y)
            absent = w is not None and not np.any(np.asarray(w) != 0)
            w = np.zeros(len(X)) if absent else self._weights_of(X, w)
            return self._present(raw, X, y, w)
        except ValueError as error:
            if number is not None:
                error.add_note(f"This was chunk {number}, counted from 0.")
            raise

    def _begun(self, chunk, number, survey, classes):
        """A fit that has seen its first rows; None if their weights are all zero."""
        fit = BlockFit(self, classes)
        fit.begin(*_unpacked(chunk), number)
        if len(fit.pilot.X) == 0:
            return None
        if is_classifier(self) and classes is None and survey is None:
            raise ValueError(
                "the first call of partial_fit needs classes, all the labels that will come."
            )
        fit.freeze(survey)
        return fit

    def _next_sums(self, fit, chunk, number, survey, classes):
        """The fit and the sums over a chunk."""
        fit = fit or self._begun(chunk, number, survey, classes)
        if fit is None:
            return None, 0
        block = self._block(*_unpacked(chunk), False, number)
        return fit, fit.sums_of(block, self._targets_of(block.y))

    def _require_unchanged(self, classes):
        kernel = as_kernel(self.kernel, self.n_features_in_)
        if kernel != self.kernel_:
            raise ValueError(
                f"kernel={kernel!r} is not the kernel of the chunks before, {self.kernel_!r}, and "
                "their sums cannot be changed: call fit or fit_chunks."
            )
        # The name of a function is its address, which says little once it has been pickled.
        before, name = self._blocks.features
        now = repr(as_features(self.features))
        if now != name and (self.features is not before or " at 0x" not in name):
            raise ValueError(
                f"features={now} are not those of the chunks before, {name}, and their sums cannot "
                "be changed: call fit or fit_chunks."
            )
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={classes!r} are not those of the chunks before, {self.classes_.tolist()}."
            )

    # ------------------------------------------------------------------- before the first one

    def _survey(self, chunks, classes):
        """Box and labels by a first pass over the chunks; None where both are given."""
        fixed = self.bounds is not None or self.solver == "nystrom"
        missing = [] if fixed else ["bounds"]
        if is_classifier(self) and classes is None:
            missing.append("classes")
        if not missing:
            return None
        if iter(chunks) is chunks:
            raise ValueError(
                f"{' and '.join(missing)} must be given for chunks that can be read only once, "
                "as from a generator; or pass a list, or an object that can be iterated again."
            )
        survey = None
        for number, chunk in enumerate(chunks):
            block = self._block(*_unpacked(chunk), survey is None, number)
            part = Survey.of(block.X, block.y, block.w, is_classifier(self))
            survey = part if survey is None else survey.merge(part)
        if survey is not None and not np.all(survey.low <= survey.high):
            raise ValueError(ABSENT)
        return survey


def _unpacked(chunk):
    """X, y and weights or None."""
    if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3):
        raise TypeError(
            f"a chunk must be (X, y) or (X, y, sample_weight), not {type(chunk).__name__}."
        )
    return (*chunk, None)[:3]


def _require_iterable(chunks, what):
    if not isinstance(chunks, Iterable):
        raise TypeError(
            f"chunks={chunks!r} must be something to iterate over, a list or a generator of {what}."
        )

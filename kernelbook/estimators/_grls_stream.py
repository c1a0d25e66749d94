"""Data that come in chunks: `partial_fit`, `fit_chunks` and `predict_chunks` of the G-RLS learners.

A chunk adds its sums to those of the chunks before it (`kernelbook.solvers.grls.fourier.sums`),
so that after all of them the learner is the one that `fit` would have found on all rows at once,
whatever the order and the size of the chunks.  Memory: one chunk and the sums.

What cannot wait for the data has to be known before: the box, by `bounds`; and the features.
Polynomials are scaled to the box; a transformer that learns from data must have learned already
(`sklearn.frozen.FrozenEstimator`).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import update_wrapper, wraps
from itertools import product
from types import MethodType

import numpy as np
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from kernelbook.distributed import two_axes
from kernelbook.estimators._grls_fourier import FourierLearner
from kernelbook.estimators._grls_progress import statistics_bar
from kernelbook.features import Constant, FunctionFeatures, NoFeatures, Polynomials, as_features
from kernelbook.kernels import as_kernel

__all__ = ["StreamingLearner", "streaming"]


class streaming:
    """A method that learners have only with solver="fourier"; the error of others says why.

    What scikit-learn's `available_if` does, whose error names the method only.
    """

    def __init__(self, method):
        self.method = method
        update_wrapper(self, method)

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
        if "fourier" not in learner._solvers:
            raise AttributeError(
                f"{type(learner).__name__} has no {self.method.__name__}: to choose reg it needs "
                "all samples.  Choose it on part of them, and pass it to the learner without CV, "
                "with solver='fourier'."
            )
        if learner.solver != "fourier":
            raise AttributeError(
                f"{type(learner).__name__} has {self.method.__name__} only with solver='fourier', "
                f"whose sums over chunks add up; here solver={learner.solver!r}."
            )


class StreamingLearner(FourierLearner):
    """Mixed into a G-RLS learner: fit on chunks."""

    @streaming
    def fit_chunks(self, chunks, classes=None):
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
            self._fourier = None
            _require_iterable(chunks, "(X, y) or (X, y, sample_weight)")
            box, known = self._known(chunks, classes)
            start = sums = columns = None
            count = 0
            total = len(chunks) if hasattr(chunks, "__len__") else None
            with statistics_bar(self.verbose, total, " chunks") as bar:
                try:
                    for number, chunk in enumerate(chunks):
                        given, X, y, w = self._chunk(chunk, start is None, number)
                        if start is None and len(X):
                            start, columns = self._start(given, X, y, w, box, known)
                        if start is None:
                            continue  # rows of weight zero only
                        part = self._part(start, columns, given, X, y, w)
                        sums, count = part if sums is None else sums + part, count + 1
                        if bar is not None:
                            bar.update(1)
                except KeyboardInterrupt:
                    if sums is None:
                        raise
                    interrupted = (
                        f"interrupted: the learner is fitted to the first {count} chunks, "
                        f"{sums.m} rows; partial_fit can take the others."
                    )
            if start is None:
                raise ValueError(
                    "chunks is empty, or all weights are zero: a fit needs at least one chunk "
                    "(X, y) with a row of positive weight."
                )
            self._finish(start, sums, columns)
        self._warned()
        if interrupted:
            raise KeyboardInterrupt(interrupted)
        return self

    def predict_chunks(self, chunks, **options):
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
        with self._or_as_before():
            first = not hasattr(self, "coef_")
            if first:
                self._fourier = None
            if not first and self._fourier is None:
                raise ValueError(
                    "this learner was fitted by an exact solver, which keeps no sums: start with "
                    "partial_fit, fit_chunks, or fit with solver='fourier'."
                )
            given, rows, y, w = self._chunk((X, y, sample_weight), reset=first)
            if first:
                box = self._bounded_box()
                if len(rows) == 0:
                    raise ValueError(
                        "sample_weight is zero for all of the first chunk: start with one that "
                        "has a row of positive weight."
                    )
                start, columns = self._start(given, rows, y, w, box, classes)
                sums = 0
            else:
                start, sums = self._fourier.frame, self._fourier.statistics
                columns = self._fourier.columns
                self._require_unchanged(classes)
            part = self._part(start, columns, given, rows, y, w)
            self._finish(start, sums + part, columns)

    def _values(self, X, P=None):
        if isinstance(X, Iterator):
            raise TypeError(
                f"X is a {type(X).__name__}, which can be read only once: predict_chunks(X) yields "
                "f for one chunk after the other."
            )
        return super()._values(X, P)

    @contextmanager
    def _or_as_before(self):
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

    # ------------------------------------------------------------------------------ a chunk

    def _chunk(self, chunk, reset, number=None):
        if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3):
            raise TypeError(
                f"a chunk must be (X, y) or (X, y, sample_weight), not {type(chunk).__name__}."
            )
        X, y, w = (*chunk, None)[:3]
        try:
            return self._checked(X, y, w, reset=reset, absent=True)
        except ValueError as error:
            if number is not None:
                error.add_note(f"This was chunk {number}, counted from 0.")
            raise

    def _part(self, start, columns, given, X, y, w):
        Y = self._columns_of(y)
        if Y.shape[1:] != columns:
            raise ValueError(
                f"y of this chunk has shape {np.shape(y)}, and the first one had rows of shape "
                f"{columns}: all chunks must have the same outputs."
            )
        return self._sums(start, given, X, two_axes(Y), w)

    def _require_unchanged(self, classes):
        kernel = as_kernel(self.kernel, self.n_features_in_)
        if kernel != self.kernel_:
            raise ValueError(
                f"kernel={kernel!r} is not the kernel of the chunks before, {self.kernel_!r}, and "
                "their sums cannot be changed: call fit or fit_chunks."
            )
        # A function's name has its place in memory, and says little after a journey by pickle.
        before, name = self._features_before
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

    def _bounded_box(self):
        if self.bounds is None:
            raise ValueError(
                "partial_fit needs bounds, the box that holds all samples to come: "
                "bounds=[(low, high), ...], a pair for each column."
            )
        return self._box()

    def _known(self, chunks, classes):
        """The box and the classes; where they are not given, by a first pass over the chunks."""
        missing = [] if self.bounds is not None else ["bounds"]
        if is_classifier(self) and classes is None:
            missing.append("classes")
        if not missing:
            return None, classes
        if iter(chunks) is chunks:
            raise ValueError(
                f"{' and '.join(missing)} must be given for chunks that can be read only once, "
                "as from a generator; or pass a list, or an object that can be iterated again."
            )
        low, high, labels, first = np.inf, -np.inf, [], True
        for number, chunk in enumerate(chunks):
            _, X, y, _ = self._chunk(chunk, first, number)
            if len(X):
                low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
            if "classes" in missing:
                labels.append(np.unique(y))
            first = False
        if not np.all(low <= high) and not first:
            raise ValueError(
                "sample_weight is zero for every sample; at least one must be positive."
            )
        found = np.unique(np.concatenate(labels)) if labels else classes
        return (None if self.bounds is not None or first else (low, high)), found

    def _start(self, given, X, y, w, box, classes):
        """Frame and columns, from the first chunk."""
        low, high = self._box() if box is None else box
        if is_classifier(self):
            if classes is None:
                raise ValueError(
                    "the first call of partial_fit needs classes, all the labels that will come."
                )
            self._learn_classes(np.asarray(classes))
        self._begin_kernel(X.shape[1])
        self.features_ = self._features_of_box(as_features(self.features), low, high, given)
        Y = self._columns_of(y)
        return self._begin(low, high, given, two_axes(Y), w), Y.shape[1:]

    def _features_of_box(self, features, low, high, given):
        """A feature map fitted without the data: scaled to the box, or fitted before."""
        own = Polynomials, Constant, NoFeatures, FunctionFeatures, FrozenEstimator
        if not isinstance(features, own) and get_tags(features).requires_fit:
            raise ValueError(
                f"features={self.features!r} learns from data, and the data come in chunks: fit it "
                "on a sample first and pass sklearn.frozen.FrozenEstimator(features)."
            )
        corners = np.array(list(product(*zip(low, high, strict=True))))
        if hasattr(given, "iloc"):
            corners = type(given)(corners, columns=given.columns)
        return features.fit(corners, None)


def _require_iterable(chunks, what):
    if not isinstance(chunks, Iterable):
        raise TypeError(
            f"chunks={chunks!r} must be something to iterate over, a list or a generator of {what}."
        )

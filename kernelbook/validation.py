"""Splits for samples that are not independent: blocks of space, blocks of time, rolling origins.

A fold that is drawn at random lies among its neighbours, and a smooth model predicts it from them:
the error that comes out is that of interpolation.  To know the error of a map of new ground, or of
a forecast, leave out what will be missing then: whole blocks, or everything after a date.

The classes are splitters as scikit-learn has them, `cv=` of `cross_val_score` and `GridSearchCV`.
Places and times are columns of X, by number or name, in their own units.
"""

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from kernelbook.features import is_frame
from kernelbook.numeric.arrays import described

__all__ = ["RollingOrigin", "SpatialBlocks", "TimeBlocks"]

Fold = tuple[np.ndarray, np.ndarray]


class SpatialBlocks:
    """Folds of square cells: a cell is left out as a whole.

    Parameters
    ----------
    size : float
        The edge of a cell, in units of the columns; about the distance over which the model may
        not help itself to neighbours.
    columns : numbers or names
        The coordinates.
    n_splits : int
    buffer : float
        Training samples closer than this to a test sample are left out, too.
    random_state : int
        Which cells go together.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook.validation import SpatialBlocks
    >>> X = np.array([[0.1, 0.2], [0.3, 0.1], [5.1, 0.2], [5.2, 0.4]])
    >>> [test.tolist() for _, test in SpatialBlocks(1.0, n_splits=2).split(X)]
    [[0, 1], [2, 3]]
    """

    def __init__(
        self,
        size: float,
        columns: Sequence[int | str] = (0, 1),
        n_splits: int = 5,
        buffer: float = 0.0,
        random_state: int = 0,
    ) -> None:
        _positive("size", size)
        _not_negative("buffer", buffer)
        _at_least("n_splits", n_splits, 2)
        _at_least("random_state", random_state, 0)
        self.size, self.columns, self.n_splits = size, columns, n_splits
        self.buffer, self.random_state = buffer, random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Fold]:
        """Pairs of training and test rows."""
        listed = [self.columns] if isinstance(self.columns, int | str) else self.columns
        places = np.column_stack([column(X, c) for c in listed])
        cells = np.floor((places - places.min(axis=0)) / self.size)
        _, cell, count = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
        if len(count) < self.n_splits:
            raise ValueError(
                f"size={self.size!r} gives {len(count)} cells with samples, fewer than "
                f"n_splits={self.n_splits}: take smaller cells, or fewer splits."
            )
        fold = _balanced(count, self.n_splits, self.random_state)[cell.ravel()]
        for k in range(self.n_splits):
            test = np.flatnonzero(fold == k)
            train = np.flatnonzero(fold != k)
            if self.buffer > 0:
                from scipy.spatial import cKDTree

                near = cKDTree(places[test]).query(places[train])[0] < self.buffer
                train = train[~near]
            yield _fold(train, test, f"buffer={self.buffer!r}")


class TimeBlocks:
    """Folds of consecutive time: a block is left out as a whole.

    Parameters
    ----------
    n_splits : int
        Blocks of equal numbers of samples.
    column : int or str
        The times.
    gap : float
        Training samples closer than this to the block are left out, too.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook.validation import TimeBlocks
    >>> years = np.arange(6.0)[:, None]
    >>> [test.tolist() for _, test in TimeBlocks(3).split(years)]
    [[0, 1], [2, 3], [4, 5]]
    """

    def __init__(self, n_splits: int = 5, column: int | str = 0, gap: float = 0.0) -> None:
        _at_least("n_splits", n_splits, 2)
        _not_negative("gap", gap)
        self.n_splits, self.column, self.gap = n_splits, column, gap

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Fold]:
        """Pairs of training and test rows."""
        t = column(X, self.column)
        if len(np.unique(t)) < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} needs as many different times; column={self.column!r} "
                f"has {len(np.unique(t))}."
            )
        times, index = np.unique(t, return_inverse=True)
        block = np.arange(len(times)) * self.n_splits // len(times)
        for k in range(self.n_splits):
            inside = block[index.ravel()] == k
            low, high = t[inside].min(), t[inside].max()
            near = (t > low - self.gap) & (t < high + self.gap)
            train = np.flatnonzero(~inside & ~near)
            yield _fold(train, np.flatnonzero(inside), f"gap={self.gap!r}")


class RollingOrigin:
    """Forecasts: train on what is known at an origin, test on what comes after it.

    The last origin is `horizon` before the last time, each one before it `step` earlier.

    Parameters
    ----------
    horizon : float
        How far is forecast: test times t have origin < t ≤ origin + horizon.
    n_splits : int
    column : int or str
        The times.
    step : float, optional
        Between origins; by default `horizon`.
    window : float, optional
        Train on the last `window` before the origin only; by default on all of the past.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook.validation import RollingOrigin
    >>> years = np.arange(2000.0, 2010.0)[:, None]
    >>> for train, test in RollingOrigin(horizon=2.0, n_splits=2).split(years):
    ...     print(years[train[-1]], years[test].ravel())
    [2005.] [2006. 2007.]
    [2007.] [2008. 2009.]
    """

    def __init__(
        self,
        horizon: float,
        n_splits: int = 5,
        column: int | str = 0,
        step: float | None = None,
        window: float | None = None,
    ) -> None:
        _positive("horizon", horizon)
        _at_least("n_splits", n_splits, 1)
        if step is not None:
            _positive("step", step)
        if window is not None:
            _positive("window", window)
        self.horizon, self.n_splits, self.column = horizon, n_splits, column
        self.step, self.window = step, window

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Fold]:
        """Pairs of training and test rows, the earliest origin first."""
        t = column(X, self.column)
        step = self.horizon if self.step is None else self.step
        for back in reversed(range(self.n_splits)):
            origin = t.max() - self.horizon - back * step
            past = t <= origin
            if self.window is not None:
                past &= t > origin - self.window
            test = np.flatnonzero((t > origin) & (t <= origin + self.horizon))
            what = f"n_splits={self.n_splits} and horizon={self.horizon!r}, at {origin:g},"
            yield _fold(np.flatnonzero(past), test, what)


def column(X: Any, which: int | str) -> np.ndarray:
    """A column of a data frame or an array, as finite numbers."""
    if not is_frame(X):
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X is {described(X)}: pass a table, one sample a row.")
    if isinstance(which, str):
        if not is_frame(X) or which not in list(X.columns):
            known = ", ".join(map(str, X.columns)) if is_frame(X) else "numbers, X has no names"
            raise ValueError(f"X has no column {which!r}; its columns are {known}.")
        found = X[which]
    elif not isinstance(which, int | np.integer) or not 0 <= which < X.shape[1]:
        raise ValueError(
            f"column {which!r} is not among the {X.shape[1]} of X, which are numbered from 0."
        )
    else:
        found = X[X.columns[which]] if is_frame(X) else X[:, which]
    try:
        found = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.full(1, np.nan)
    if not np.isfinite(found).all():
        raise ValueError(
            f"column {which!r} of X ({described(X)}) must hold finite numbers, a place or a time "
            "in each row: fill in what is missing, or drop the row."
        )
    return found


def _balanced(sizes, folds, seed):
    """A fold for each cell: the largest first, each into the fold that has least."""
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    order = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    fold, filled = np.empty(len(sizes), dtype=int), np.zeros(folds)
    for cell in order:
        fold[cell] = filled.argmin()
        filled[fold[cell]] += sizes[cell]
    return fold


def _fold(train, test, why):
    if not len(train) or not len(test):
        what = "training" if not len(train) else "test"
        raise ValueError(f"{why} leaves a split without {what} samples: take less.")
    return train, test


def _positive(name, value):
    if not _is_number(value) or not 0 < value < np.inf:
        raise ValueError(f"{name}={value!r} must be positive, a number in units of the columns.")


def _not_negative(name, value):
    if not _is_number(value) or not 0 <= value < np.inf:
        raise ValueError(f"{name}={value!r} must be ≥ 0, a number in units of the columns.")


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool)


def _at_least(name, value, least):
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}={value!r} must be an integer ≥ {least}.")

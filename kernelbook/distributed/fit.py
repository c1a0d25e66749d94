"""A fit by sums over the blocks of Dask collections.

A block contributes sums (`solvers.grls.fourier.sums`, `solvers.grls.nystrom.sums`).  They are taken
where the block is and added up in a tree; they are all that travels, and their size does not depend
on the number of samples.  The data are read once if nothing has to be known about them before;
otherwise once more, to survey them: for the box, a classifier's classes, and centres.

**Centres** are drawn as the blocks are surveyed: every row gets the key (log U)/w with U uniform in
(0, 1), and the n largest keys of all are n rows drawn without replacement, in proportion to their
weights [1]; the largest of two blocks are among the largest of each.

A block should fit into a worker's memory several times over.  If a worker dies, Dask runs its task
again elsewhere; blocks are pure functions of the data, so nothing is lost or counted twice.  Where
the data are read twice, a checksum of both readings is compared.

References
----------
[1] Efraimidis & Spirakis, *Weighted random sampling with a reservoir*, Information Processing
Letters 97 (2006).
"""

from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Self
from zlib import crc32

import numpy as np

from kernelbook.distributed.graph import aligned_blocks, computed, tree_sum

__all__ = ["Survey", "fit_blocks"]

_PILOT = 2000


def fit_blocks(job: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """The sums of a job over Dask collections.

    Parameters
    ----------
    job : object with the methods
        begin(X, y, w)
            Checks some first rows, which stand for all in what can be seen from columns, names
            and kinds of numbers.
        wants()
            Whether a survey is needed, whether it must find labels, and how many rows it should
            draw; and a seed for each of n blocks: (needed, labels, rows, seeds(n)).
        freeze(survey)
            Fixes all that must be the same for every block; the survey may be None.
        sums(X, y, w)
            The sums over a block, or 0 if it has no rows.
    """
    import dask

    blocks = aligned_blocks(X, y, sample_weight)
    job.begin(*_pilot(blocks))
    needed, labels, rows, seeds = job.wants()
    survey = None
    if needed:
        tasks = zip(blocks, seeds(len(blocks)), strict=True)
        parts = [dask.delayed(Survey.of)(*block, labels, rows, seed) for block, seed in tasks]
        survey = tree_sum(parts, partial(reduce, Survey.merge))
        if not np.isfinite([survey.low, survey.high]).all():
            raise ValueError("X contains NaN or infinity; drop or impute those rows.")
    job.freeze(survey)
    worker = dask.delayed(job, traverse=False)
    parts = [dask.delayed(_sums)(worker, needed, *block) for block in blocks]
    checksum, sums = tree_sum(parts, _added)
    if survey is not None:
        _require_same_data(survey, checksum, getattr(sums, "m", 0))
    return sums


def _require_same_data(survey, checksum, rows):
    """An error for data that change while they are read."""
    if survey.count != rows:
        what = f"{survey.count} rows of positive weight when surveyed, and {rows} when summed"
    elif survey.checksum != checksum:
        what = "other numbers when summed than when surveyed"
    else:
        return
    raise ValueError(
        f"X, y or sample_weight had {what}: the data change between two passes.  Write them to "
        "files that stay, or keep them in the cluster's memory: X.persist()."
    )


def _sums(job, checked, X, y, w):
    """(checksum, sums) of a block."""
    return _checksum(X, y, w) if checked else 0, job.sums(X, y, w) if len(X) else 0


def _added(parts):
    checksums, sums = zip(*parts, strict=True)
    return sum(checksums), sum(sums)


def _checksum(*arrays):
    """A number that other data would hardly have."""
    return sum(crc32(_bytes(a), k) for k, a in enumerate(arrays) if a is not None and len(a))


def _bytes(array):
    array = np.asarray(array)
    array = array.astype("U") if array.dtype == object else array
    return np.ascontiguousarray(array).view(np.uint8).ravel()


@dataclass(frozen=True)
class Survey:
    """What has to be known of the data before the first sum; rows of weight zero are absent.

    Attributes
    ----------
    low, high : (d,) arrays
        The box of the rows.
    labels : array or None
    count : int
        How many rows there are.
    drawn : int
        How many rows to draw.
    keys, rows : arrays
        The rows with the largest keys, at most `drawn`.
    checksum : int
        Of the data; blocks add up.
    """

    low: np.ndarray
    high: np.ndarray
    labels: np.ndarray | None
    count: int
    drawn: int
    keys: np.ndarray
    rows: np.ndarray
    checksum: int

    @classmethod
    def of(
        cls, X: Any, y: Any, w: np.ndarray, labels: bool = False, drawn: int = 0, seed: int = 0
    ) -> Self:
        """The survey of a block."""
        checksum = _checksum(X, y, w)
        X = np.asarray(X, dtype=np.float64)
        w = np.ones(len(X)) if w is None else np.asarray(w, dtype=np.float64)
        kept = w > 0
        X, w = X[kept], w[kept]
        found = np.unique(np.asarray(y)[kept]) if labels else None
        with np.errstate(invalid="ignore", over="ignore"):
            low, high = X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
            keys = np.log(np.random.RandomState(seed).uniform(size=len(w))) / w
        return cls(low, high, found, len(w), drawn, *_largest(drawn, keys, X), checksum)

    def merge(self, other: "Survey") -> "Survey":
        """The survey of two sets of rows together."""
        keys = np.concatenate([self.keys, other.keys])
        rows = np.concatenate([self.rows, other.rows])
        labels = self.labels
        if labels is not None and other.labels is not None:
            labels = np.union1d(labels, other.labels)
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        count, checksum = self.count + other.count, self.checksum + other.checksum
        largest = _largest(self.drawn, keys, rows)
        return Survey(low, high, labels, count, self.drawn, *largest, checksum)


def _largest(drawn: int, keys: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    best = np.argsort(-keys, kind="stable")[:drawn]
    return keys[best], rows[best]


def _pilot(blocks):
    """Some rows of the first block that has any."""
    import dask

    for block in blocks:
        found = computed(dask.delayed(_some_rows)(*block))
        if len(found[0]):
            return found
    raise ValueError("X has no rows: a fit needs at least one.")


def _some_rows(X, y, w):
    kept = np.arange(len(X)) if w is None else np.flatnonzero(np.asarray(w) > 0)
    kept = kept[:: max(1, len(kept) // _PILOT)]

    def take(A):
        return None if A is None else A.iloc[kept] if hasattr(A, "iloc") else A[kept]

    return take(X), take(y), take(w)

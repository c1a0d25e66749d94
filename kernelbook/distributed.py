"""Data on many machines: the G-RLS learners on Dask arrays and data frames.

    from distributed import Client
    client = Client("tcp://head:8786")
    model = GRLSRegressor(Gaussian(0.1), Polynomials(2), solver="fourier").fit(X, y)   # Dask's X, y

The sums of `kernelbook.solvers.grls.fourier.sums`, or for solver="nystrom" those of
`nystrom.normal_equations`, are taken block by block, where the blocks are, and added up in a tree;
they
are all that travels, and their size does not depend on how many samples there are.  The system
is then solved here.  The data are read once if nothing has to be known about them before;
otherwise once more, to find the box (without `bounds`), a classifier's classes, and centres (where
they are not given).  Never is a collection turned into one array.  `predict`, also with
`return_std`, gives Dask arrays that are computed when asked; `score` is a number, from sums
(`kernelbook.distributed_scores`).

Centres are drawn as the blocks are surveyed: every row gets the key (log U)/w with U uniform in
(0, 1), and the n largest keys of all are n rows drawn without replacement, in proportion to their
weights [1]; the largest of two blocks are among the largest of each.  For centers="kmeans" and
"leverage" ten times as many are drawn, and the rule chooses among these.

A block should fit into a worker's memory several times over.  A task whose worker has died
is run again by Dask, elsewhere, and blocks are pure functions of the data, so nothing is lost or
counted twice.

Needs the extra `kernelbook[distributed]`; nothing here imports Dask before a collection arrives.

References
----------
[1] Efraimidis & Spirakis, *Weighted random sampling with a reservoir*, Information Processing
Letters 97 (2006).
"""

from functools import partial, reduce

import numpy as np
from sklearn.base import is_classifier

from kernelbook.features import as_features
from kernelbook.solvers.grls.nystrom import normal_equations
from kernelbook.solvers.grls.nystrom.basis import CenterBasis

__all__ = ["fit_collection", "in_memory", "is_collection", "map_labels", "map_rows", "two_axes"]

_BRANCHES = 8
_PILOT = 2000


def is_collection(X):
    """Whether X is a Dask array or data frame."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def in_memory(what, *arrays):
    """An error for Dask collections, where scikit-learn would gather them on this machine."""
    if any(map(is_collection, arrays)):
        raise TypeError(
            f"{what} needs arrays in memory: pass X.compute() and y.compute(), or part of them.  "
            "On Dask collections there are fit and predict of GRLSRegressor and GRLSClassifier, "
            "with solver='fourier' or 'nystrom', and score: X, y and the weights must all be "
            "collections then."
        )


def fit_collection(learner, X, y, sample_weight=None):
    """Fit a G-RLS learner to Dask collections; its `_finish…` solves, in this process."""
    import dask

    blocks = _aligned(X, y, sample_weight)
    pilot = _pilot(blocks)
    # The first rows stand for all in what scikit-learn checks: columns, names, kinds of numbers.
    given, head, y_head, w_head = learner._checked(*pilot)
    nystrom = learner.solver == "nystrom"
    drawn, seeds = 0, [0] * len(blocks)
    if nystrom:
        learner._begin_centers(head.shape[1])
        drawn, seeds = learner._draws(len(blocks))
    else:
        learner._begin_kernel(head.shape[1])
    box, classes, rows = learner._box(), None, None
    if box is None or is_classifier(learner) or drawn:
        parts = [
            dask.delayed(_survey)(*block, is_classifier(learner), drawn, seed)
            for block, seed in zip(blocks, seeds, strict=True)
        ]
        low, high, classes, (_, rows) = _reduced(parts, partial(_wider, drawn))
        if not np.isfinite([low, high]).all():
            raise ValueError("X contains NaN or infinity; drop or impute those rows.")
        box = (low, high) if box is None else box
    if is_classifier(learner):
        learner._learn_classes(classes)
    learner.features_ = learner._features_of_box(as_features(learner.features), *box, given)
    Y = learner._columns_of(y_head)
    if nystrom:
        start, combine = learner._center_basis(rows, given), _combined
    else:
        start, combine = learner._begin(*box, given, two_axes(Y), w_head), _added
    worker = dask.delayed(learner, traverse=False)
    common = dask.delayed(start, traverse=False)
    sums = [dask.delayed(_block_sums)(worker, common, *block) for block in blocks]
    sums = _reduced(sums, combine)
    if nystrom:
        learner._finish_centers(start, sums, Y.shape[1:], head)
    else:
        learner._finish(start, sums, Y.shape[1:])


def map_rows(learner, X, deviation=False):
    """f at the rows of a collection, as a Dask array with the same blocks; computed when asked.

    With `deviation`, the standard deviation of f instead.
    """
    import dask
    import dask.array as da

    frozen = dask.delayed(learner, traverse=False)
    columns, work = learner.coef_.shape[1:], _deviations if deviation else _predicted
    parts, rows = _blocks(X, "X")
    values = [
        da.from_delayed(dask.delayed(work)(frozen, part), (n, *columns), dtype=np.float64)
        for part, n in zip(parts, rows, strict=True)
    ]
    return da.concatenate(values)


def map_labels(classes, f):
    """The label of the largest value, block by block."""
    if f.ndim == 1:
        return f.map_blocks(_sign_labels, classes, dtype=classes.dtype)
    return f.map_blocks(_best_labels, classes, dtype=classes.dtype, drop_axis=1)


# --------------------------------------------------------------------------- inside a task


def two_axes(Y):
    """A column for a vector."""
    return Y[:, None] if Y.ndim == 1 else Y


def _predicted(learner, X):
    return learner._values(X)


def _deviations(learner, X):
    return learner._std(X, None, None)


def _sign_labels(f, classes):
    return classes[(f > 0).astype(int)]


def _best_labels(f, classes):
    return classes[f.argmax(axis=1)]


def _block_sums(learner, start, X, y, w):
    if len(X) == 0:
        return 0
    given, X, y, w = learner._checked(X, y, w, reset=False, absent=True)
    if len(X) == 0:
        return 0
    Y = two_axes(learner._columns_of(y))
    if isinstance(start, CenterBasis):
        return normal_equations.statistics(start, X, learner._features_at(given), Y, w)
    return learner._sums(start, given, X, Y, w)


def _survey(X, y, w, labels, drawn, seed):
    """The box, the labels, and some rows of a block; rows of weight zero are absent."""
    X = np.asarray(X, dtype=np.float64)
    w = np.ones(len(X)) if w is None else np.asarray(w, dtype=np.float64)
    kept = w > 0
    X, y, w = X[kept], np.asarray(y)[kept], w[kept]
    found = np.unique(y) if labels else None
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
        keys = np.log(np.random.RandomState(seed).uniform(size=len(w))) / w
    return low, high, found, _largest(drawn, keys, X)


def _largest(drawn, keys, rows):
    best = np.argsort(-keys, kind="stable")[:drawn]
    return keys[best], rows[best]


def _wider(drawn, parts):
    lows, highs, labels, rows = zip(*parts, strict=True)
    found = [one for one in labels if one is not None]
    return (
        np.min(lows, axis=0),
        np.max(highs, axis=0),
        np.unique(np.concatenate(found)) if found else None,
        _largest(drawn, *map(np.concatenate, zip(*rows, strict=True))),
    )


def _added(parts):
    return sum(parts)


def _combined(parts):
    parts = [part for part in parts if isinstance(part, normal_equations.Statistics)]
    return reduce(normal_equations.combine, parts) if parts else 0


# ------------------------------------------------------------------------------ the graph


def _reduced(parts, combine):
    """All parts combined, in a tree of at most eight branches at a node, computed."""
    import dask

    while len(parts) > 1:
        parts = [
            dask.delayed(combine)(parts[i : i + _BRANCHES]) for i in range(0, len(parts), _BRANCHES)
        ]
    (result,) = dask.compute(dask.delayed(combine)(parts))
    return result


def _pilot(blocks):
    """Some rows of the first block that has any."""
    import dask

    for block in blocks:
        (found,) = dask.compute(dask.delayed(_some_rows)(*block))
        if len(found[0]):
            return found
    raise ValueError("X has no rows: a fit needs at least one.")


def _some_rows(X, y, w):
    kept = np.arange(len(X)) if w is None else np.flatnonzero(np.asarray(w) > 0)
    kept = kept[:: max(1, len(kept) // _PILOT)]

    def take(A):
        return None if A is None else A.iloc[kept] if hasattr(A, "iloc") else A[kept]

    return take(X), take(y), take(w)


def _aligned(X, y, sample_weight):
    """A triple of delayed blocks (X, y, w) for each block of X."""
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None and not is_collection(value):
            raise TypeError(
                f"X is a Dask collection and {name} is {type(value).__name__}: make {name} one "
                "too, with the same blocks (dask.array.from_array, or a column of the frame)."
            )
    parts, rows = _blocks(X, "X")
    columns = [parts]
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is None:
            columns.append([None] * len(parts))
            continue
        if hasattr(value, "rechunk") and not np.isnan(rows).any() and hasattr(X, "rechunk"):
            value = value.rechunk({0: tuple(rows)})
        others, count = _blocks(value, name)
        known = ~(np.isnan(count) | np.isnan(rows)) if len(count) == len(rows) else False
        if len(others) != len(parts) or (np.array(rows)[known] != np.array(count)[known]).any():
            raise ValueError(
                f"{name} has {len(others)} blocks and X has {len(parts)}, or their rows differ: "
                "they must be cut in the same places (repartition, rechunk)."
            )
        columns.append(others)
    return list(zip(*columns, strict=True))


def _blocks(X, name):
    """The row blocks of a collection as delayed objects, and their lengths (NaN: unknown)."""
    if hasattr(X, "rechunk"):
        if X.ndim > 1:
            X = X.rechunk({axis: -1 for axis in range(1, X.ndim)})
        return list(X.to_delayed().ravel()), list(X.chunks[0])
    if hasattr(X, "to_delayed") and hasattr(X, "npartitions"):
        # Dask's optimizer joins partitions of a file by how many of its columns are read: X and y
        # would be cut in different places.  As they are, both share one task that reads the file.
        parts = list(X.to_delayed(optimize_graph=False))
        return parts, [np.nan] * len(parts)
    raise TypeError(f"{name} is a {type(X).__name__}; pass a Dask array or data frame.")

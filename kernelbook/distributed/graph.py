"""Blocks of Dask collections, and sums over them in a tree."""

from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

import numpy as np

from kernelbook.numeric.arrays import is_collection

__all__ = ["aligned_blocks", "computed", "row_blocks", "tree_sum"]

_BRANCHES = 8


def tree_sum(parts: Any, combine: Callable = sum) -> Any:
    """All delayed parts combined, in a tree of at most eight branches at a node, computed."""
    import dask

    while len(parts) > 1:
        parts = [
            dask.delayed(combine)(parts[i : i + _BRANCHES]) for i in range(0, len(parts), _BRANCHES)
        ]
    return computed(dask.delayed(combine)(parts))


def computed(delayed: Any) -> Any:
    """The value of a delayed object; an error in words where the scheduler is gone."""
    import dask

    try:
        (result,) = dask.compute(delayed)
    except (CancelledError, TimeoutError, OSError) as error:
        if type(error).__module__.partition(".")[0] != "distributed":
            raise  # an error of the data's own
        raise RuntimeError(
            "the Dask scheduler is gone, and with it what its workers had computed: nothing was "
            "fitted, and the data are as they were.  Start a scheduler and workers, connect a "
            "Client to them, and call fit again."
        ) from error
    return result


def aligned_blocks(X: Any, y: Any, sample_weight: Any) -> Any:
    """A triple of delayed blocks (X, y, w) for each block of X."""
    others = {"y": y, "sample_weight": sample_weight}
    for name, value in others.items():
        if value is not None and not is_collection(value):
            raise TypeError(
                f"X is a Dask collection and {name} is {type(value).__name__}: make {name} one "
                "too, with the same blocks (dask.array.from_array, or a column of the frame)."
            )
    parts, rows = row_blocks(X, "X")
    columns = [parts]
    for name, value in others.items():
        if value is None:
            columns.append([None] * len(parts))
            continue
        if hasattr(value, "rechunk") and not np.isnan(rows).any() and hasattr(X, "rechunk"):
            value = value.rechunk({0: tuple(rows)})
        blocks, count = row_blocks(value, name)
        known = ~(np.isnan(count) | np.isnan(rows)) if len(count) == len(rows) else False
        if len(blocks) != len(parts) or (np.array(rows)[known] != np.array(count)[known]).any():
            raise ValueError(
                f"{name} has {len(blocks)} blocks and X has {len(parts)}, or their rows differ: "
                "they must be cut in the same places (repartition, rechunk)."
            )
        columns.append(blocks)
    return list(zip(*columns, strict=True))


def row_blocks(X: Any, name: str) -> Any:
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

"""f, its deviation and labels at the rows of a collection, block by block, when asked for."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelbook.distributed.graph import row_blocks

__all__ = ["map_labels", "map_rows"]


def map_rows(work: Callable, X: Any, outputs: tuple = ()) -> Any:
    """work(block) for the row blocks of X as one Dask array, each row of shape `outputs`."""
    import dask
    import dask.array as da

    frozen = dask.delayed(work, traverse=False)
    parts, rows = row_blocks(X, "X")
    values = [
        da.from_delayed(dask.delayed(_call)(frozen, part), (n, *outputs), dtype=np.float64)
        for part, n in zip(parts, rows, strict=True)
    ]
    return da.concatenate(values)


def _call(work, part):
    return work(part)


def map_labels(classes: Any, f: Any) -> Any:
    """The label of the largest value, block by block."""
    if f.ndim == 1:
        return f.map_blocks(_sign_labels, classes, dtype=classes.dtype)
    return f.map_blocks(_best_labels, classes, dtype=classes.dtype, drop_axis=1)


def _sign_labels(f, classes):
    return classes[(f > 0).astype(int)]


def _best_labels(f, classes):
    return classes[f.argmax(axis=1)]

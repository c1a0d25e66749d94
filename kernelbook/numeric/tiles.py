"""Kernel matrices by tiles: threads without temporaries.

A Gram matrix of 20,000 points has 4·10⁸ entries, and writing them to main memory takes longer than
computing them.  So the matrix is filled in tiles that fit into a core's cache; a tile gets its
squared distances, then the kernel's profile in place, and only then goes to main memory.  In the
symmetric case the tiles above the diagonal are computed and mirrored.  `multiply` multiplies each
tile into the result and forgets it, so that prediction needs no matrix at all.

A *fill* is the contract between this file and a kernel: `fill(rows, cols, out)` writes
K(X[rows], Z[cols]), for two slices, into the C-contiguous array `out`.
"""

from collections.abc import Callable

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.numeric.threads import parallel_for, parallel_sum

__all__ = [
    "TILE",
    "Fill",
    "all_finite",
    "applied",
    "fill_block",
    "fill_gram",
    "fill_single",
    "multiply",
    "multiply_gram",
    "require_finite",
    "silent",
    "slices",
]

Fill = Callable[[slice, slice, np.ndarray], None]

TILE = 256
"""Rows and columns of a tile: 256² float64 numbers are half a megabyte, one core's L2 cache."""

LARGE_TILE = 512  # matrix products, which dominate in many dimensions, prefer larger tiles
LARGE_TILE_DIMENSIONS = 256
HALVED_DIMENSIONS = 8  # below, computing half of a block on the diagonal takes as long as copying
STREAMS = 8  # rows of the mirror image that are written side by side
ROUND = 2**24  # entries of K between two calls of `tick`


def silent(rows: int) -> None:
    """The default `tick`: progress is not reported."""


def applied(function: Callable[[np.ndarray], None], fill: Fill) -> Fill:
    """The fill whose tiles are those of `fill` after `function` has changed them in place."""

    def changed(rows, cols, out):
        fill(rows, cols, out)
        function(out)

    return changed


def require_finite(fill: Fill, refuse: Callable[[], None]) -> Fill:
    """The same fill, which calls `refuse` where it has written a number that is not finite."""

    def checked(rows, cols, out):
        with np.errstate(all="ignore"):  # an overflow is an error below, and not a warning
            fill(rows, cols, out)
            finite = all_finite(out)
        if not finite:
            refuse()

    return checked


def slices(start: int, stop: int, step: int) -> list[slice]:
    return [slice(i, min(i + step, stop)) for i in range(start, stop, step)]


def _tiles(rows, start, stop, size=TILE):
    """Pairs of a column slice and a contiguous tile; the tiles share one piece of memory.

    When the rows are few the tiles are long: predicting one point takes one tile, not twenty.
    """
    height = rows.stop - rows.start
    buffer = np.empty(size * size)
    for cols in slices(start, stop, size * size // height):
        width = cols.stop - cols.start
        yield cols, buffer[: height * width].reshape(height, width)


def fill_gram(
    fill: Fill, out: np.ndarray, *, symmetric: bool, parallel: bool = True, dimensions: int = 1
) -> np.ndarray:
    """Write all of K(X, Z) into `out`; if `symmetric`, compute half of it and mirror that.

    `dimensions`, the number of columns of X, chooses the size of the tiles.
    """
    m, n = out.shape
    size = LARGE_TILE if dimensions >= LARGE_TILE_DIMENSIONS else TILE
    panels = slices(0, m, size)

    def panel(p):
        rows = panels[p]
        start = rows.start if symmetric else 0
        if symmetric and dimensions >= HALVED_DIMENSIONS:
            # On the diagonal by halves: of their four blocks one is an image.
            for half in slices(rows.start, rows.stop, size // 2):
                tiles(half, half.start, rows.stop, size // 2)
            start = rows.stop
        tiles(rows, start, n, size)

    def tiles(rows, start, stop, size):
        for cols, tile in _tiles(rows, start, stop, size):
            fill(rows, cols, tile)
            if symmetric and cols == rows:
                mirror(tile)
            elif symmetric:
                transpose(tile, out[cols, rows])
            out[rows, cols] = tile

    # The longest panels come first, so that the threads end together.
    _run(panel, len(panels), parallel)
    return out


def fill_block(fill: Fill, rows: slice, cols: slice, out: np.ndarray) -> None:
    """Write K(X[rows], Z[cols]), for two slices, into the C-contiguous `out`; if they are the same
    slice of the same rows, exactly symmetric.

    Some rows at a time, as many as fit into the cache, and nothing is copied.
    """
    for part in slices(rows.start, rows.stop, max(1, TILE * TILE // max(1, out.shape[1]))):
        fill(part, cols, out[part.start - rows.start : part.stop - rows.start])
    if rows == cols:
        mirror(out)


def fill_single(fill: Fill, out: np.ndarray, *, parallel: bool = True) -> np.ndarray:
    """The symmetric K(X, X) in single precision, in the first columns of `out`, C-contiguous.

    `fill(rows, cols, tile, single)` has a float64 tile to work in, and writes to `single`.  What is
    stored is half as much to write and to read, and some 10⁻⁷ of an entry away (in many dimensions
    more, see `Gaussian._fill_single`): enough to search by.
    """
    m = out.shape[0]
    panels = slices(0, m, TILE)

    def panel(p):
        rows = panels[p]
        buffer = np.empty(TILE * TILE, dtype=np.float32)
        for cols, tile in _tiles(rows, rows.start, m):
            single = buffer[: tile.size].reshape(tile.shape)
            fill(rows, cols, tile, single)
            scatter(single, out, rows.start, cols.start)

    _run(panel, len(panels), parallel)
    return out


def multiply(fill: Fill, m: int, c: np.ndarray, *, parallel: bool = True) -> np.ndarray:
    """K(X, Z) @ c, where X has m rows and c is (n, k), with one tile in memory for each thread."""
    n, k = c.shape
    out = np.zeros((m, k))
    panels = slices(0, m, TILE)

    def panel(p):
        rows = panels[p]
        for cols, tile in _tiles(rows, 0, n):
            fill(rows, cols, tile)
            with np.errstate(over="ignore", invalid="ignore"):  # the caller looks at the result
                out[rows] += tile @ c[cols]

    _run(panel, len(panels), parallel)
    return out


def multiply_gram(
    fill: Fill, c: np.ndarray, *, parallel: bool = True, tick: Callable[[int], None] = silent
) -> np.ndarray:
    """K(X, X) @ c: every tile above the diagonal serves twice.

    `tick(rows)` is called as the product proceeds.
    """
    m = len(c)

    def panel(total, rows):
        for cols, tile in _tiles(rows, rows.start, m):
            fill(rows, cols, tile)
            with np.errstate(over="ignore", invalid="ignore"):  # the caller looks at the result
                total[rows] += tile @ c[cols]
                # The first tile starts on the diagonal: mirror only what is right of its square.
                right = max(rows.stop, cols.start)
                if right < cols.stop:
                    total[right : cols.stop] += tile[:, right - cols.start :].T @ c[rows]

    return parallel_sum(
        panel,
        slices(0, m, TILE),
        lambda: np.zeros_like(c),
        parallel=parallel,
        per_round=ROUND // (TILE * max(m, 1)),
        tick=lambda panels: tick(panels[-1].stop - panels[0].start),
    )


def _run(task, count, parallel):
    if parallel:
        parallel_for(task, count)
    else:
        for i in range(count):
            task(i)


@jit
def transpose(tile: np.ndarray, out: np.ndarray) -> None:
    """out = tileᵀ, `STREAMS` rows of `out` at a time.

    What is read is a line of the cache for each row of the tile; what is written are a few streams
    that run on through memory.  One row at a time would read a new line for every number.
    """
    m, n = tile.shape
    for start in range(0, n - n % STREAMS, STREAMS):
        for i in range(m):
            line = tile[i, start : start + STREAMS]
            for j in range(STREAMS):
                out[start + j, i] = line[j]
    for j in range(n - n % STREAMS, n):
        for i in range(m):
            out[j, i] = tile[i, j]


@jit
def scatter(tile: np.ndarray, out: np.ndarray, row: int, col: int) -> None:
    """Write the tile at (row, col) of `out` and its transpose at (col, row).

    On the diagonal what is below is an image: products in single precision are not symmetric.
    """
    if row == col:
        mirror(tile[:, : tile.shape[0]])
    for i in range(tile.shape[0]):
        to, line = out[row + i, col : col + tile.shape[1]], tile[i]
        for j in range(line.shape[0]):
            to[j] = line[j]
    transpose(tile, out[col : col + tile.shape[1], row : row + tile.shape[0]])


@jit
def mirror(block: np.ndarray) -> None:
    """Copy what is above the diagonal below it, in streams as in `transpose`."""
    n = block.shape[0]
    for start in range(0, n, STREAMS):
        stop = min(start + STREAMS, n)
        for i in range(stop):
            for j in range(max(start, i), stop):
                block[j, i] = block[i, j]


@jit(fast=True)
def all_finite(block: np.ndarray) -> bool:
    """Zero times a finite number is zero; times infinity or NaN it is NaN."""
    total = 0.0
    for i in range(block.shape[0]):
        row = block[i]
        for j in range(row.shape[0]):
            total += 0.0 * row[j]
    return total == 0.0

"""Kernel matrices by tiles: distances without cancellation, threads without temporaries.

A Gram matrix of 20,000 points has 4·10⁸ entries, and three things are easily lost on the way to
them: digits, time and memory.

**Digits.**  The textbook formula ‖x−z‖² = ‖x‖² + ‖z‖² − 2x·z turns distances into one matrix
product, and destroys them when x and z are close to each other and far from the origin: two
points near 10⁸ that are 1 apart come out as −4, 0 or 4.  The differences x−z
themselves are harmless (Sterbenz: when two numbers agree within a factor two, their difference
is exact).  So in up to `DIRECT` dimensions we sum squared differences, which costs no more than
the product there; above, we use the product on data centred at the mean of Z and repair what it
spoils.  With s = ‖x‖² + ‖z‖² (centred), the computed ‖x−z‖² is off by at most (2d+8)·u·s,
u = 2⁻⁵³ [1]; entries below s/64 are computed again from the differences, so that every entry has
relative error at most 64(2d+8)u: 1.5e-11 in a thousand dimensions, and below 1e-14 in practice,
where rounding errors cancel.

Of *whole numbers* (pixels, counts, indicators) the product is exact even in single precision, twice
as fast, as long as no ‖x‖ is above 2¹²: each partial sum of x·z, in any order, is a whole number,
by Cauchy–Schwarz at most 2²⁴ in size, and single precision has all of those.  Then nothing is
centred and nothing to be repaired.

Squaring overflows beyond 1e154 and underflows below 1e-154.  `roots`, which turns squares into
distances, finds the entries that this may have hit and computes them again, scaled.

**Time and memory.**  The matrix is filled in tiles that fit into a core's cache; a tile gets its
squared distances, then the kernel's profile in place, and only then goes to main memory.  In the
symmetric case the tiles above the diagonal are computed and mirrored.  `matvec` multiplies each
tile into the result and forgets it, so that prediction needs no matrix at all.

A *fill* is the contract between this file and a kernel: `fill(rows, cols, out)` writes
K(X[rows], Z[cols]), for two slices, into the C-contiguous array `out`.

References
----------
[1] Higham, *Accuracy and Stability of Numerical Algorithms* (2nd ed. 2002), sections 3.1 and 3.5.
"""

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.numeric.threads import n_threads, parallel_for

__all__ = ["distances", "fill_block", "fill_gram", "fill_single", "multiply", "multiply_gram"]

TILE = 256  # a tile of 256² float64 numbers is half a megabyte: one core's second-level cache
LARGE_TILE = 512  # for at least `MANY` dimensions: matrix products, all that counts there, like it
MANY = 256
STRIP = 128  # columns a core keeps in its first-level cache while it runs over the rows
STREAMS = 8  # rows of the mirror image that are written side by side
DIRECT = 16  # up to this many dimensions differences cost no more than a matrix product
WHOLE = 2.0**24  # single precision has all whole numbers up to here
TRUST = 1 / 64  # the product's ‖x−z‖² is believed above this fraction of ‖x‖² + ‖z‖²

# Squares outside these limits may have lost digits to underflow, or everything to overflow.
SMALLEST_SQUARE = 2.0**-900
LARGEST_SQUARE = 2.0**1000


# ------------------------------------------------------------------------------- distances


def distances(X, Z, *, squared=False):
    """The fill of the Euclidean distances between the rows of X and of Z (or their squares).

    X and Z are C-contiguous, writeable float64 arrays with d ≥ 1 columns and no number beyond
    2^1000.  Distances have a small relative error at every scale; squares, which are faster,
    are 0 where they underflow and inf where they overflow.
    """
    if X.shape[1] <= DIRECT or Z.shape[0] == 0:
        square = _by_differences(X, Z)
    else:
        with np.errstate(over="ignore"):
            whole = are_whole(Z, WHOLE) and (X is Z or are_whole(X, WHOLE))
        square = _of_whole_numbers(X, Z) if whole else _by_product(X, Z)
    if squared:
        return square

    def fill(rows, cols, out):
        square(rows, cols, out)
        roots(X[rows], Z[cols], out)

    return fill


def _by_differences(X, Z):
    def fill(rows, cols, out):
        square_differences(X[rows], np.ascontiguousarray(Z[cols].T), out)

    return fill


def _by_product(X, Z):
    with np.errstate(all="ignore"):  # what overflows here is not trusted below
        centre = Z.mean(axis=0)
        Zc = Z - centre
        z2 = np.einsum("ij,ij->i", Zc, Zc)

    def fill(rows, cols, out):
        if X is Z:
            Xc, x2 = Zc[rows], z2[rows]
        else:  # of a tile, which is in the cache; a copy of all rows would have to come from memory
            Xc = X[rows] - centre
            x2 = np.einsum("ij,ij->i", Xc, Xc)
        np.matmul(Xc, Zc[cols].T, out=out)
        product_to_squares(X[rows], Z[cols], x2, z2[cols], out)

    return fill


def _of_whole_numbers(X, Z):
    Zs, z2 = Z.astype(np.float32), np.einsum("ij,ij->i", Z, Z)

    def fill(rows, cols, out):
        if X is Z:
            Xs, x2 = Zs[rows], z2[rows]
        else:
            Xs, x2 = X[rows].astype(np.float32), np.einsum("ij,ij->i", X[rows], X[rows])
        whole_to_squares(np.matmul(Xs, Zs[cols].T), x2, z2[cols], out)

    return fill


@jit
def are_whole(A, most):
    """Whether all of A is whole numbers, and no ‖a_i‖² is above `most`."""
    for i in range(A.shape[0]):
        total, row = 0.0, A[i]
        for k in range(row.shape[0]):
            if row[k] != np.rint(row[k]):
                return False
            total += row[k] * row[k]
        if not total <= most:
            return False
    return True


@jit(fast=True)
def whole_to_squares(product, a2, b2, out):
    """out_ij = ‖a_i − b_j‖² from a_i·b_j; all whole numbers, nothing is rounded."""
    for i in range(out.shape[0]):
        row, line = out[i], product[i]
        for j in range(row.shape[0]):
            row[j] = (a2[i] + b2[j]) - 2.0 * line[j]


@jit(fast=True)
def square_differences(A, Bt, out):
    """out_ij = Σ_k (A_ik − Bt_kj)²: four features a sweep, so that `out` is touched less often."""
    m, d = A.shape
    n = Bt.shape[1]
    for start in range(0, n, STRIP):
        stop = min(start + STRIP, n)
        for i in range(m):
            row = out[i, start:stop]
            row[:] = 0.0
            for k in range(d % 4):
                a0 = A[i, k]
                b0 = Bt[k, start:stop]
                for j in range(row.shape[0]):
                    row[j] += (a0 - b0[j]) ** 2
            for k in range(d % 4, d, 4):
                a0, a1, a2, a3 = A[i, k], A[i, k + 1], A[i, k + 2], A[i, k + 3]
                b0, b1 = Bt[k, start:stop], Bt[k + 1, start:stop]
                b2, b3 = Bt[k + 2, start:stop], Bt[k + 3, start:stop]
                for j in range(row.shape[0]):
                    row[j] += ((a0 - b0[j]) ** 2 + (a1 - b1[j]) ** 2) + (
                        (a2 - b2[j]) ** 2 + (a3 - b3[j]) ** 2
                    )


@jit(fast=True)
def product_to_squares(A, B, a2, b2, out):
    """Turn out_ij = a_i·b_j (centred) into ‖a_i − b_j‖², from the rows themselves where needed."""
    for i in range(out.shape[0]):
        row = out[i]
        doubtful = 0.0
        for j in range(row.shape[0]):
            scale = a2[i] + b2[j]
            value = scale - 2.0 * row[j]
            row[j] = value
            doubtful += 0.0 if value > TRUST * scale else 1.0
        if doubtful > 0.0:
            for j in range(row.shape[0]):
                if not row[j] > TRUST * (a2[i] + b2[j]):  # true of NaN and inf − inf as well
                    row[j] = squared_distance(A[i], B[j])


@jit(fast=True)
def squared_distance(x, z):
    total = 0.0
    for k in range(x.shape[0]):
        total += (x[k] - z[k]) ** 2
    return total


@jit(fast=True)
def roots(A, B, out):
    """Turn squared distances into distances, again from the rows where the squares are lost."""
    for i in range(out.shape[0]):
        row = out[i]
        lost = 0.0
        for j in range(row.shape[0]):
            square = row[j]
            row[j] = np.sqrt(square)
            lost += 1.0 if square < SMALLEST_SQUARE else 0.0
            lost += 1.0 if square > LARGEST_SQUARE else 0.0
        if lost > 0.0:
            for j in range(row.shape[0]):
                if row[j] < SMALLEST_SQUARE**0.5 or row[j] > LARGEST_SQUARE**0.5:
                    row[j] = scaled_distance(A[i], B[j])


@jit
def scaled_distance(x, z):
    """‖x−z‖ in units of the largest difference: nothing over- or underflows on the way."""
    unit = 0.0
    for k in range(x.shape[0]):
        unit = max(unit, abs(x[k] - z[k]))
    if unit == 0.0:
        return 0.0
    total = 0.0
    for k in range(x.shape[0]):
        total += ((x[k] - z[k]) / unit) ** 2
    return unit * np.sqrt(total)


# ------------------------------------------------------------------------------------ tiles


def _slices(start, stop, step):
    return [slice(i, min(i + step, stop)) for i in range(start, stop, step)]


def _tiles(rows, start, stop, size=TILE):
    """Pairs of a column slice and a contiguous tile; the tiles share one piece of memory.

    When the rows are few the tiles are long: predicting one point takes one tile, not twenty.
    """
    height = rows.stop - rows.start
    buffer = np.empty(size * size)
    for cols in _slices(start, stop, size * size // height):
        width = cols.stop - cols.start
        yield cols, buffer[: height * width].reshape(height, width)


def fill_gram(fill, out, *, symmetric, parallel=True, dimensions=1):
    """Write all of K(X, Z) into `out`; if `symmetric`, compute half of it and mirror that.

    `dimensions`, the number of columns of X, chooses the size of the tiles.
    """
    m, n = out.shape
    size = LARGE_TILE if dimensions >= MANY else TILE
    panels = _slices(0, m, size)

    def panel(p):
        rows = panels[p]
        if symmetric:  # on the diagonal by halves: of their four blocks one is an image
            for half in _slices(rows.start, rows.stop, size // 2):
                tiles(half, half.start, rows.stop, size // 2)
        tiles(rows, rows.stop if symmetric else 0, n, size)

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


def fill_block(fill, rows, cols, out):
    """Write K(X[rows], Z[cols]), for two slices, into the C-contiguous `out`; if they are the same
    slice of the same rows, exactly symmetric.

    Some rows at a time, as many as fit into the cache, and nothing is copied.
    """
    for part in _slices(rows.start, rows.stop, max(1, TILE * TILE // max(1, out.shape[1]))):
        fill(part, cols, out[part.start - rows.start : part.stop - rows.start])
    if rows == cols:
        mirror(out)


def fill_single(fill, out, *, parallel=True):
    """The symmetric K(X, X) in single precision, in the first columns of `out`, C-contiguous.

    `fill(rows, cols, tile, single)` has a float64 tile to work in, and writes to `single`.  What is
    stored is half as much to write and to read, and some 10⁻⁷ of an entry away (in many dimensions
    more, see `Gaussian._fill_single`): enough to search by.
    """
    m = out.shape[0]
    panels = _slices(0, m, TILE)

    def panel(p):
        rows = panels[p]
        buffer = np.empty(TILE * TILE, dtype=np.float32)
        for cols, tile in _tiles(rows, rows.start, m):
            single = buffer[: tile.size].reshape(tile.shape)
            fill(rows, cols, tile, single)
            place(single, out, rows.start, cols.start)

    _run(panel, len(panels), parallel)
    return out


def multiply(fill, m, c, *, parallel=True):
    """K(X, Z) @ c, where X has m rows and c is (n, k), with one tile in memory for each thread."""
    n, k = c.shape
    out = np.zeros((m, k))
    panels = _slices(0, m, TILE)

    def panel(p):
        rows = panels[p]
        for cols, tile in _tiles(rows, 0, n):
            fill(rows, cols, tile)
            with np.errstate(over="ignore", invalid="ignore"):  # the caller looks at the result
                out[rows] += tile @ c[cols]

    _run(panel, len(panels), parallel)
    return out


def multiply_gram(fill, c, *, parallel=True):
    """K(X, X) @ c: every tile above the diagonal serves twice; each thread has a sum of its own."""
    m, panels = len(c), _slices(0, len(c), TILE)
    totals = [np.zeros_like(c) for _ in range(n_threads() if parallel else 1)]

    def panel(rows, total):
        for cols, tile in _tiles(rows, rows.start, m):
            fill(rows, cols, tile)
            with np.errstate(over="ignore", invalid="ignore"):  # the caller looks at the result
                total[rows] += tile @ c[cols]
                right = max(rows.stop, cols.start)  # of the first tile, what is beyond the square
                if right < cols.stop:
                    total[right : cols.stop] += tile[:, right - cols.start :].T @ c[rows]

    def some(t):
        for rows in panels[t :: len(totals)]:
            panel(rows, totals[t])

    _run(some, len(totals), parallel)
    return sum(totals[1:], totals[0])


def _run(task, count, parallel):
    if parallel:
        parallel_for(task, count)
    else:
        for i in range(count):
            task(i)


@jit
def transpose(tile, out):
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
def place(tile, out, row, col):
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
def mirror(block):
    """Copy what is above the diagonal below it, in streams as in `transpose`."""
    n = block.shape[0]
    for start in range(0, n, STREAMS):
        stop = min(start + STREAMS, n)
        for i in range(stop):
            for j in range(max(start, i), stop):
                block[j, i] = block[i, j]


@jit(fast=True)
def all_finite(block):
    """Zero times a finite number is zero; times infinity or NaN it is NaN."""
    total = 0.0
    for i in range(block.shape[0]):
        row = block[i]
        for j in range(row.shape[0]):
            total += 0.0 * row[j]
    return total == 0.0

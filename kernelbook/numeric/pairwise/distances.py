"""Distances between rows, without cancellation.

The textbook formula ‖x−z‖² = ‖x‖² + ‖z‖² − 2x·z turns distances into one matrix product, and
destroys them when x and z are close to each other and far from the origin: two points near 10⁸
that are 1 apart come out as −4, 0 or 4.  The differences x−z themselves are harmless (Sterbenz:
when two numbers agree within a factor two, their difference is exact).  So in up to `DIRECT`
dimensions we sum squared differences, which costs no more than the product there; above, we use
the product on data centred at the mean of Z and repair what it spoils.  With s = ‖x‖² + ‖z‖²
(centred), the computed ‖x−z‖² is off by at most (2d+8)·u·s, u = 2⁻⁵³ [1]; entries below s/64 are
computed again from the differences, so that every entry has relative error at most 64(2d+8)u:
1.5e-11 in a thousand dimensions, and below 1e-14 in practice, where rounding errors cancel.

Of *whole numbers* (pixels, counts, indicators) the product is exact even in single precision, twice
as fast, as long as no ‖x‖ is above 2¹²: each partial sum of x·z, in any order, is a whole number,
by Cauchy–Schwarz at most 2²⁴ in size, and single precision has all of those.  Then nothing is
centred and there is nothing to repair.

Squaring overflows beyond 1e154 and underflows below 1e-154.  `roots`, which turns squares into
distances, finds the entries that this may have affected and computes them again, scaled.

`distances` returns a *fill*, a function that writes tiles: see `kernelbook.numeric.tiles`.

References
----------
[1] Higham, *Accuracy and Stability of Numerical Algorithms* (2nd ed. 2002), sections 3.1 and 3.5.
"""

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.numeric.tiles import Fill

__all__ = ["DIRECT", "distances"]

DIRECT = 16
"""Up to this many dimensions differences cost no more than a matrix product."""

STRIP = 128  # columns a core keeps in its first-level cache while it runs over the rows
EXACT_SQUARE = 2.0**24  # single precision has all whole numbers up to here
CANCELLATION_RATIO = 1 / 64  # below this fraction of ‖x‖² + ‖z‖² the product has lost digits

# Squares outside these limits may have lost digits to underflow, or everything to overflow.
SMALLEST_SQUARE = 2.0**-900
LARGEST_SQUARE = 2.0**1000


def distances(X: np.ndarray, Z: np.ndarray, *, squared: bool = False) -> Fill:
    """The fill of the Euclidean distances between the rows of X and of Z (or their squares).

    X and Z are C-contiguous, writeable float64 arrays with d ≥ 1 columns and no number beyond
    2^1000.  Distances have a small relative error at every scale; squares, which are faster,
    are 0 where they underflow and inf where they overflow.
    """
    if X.shape[1] <= DIRECT or Z.shape[0] == 0:
        square = _by_differences(X, Z)
    else:
        with np.errstate(over="ignore"):
            whole = are_whole(Z, EXACT_SQUARE) and (X is Z or are_whole(X, EXACT_SQUARE))
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
def are_whole(A: np.ndarray, most: float) -> bool:
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
def whole_to_squares(product: np.ndarray, a2: np.ndarray, b2: np.ndarray, out: np.ndarray) -> None:
    """out_ij = ‖a_i − b_j‖² from a_i·b_j; all whole numbers, nothing is rounded."""
    for i in range(out.shape[0]):
        row, line = out[i], product[i]
        for j in range(row.shape[0]):
            row[j] = (a2[i] + b2[j]) - 2.0 * line[j]


@jit(fast=True)
def square_differences(A: np.ndarray, Bt: np.ndarray, out: np.ndarray) -> None:
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
def product_to_squares(
    A: np.ndarray, B: np.ndarray, a2: np.ndarray, b2: np.ndarray, out: np.ndarray
) -> None:
    """Turn out_ij = a_i·b_j (centred) into ‖a_i − b_j‖², from the rows themselves where needed."""
    for i in range(out.shape[0]):
        row = out[i]
        doubtful = 0.0
        for j in range(row.shape[0]):
            scale = a2[i] + b2[j]
            value = scale - 2.0 * row[j]
            row[j] = value
            doubtful += 0.0 if value > CANCELLATION_RATIO * scale else 1.0
        if doubtful > 0.0:
            for j in range(row.shape[0]):
                # Not `<=`: NaN, from inf − inf, is to be computed again, too.
                if not row[j] > CANCELLATION_RATIO * (a2[i] + b2[j]):
                    row[j] = squared_distance(A[i], B[j])


@jit(fast=True)
def squared_distance(x: np.ndarray, z: np.ndarray) -> float:
    total = 0.0
    for k in range(x.shape[0]):
        total += (x[k] - z[k]) ** 2
    return total


@jit(fast=True)
def roots(A: np.ndarray, B: np.ndarray, out: np.ndarray) -> None:
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
def scaled_distance(x: np.ndarray, z: np.ndarray) -> float:
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

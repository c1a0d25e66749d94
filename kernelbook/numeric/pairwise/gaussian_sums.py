"""Σ_j c_j exp(−‖x_i − z_j‖²/width²) in few dimensions, without a tile in between.

`numeric.tiles.multiply` passes over a tile three times: distances, exponentials, product.  With
ten columns each pass is so quick that half the time goes into loading and storing the tile.  Here
a row is combined with 128 points at a time, whose entries stay in the first-level cache until they
have been added up.

For a Gram matrix each pair is computed once and used twice: `gram_sums`.
"""

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.numeric.pairwise.profiles import exp2
from kernelbook.numeric.threads import n_threads, parallel_for

__all__ = ["gram_sums", "sums"]

STRIP = 128
PANEL = 64
SERIAL_ENTRIES = 2**17
"""So many entries, a fifth of a millisecond, are done before a second thread has begun."""


@jit(fast=True)
def _entries(x, Zt, start, factor, out):
    """out_j = 2^(factor·‖x − z_j‖²) for the points from `start`, four columns a sweep."""
    d, stop = x.shape[0], start + out.shape[0]
    out[:] = 0.0
    for k in range(d % 4):
        x0, z0 = x[k], Zt[k, start:stop]
        for j in range(out.shape[0]):
            out[j] += (x0 - z0[j]) ** 2
    for k in range(d % 4, d, 4):
        x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
        z0, z1 = Zt[k, start:stop], Zt[k + 1, start:stop]
        z2, z3 = Zt[k + 2, start:stop], Zt[k + 3, start:stop]
        for j in range(out.shape[0]):
            out[j] += ((x0 - z0[j]) ** 2 + (x1 - z1[j]) ** 2) + (
                (x2 - z2[j]) ** 2 + (x3 - z3[j]) ** 2
            )
    for j in range(out.shape[0]):
        out[j] = exp2(factor * out[j])


@jit(fast=True)
def row_sums(X: np.ndarray, Zt: np.ndarray, factor: float, c: np.ndarray, out: np.ndarray) -> None:
    """out_i += Σ_j c_j K(x_i, z_j)."""
    n, work = Zt.shape[1], np.empty(STRIP)
    for start in range(0, n, STRIP):
        part = work[: min(STRIP, n - start)]
        weights = c[start : start + part.shape[0]]
        for i in range(X.shape[0]):
            _entries(X[i], Zt, start, factor, part)
            total = 0.0
            for j in range(part.shape[0]):
                total += weights[j] * part[j]
            out[i] += total


@jit(fast=True)
def strip_sums(
    X: np.ndarray, Xt: np.ndarray, factor: float, c: np.ndarray, start: int, out: np.ndarray
) -> None:
    """out += Kc for the entries above and left of the strip's end, from both sides."""
    part = np.empty(min(STRIP, X.shape[0] - start))
    stop = start + part.shape[0]
    weights, inside = c[start:stop], out[start:stop]
    for i in range(stop):
        _entries(X[i], Xt, start, factor, part)
        total, ci = 0.0, c[i] if i < start else 0.0  # the square on the diagonal is whole
        for j in range(part.shape[0]):
            total += weights[j] * part[j]
            inside[j] += ci * part[j]
        out[i] += total


def sums(X: np.ndarray, Z: np.ndarray, factor: float, c: np.ndarray) -> np.ndarray:
    """The vector of Σ_j c_j 2^(factor·‖x_i − z_j‖²)."""
    out, Zt = np.zeros(len(X)), np.ascontiguousarray(Z.T)
    if len(X) * len(Z) <= SERIAL_ENTRIES:
        row_sums(X, Zt, factor, c, out)
        return out
    panels = [slice(i, i + PANEL) for i in range(0, len(X), PANEL)]
    parallel_for(
        lambda p: row_sums(X[panels[p]], Zt, factor, c, out[panels[p]]), len(panels)
    )  # fmt: skip
    return out


def gram_sums(X: np.ndarray, factor: float, c: np.ndarray) -> np.ndarray:
    """The same with Z = X; each thread has strips and a sum of its own.

    Strips are assigned in advance, or rounding would differ from call to call: the longest first,
    each to the thread with the least work.
    """
    Xt, serial = np.ascontiguousarray(X.T), len(X) ** 2 <= 2 * SERIAL_ENTRIES
    totals = np.zeros((1 if serial else n_threads(), len(X)))
    shares: list[list[int]] = [[] for _ in totals]
    work = np.zeros(len(totals))
    for start in reversed(range(0, len(X), STRIP)):
        t = np.argmin(work)
        shares[t].append(start)
        work[t] += start + STRIP

    def some(t):
        for start in shares[t]:
            strip_sums(X, Xt, factor, c, start, totals[t])

    if serial:
        some(0)
    else:
        parallel_for(some, len(totals))
    return totals.sum(axis=0)

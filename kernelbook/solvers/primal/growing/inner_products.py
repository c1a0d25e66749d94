"""Samples near the margin, and their inner products: what the steps of a growing basis share.

Whoever looks for the sides of a hinge problem needs X̂_F X̂_Fᵀ for the samples F on the margin, or
near it; then for an F that is a little different; then with one column more.  Few samples are ever
near the margin.  So their inner products are kept, in `Near`.  A sample joins when it is first in
F, at the price of its products with those that are there; if there is no room left, everyone else
leaves.  When the basis has grown by a function every number grows by one product x_i x_j, for the
samples that the last step had use for; the others are forgotten.  Nothing is ever subtracted again,
so no rounding errors gather.

The first columns of X̂ must stay what they are; whoever changes them starts with nobody.
"""

from typing import NamedTuple

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.numeric.small_algebra import dot

__all__ = ["Near", "decisions", "face_matrix", "grown", "near_margin"]


FEW = 8
"""So many samples may join one by one."""


class Near(NamedTuple):
    """G[a, b] = x̂_i·x̂_j for the members i = member[a], j = member[b]."""

    rows: np.ndarray  # (n, ≥ k) float64, C-contiguous: X̂, and columns that do not count
    place: np.ndarray  # (n,) int64: where a sample is among the members, or −1
    member: np.ndarray  # (room,) int64
    used: np.ndarray  # (room,) bool: whether somebody has asked for that member
    G: np.ndarray  # (room, room) float64
    size: np.ndarray  # (2,) int64: how many members, and columns of X̂


def near_margin(X, l=0) -> Near:
    """Nobody, so far; there is room for what a step with k functions and ℓ features may need.

    Parameters
    ----------
    X : (n, k) array
    l : int
    """
    n, k = X.shape
    room = min(n, 4 * (k + l) + 128)
    return Near(
        _whole_rows(X),
        np.full(n, -1, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.zeros(room, dtype=np.bool_),
        np.empty((room, room)),  # memory that is not touched costs nothing
        np.array([0, k], dtype=np.int64),
    )


def grown(near, X, l=0) -> Near:
    """The members that were of use, for the same samples with more columns; `near` stays."""
    new = near_margin(X, l)
    if near.size[1] <= X.shape[1]:
        _take_over(near, new)
    return new


def _whole_rows(X):
    """A C-contiguous array whose first columns are X: the memory that X is a view of, or a copy.

    Compiled loops along a row are fast only where they know that its entries are neighbours.
    """
    base = X.base
    if X.flags.c_contiguous or not isinstance(base, np.ndarray) or base.ndim != 2:
        return np.ascontiguousarray(X)
    if not base.flags.c_contiguous or base.dtype != X.dtype or base.strides != X.strides:
        return np.ascontiguousarray(X)
    begin, whole = (A.__array_interface__["data"][0] for A in (X, base))
    first, shift = divmod(begin - whole, X.strides[0])
    return base[first : first + len(X)] if shift == 0 else np.ascontiguousarray(X)


# ------------------------------------------------------------------------------ along the rows


@jit(fast=True)
def decisions(X, w, P, lam, f):
    """f ← Xw + Pλ, from the first columns of X."""
    for i in range(f.size):
        f[i] = dot(X[i], w) + dot(P[i], lam)


# ---------------------------------------------------------------------------------- the members


@jit(fast=True)
def _take_over(old, new):
    before, added = old.size[1], new.size[1] - old.size[1]
    kept, m = np.empty(old.size[0], np.int64), 0
    for a in range(old.size[0]):
        if old.used[a] and m < new.member.size:
            i = old.member[a]
            kept[m], new.member[m], new.place[i], m = a, i, m, m + 1
    rows = np.empty((m, added))
    for a in range(m):
        rows[a] = new.rows[new.member[a], before : before + added]
    first = rows[:, 0].copy() if added else np.zeros(m)
    for a in range(m):
        line, out, c = old.G[kept[a]], new.G[a], first[a]
        for b in range(m):
            out[b] = line[kept[b]] + c * first[b]
    for k in range(1, added):  # mostly there is no second one
        for a in range(m):
            for b in range(m):
                new.G[a, b] += rows[a, k] * rows[b, k]
    new.size[0] = m


@jit
def _join(near, F):
    """Those of F who are no members become members; False where there is no room."""
    m, k = near.size
    new = m
    for i in F:
        if near.place[i] < 0:
            if new == near.member.size:
                for a in range(m, new):
                    near.place[near.member[a]] = -1
                return False
            near.place[i], near.member[new], near.used[new], new = new, i, False, new + 1
    if new - m <= FEW:
        for b in range(m, new):
            x, line = near.rows[near.member[b], :k], near.G[b]
            for a in range(b + 1):
                line[a] = dot(near.rows[near.member[a]], x)
    else:  # BLAS is worth a copy of the rows
        rows = np.empty((new, k))
        for a in range(new):
            rows[a] = near.rows[near.member[a], :k]
        near.G[m:new, :new] = np.dot(rows[m:], rows.T)
    for b in range(m, new):
        for a in range(b):
            near.G[a, b] = near.G[b, a]
    near.size[0] = new
    return True


@jit
def face_matrix(near, F, H):
    """H ← X̂_F X̂_Fᵀ, the upper triangle; False where F is larger than the room.

    Parameters
    ----------
    F : (m,) array of int64, all different
    H : (m, m) array
    """
    if not _join(near, F):
        near.place[near.member[: near.size[0]]] = -1  # everyone is forgotten
        near.size[0] = 0
        if not _join(near, F):
            return False
    place = near.place[F]
    near.used[place] = True
    for a in range(F.size):
        line, out = near.G[place[a]], H[a]
        for b in range(a, F.size):
            out[b] = line[place[b]]
    return True

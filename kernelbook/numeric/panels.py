"""Passes over a kernel matrix that is never in memory.

Iterative solvers see K = (K(x_i, z_j)) only through sums over its rows: Kc, Kᵀv, KᵀDKc, or a Gram
matrix of transformed rows.  A pass computes some hundred rows of K, a *panel*, lets a function
work on them, and forgets them; memory is a panel for each thread, and what the function adds up.

Each thread has its own sum, and the sums are added at the end in a fixed order: the result depends
on the number of threads in its last digits only, and is the same in every run.

A pass goes in *rounds* of a fraction of a second.  Between two of them the caller is told how far
it has come, and Ctrl-C is heard.
"""

import numpy as np

from kernelbook.kernels.base import Kernel
from kernelbook.numeric.gram import TILE, _slices, _tiles
from kernelbook.numeric.threads import n_threads, parallel_for

__all__ = ["Panels", "SymmetricProduct"]

HEIGHT = 512
"""Rows of a panel: enough for matrix products with it to be worth their name."""

ROUND = 2**24
"""Entries of K between two looks at the clock."""


def silent(done):
    """What a caller passes as `tick` who does not want to know."""


class Panels:
    """The matrix K(x_i, z_j), i ≤ m, j ≤ n, as passes see it.

    Parameters
    ----------
    kernel : Kernel
    X, Z : rows
        As `Kernel.__call__` takes them.
    tick : callable, optional
        tick(rows) is called as a pass proceeds.
    """

    def __init__(self, kernel, X, Z, tick=silent):
        X, Z, _ = kernel._rows(X, Z)
        self.m, self.n = X.shape[0], Z.shape[0]
        self.tick = tick
        self._fill = kernel._checked_fill(X, Z)
        self._threads = n_threads() if kernel._thread_safe else 1
        self._tile = max(1, TILE * TILE // max(self.n, 1))

    def each(self, work, start):
        """Call work(total, rows, panel) for all panels; returns the sum of the totals.

        `start()` makes a total, a tuple of arrays to which `work` adds.  `rows` is a slice of the
        rows of K and `panel` these rows, C-contiguous, to be used up.
        """
        totals = [start() for _ in range(self._threads)]
        height = max(1, min(HEIGHT, -(-self.m // self._threads)))
        buffers = [np.empty((height, self.n)) for _ in totals]
        step = height * max(self._threads, ROUND // (height * max(self.n, 1)))
        for first in range(0, self.m, step):
            last = min(first + step, self.m)
            panels = _slices(first, last, height)

            def strip(t, panels=panels):
                for rows in panels[t :: self._threads]:
                    panel = buffers[t][: rows.stop - rows.start]
                    self._compute(rows, panel)
                    work(totals[t], rows, panel)

            if self._threads == 1:
                strip(0)
            else:
                parallel_for(strip, self._threads)
            self.tick(last - first)
        return tuple(sum(parts[1:], parts[0]) for parts in zip(*totals, strict=True))

    def _compute(self, rows, panel):
        """The panel in tiles that fit into a core's cache."""
        for tile in _slices(rows.start, rows.stop, self._tile):
            inside = slice(tile.start - rows.start, tile.stop - rows.start)
            self._fill(tile, slice(0, self.n), panel[inside])

    def times(self, C):
        """KC."""
        out = np.empty((self.m, C.shape[1]))

        def work(total, rows, panel):
            np.matmul(panel, C, out=out[rows])

        self.each(work, lambda: ())
        return out

    def adjoint(self, V):
        """KᵀV."""

        def work(total, rows, panel):
            total[0][...] += panel.T @ V[rows]

        return self.each(work, lambda: (np.zeros((self.n, V.shape[1])),))[0]

    def normal(self, C, weights):
        """Kᵀ diag(weights) KC, in one pass."""

        def work(total, rows, panel):
            total[0][...] += panel.T @ (weights[rows, None] * (panel @ C))

        return self.each(work, lambda: (np.zeros((self.n, C.shape[1])),))[0]


class SymmetricProduct:
    """V ↦ KV for the Gram matrix K of the rows of X: every tile above the diagonal serves twice."""

    def __init__(self, kernel, X, tick=silent):
        self.kernel, self.tick = kernel, tick
        self.X, _, _ = kernel._rows(X, None)
        self.m = self.X.shape[0]
        # Kernels with a product of their own, such as x·z, know better than tiles.
        self._tiled = type(kernel)._matvec is Kernel._matvec
        self._fill = kernel._checked_fill(self.X, self.X) if self._tiled else None
        self._threads = n_threads() if kernel._thread_safe else 1

    def __call__(self, V):
        if not self._tiled:
            self.tick(self.m)
            return self.kernel.matvec(self.X, self.X, V)
        totals = [np.zeros_like(V) for _ in range(self._threads)]
        panels = _slices(0, self.m, TILE)
        step = self._threads * max(1, ROUND // (TILE * self.m))
        for first in range(0, len(panels), step):
            part = panels[first : first + step]

            def strip(t, part=part):
                for rows in part[t :: self._threads]:
                    self._panel(rows, V, totals[t])

            if self._threads == 1:
                strip(0)
            else:
                parallel_for(strip, self._threads)
            self.tick(part[-1].stop - part[0].start)
        return sum(totals[1:], totals[0])

    def _panel(self, rows, V, total):
        for cols, tile in _tiles(rows, rows.start, self.m):
            self._fill(rows, cols, tile)
            total[rows] += tile @ V[cols]
            # The first tile lies on the diagonal; what of it is to the right of the rows counts.
            right = max(rows.stop, cols.start)
            if right < cols.stop:
                total[right : cols.stop] += tile[:, right - cols.start :].T @ V[rows]

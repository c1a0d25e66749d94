"""Passes over a kernel matrix that is never in memory.

Iterative solvers see K = (K(x_i, z_j)) only through sums over its rows: Kc, Kᵀv, KᵀDKc, or a Gram
matrix of transformed rows.  A pass computes some hundred rows of K, a *panel*, lets a function
work on them, and forgets them; memory is one panel for each thread, and the sums.

A pass goes in *rounds* of a fraction of a second.  Between two of them progress is reported, and
Ctrl-C is heard.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelbook.numeric.threads import n_threads, parallel_sum
from kernelbook.numeric.tiles import TILE, Fill, silent, slices

__all__ = ["Panels"]

HEIGHT = 512
"""Rows of a panel: enough for products with it to run at the speed of matrix products."""

ROUND = 2**24
"""Entries of K between two calls of `tick`."""


class Panels:
    """The m×n matrix K that a fill writes, as passes see it.

    `Kernel.panels` makes one from rows.

    Parameters
    ----------
    fill : callable
        See `kernelbook.numeric.tiles`.
    m, n : int
        The shape of K.
    parallel : bool
        Whether several threads may fill at once.
    tick : callable, optional
        tick(rows) is called as a pass proceeds.
    """

    def __init__(
        self,
        fill: Fill,
        m: int,
        n: int,
        *,
        parallel: bool = True,
        tick: Callable[[int], None] = silent,
    ) -> None:
        self.m, self.n, self.tick = m, n, tick
        self._fill, self._parallel = fill, parallel
        self._tile = max(1, TILE * TILE // max(n, 1))

    def each(
        self,
        work: Callable[[Any, slice, np.ndarray], None],
        start: Callable[[], tuple[np.ndarray, ...]],
    ) -> tuple[np.ndarray, ...]:
        """Call work(total, rows, panel) for all panels; returns the sum of the totals.

        `start()` makes a total, a tuple of arrays to which `work` adds.  `rows` is a slice of the
        rows of K and `panel` these rows, C-contiguous, to be used up.
        """
        threads = n_threads() if self._parallel else 1
        height = max(1, min(HEIGHT, -(-self.m // threads)))
        buffers = deque(np.empty((height, self.n)) for _ in range(threads))

        def add(total, rows):
            buffer = buffers.pop()
            panel = buffer[: rows.stop - rows.start]
            self._compute(rows, panel)
            work(total, rows, panel)
            buffers.append(buffer)

        return parallel_sum(
            add,
            slices(0, self.m, height),
            start,
            parallel=self._parallel,
            per_round=ROUND // (height * max(self.n, 1)),
            tick=lambda panels: self.tick(panels[-1].stop - panels[0].start),
        )

    def _compute(self, rows, panel):
        """The panel in tiles that fit into a core's cache."""
        for tile in slices(rows.start, rows.stop, self._tile):
            inside = slice(tile.start - rows.start, tile.stop - rows.start)
            self._fill(tile, slice(0, self.n), panel[inside])

    def times(self, C: np.ndarray) -> np.ndarray:
        """KC."""
        out = np.empty((self.m, C.shape[1]))

        def work(total, rows, panel):
            np.matmul(panel, C, out=out[rows])

        self.each(work, lambda: ())
        return out

    def adjoint(self, V: np.ndarray) -> np.ndarray:
        """KᵀV."""

        def work(total, rows, panel):
            total[0][...] += panel.T @ V[rows]

        return self.each(work, lambda: (np.zeros((self.n, V.shape[1])),))[0]

    def normal(self, C: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Kᵀ diag(weights) KC, in one pass."""

        def work(total, rows, panel):
            total[0][...] += panel.T @ (weights[rows, None] * (panel @ C))

        return self.each(work, lambda: (np.zeros((self.n, C.shape[1])),))[0]

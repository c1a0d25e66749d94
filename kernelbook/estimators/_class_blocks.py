"""One-vs-one: the kernel matrices of pairs of classes, from blocks that the pairs share.

The pair (a, b) of classes needs the blocks aa, ab and bb of the Gram matrix
(`solvers.svm.pair_matrix`).  The blocks aa, one for each class, are computed first and kept.
The block ab is nobody else's: the thread that works on the pair computes it, in memory of its own,
where the next pair's will overwrite it.
"""

import threading

import numpy as np

from kernelbook.numeric.threads import parallel_for
from kernelbook.solvers.svm.pair_matrix import pair_matrix

__all__ = ["ClassBlocks"]


class ClassBlocks:
    """The kernel matrices of some pairs of classes.

    Parameters
    ----------
    block : callable, (a, b, out)
        Writes the kernel between the samples of class a and those of class b into `out`.
    sizes : list of int
        How many samples each class has.
    pairs : list of (a, b)
        All that will be asked for.

    Attributes
    ----------
    size : float
        The largest entry on the diagonal.
    """

    def __init__(self, block, sizes, pairs):
        self._block, self._sizes, self._own = block, sizes, threading.local()
        self._most = max(sizes[a] + sizes[b] for a, b in pairs)
        wanted = sorted({c for pair in pairs for c in pair})
        self._squares = {c: np.empty((sizes[c], sizes[c])) for c in wanted}
        parallel_for(lambda c: block(c, c, self._squares[c]), wanted)
        self.size = max(self._squares[c].diagonal().max() for c in wanted)

    @classmethod
    def of_kernel(cls, kernel, X, members, pairs):
        """Of a kernel on the rows of X; `members` holds the samples of each class."""
        sizes = [c.size for c in members]
        stops = np.cumsum(sizes).tolist()
        spans = [slice(stop - n, stop) for stop, n in zip(stops, sizes, strict=True)]
        write = kernel.blocks(X[np.concatenate(members)])
        return cls(lambda a, b, out: write(spans[a], spans[b], out), sizes, pairs)

    @classmethod
    def of_matrix(cls, gram, members, pairs):
        """Of the Gram matrix of all samples."""

        def block(a, b, out):
            out[...] = gram[np.ix_(members[a], members[b])]

        return cls(block, [c.size for c in members], pairs)

    def pair(self, a, b):
        """The matrix of classes a and b, a's samples first, until this thread asks for another."""
        own, (p, q) = self._own, (self._sizes[a], self._sizes[b])
        if not hasattr(own, "rows"):
            # Of two classes of together n samples, the block between them has n²/4 numbers at most.
            own.rows, own.block = np.empty(self._most**2), np.empty(self._most**2 // 4)
        B = own.block[: p * q].reshape(p, q)
        self._block(a, b, B)
        return pair_matrix(self._squares[a], B, self._squares[b], own.rows)

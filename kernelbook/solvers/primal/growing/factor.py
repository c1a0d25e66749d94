"""A basis that grows: the coordinates of one more orthonormal function, for all samples.

Paper C, section 3.2: add basis functions one at a time, each made orthogonal to those before.

**The factor.**  With Gram matrix G and chosen functions p_1 … p_k the growing Cholesky factor has
L_jk = ⟨f_j, e_k⟩ for *all* functions f_j.  One more function p costs one column,

    d = G_pp − Σ_k L_pk²,     L_·,k+1 = (G_·p − L L_pᵀ)/√d,     x̂_·,k+1 = (B_·p − X̂ L_pᵀ)/√d,

O((n + M)k) operations for n samples and M functions; nothing is factorized afresh.  √d is the
distance of f_p from the span.  It is a difference of numbers with a rounding error of about
kε G_pp; a function no farther than that is refused, whatever `rtol`: what would be normalized is
noise.

**Patience.**  A function that is a little farther is normalized with a relative error of about
η = kε G_pp/d in the square, and so is what all others have in common with it: L_jp², which by
Cauchy and Schwarz is at most the squared distance of f_j.  As long as some f_j is far, that is a
large error, and X̂X̂ᵀ no longer the kernel of a subspace: objectives then fall below that of the
whole space.  Always taking the farthest function (full pivoting) would avoid it, but here a
selection rule chooses.  So a function is *postponed* while η times the largest squared distance, in
units of the squared norm, exceeds `MAX_PIVOT_ERROR` (threshold pivoting).  The farthest never
waits, and distances only fall: in the end every function is chosen or refused.

Chapter: book/primal/incremental

References
----------
Giesen, Laue & Mueller (2012), section 3.2.  Higham (2002), *Accuracy and stability of numerical
algorithms*, on Cholesky factorization, with and without pivoting.
"""

import numpy as np
from scipy import linalg, sparse

__all__ = ["GrowingFactor"]

EPS = float(np.finfo(float).eps)
MAX_PIVOT_ERROR = 1e-8
"""The relative error of an inner product that one more function may cause."""
COLUMNS = 16
"""Memory is taken for so many functions at once: two lines of a processor's cache in every row."""
INDEFINITE = (
    "the Gram matrix of the basis is not positive semidefinite: a combination of the functions has "
    "a squared norm that is negative, or not finite.  Check the kernel, or `gram` of FunctionBasis."
)


class GrowingFactor:
    """x̂ of the functions chosen so far, at all samples.

    Parameters
    ----------
    B : (n, M) array or sparse matrix
        The evaluations of all functions that can be chosen.
    G : (M, M) array or None
        Their inner products; None where they are orthonormal.
    capacity : int
        How many functions will be chosen at most.
    rtol : float
        A function whose squared distance from the span is at most `rtol` times its squared norm
        is refused.

    Attributes
    ----------
    capacity : int
    chosen : list of int
    squares : (M,) array
        The squared norms of the functions.
    """

    def __init__(self, B, G, capacity, rtol=32 * EPS):
        n, M = B.shape
        self._B = sparse.csc_array(B) if sparse.issparse(B) else B
        self._G, self._rtol = G, rtol
        self.squares = np.ones(M) if G is None else np.array(G.diagonal())
        if not (np.isfinite(self.squares).all() and self.squares.min(initial=0.0) >= 0.0):
            raise ValueError(INDEFINITE)
        self._norms = np.sqrt(self.squares)
        self.capacity = min(capacity, M)
        self._X = np.zeros((n, 0))
        self._L = None if G is None else np.zeros((M, self.capacity), order="F")
        self._along = np.zeros(M)  # squared norms of the projections onto the span
        self.chosen = []

    @property
    def X(self):
        """X̂, (n, k); a view."""
        return self._X[:, : len(self.chosen)]

    def column(self, j):
        """The coordinate that function j would add to x̂, or None if it must be refused."""
        if self._G is None:
            return self._evaluations(j)
        d = self.distance(j)
        if d == 0.0:
            return None
        return self._left(j) / np.sqrt(d)

    def distance(self, j):
        """The squared distance of function j from the span; 0 if it must be refused."""
        d = self.squares[j] - self._along[j]
        return float(d) if d > self.min_share() * self.squares[j] else 0.0

    def postponed(self):
        """A mask of the functions that must wait, see the module."""
        if self._G is None:
            return np.zeros(self.squares.size, dtype=bool)
        left = np.maximum(self.squares - self._along, 0.0)
        share = left / np.where(self.squares > 0, self.squares, 1.0)
        least = self._rounding() / MAX_PIVOT_ERROR * share.max(initial=0.0)
        return (share > self.min_share()) & (share < least)

    def farthest(self):
        """The largest distance of a function from the span; at least what would be refused."""
        d = self.squares - self._along
        return float(np.sqrt(np.max(np.maximum(d, self.min_share() * self.squares))))

    def min_share(self):
        """A squared distance, in units of the squared norm, below which a function is refused."""
        return max(self._rtol, self._rounding())

    def _rounding(self):
        """The rounding error of a squared distance, in units of the squared norm."""
        return 8 * (len(self.chosen) + 1) * EPS

    def _evaluations(self, functions):
        if self._B is self._G:  # symmetric, and a row's entries are neighbours
            return self._B[functions].T
        b = self._B[:, functions]
        return b.toarray() if sparse.issparse(b) else b

    def _left(self, functions):
        """What the span leaves of a function at the samples; of several, one column each."""
        return self._evaluations(functions) - self.X @ self._L[functions, : len(self.chosen)].T

    def evaluations(self, rows):
        """All functions at some samples."""
        b = self._B[rows]
        return b.toarray() if sparse.issparse(b) else b

    def append(self, j, x):
        """Choose function j, x = column(j)."""
        k = len(self.chosen)
        if self._G is not None:
            g = self._G[j]  # a row, whose entries are neighbours; G is symmetric
            # Cauchy and Schwarz; a negative distance would prove as much, but rounding makes those.
            if not np.all(np.abs(g) <= (1 + 1e-8) * self._norms[j] * self._norms):
                raise ValueError(INDEFINITE)
            column = (g - self._L[:, :k] @ self._L[j, :k]) / np.sqrt(self.distance(j))
            self._L[:, k] = column
            self._along += column * column
        if k == self._X.shape[1]:
            # A few columns at a time.  Were it all at once, a row's place in memory, and with it
            # the last digit of a product, would depend on how far the path is to go.
            self._X = np.hstack([self._X, np.zeros((len(x), COLUMNS))])
        self._X[:, k] = x
        self.chosen.append(j)

    def truncate(self, k):
        """Forget all functions but the first k."""
        if self._G is not None:
            self._along -= np.sum(self._L[:, k : len(self.chosen)] ** 2, axis=1)
        del self.chosen[k:]

    def core(self):
        """The upper triangular (k, k) matrix T with e = f_chosen T; None for the identity."""
        if self._G is None:
            return None
        k = len(self.chosen)
        L = self._L[self.chosen, :k]
        return linalg.solve_triangular(L, np.eye(k), lower=True, trans="T")

    def drift(self):
        """X̂ − BT, two ways to the same numbers: grown column by column, and as `core` says."""
        T = self.core()
        return np.zeros_like(self.X) if T is None else self.X - self._evaluations(self.chosen) @ T

    def remainder(self, functions):
        """The largest value at a sample of what is left of refused functions, as if it were kept.

        That is, normalized.  The distance from the span is known to be at most what is hidden;
        below, it is noise, and to divide by that would make any remainder look large.
        """
        largest = 0.0
        for begin in range(0, len(functions), 256):
            part = functions[begin : begin + 256]
            squares = self.squares[part]
            size = np.maximum(squares - self._along[part], self.min_share() * squares)
            size = np.sqrt(size)
            left = np.abs(self._left(part)).max(axis=0, initial=0.0)
            largest = max(largest, float(np.max(left / np.where(size > 0, size, 1.0))))
        return largest

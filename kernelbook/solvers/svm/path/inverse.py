"""The inverse of a principal submatrix that gains and loses rows.

H = [Φ P; Pᵀ 0] is the optimality system of a quadratic program over n samples (Φ) and ℓ equality
constraints (P).  An active-set method works with M = H_SS for a set S that changes by one or two
indices at a time.  Adding a block J to S, with B = H_SJ,

    [M  B ; Bᵀ H_JJ]⁻¹ = [M⁻¹ + VD⁻¹Vᵀ,  −VD⁻¹ ; −D⁻¹Vᵀ,  D⁻¹],   V = M⁻¹B,  D = H_JJ − BᵀV,

and taking a block away undoes it: if M⁻¹ = [A  B ; Bᵀ D] with the block last, the inverse
without it is A − BD⁻¹Bᵀ.  Both cost O(|S|²).  Blocks of two are needed because H has a zero
corner: a feature can only be in S together with a sample that sees it.

Chapter: book/primal/path
"""

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.solvers.svm.path.problem import PathError

__all__ = ["PivotedInverse"]


class PivotedInverse:
    """M⁻¹ for M = H_SS, kept as samples E and features A with S = (E, A) in the order of arrival.

    Attributes
    ----------
    S : array of int
        An index i < n is a sample, n + p is feature p.
    inverse : array
    n_updates : int
        Since the last `refactor`.
    """

    def __init__(self, gram, P):
        self.gram, self.P = gram, P
        self.n, self.l = P.shape
        self._S = np.zeros(16, dtype=np.intp)
        self._W = np.zeros((16, 16))
        self._size = self.n_updates = 0
        self._split()

    def _split(self):
        self.S = self._S[: self._size]
        self.inverse = self._W[: self._size, : self._size]
        self.is_sample = self.S < self.n
        self.samples = self.S[self.is_sample]
        self.features = self.S[~self.is_sample] - self.n
        self.pinned = np.ones(self.l, dtype=bool)
        self.pinned[self.features] = False

    def copy(self):
        other = PivotedInverse(self.gram, self.P)
        other._S, other._W = self._S.copy(), self._W.copy()
        other._size, other.n_updates = self._size, self.n_updates
        other._split()
        return other

    def column(self, j):
        """H_Sj."""
        out = np.zeros(self._size)
        if j < self.n:
            out[self.is_sample] = self.gram.column(self.samples, j)
            out[~self.is_sample] = self.P[j, self.features]
        else:
            out[self.is_sample] = self.P[self.samples, j - self.n]
        return out

    def entry(self, i, j):
        if i < self.n and j < self.n:
            return self.gram.column(np.array([i]), j)[0]
        if i >= self.n and j >= self.n:
            return 0.0
        return self.P[min(i, j), max(i, j) - self.n]

    def insert(self, *J):
        """Add samples and features to S."""
        V = np.array([self.inverse @ self.column(j) for j in J])
        D = np.array(
            [[self.entry(i, j) - V[a] @ self.column(j) for j in J] for a, i in enumerate(J)]
        )
        self._border(J, V, inverted(D))

    def insert_one(self, j, v, pivot):
        """Add j, for which v = M⁻¹H_Sj and pivot = H_jj − H_jS v are known."""
        self._border((j,), v[None, :], np.array([[1.0 / pivot]]))

    def _border(self, J, V, D):
        s = self._size
        if s + len(J) > len(self._S):
            self._grow()
        border(self._W, s, V, D)
        self._S[s : s + len(J)] = J
        self._size += len(J)
        self.n_updates += 1
        self._split()

    def _grow(self):
        room = 2 * len(self._S)
        S, W = np.zeros(room, dtype=np.intp), np.zeros((room, room))
        S[: self._size], W[: self._size, : self._size] = self.S, self.inverse
        self._S, self._W = S, W

    def delete(self, *J):
        """Take samples and features out of S."""
        s = self._size
        for c, j in enumerate(J):
            a, last = int(np.flatnonzero(self.S == j)[0]), s - 1 - c
            exchange(self._S, self._W, s, a, last)
        k = s - len(J)
        D = self._W[k:s, k:s]
        unborder(self._W, k, 1.0 / D if len(J) == 1 else inverted(D))
        self._size = k
        self.n_updates += 1
        self._split()

    def refactor(self):
        """M⁻¹ from M itself, without the rounding errors of the updates."""
        self.n_updates = 0
        if self._size:
            M = np.zeros((self._size, self._size))
            e = self.is_sample
            M[np.ix_(e, e)] = self.gram.block(self.samples)
            M[np.ix_(e, ~e)] = P_E = self.P[np.ix_(self.samples, self.features)]
            M[np.ix_(~e, e)] = P_E.T
            inverse = inverted(M)
            self.inverse[:] = 0.5 * (inverse + inverse.T)


def inverted(M):
    """M⁻¹, or PathError: another perturbation may lead around a singular M."""
    try:
        return np.linalg.inv(M)
    except np.linalg.LinAlgError as error:
        raise PathError("the equations of the elbow have become singular.") from error


@jit(fast=True)
def border(W, s, V, D):
    """W, an inverse of size s, grows by the rows of −DV and the block D."""
    m = len(V)
    for c in range(m):
        for a in range(s):
            value = 0.0
            for d in range(m):
                value -= D[c, d] * V[d, a]
            W[s + c, a] = value
        for d in range(m):
            W[s + c, s + d] = D[c, d]
    for a in range(s):
        row = W[a]
        for c in range(m):
            factor, new = V[c, a], W[s + c]
            for b in range(s):
                row[b] -= factor * new[b]
        for c in range(m):
            row[s + c] = W[s + c, a]


@jit
def exchange(S, W, s, a, b):
    """Let the indices at positions a and b change places."""
    S[a], S[b] = S[b], S[a]
    for c in range(s):
        W[a, c], W[b, c] = W[b, c], W[a, c]
    for c in range(s):
        W[c, a], W[c, b] = W[c, b], W[c, a]


@jit(fast=True)
def unborder(W, k, D):
    """W of size k + m loses its last m rows; D is the inverse of their block."""
    m = len(D)
    for a in range(k):
        row = W[a]
        for c in range(m):
            factor, old = 0.0, W[k + c]
            for d in range(m):
                factor += D[c, d] * W[k + d, a]
            for b in range(k):
                row[b] -= factor * old[b]

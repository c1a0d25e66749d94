"""The inverse of a principal submatrix that gains and loses rows.

H = [Φ P; Pᵀ 0] is the optimality system of a quadratic program over n samples (Φ) and ℓ equality
constraints (P).  An active-set method works with M = H_SS for a set S that changes by one or two
indices at a time.  Adding a block J to S, with B = H_SJ,

    [M  B ; Bᵀ H_JJ]⁻¹ = [M⁻¹ + VD⁻¹Vᵀ,  −VD⁻¹ ; −D⁻¹Vᵀ,  D⁻¹],   V = M⁻¹B,  D = H_JJ − BᵀV,

and taking a block away undoes it: if M⁻¹ = [A  B ; Bᵀ D] with the block last, the inverse
without it is A − BD⁻¹Bᵀ.  Both cost O(|S|²).  Blocks of two are needed because H has a zero
corner: a feature can only be in S together with a sample that sees it.
"""

import numpy as np

__all__ = ["PivotedInverse"]


class PivotedInverse:
    """M⁻¹ for M = H_SS; an index i < n is a sample, n + p is feature p."""

    def __init__(self, gram, P):
        self.gram, self.P = gram, P
        self.n, self.l = P.shape
        self.S = np.empty(0, dtype=np.intp)
        self.inverse = np.empty((0, 0))
        self.n_updates = 0

    def H(self, rows, columns):
        """The block of H."""
        rows, columns = np.asarray(rows, dtype=np.intp), np.asarray(columns, dtype=np.intp)
        block = np.zeros((rows.size, columns.size))
        r, c = rows < self.n, columns < self.n
        block[np.ix_(r, c)] = self.gram.block(rows[r], columns[c])
        block[np.ix_(r, ~c)] = self.P[np.ix_(rows[r], columns[~c] - self.n)]
        block[np.ix_(~r, c)] = self.P[np.ix_(columns[c], rows[~r] - self.n)].T
        return block

    @property
    def samples(self):
        return self.S[self.S < self.n]

    @property
    def features(self):
        return self.S[self.S >= self.n] - self.n

    @property
    def other_features(self):
        return np.setdiff1d(np.arange(self.l), self.features)

    def split(self, z):
        """A vector over S as (its samples, z there, its features, z there)."""
        sample = self.S < self.n
        return self.S[sample], z[sample], self.S[~sample] - self.n, z[~sample]

    def insert(self, J):
        B = self.H(self.S, J)
        V = self.inverse @ B
        D = np.linalg.inv(self.H(J, J) - B.T @ V)
        VD = V @ D
        k, K = self.S.size, self.S.size + len(J)
        grown = np.empty((K, K))
        grown[:k, :k] = self.inverse + VD @ V.T
        grown[:k, k:] = -VD
        grown[k:, :k] = -VD.T
        grown[k:, k:] = D
        self.inverse = grown
        self.S = np.concatenate([self.S, np.asarray(J, dtype=np.intp)])
        self.n_updates += 1

    def delete(self, J):
        out = np.isin(self.S, J)
        B = self.inverse[np.ix_(~out, out)]
        kept = self.inverse[np.ix_(~out, ~out)]
        kept -= B @ np.linalg.solve(self.inverse[np.ix_(out, out)], B.T)
        self.inverse = kept
        self.S = self.S[~out]
        self.n_updates += 1

    def refactor(self):
        """M⁻¹ from M itself, without the rounding errors of the updates."""
        self.n_updates = 0
        M = self.H(self.S, self.S)
        self.inverse = np.linalg.inv(M)
        self.inverse = 0.5 * (self.inverse + self.inverse.T)

    def solve(self, r):
        """M⁻¹ r; the columns of r are right sides."""
        return self.inverse @ r

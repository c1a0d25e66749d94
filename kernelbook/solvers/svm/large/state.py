"""The state of the search for a large SVM-GB: the point, its gradient, and the known rows of K.

    v = y − (K + ρQQᵀ)β − Qν

is kept in double precision, K in single, with the penalty ρQQᵀ of all features but the constant
(zero at the solution, where Qᵀβ = 0).  Of a Gaussian, rows of K are computed when they are
first needed; in many dimensions, where tiles are cheaper, up to a budget.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg

from kernelbook.numeric.threads import parallel_for
from kernelbook.solvers.svm.large.lanes import (
    Lanes,
    compute_rows,
    gather,
    known_matrix,
    lanes,
    padded,
    subtract_rows,
    unknown_matrix,
)
from kernelbook.solvers.svm.problem import penalty_weight

__all__ = ["GramSource", "State", "state_at_zero"]

ROWWISE_MAX_DIM = 20
"""Up to this many dimensions d rows are computed one by one, which is as cheap as by tiles.

In more dimensions, until they are 10/d of all.
"""

MAX_NORM = 32.0
"""Single rows are computed in single precision, for points ‖z‖ ≤ MAX_NORM (see `lanes`)."""


class GramSource(Protocol):
    """What a search needs of a positive semidefinite K."""

    diagonal: np.ndarray

    def single(self, out, rows=None):
        """K, or K[rows][:, rows], in single precision in the first columns of `out`, then zeros."""

    def exponents(self):
        """(Z, s) with log₂ K_ij = z_i·z_j + s_i + s_j, or None."""

    def block(self, rows):
        """K[rows][:, rows] in double precision, a new array."""

    def product(self, beta):
        """Kβ in double precision."""


@dataclass
class State:
    """A point and its gradient, v = y − (K + ρQQᵀ)β − Qν, in lanes, in double precision."""

    gram: GramSource
    G: Lanes
    Q: np.ndarray
    rho: float
    lower: np.ndarray
    upper: np.ndarray
    beta: np.ndarray
    nu: np.ndarray
    v: np.ndarray
    points: np.ndarray | None = None  # z_i, where rows of K can be computed one by one
    steps: int = 0

    @property
    def gradient(self):
        return self.v.reshape(-1)[: self.beta.size]

    @property
    def penalized(self):
        return self.Q[:, 1:]

    def fill(self):
        """All of K, by tiles."""
        self.gram.single(self.G.rows)
        if self.rho:
            _add_penalty(self.G.rows, np.sqrt(self.rho) * self.penalized)
        self.G.slot[:] = np.arange(len(self.beta))
        self.G.count[:] = len(self.beta), 0

    def part(self, rows):
        """The `Lanes` of (K + ρQQᵀ)[rows][:, rows].

        In few dimensions its rows are computed again, as they are needed: copying them all would
        touch more memory.  Otherwise they are copied if they have been computed.
        """
        diag, A = self.G.diag.reshape(-1)[rows], np.sqrt(self.rho) * self.penalized[rows]
        if self.points is not None and self.points.shape[1] <= ROWWISE_MAX_DIM:
            return unknown_matrix(diag, rows.size, self.points[rows], A)
        if np.all(self.G.slot[rows] >= 0):
            return known_matrix(gather(self.G, rows), diag)
        out = np.empty((rows.size, padded(rows.size)), dtype=np.float32)
        self.gram.single(out, rows)
        if self.rho:
            _add_penalty(out, A)
        return known_matrix(out, diag)

    def times(self, rows, s):
        """(K + ρQQᵀ)[:, rows] s, in lanes."""
        compute_rows(self.G, rows)
        out = np.zeros_like(self.v)
        subtract_rows(self.G, rows, -s, out)
        return out


def state_at_zero(gram, dual):
    """β = 0 and ν = 0, and no row of K, or all where rows cannot be computed one by one."""
    Q, m = dual.Q, dual.y.size
    rank = Q.shape[1]
    rho = penalty_weight(dual.size, dual.C, rank - 1) if rank > 1 else 0.0
    A = np.sqrt(rho) * Q[:, 1:]
    diag = gram.diagonal + np.einsum("ij,ij->i", A, A)
    zero = np.zeros(m), np.zeros(rank)
    point = (dual.lower, dual.upper, *zero, lanes(dual.y, 0.0, np.float64))
    factors = gram.exponents()
    if factors is not None:
        Z = np.sqrt(0.5) * factors[0]
        if np.sqrt(np.max(-factors[1])) <= MAX_NORM:
            G = unknown_matrix(diag, _row_budget(*Z.shape), Z, A)
            return State(gram, G, Q, rho, *point, points=Z)
    G = known_matrix(np.empty((m, padded(m)), dtype=np.float32), diag)
    state = State(gram, G, Q, rho, *point)
    state.fill()
    return state


def _row_budget(m, d):
    """How many rows of m are computed one by one, in d dimensions."""
    return m if d <= ROWWISE_MAX_DIM else 10 * m // d


def _add_penalty(K, A):
    """K += AAᵀ, in single precision, a panel of rows at a time, without a temporary array."""
    m, panels = len(A), range(0, len(A), 256)
    whole = np.zeros((K.shape[1], A.shape[1]), dtype=np.float32, order="F")
    whole[:m] = A

    def add(p):
        rows = slice(panels[p], panels[p] + 256)
        # Transposed, the panel is in the order that BLAS can overwrite.
        linalg.blas.sgemm(
            1.0, whole, whole[:m][rows], beta=1.0, c=K[rows].T, trans_b=True, overwrite_c=True
        )

    parallel_for(add, len(panels))

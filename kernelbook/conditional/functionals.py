"""Functionals μ_1 … μ_ℓ that are biorthogonal to a basis φ'_1 … φ'_ℓ of the features' span.

Any such pair defines a projector Πg = Σ μ_p(g) φ'_p onto H₀ and with it a conditional kernel.  Each
function below makes one kind of pair from the feature matrix P of some points; all of them are
finite combinations of point evaluations, except the abstract points of `virtual`.

Chapters: book/free/virtual, book/free/invariance
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from kernelbook.numeric.column_space import column_space

__all__ = ["Functionals", "at_points", "least_squares", "pick_anchors", "require_full_rank"]


@dataclass(frozen=True)
class Functionals:
    """μ_p(g) = Σ_k W_pk g(z_k) and φ' = φA with μ_p(φ'_q) = δ_pq; without points, abstract ones.

    Attributes
    ----------
    A : (ℓ, ℓ) array
    W : (ℓ, k) array or None
    points : (k, d) array or None
    condition : float
        The condition number of the matrix that was inverted, its columns scaled to largest
        entry one.
    """

    A: np.ndarray
    W: np.ndarray | None
    points: np.ndarray | None
    condition: float

    @property
    def abstract(self) -> bool:
        return self.points is None

    @classmethod
    def virtual(cls, n_free: int) -> "Functionals":
        """The abstract points v_q with φ_p(v_q) = δ_pq."""
        return cls(np.eye(n_free), None, None, 1.0)

    def in_the_basis_of_the_features(self) -> "Functionals":
        """The same projector with φ' = φ, so W → AW."""
        if self.W is None:
            return self
        return Functionals(np.eye(len(self.A)), self.A @ self.W, self.points, self.condition)


def pick_anchors(P: np.ndarray) -> np.ndarray:
    """Indices of ℓ rows of P, of rank ℓ, that are well conditioned; in increasing order.

    Pivoted QR of an orthonormal basis of range P: each step takes the row at which the functions
    of unit mean square that vanish at the rows taken before are largest.  These are approximate
    Fekete points; they depend on the span of the features only.
    """
    Q = column_space(P).Q
    if Q.shape[1] == 0:
        return np.zeros(0, dtype=np.intp)
    pivots = linalg.qr(Q.T, mode="r", pivoting=True)[1]
    return np.sort(pivots[: Q.shape[1]])


def at_points(points: np.ndarray, P: np.ndarray) -> Functionals:
    """μ_p(g) = g(a_p), P the features at the points: φ' are the cardinal functions."""
    l = P.shape[1]
    rank = column_space(P).rank
    if rank < l:
        raise ValueError(
            f"these {l} anchors are not unisolvent: the matrix of the features at them has rank "
            f"{rank}.  Choose other points, or anchors='sample'."
        )
    scaled, size = _equilibrate(P)
    return Functionals(np.linalg.inv(scaled) / size[:, None], np.eye(l), points, _cond(scaled))


def least_squares(X: np.ndarray, P: np.ndarray) -> Functionals:
    """μ_p(g) = (1/m) Σ_i φ'_p(x_i) g(x_i), with φ' orthonormal on the sample by Gram–Schmidt."""
    scaled, size = _equilibrate(P)
    Q, R = np.linalg.qr(scaled)
    sign, root_m = np.sign(np.diag(R)), np.sqrt(len(P))
    A = root_m * np.linalg.solve(R, np.diag(sign)) / size[:, None]
    return Functionals(A, (Q * sign).T / root_m, X, _cond(scaled))


def require_full_rank(P: np.ndarray, names: Sequence[str], remedy: str) -> None:
    """Raise unless the ℓ features are independent on the sample; say which are not."""
    m, l = P.shape
    rank = column_space(P).rank
    if rank == l:
        return
    pivots = linalg.qr(_equilibrate(P)[0], mode="r", pivoting=True)[1]
    dependent = ", ".join(f"{p} ({names[p]})" for p in sorted(pivots[rank:]))
    raise ValueError(
        f"no anchors among these {m} points are unisolvent: the {l} features have rank {rank} "
        f"there.  On the sample, combinations of the others reproduce feature {dependent}; leave "
        f"it out, {remedy}."
    )


def _equilibrate(P):
    size = np.abs(P).max(axis=0, initial=0.0)
    size[size == 0] = 1.0
    return P / size, size


def _cond(P):
    return float(np.linalg.cond(P)) if P.size else 1.0

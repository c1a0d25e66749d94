"""Bases of the features' span, for the multipliers of the SVM-GB, and one that loses no digit.

The dual sees the features only through its equations Pᵀβ = 0, and any basis of their span states
the same equations.  An orthonormal one, Q, is the best in the norm, and a bad one entry by
entry: each entry of Q carries an error of 10⁻¹⁶, however small it is itself.  Shares of topics in
a document are 10⁻⁹, or 10⁻⁷⁰, for most topics.  Then

    P_ip β_i + P_jp β_j = 0,      P_ip = 1,  P_jp = 10⁻²⁰,

says that β_j may be anything that β_i, tiny, balances, if the two labels differ, and that both are
zero if they agree: it is the *sign* of P_jp that decides, and in Q that is noise.

**Cardinal functions** φ'_1 … φ'_r, φ'_p(a_q) = δ_pq on samples a_1 … a_r that complete pivoting
chooses, keep small entries small.  On shares Gauss–Jordan elimination hardly changes a thing: the
pivots are documents of one topic.  With every equation scaled by itself (`interior`), interior
points then find the solution, λ of 10¹⁷ included, where Q leaves a duality gap of the size of the
objective.  And a coordinate is a value at an anchor: functions are read off, not projected.

Below rounding, 10⁻¹⁶ of a feature's largest value, the sign may still be lost on the way (a point
that breaks an equation by 10⁻²⁰ counts as feasible): what a certificate proves, it proves for
features within rounding of those given.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["Basis", "cardinal_basis", "orthonormal_basis"]


@dataclass(frozen=True)
class Basis:
    """Functions on the sample that span the features, with functionals biorthogonal to them.

    Attributes
    ----------
    functions : (m, r) array, F
    functionals : (r, m) array, E, with EF = I: Ev are the coordinates of v in the span
    T : (ℓ, r) array, PT = F: λ = Tν
    """

    functions: np.ndarray
    functionals: np.ndarray
    T: np.ndarray


def orthonormal_basis(span, Q):
    """The basis of a `DualProblem`: Q spans what span.Q does."""
    return Basis(Q, Q.T, span.T @ (span.Q.T @ Q))


def cardinal_basis(P, span):
    """The cardinal functions of r = rank P anchors among the samples."""
    m, r = span.Q.shape
    size = np.abs(P).max(axis=0, initial=0.0)
    B = P / np.where(size > 0, size, 1.0)
    anchors, columns = np.empty(r, dtype=np.intp), np.empty(r, dtype=np.intp)
    left = np.abs(B)
    for k in range(r):
        i, p = np.unravel_index(np.argmax(left), left.shape)
        anchors[k], columns[k] = i, p
        pivot = B[:, p] / B[i, p]
        B -= np.outer(pivot, B[i])
        B[i], B[:, p] = 0.0, pivot
        left = np.abs(B)
        left[anchors[: k + 1]], left[:, columns[: k + 1]] = 0.0, 0.0
    B = B[:, columns]
    if r == P.shape[1]:
        T = np.linalg.inv(P[anchors] / size) / size[:, None]
    else:  # of the λ with the same Pλ, the one that `column_space` documents
        T = span.T @ (span.Q.T @ B)
    return Basis(B, np.eye(m)[anchors], T)

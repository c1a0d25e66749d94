"""Two bases of the span of a feature matrix: one orthonormal, one that preserves tiny entries.

Equations Pᵀβ = 0 can be stated in any basis of the span of P.  An orthonormal one, Q, is best in
the norm, and poor entry by entry: each entry of Q carries an error of 10⁻¹⁶, however small it is
itself.  The shares of topics in a document are 10⁻⁹, or 10⁻⁷⁰, for most topics.  Then

    P_ip β_i + P_jp β_j = 0,      P_ip = 1,  P_jp = 10⁻²⁰,

says that β_j may be anything that a tiny β_i balances if the two labels differ, and that both are
zero if they agree: the *sign* of P_jp decides, and in Q that sign is noise.

**Cardinal functions** φ'_1 … φ'_r, φ'_p(a_q) = δ_pq on samples a_1 … a_r chosen by complete
pivoting, keep small entries small.  On shares, Gauss–Jordan elimination hardly changes anything:
the pivots are documents with one topic.  With each equation scaled separately
(`solvers.svm.interior`), interior points then find the solution, including λ = 10¹⁷, where Q leaves
a duality gap as large as the objective.  And a coordinate is a value at an anchor: functions are
read off, not projected.

Below 10⁻¹⁶ of a feature's largest value the sign may still be lost (a point that breaks an
equation by 10⁻²⁰ counts as feasible): a certificate holds for features within rounding of those
given.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from kernelbook.numeric.column_space import ColumnSpace

__all__ = ["SpanBasis", "cardinal_basis", "constant_first", "orthonormal_basis"]


@dataclass(frozen=True)
class SpanBasis:
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


def constant_first(Q: np.ndarray) -> tuple[np.ndarray, bool]:
    """Q rotated so that its first column is 1/√m, and True; Q, False if 1 is not in its range."""
    m, r = Q.shape
    one = np.full(m, 1 / np.sqrt(m)) if m else np.zeros(0)
    c = Q.T @ one
    if r == 0 or np.linalg.norm(one - Q @ c) > 1e-12:
        return Q, False
    rotated = Q @ linalg.qr(c[:, None])[0]
    rotated[:, 0] = one
    return rotated, True


def orthonormal_basis(span: ColumnSpace) -> tuple[SpanBasis, bool]:
    """The orthonormal basis of a `ColumnSpace`, the constant first, and whether it is in it."""
    Q, has_constant = constant_first(span.Q)
    Q = np.ascontiguousarray(Q)
    return SpanBasis(Q, Q.T, span.T @ (span.Q.T @ Q)), has_constant


def cardinal_basis(P: np.ndarray, span: ColumnSpace) -> SpanBasis:
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
    else:  # of all λ with the same Pλ, the one that `column_space` documents
        T = span.T @ (span.Q.T @ B)
    return SpanBasis(B, np.eye(m)[anchors], T)

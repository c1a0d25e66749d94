"""The range of a feature matrix on a sample: an orthonormal basis, and the way back to λ.

**Few features on many samples.**  A singular value decomposition of an m×ℓ matrix takes some 10mℓ²
operations, half of them slow ones.  Where the features are far from dependent the Cholesky factor
of PᵀP gives the same range: PᵀP = RᵀR, Q = PR⁻¹.  The condition number is squared on the way, and Q
is orthonormal only to κ²ε, κ = cond P; but then cond Q is about one, and the same again with Q in
place of P leaves ε: CholeskyQR2 [1], proven where 8κ√(mℓ + ℓ² + ℓ)·√(ε/2) ≤ 1.  We ask for that,
and for κ < 10⁴, so that no rank is in doubt.  All other matrices have the decomposition.

References
----------
[1] Yamamoto, Nakatsukasa, Yanagisawa & Fukaya, *Roundoff error analysis of the CholeskyQR2
algorithm*, Electronic Transactions on Numerical Analysis 44 (2015).
"""

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from kernelbook.numeric.blas import add_gram, solve_rows
from kernelbook.numeric.threads import one_thread, parallel_for, parallel_sum

__all__ = ["ColumnSpace", "column_space"]

MIN_ASPECT = 20  # rows for each column, and
MIN_ENTRIES = 10**5  # entries, from which CholeskyQR2 is faster
MAX_CONDITION = 1e4
SERIAL_ENTRIES = 8192  # up to which BLAS uses one thread
ROW_BLOCK = 2048  # rows that stay in a core's cache between two steps


@dataclass(frozen=True)
class ColumnSpace:
    """An orthonormal basis of the range of √D P, and the way back to λ.

    Attributes
    ----------
    Q : (m, r) array
        Orthonormal columns spanning the range of √D P, D = diag(weights).
    T : (ℓ, r) array
        √D P T = Q, so λ = Tν is the coefficient vector with √D Pλ = Qν.
    values : (min(m, ℓ),) array
        The singular values that decided, in units of the largest, in descending order.
    """

    Q: np.ndarray
    T: np.ndarray
    values: np.ndarray

    @property
    def rank(self) -> int:
        return self.Q.shape[1]

    @property
    def rank_is_ambiguous(self) -> bool:
        """Whether rounding has decided the rank: the singular values decay to it without a gap.

        Dependent features leave a gap, from 10⁻³, say, to rounding; the powers of a coordinate
        that varies by one part in 10⁴ leave none: 1, 10⁻⁴, 10⁻⁸, 10⁻¹², and the next is lost.
        """
        r, s = self.rank, np.maximum(self.values, np.finfo(float).eps)
        if not 1 < r < len(s) or s[r - 1] > 1e-4:
            return False
        falls = np.log(s[:-1] / s[1:])
        return bool(falls[r - 1] < 1.5 * falls[: r - 1].max())


def column_space(
    P: np.ndarray, weights: np.ndarray | None = None, rtol: float | None = None
) -> ColumnSpace:
    """Reduce a feature matrix to its numerical range on the sample.

    With rank P < ℓ many λ give the same values Pλ on the sample, and off the sample their
    functions may differ.  One rule decides: the λ of least Euclidean norm once every column of P
    has been scaled to largest entry one.  It does not depend on the order or the units of the
    features, and a feature that is zero on the sample gets the coefficient zero.

    Parameters
    ----------
    P : (m, ℓ) array
    weights : (m,) array, optional
        Positive sample weights.
    rtol : float, optional
        Singular values below rtol times the largest count as zero; max(m, ℓ)·ε by default.
    """
    m, l = P.shape
    size = np.maximum(P.max(axis=0, initial=0.0), -P.min(axis=0, initial=0.0))
    absent = size == 0
    size[absent] = 1.0
    scaled = P / size
    if weights is not None:
        scaled = scaled * np.sqrt(weights / weights.max())[:, None]
    if l == 0:
        return ColumnSpace(np.empty((m, 0)), np.empty((0, 0)), np.empty(0))
    rtol = max(m, l) * np.finfo(float).eps if rtol is None else rtol
    quick = _cholesky_qr2(scaled, rtol) if m >= MIN_ASPECT * l and m * l >= MIN_ENTRIES else None
    if quick is not None:
        Q, T, s = quick
        T = T / size[:, None] if weights is None else T / size[:, None] / np.sqrt(weights.max())
        return ColumnSpace(Q, T, s / s[0])
    if l == 1:
        s, Vt = np.linalg.norm(scaled, axis=0), np.ones((1, 1))
        U = scaled / (s or 1.0)
    else:
        # A second thread of BLAS would only spin; a small matrix it leaves to one by itself.
        with one_thread(l) if scaled.size > SERIAL_ENTRIES else nullcontext():
            U, s, Vt = linalg.svd(scaled, full_matrices=False)
    r = int(np.sum(s > rtol * s[0])) if s[0] > 0 else 0
    T = (Vt[:r].T / s[:r]) / size[:, None]
    T[absent] = 0.0  # exactly, not up to rounding: off the sample the feature may be large
    if weights is not None:
        T = T / np.sqrt(weights.max())
    return ColumnSpace(np.ascontiguousarray(U[:, :r]), T, s / (s[0] or 1.0))


def _cholesky_qr2(A, rtol):
    """(Q, T, singular values) with AT = Q orthonormal, in A's memory; None (A intact) if unsafe."""
    m, l = A.shape
    A = np.require(A, requirements=["C", "W"])
    with one_thread(l):
        L, info = lapack.dpotrf(_gram(A), lower=1, clean=1)
        if info or not np.isfinite(L).all():
            return None
        values = np.linalg.svd(L, compute_uv=False)
        room = 8 * np.sqrt((m * l + l * (l + 1)) * np.finfo(float).eps / 2)  # hypothesis of [1]
        if not values[-1] > max(room, rtol, 1 / MAX_CONDITION) * values[0]:
            return None
        again, _ = lapack.dpotrf(_gram(A, L), lower=1, clean=1)
        pieces = _pieces(A)
        parallel_for(lambda i: solve_rows(again, pieces[i]), len(pieces))
        return A, _inverse(L) @ _inverse(again), values


def _inverse(L):
    """L⁻ᵀ."""
    return linalg.solve_triangular(L, np.eye(len(L)), lower=True).T


def _gram(A, L=None):
    """AᵀA, its lower triangle; if L is given, the rows a of A become L⁻¹a before."""

    def add(total, rows):
        if L is not None:
            solve_rows(L, rows)
        add_gram(rows, total)

    return parallel_sum(add, _pieces(A), lambda: np.zeros((A.shape[1],) * 2, order="F"))


def _pieces(A):
    return [A[i : i + ROW_BLOCK] for i in range(0, len(A), ROW_BLOCK)]

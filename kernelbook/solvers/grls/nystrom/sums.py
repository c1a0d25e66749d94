"""Nyström from sums: what a block of data contributes, how blocks add up, and the solution.

With ẑ the coordinates of a sample in a `CenterBasis`, p its features and w its weight, the problem

    (1/W) Σ w_i (y_i − ẑ_i·u − p_i·λ)² + γ‖u‖²

depends on the data only through Σ w ẑẑᵀ, Σ w ẑpᵀ, Σ w ẑyᵀ, and the triangle R of a QR
factorization of √w (p, y) (whose RᵀR is Σ w (p, y)(p, y)ᵀ, without the squared condition number).
All of these add up over blocks: `statistics` of a block, `+`, `solve`.  So data can stream, and
blocks can live on different machines, as long as all use the *same* basis, made once from given
centres.  n² numbers travel, whatever m is.

**Accuracy.**  One pass does not allow for refinement: the normal equations have the condition
number 1/γ (in units of the kernel's values), and fitted values are accurate to about ε/γ.  The
certificate, of the optimum *in the span of the centres*, says so, and counts dropped centres as
`nystrom.bounds` does.  It is that of u; what f, as predicted from c = Tu, loses to nearly dependent
centres can only be measured on samples: `solve` may be given some.

Chapter: book/computing/beyond
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from kernelbook.numeric.linalg import cholesky_shifted, norms, power_of_two, squared_norms
from kernelbook.solvers.grls.nystrom.bounds import dropped_centers, prediction_rounding
from kernelbook.solvers.grls.nystrom.normal_equations import gram_and_products
from kernelbook.solvers.grls.predictor import KernelExpansion
from kernelbook.solvers.grls.solution import Solution, certify, zero_kernel_warnings

__all__ = ["Statistics", "solve", "statistics"]

_EPS = np.finfo(float).eps


@dataclass(frozen=True)
class Statistics:
    """The sums over one or more blocks; see the module's text.

    Attributes
    ----------
    ZZ : (r, r) array;  ZP : (r, ℓ) array;  ZY : (r, k) array
    R : (ℓ+k, ℓ+k) array
    column_max : (ℓ,) array
        The largest |φ_p|, by which the rule for dependent features scales.
    diagonal : float
        Σ w K(x, x), in units of the basis.
    total : float
        W.
    m : int
        The number of rows with positive weight.
    """

    ZZ: np.ndarray
    ZP: np.ndarray
    ZY: np.ndarray
    R: np.ndarray
    column_max: np.ndarray
    diagonal: float
    total: float
    m: int

    def __add__(self, other):
        if isinstance(other, int) and other == 0:  # the sum of no samples
            return self
        if not isinstance(other, Statistics):
            return NotImplemented
        shapes = [(len(s.ZZ), s.ZP.shape[1], s.ZY.shape[1]) for s in (self, other)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                "the blocks do not belong together: (functions, features, outputs) are "
                f"{shapes[0]} and {shapes[1]}."
            )
        return Statistics(
            *(self.ZZ + other.ZZ, self.ZP + other.ZP, self.ZY + other.ZY),
            R=_triangle(np.vstack([self.R, other.R])),
            column_max=np.maximum(self.column_max, other.column_max),
            diagonal=self.diagonal + other.diagonal,
            total=self.total + other.total,
            m=self.m + other.m,
        )

    def __radd__(self, other):
        return self + other


def statistics(basis, X, P, Y, weights=None) -> Statistics:
    """The sums over the block (X, P, Y).

    Parameters
    ----------
    basis : CenterBasis
    X : (b, d) rows
    P : (b, ℓ) array
    Y : (b, k) array
    weights : (b,) array of numbers ≥ 0, optional
    """
    b = X.shape[0]
    if len(P) != b or len(Y) != b or (weights is not None and len(weights) != b):
        raise ValueError(f"X has {b} rows, P {len(P)}, Y {len(Y)}; a block needs as many of each.")
    if not (np.isfinite(P).all() and np.isfinite(Y).all()):
        raise ValueError("P and Y must be finite: drop the rows that have NaN, or impute them.")
    weights = np.ones(b) if weights is None else np.asarray(weights, dtype=float)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("weights must be finite numbers ≥ 0.")
    root = np.sqrt(weights)[:, None]
    panels = basis.kernel.panels(X, basis.points)
    ZZ, (ZP, ZY) = gram_and_products(panels, [root * P, root * Y], root, basis)
    return Statistics(
        *(ZZ, ZP, ZY, _triangle(root * np.hstack([P, Y]))),
        column_max=np.abs(P[weights > 0]).max(axis=0, initial=0.0),
        diagonal=float(weights @ basis.kernel.diag(X) / basis.unit),
        total=float(weights.sum()),
        m=int(np.count_nonzero(weights)),
    )


def _triangle(rows):
    """R of the QR factorization, square even where there are few rows."""
    missing = max(rows.shape[1] - len(rows), 0)
    return np.linalg.qr(np.vstack([rows, np.zeros((missing, rows.shape[1]))]), mode="r")


def solve(sums: Statistics, basis, reg, probe=None) -> Solution:
    """The minimizer, its c over all centres; a column for each output.

    `probe` are some rows of X on which the rounding of predictions is measured.
    """
    if not reg > 0 or not sums.total > 0:
        raise ValueError(f"reg={reg!r} and the sum of weights, {sums.total:g}, must be positive.")
    if not all(np.isfinite(a).all() for a in (sums.ZZ, sums.ZP, sums.ZY, sums.R)):
        raise ValueError("the sums over the samples overflow: scale y, the weights or features.")
    l, W, rho = len(sums.column_max), sums.total, reg / basis.unit
    # 1. Means over the observations, y in units in which no square overflows.
    R = sums.R / np.sqrt(W)
    y_unit = power_of_two(np.abs(R[:, l:]).max(axis=0, initial=0.0))
    R[:, l:] /= y_unit
    features, y_left = _feature_range(R, sums.column_max, sums.m)

    # 2. Ridge regression on what the features leave: (A + ρI)u = right.
    ZQ = sums.ZP / W @ features.T
    right = sums.ZY / W / y_unit - ZQ @ features.Qy
    A = sums.ZZ / W - ZQ @ ZQ.T
    rounding = _EPS * np.linalg.norm(sums.ZZ / W)
    u = _ridge(A, rho, right, rounding)
    residual = norms(right - A @ u - rho * u) + rounding * norms(u)
    quadratic = np.einsum("ij,ij->j", u, A @ u)
    loss = y_left**2 - 2 * np.einsum("ij,ij->j", u, right) + quadratic
    loss = np.maximum(loss, 0.0)
    primal = loss + rho * squared_norms(u)

    # 3. What the residual, the rounding of predictions and dropped centres amount to.
    error = residual / np.sqrt(rho) + prediction_rounding(basis, probe, u)
    dropped_gap, dropped_error = dropped_centers(
        *(basis, 1, sums.diagonal / W, np.trace(sums.ZZ) / W), np.sqrt(loss), error, rho
    )
    gap = np.minimum(error**2 + dropped_gap, primal)
    y_scale = y_left + 1e-4 * norms(R[:, l:])
    with np.errstate(over="ignore"):
        c = basis.scatter(basis.times(u)) * y_unit
        lam = features.T @ (features.Qy - ZQ.T @ u) * y_unit
    return Solution(
        *(c, lam),
        energy=primal / rho,
        y_unit=y_unit,
        unit=basis.unit,
        rank=features.rank,
        certificates=certify(
            *(y_scale, y_unit, primal, gap), np.minimum(error + dropped_error, np.sqrt(gap))
        ),
        predictor=KernelExpansion(basis.kernel, basis.centers, c),
        warnings=zero_kernel_warnings(basis.rank == 0, features.rank, sums.m, "centres"),
        solver="nystrom",
        advice=basis.advice,
    )


@dataclass(frozen=True)
class _FeatureRange:
    """Q and T with PT = Q orthonormal on the sample, and Qᵀy."""

    T: np.ndarray
    Qy: np.ndarray
    rank: int


def _feature_range(R, column_max, m):
    """The range of the features, and the norm of what they leave of y; from the triangle R."""
    l = len(column_max)
    scale = np.where(column_max > 0, column_max, 1.0)
    U, s, Vt = linalg.svd(R[:l, :l] / scale)
    rank = int(np.sum(s > max(m, l) * _EPS * s[0])) if l and s[0] > 0 else 0
    Q, T = U[:, :rank], (Vt[:rank].T / s[:rank]) / scale[:, None]
    T[column_max == 0] = 0.0
    Qy = Q.T @ R[:l, l:]
    # What is left of y: outside the range of the features, and inside it beyond the rank.
    left = np.hypot(norms(R[l:, l:]), norms(R[:l, l:] - Q @ Qy))
    return _FeatureRange(T, Qy, rank), left


def _ridge(A, rho, right, rounding):
    """u with (A + ρI)u = right: one solve and two refinements."""
    u = np.zeros_like(right)
    if len(A):
        factor = cholesky_shifted(A, rho, rounding)
        for _ in range(3):
            u = u + linalg.cho_solve(factor, right - A @ u - rho * u, check_finite=False)
    return u

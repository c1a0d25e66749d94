"""Nyström from sums: what a block of data has to say, how two blocks agree, and the solution.

With ẑ the coordinates of a sample in a `CenterBasis`, p its features and w its weight, the problem

    (1/W) Σ w_i (y_i − ẑ_i·u − p_i·λ)² + γ‖u‖²

knows the data only through Σ w ẑẑᵀ, Σ w ẑpᵀ, Σ w ẑyᵀ, and the triangle R of a QR factorization of
√w (p, y) (whose RᵀR is Σ w (p, y)(p, y)ᵀ, without the squared condition number).  All of these
add up over blocks: `statistics` of a block, `combine` of two, `solve`.  So data can stream, and
blocks can live on different machines, as long as all use the *same* basis, made once from given
centres.  n² numbers travel, whatever m is.

**Accuracy.**  One pass does not allow for refinement: the normal equations have the condition
number 1/γ (in units of the kernel's values), and fitted values are good to about ε/γ.  The
certificate, of the optimum *in the span of the centres*, says so, and counts dropped centres as
`nystrom` does, by Σ w K(x, x) − tr Σ w ẑẑᵀ or by `CenterBasis.lost`.  It is that of u; what f, as
predicted from c = Tu, loses to nearly dependent centres takes samples to be seen: `solve` may be
given some.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from kernelbook.certificates import Certificate
from kernelbook.numeric.blas import add_gram
from kernelbook.numeric.conjugate_gradients import norms
from kernelbook.numeric.tiles import silent
from kernelbook.solvers.grls.dense import power_of_two

__all__ = ["Statistics", "accumulate", "combine", "factored", "solve", "statistics"]

_EPS = np.finfo(float).eps


@dataclass(frozen=True)
class Statistics:
    """The sums over one or more blocks; see the module's text.

    Attributes
    ----------
    ZZ : (r, r) array;  ZP : (r, ℓ) array;  ZY : (r, k) array
    R : (ℓ+k, ℓ+k) array
    peaks : (ℓ,) array
        The largest |φ_p|, which the rule for dependent features counts in.
    diagonal : float
        Σ w K(x, x), in units of the basis.
    weight : float
        W.
    rows : int
    """

    ZZ: np.ndarray
    ZP: np.ndarray
    ZY: np.ndarray
    R: np.ndarray
    peaks: np.ndarray
    diagonal: float
    weight: float
    rows: int


def accumulate(basis, X, columns, root, tick=silent):
    """ẐᵀẐ (both triangles) and Ẑᵀ·columns, where Ẑ has the rows root_i·ẑ_i."""
    r, width = basis.rank, columns.shape[1]

    def work(total, rows, panel):
        Z = basis.coordinates(panel)
        Z *= root[rows, None]
        if r:
            add_gram(Z, total[0])
            total[1][...] += Z.T @ columns[rows]

    gram, products = basis.kernel.panels(X, basis.points, tick).each(
        work, lambda: (np.zeros((r, r), order="F"), np.zeros((r, width)))
    )
    return np.tril(gram) + np.tril(gram, -1).T, products


def statistics(basis, X, P, Y, weights=None) -> Statistics:
    """What the block (X, P, Y) says.

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
    root = np.sqrt(weights)
    both = root[:, None] * np.hstack([P, Y])
    l, size = P.shape[1], P.shape[1] + Y.shape[1]
    ZZ, Zpy = accumulate(basis, X, both, root)
    return Statistics(
        *(ZZ, Zpy[:, :l], Zpy[:, l:], _triangle(both, size)),
        peaks=np.abs(P[weights > 0]).max(axis=0, initial=0.0),
        diagonal=float(weights @ basis.kernel.diag(X) / basis.unit),
        weight=float(weights.sum()),
        rows=int(np.count_nonzero(weights)),
    )


def _triangle(rows, size):
    """R of the QR factorization, square also where there are few rows."""
    R = np.linalg.qr(np.vstack([rows, np.zeros((max(size - len(rows), 0), size))]), mode="r")
    return R


def combine(a: Statistics, b: Statistics) -> Statistics:
    """The statistics of two blocks together."""
    if a.ZZ.shape != b.ZZ.shape or a.ZP.shape != b.ZP.shape or a.ZY.shape != b.ZY.shape:
        raise ValueError(
            f"the blocks do not belong together: {a.ZP.shape[1]} and {b.ZP.shape[1]} features, "
            f"{a.ZY.shape[1]} and {b.ZY.shape[1]} outputs, {len(a.ZZ)} and {len(b.ZZ)} functions."
        )
    return Statistics(
        *(a.ZZ + b.ZZ, a.ZP + b.ZP, a.ZY + b.ZY),
        R=_triangle(np.vstack([a.R, b.R]), len(a.R)),
        peaks=np.maximum(a.peaks, b.peaks),
        diagonal=a.diagonal + b.diagonal,
        weight=a.weight + b.weight,
        rows=a.rows + b.rows,
    )


def factored(A, shift, noise):
    """The Cholesky factor of A + shift·I, lifted where rounding has made it indefinite."""
    for lift in (0.0, 10 * noise, 1e3 * noise, 1e6 * noise):
        lifted = A.copy()
        lifted[np.diag_indices(len(A))] += shift + lift
        try:
            return linalg.cho_factor(lifted, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            continue
    raise ValueError("the normal equations overflow or are not positive definite: scale X or y.")


def solve(sums: Statistics, basis, reg, probe=None):
    """c over all centres, λ, the rank of P and the certificates, a column for each output.

    `probe` are some rows of X on which the rounding of predictions is measured.
    """
    if not reg > 0 or not sums.weight > 0:
        raise ValueError(f"reg={reg!r} and the sum of weights, {sums.weight:g}, must be positive.")
    if not all(np.isfinite(a).all() for a in (sums.ZZ, sums.ZP, sums.ZY, sums.R)):
        raise ValueError("the sums over the samples overflow: scale y, the weights or features.")
    l, W, rho = len(sums.peaks), sums.weight, reg / basis.unit
    # As of one observation, and in units of y: no square overflows.
    R = sums.R / np.sqrt(W)
    unit = power_of_two(np.abs(R[:, l:]).max(axis=0, initial=0.0))
    R[:, l:] /= unit
    ZZ, ZP, ZY = sums.ZZ / W, sums.ZP / W, sums.ZY / W / unit

    scale = np.where(sums.peaks > 0, sums.peaks, 1.0)
    U, s, Vt = linalg.svd(R[:l, :l] / scale)
    rank = int(np.sum(s > max(sums.rows, l) * _EPS * s[0])) if l and s[0] > 0 else 0
    Q, T = U[:, :rank], (Vt[:rank].T / s[:rank]) / scale[:, None]
    T[sums.peaks == 0] = 0.0
    ZQ, Qy, rest = ZP @ T, Q.T @ R[:l, l:], R[l:, l:]
    # What the features leave of y: outside their range, and inside it beyond the rank.
    left = np.hypot(norms(rest), norms(R[:l, l:] - Q @ Qy))
    right = ZY - ZQ @ Qy
    A = ZZ - ZQ @ ZQ.T
    noise = _EPS * np.linalg.norm(ZZ)
    factor = factored(A, rho, noise) if basis.rank else None
    u = np.zeros_like(right)
    for _ in range(3 if basis.rank else 0):  # one solve and two refinements
        u = u + linalg.cho_solve(factor, right - A @ u - rho * u, check_finite=False)
    residual = norms(right - A @ u - rho * u) + noise * norms(u)
    bend = np.einsum("ij,ij->j", u, A @ u)
    loss = np.maximum(left**2 - 2 * np.einsum("ij,ij->j", u, right) + bend, 0.0)
    primal = loss + rho * np.einsum("ij,ij->j", u, u)

    c = basis.times(u)
    off = residual / np.sqrt(rho) + _rounding(basis, u, c, probe)
    lost = moved = 0.0
    if basis.dropped:
        trace = basis.lost
        if not basis.kernel.cpd_order:
            rest = max(sums.diagonal - np.trace(sums.ZZ), 0.0) + 2 * _EPS * sums.diagonal
            trace = min(trace, rest / W)
        lost, moved = trace / rho * loss, trace / rho * (np.sqrt(loss) + off)
    gap = np.minimum(off**2 + lost, primal)
    size = left + 1e-4 * norms(R[:, l:])
    kkt = np.minimum(off + moved, np.sqrt(gap)) / np.where(size > 0, size, 1.0)
    with np.errstate(over="ignore"):
        primal, gap = primal * unit * unit, gap * unit * unit
        c, lam = basis.place(c) * unit, T @ (Qy - ZQ.T @ u) * unit
    lower = np.where(np.isfinite(primal), primal, np.finfo(float).max)
    lower = lower - np.where(np.isfinite(primal), gap, 0.0)
    certificates = tuple(
        Certificate(*map(float, (p, q, 0.0, k)), gap=float(g))
        for p, q, k, g in zip(primal, lower, kkt, gap, strict=True)
    )
    return c, lam, rank, certificates


def _rounding(basis, u, c, probe):
    """An estimate, from some rows, of the mean square root of Kc − Ẑu."""
    if probe is None or probe.shape[0] == 0 or not basis.rank:
        return 0.0
    panel = basis.kernel(probe, basis.points)
    off = panel @ c
    return norms(off - basis.coordinates(panel) @ u) / np.sqrt(probe.shape[0])

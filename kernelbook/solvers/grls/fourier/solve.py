"""G-RLS in a Fourier basis: near-linear time in m, for one to three dimensions.

The kernel is replaced by k̃ of `fourier.grid`, a sum of N exponentials that differs from it by at
most ε.  What is then solved is no longer a problem about m kernel functions but a **primal basis
expansion**, ridge regression on N functions with the features beside them, unpunished; and all it
asks of the data are sums (`fourier.sums`).  Time: O(m) for the sums, O(N log N) for each step
of preconditioned conjugate gradients (`fourier.operator`).

**Certificate.**  Two things are approximate, and both are bounded for the solution at hand.

1. *CG.*  With the residual r = b − Az, p(z) − min p = rᵀA⁻¹r ≤ ‖r‖²/γ, because A ⪰ γI.  So
   dual = primal − ‖r‖²/γ is a lower bound, and since p is quadratic the root of the gap bounds the
   error of the fitted values, in the mean.
2. *The kernel.*  Let f̃ be the solution for k̃ and f that for k.  With rows and columns scaled by
   s_i = √w_i, and u = c/s, the systems differ by S(Φ̃ − Φ)S, and u − ũ = G S(Φ̃ − Φ)S ũ with
   ‖G‖ ≤ 1/(Wγ).  Since s(y − f) = Wγu,

       ‖f − f̃‖ ≤ (ε/γ)‖y − f̃‖      (norms weighted by w),

   because |s_i s_j (Φ̃ − Φ)_ij| ≤ ε s_i s_j makes a matrix of norm ≤ εΣs_i² = εW.

Where CG has stopped short of f̃, ‖y − f̃‖ is at most what was found plus the first bound.

`kkt` is the sum of both bounds, in units of what the features leave of y (plus 10⁻⁴ of y): what the
dense solvers call kkt, and in the same units.  The second bound assumes that all errors of the
kernel conspire; it is a theorem, and often pessimistic.

NUFFTs to relative accuracy ε' act, to first order, like a further error of ε'κ(0) in the kernel;
four times that is counted.  ε' itself is what finufft promises, not a theorem.

**Variance.**  In the Gaussian process of k̃, with noise variance γW/w_i and a flat prior on λ, the
variance of f(x) per unit of scale is γ·uᵀ[joint matrix]⁻¹u; eliminating λ leaves one system with A
for each point, and γ times the bound above, ‖r‖², on its error.

References
----------
Greengard, Rachh & Barnett, arXiv:2210.10210 (2022); Rahimi & Recht, NIPS 2007, take the frequencies
at random.
"""

from dataclasses import dataclass

import numpy as np

from kernelbook.certificates import Certificate
from kernelbook.solvers.grls.fourier.operator import (
    Normal,
    conjugate_gradients,
    to_complex,
    to_real,
)
from kernelbook.solvers.grls.fourier.sums import chunk_rows, in_parts, nufft, slices

__all__ = ["Solution", "System", "accuracy", "values"]

_STEPS = 1000
_SHARE = 0.3  # of tol for conjugate gradients; the rest is for the kernel
_RANK = 1e-12  # eigenvalues of PᵀDP below this part of the largest count as zero
_DOUBT = 1e-9


def accuracy(tol, reg, peak=1.0):
    """The relative error of the kernel at which it and the NUFFTs take at most ½ `tol` of `kkt`.

    Not below 10⁻¹⁴: where that is too much, `kkt` will say so.
    """
    return float(np.clip(0.4 * tol * reg / peak, 1e-14, 1e-2))


@dataclass
class Solution:
    """z as coefficients of e^(2πi⟨jh,x⟩), λ, and what can be said about them; a row an output.

    Attributes
    ----------
    coefficients : (k, n) complex array
        D_j v_j at the frequencies `Grid.K`.
    lam : (ℓ, k) array
    energy : (k,) array
        yᵀGy = cᵀ(Φ̃ + ρD⁻¹)c, divided by the square of the frame's `y_unit`.
    certificates : tuple of Certificate
    kernel_part : float
        How much of the largest `kkt` is the kernel's.
    n_iter : int
        Steps of conjugate gradients.
    """

    coefficients: np.ndarray
    lam: np.ndarray
    energy: np.ndarray
    certificates: tuple
    kernel_part: float
    n_iter: int


class System:
    """The normal equations of given statistics, for one γ.

    Parameters
    ----------
    frame : Frame
    statistics : Statistics
    reg : float
        γ > 0.
    """

    def __init__(self, frame, statistics, reg):
        if not 0 < reg < np.inf:
            raise ValueError(
                f"reg={reg!r} must be a positive finite number: solver='fourier' does not "
                "interpolate.  For reg=0 use solver='cholesky' or 'nullspace'."
            )
        statistics.check_finite()
        if not statistics.total > 0:
            raise ValueError(
                "sample_weight is zero for every sample; at least one must be positive."
            )
        self.frame, self.statistics, self.reg = frame, statistics, float(reg)
        # Eigenvectors of PᵀDP/W that are not zero: the range of the features on the sample.
        s, U = np.linalg.eigh(statistics.PP / statistics.total)
        self.values = s[::-1] / max(s.max(initial=0.0), np.finfo(float).tiny)
        kept = s > _RANK * s.max(initial=0.0) if s.size else np.zeros(0, bool)
        self._s, self._U, self._null = s[kept], U[:, kept], U[:, ~kept]
        self._to_range = self._U / np.sqrt(self._s) if s.size else U
        # C = ΨᵀDP/W, a row for each feature.
        self._C = to_real(statistics.FP * frame.grid.D) / statistics.total
        self._Q = self._to_range.T @ self._C
        self.A = Normal(frame.grid, statistics, reg, self._Q)

    @property
    def rank(self):
        """The rank of P on the sample."""
        return len(self._s)

    @property
    def doubtful(self):
        """Whether the rank has been decided in the midst of rounding."""
        return bool(np.any((self.values > _RANK / 30) & (self.values < _DOUBT)))

    def kernel_error(self):
        """ε: of the kernel, of the NUFFTs and of rounding, absolute."""
        return self.frame.grid.error + 4 * self.frame.eps * self.frame.grid.peak

    def solve(self, tol, progress=None, steps=None) -> Solution:
        """The minimizer for each target, to `tol` in units of `kkt` if that is possible."""
        statistics, W = self.statistics, self.statistics.total
        FY, PY = to_real(statistics.FY * self.frame.grid.D) / W, statistics.PY / W
        g = self._to_range.T @ PY
        B = FY - g.T @ self._Q
        rest = np.maximum(statistics.YY / W - np.sum(g * g, axis=0), 0.0)
        size = np.sqrt(rest) + 1e-4 * np.sqrt(statistics.raw / W)
        size = np.where(size > 0, size, 1.0)
        enough = _SHARE * tol * size * np.sqrt(self.reg)
        count = 0

        def counted(ratio):
            nonlocal count
            count += 1
            if progress is not None:
                progress(ratio)

        Z, R = conjugate_gradients(self.A, B, enough, steps or _STEPS, counted)

        with np.errstate(over="ignore"):  # of a reg near zero; an infinite kkt says enough
            primal = np.maximum(rest - np.sum(Z * (B + R), axis=1), 0.0)
            primal = np.maximum(primal, self.reg * np.sum(Z * Z, axis=1))
            gap = np.sum(R * R, axis=1) / self.reg
            misfit = np.sqrt(np.maximum(primal - self.reg * np.sum(Z * Z, axis=1), 0.0))
            kernel_part = self.kernel_error() / self.reg * (misfit + np.sqrt(gap)) / size
            kkt = np.sqrt(gap) / size + kernel_part
        unit = self.frame.y_unit
        with np.errstate(over="ignore"):
            coefficients = to_complex(Z) * self.frame.grid.D * unit[:, None]
            lam = (self.frame.offset + self._coefficients(g - self._Q @ Z.T)) * unit
            energy, primal, gap = primal / self.reg, primal * unit * unit, gap * unit * unit
        if not (np.isfinite(coefficients).all() and np.isfinite(lam).all()):
            raise ValueError("the coefficients overflow: scale y.")
        # An objective beyond the largest number has that as a lower bound.
        finite = np.isfinite(primal)
        lower = np.where(finite, primal, np.finfo(float).max) - np.where(finite, gap, 0.0)
        return Solution(
            coefficients=coefficients,
            lam=lam,
            energy=energy,
            certificates=tuple(
                Certificate(float(p), float(q), 0.0, float(k), gap=float(e))
                for p, q, k, e in zip(primal, lower, kkt, gap, strict=True)
            ),
            kernel_part=float(kernel_part.max(initial=0.0)),
            n_iter=count,
        )

    def _coefficients(self, G):
        """λ from coordinates in the range of P; where rank P < ℓ, by the rule of `column_space`.

        The rule: the smallest λ once every column of P has been scaled to largest entry one.
        """
        basis = self.frame.basis
        lam = basis @ (self._to_range @ G)
        if self._null.shape[1] and lam.size:
            size = self.statistics.size[:, None]
            free = basis @ self._null
            total = lam + self.frame.offset
            lam = lam - free @ np.linalg.lstsq(size * free, size * total, rcond=None)[0]
            lam[size[:, 0] == 0] = -self.frame.offset[size[:, 0] == 0]
        return lam

    def variance(self, X, P, tol=1e-6):
        """The variance of f at a few points per unit of scale, and a bound on its error.

        Parameters
        ----------
        X : (n, d) array
            Beyond the reach of the box the kernel part is that of the prior, κ(0).
        P : (n, ℓ) array
        tol : float
            The error aimed at, in units of γκ(0): the variance is small where samples are many.
        """
        grid, near = self.frame.grid, self.frame.grid.near(X)
        Psi = np.zeros((len(X), 2 * len(grid.D) - 1))
        theta = grid.angles(X[near]).T @ grid.K.T
        Psi[near] = to_real(np.exp(-1j * theta) * grid.D)
        p = (P @ self.frame.basis) @ self._to_range
        B = Psi - p @ self._Q
        enough = np.full(len(X), np.sqrt(tol * grid.peak * self.reg))
        Z, R = conjugate_gradients(self.A, B, enough, _STEPS)
        # γ bᵀA⁻¹b = γ(bᵀz + rᵀz + rᵀA⁻¹r), and the last term is the error.
        kernel = self.reg * np.sum((B + R) * Z, axis=1)
        error = np.sum(R * R, axis=1)
        flat = self.reg * np.sum(p * p, axis=1) + np.where(near, 0.0, grid.peak)
        return np.maximum(kernel, 0.0) + flat, error

    def coef_covariance(self, tol=1e-10):
        """(Pᵀ(Φ̃ + ρD⁻¹)⁻¹P)⁻¹, the covariance of λ per unit of scale."""
        enough = np.full(self.rank, np.sqrt(tol * self.reg))
        Z, _ = conjugate_gradients(self.A, self._Q, enough, _STEPS)
        inner = self.reg * (np.eye(self.rank) + self._Q @ Z.T)
        T = self.frame.basis @ self._to_range
        return T @ ((inner + inner.T) / 2) @ T.T


def values(grid, coefficients, X, eps) -> np.ndarray:
    """The kernel part of f, (m, k): zero beyond the reach of the grid, chunk by chunk elsewhere.

    Parameters
    ----------
    grid : Grid
    coefficients : (k, n) complex array
        As in `Solution`.
    X : (m, d) array
    eps : float
        The relative accuracy of the NUFFTs.
    """
    k = len(coefficients)
    out = np.zeros((len(X), k))
    boxes = _boxes(grid, coefficients)
    for rows in slices(len(X), chunk_rows(grid)):
        points, part = X[rows], out[rows]

        def task(r, points=points, part=part):
            near = grid.near(points[r])
            if near.any():
                part[r][near] = _at_points(grid, boxes, points[r][near], eps)[:, :k]

        in_parts(task, len(points))
    return out


def _at_points(grid, boxes, X, eps):
    """The functions in the boxes at points within reach, a column each."""
    plan = nufft().Plan(2, grid.box, len(boxes), eps, isign=1, nthreads=1)
    plan.setpts(*grid.angles(X))
    sums = plan.execute(boxes if len(boxes) > 1 else boxes[0]).reshape(len(boxes), -1)
    return np.stack([sums.real, sums.imag], axis=1).reshape(-1, sums.shape[1]).T


def _boxes(grid, coefficients):
    """Arrays of frequencies −J … J, two real functions in each."""
    k = len(coefficients)
    boxes = np.zeros(((k + 1) // 2, *grid.box), complex)
    plus, minus = tuple((grid.K + grid.J).T), tuple((grid.J - grid.K[1:]).T)
    for i, row in enumerate(coefficients):
        unit = 1j if i % 2 else 1.0
        boxes[i // 2][plus] += unit * row
        boxes[i // 2][minus] += unit * np.conj(row[1:])
    return boxes

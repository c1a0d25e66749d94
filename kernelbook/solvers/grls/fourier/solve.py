"""G-RLS in a Fourier basis: near-linear time in m, for one to three dimensions.

The kernel is replaced by k̃ of `fourier.grid`, a sum of N exponentials that differs from it by at
most ε.  What is then solved is no longer a problem about m kernel functions but a **primal basis
expansion**, ridge regression on N functions with the unpenalized features beside them; and all it
needs of the data are sums (`fourier.sums`).  Time: O(m) for the sums, O(N log N) for each step
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

Chapter: book/computing/beyond

References
----------
Greengard, Rachh & Barnett, arXiv:2210.10210 (2022); Rahimi & Recht, NIPS 2007, take the frequencies
at random.
"""

import numpy as np

from kernelbook.numeric.linalg import squared_norms
from kernelbook.numeric.tiles import slices
from kernelbook.solvers.grls.fourier import operator
from kernelbook.solvers.grls.fourier.operator import NormalOperator, to_complex, to_real
from kernelbook.solvers.grls.fourier.sums import chunk_rows, map_row_blocks, nufft
from kernelbook.solvers.grls.solution import Solution, certify

__all__ = [
    "FourierPosterior", "FourierSum", "System", "accuracy", "bytes_needed", "kernel_error",
]  # fmt: skip

MAX_ITER = 1000
CG_TOL_SHARE = 0.3  # of tol for conjugate gradients; the rest is for the kernel
FEATURE_RTOL = 1e-12  # eigenvalues of PᵀDP below this part of the largest count as zero
AMBIGUOUS_RTOL = 1e-9
VARIANCE_TOL = 1e-8  # in units of scale·κ(0)
_BLOCK_NUMBERS = 2**23  # of a block of basis functions at points


def accuracy(tol, reg, peak=1.0):
    """The relative error of the kernel at which it and the NUFFTs take at most ½ `tol` of `kkt`.

    Not below 10⁻¹⁴: where that is too much, `kkt` will say so.
    """
    return float(np.clip(0.4 * tol * reg / peak, 1e-14, 1e-2))


def bytes_needed(grid, columns):
    """What sums and products of so many columns, targets and features, take at once, about.

    The transforms go to 2^d times as many points as there are frequencies, a few arrays at a time.
    """
    return 16.0 * (columns + 4) * np.prod(2.0 * np.array(grid.box))


def kernel_error(frame):
    """ε: of the kernel, of the NUFFTs and of rounding, absolute."""
    return frame.grid.error + 4 * frame.eps * frame.grid.peak


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
        self.frame, self.statistics, self.reg = frame, statistics, float(reg)
        # Eigenvectors of PᵀDP/W that are not zero: the range of the features on the sample.
        s, U = np.linalg.eigh(statistics.PP / statistics.total)
        self.values = s[::-1] / max(s.max(initial=0.0), np.finfo(float).tiny)
        kept = s > FEATURE_RTOL * s.max(initial=0.0) if s.size else np.zeros(0, bool)
        self._s, self._U, self._null = s[kept], U[:, kept], U[:, ~kept]
        self._to_range = self._U / np.sqrt(self._s) if s.size else U
        # C = ΨᵀDP/W, a row for each feature.
        self._C = to_real(statistics.FP * frame.grid.sqrt_weights) / statistics.total
        self._Q = self._to_range.T @ self._C
        self.A = NormalOperator(frame.grid, statistics, reg, self._Q)

    @property
    def rank(self):
        """The rank of P on the sample."""
        return len(self._s)

    @property
    def rank_is_ambiguous(self):
        """Whether rounding has decided the rank."""
        return bool(np.any((self.values > FEATURE_RTOL / 30) & (self.values < AMBIGUOUS_RTOL)))

    def solve(self, tol, tick=None, max_iter=MAX_ITER) -> Solution:
        """The minimizer for each target, to `tol` in units of `kkt` if that is possible.

        `tick(ratio)` is called after each step of conjugate gradients, with the largest residual
        in units of what is wanted.
        """
        statistics, W, frame = self.statistics, self.statistics.total, self.frame
        # 1. The right-hand side, with the features projected out.
        FY, PY = to_real(statistics.FY * frame.grid.sqrt_weights) / W, statistics.PY / W
        g = self._to_range.T @ PY
        B = FY - g.T @ self._Q
        left = np.maximum(statistics.YY / W - squared_norms(g), 0.0)
        y_scale = np.sqrt(left) + 1e-4 * np.sqrt(statistics.raw / W)
        # 2. Conjugate gradients.
        tolerance = CG_TOL_SHARE * tol * np.where(y_scale > 0, y_scale, 1.0) * np.sqrt(self.reg)

        def ratio(residuals):
            tick(float(np.max(residuals / np.where(tolerance > 0, tolerance, 1e-300))))

        Z, R, steps = operator.solve(self.A, B, tolerance, max_iter, tick and ratio)
        # 3. The two bounds of the certificate.
        with np.errstate(over="ignore"):  # of a reg near zero; an infinite kkt says enough
            penalty, squares = self.reg * squared_norms(Z.T), squared_norms(R.T)
            primal = np.maximum(left - np.sum(Z * (B + R), axis=1), penalty)
            gap, misfit = squares / self.reg, np.sqrt(np.maximum(primal - penalty, 0.0))
            kernel_part = kernel_error(self.frame) / self.reg * (misfit + np.sqrt(gap))
            energy = primal / self.reg
            fit_error = np.sqrt(gap) + kernel_part
        certificates = certify(y_scale, frame.y_unit, primal, gap, fit_error)
        # 4. Back to the user's units.
        with np.errstate(over="ignore"):
            c = to_complex(Z) * frame.grid.sqrt_weights * frame.y_unit[:, None]
            lam = (frame.offset + self._coefficients(g - self._Q @ Z.T)) * frame.y_unit
        return Solution(
            *(c, lam, energy),
            y_unit=frame.y_unit,
            rank=self.rank,
            certificates=certificates,
            predictor=FourierSum(frame.grid, c, frame.eps),
            posterior=FourierPosterior(frame, statistics, self.reg),
            n_iter=steps,
            solver="fourier",
            warnings=self._warnings(),
            advice=self._advice(kernel_part, fit_error),
        )

    def _warnings(self):
        if not self.rank_is_ambiguous:
            return []
        return [
            f"the {len(self.statistics.PP)} free features are dependent on the sample only to "
            f"rounding; {self.rank} directions were kept.  Scale the features "
            "(Polynomials(scaled=True), StandardScaler), or take fewer of them."
        ]

    def _advice(self, kernel_part, fit_error):
        if np.all(kernel_part <= fit_error / 2):
            return "A larger max_iter, reg or tol help."
        return (
            "Most of kkt is there because the kernel is exact to "
            f"{kernel_error(self.frame):.1e} with {self.frame.grid.modes} Fourier functions (a "
            "bound, often pessimistic).  A larger reg or tol, a smoother or wider kernel, or an "
            "exact solver help."
        )

    def _coefficients(self, G):
        """λ from coordinates in the range of P; where rank P < ℓ, by the rule of `column_space`.

        The rule: the smallest λ once every column of P has been scaled to largest entry one.
        """
        basis = self.frame.basis
        lam = basis @ (self._to_range @ G)
        if self._null.shape[1] and lam.size:
            size = self.statistics.column_max[:, None]
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
            Beyond the support radius of the box the kernel part is that of the prior, κ(0).
        P : (n, ℓ) array
        tol : float
            The error aimed at, in units of γκ(0): the variance is small where samples are many.
        """
        grid, near = self.frame.grid, self.frame.grid.near(X)
        Psi = np.zeros((len(X), 2 * len(grid.sqrt_weights) - 1))
        theta = grid.angles(X[near]).T @ grid.frequencies.T
        Psi[near] = to_real(np.exp(-1j * theta) * grid.sqrt_weights)
        p = (P @ self.frame.basis) @ self._to_range
        B = Psi - p @ self._Q
        tolerance = np.full(len(X), np.sqrt(tol * grid.peak * self.reg))
        Z, R, _ = operator.solve(self.A, B, tolerance, MAX_ITER)
        # γ bᵀA⁻¹b = γ(bᵀz + rᵀz + rᵀA⁻¹r), and the last term is the error.
        kernel = self.reg * np.sum((B + R) * Z, axis=1)
        error = np.sum(R * R, axis=1)
        flat = self.reg * np.sum(p * p, axis=1) + np.where(near, 0.0, grid.peak)
        return np.maximum(kernel, 0.0) + flat, error

    def coef_covariance(self, tol=1e-10):
        """(Pᵀ(Φ̃ + ρD⁻¹)⁻¹P)⁻¹, the covariance of λ per unit of scale."""
        tolerance = np.full(self.rank, np.sqrt(tol * self.reg))
        Z, _, _ = operator.solve(self.A, self._Q, tolerance, MAX_ITER)
        inner = self.reg * (np.eye(self.rank) + self._Q @ Z.T)
        T = self.frame.basis @ self._to_range
        return T @ ((inner + inner.T) / 2) @ T.T


class FourierPosterior:
    """The posterior of a Fourier fit per unit of scale, from the sums; a flat prior on λ."""

    def __init__(self, frame, statistics, reg):
        self._parts = frame, statistics, reg

    def coef_covariance(self):
        return System(*self._parts).coef_covariance()

    def variance(self, X, P, diag=None):
        """The variance of f at the rows of X, and a warning or None."""
        system, grid = System(*self._parts), self._parts[0].grid
        variance, error = np.empty((2, len(X)))
        for rows in slices(0, len(X), max(1, min(512, _BLOCK_NUMBERS // grid.modes))):
            variance[rows], error[rows] = system.variance(X[rows], P[rows], VARIANCE_TOL)
        if error.max(initial=0.0) <= 2 * VARIANCE_TOL * grid.peak:
            return variance, None
        return variance, (
            f"the variance is exact only to {error.max():.1e}·scale_: conjugate gradients did not "
            "converge.  A larger reg helps."
        )


class FourierSum:
    """The kernel part of f: Σ_j c_j e^(2πi⟨jh,x⟩) within the support radius of the grid, 0 beyond.

    Parameters
    ----------
    grid : Grid
    c : (k, n) complex array
        At the frequencies `Grid.frequencies`.
    eps : float
        The relative accuracy of the NUFFTs.
    """

    def __init__(self, grid, c, eps):
        self.grid, self.c, self.eps = grid, c, eps

    def __call__(self, X):
        out, boxes = np.zeros((len(X), len(self.c))), _boxes(self.grid, self.c)
        for rows in slices(0, len(X), chunk_rows(self.grid)):
            points, part = X[rows], out[rows]

            def task(r, points=points, part=part):
                near = self.grid.near(points[r])
                if near.any():
                    values = _at_points(self.grid, boxes, points[r][near], self.eps)
                    part[r][near] = values[:, : len(self.c)]

            map_row_blocks(task, len(points))
        return out


def _at_points(grid, boxes, X, eps):
    """The functions in the boxes at points near the box, a column each."""
    plan = nufft().Plan(2, grid.box, len(boxes), eps, isign=1, nthreads=1)
    plan.setpts(*grid.angles(X))
    sums = plan.execute(boxes if len(boxes) > 1 else boxes[0]).reshape(len(boxes), -1)
    return np.stack([sums.real, sums.imag], axis=1).reshape(-1, sums.shape[1]).T


def _boxes(grid, coefficients):
    """Arrays of frequencies −J … J, two real functions in each."""
    K, J = grid.frequencies, grid.max_frequency
    boxes = np.zeros(((len(coefficients) + 1) // 2, *grid.box), complex)
    plus, minus = tuple((K + J).T), tuple((J - K[1:]).T)
    for i, row in enumerate(coefficients):
        unit = 1j if i % 2 else 1.0
        boxes[i // 2][plus] += unit * row
        boxes[i // 2][minus] += unit * np.conj(row[1:])
    return boxes

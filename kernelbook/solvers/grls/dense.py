"""G-RLS: squared loss, free features, exact to rounding, and certified.

The problem, for weights w (W = Σw, D = diag w), γ ≥ 0 and a kernel matrix Φ that is positive
semidefinite on ker Pᵀ:

    p(c, λ) = (1/W) Σ w_i (y_i − f_i)² + γ cᵀΦc,     f = Φc + Pλ,     Pᵀc = 0.

Setting the derivatives to zero gives, with ρ = Wγ, the saddle system

    (Φ + ρD⁻¹) c + Pλ = y,      Pᵀc = 0.                                                 (2)

Universal kriging, smoothing splines and SciPy's `RBFInterpolator` solve the same system.

**Scaling.**  With S = D^½, c = Su and SPT = Q orthonormal, (2) turns into the system with
identity noise and orthonormal features of `grls.saddle_factor`:

    (SΦS + ρI) u + Qν = Sy,      Qᵀu = 0,      λ = Tν.

Only the ratios of the weights enter.  Φ and y are divided by powers of two where their squares
would leave the range of floating-point numbers.  And since c depends on y only through what the
features leave of it (Frisch–Waugh), y is replaced by that remainder before the solve.

**Certificate.**  The dual is d(c) = 2γcᵀy − γcᵀ(Φ + ρD⁻¹)c over Pᵀc = 0.  For c in that subspace

    p(c, λ) − d(c) = (1/W) Σ w_i δ_i²,     δ = y − f − ρD⁻¹c:

the gap is the mean square of the residual of (2), never negative, and known to high *relative*
accuracy.  p is quadratic, so it also bounds (1/W) Σ w_i (f_i − f*_i)²: the root of the gap is a
bound on how far the fitted values are from the exact ones, in the mean.  `kkt` is that root in
units of y (of what the features leave of y, plus 10⁻⁴ of y itself).  The f of a certificate is
computed as predictions will be: with `solve(Y, evaluate)` from c and λ by `evaluate`, and not from
the Gram matrix, whose rounding a kernel far from the origin does not share with its products.

**Ill-conditioned systems** are refined: the residual of (2), computed with the coefficients as
they will be used, is solved for once more, as long as it shrinks.  Where ρ is lost in the
rounding of Φ the factorization itself fails; it is then repeated with a larger ρ and the
refinement does what it can.  What it achieved is in the certificate.

**γ = 0** asks for the interpolant of least seminorm, the limit γ → 0.  It exists for every y iff
Φ is definite on ker Pᵀ; otherwise this is an error.

**No kernel?**  Φ + ρI may be definite where Φ is not, if ρ is large; then (2) has a solution, which
minimizes nothing.  So a matrix that nobody vouches for is tried on ker Pᵀ by itself.

**Rounding.**  The posterior variance k(x,x) − … is a difference that may be far smaller than its
terms.  With f(x) = aᵀy, an error E in Φ moves it by aᵀEa, errors in k by 2aᵀδk; `variance` returns
what that amounts to for ‖E‖ = ε‖Φ‖, beside the variance itself.

References
----------
Li, Lee & Leung, *Generalized regularized least-squares learning with predefined features in a
Hilbert space*, NIPS 2006; Wahba, *Spline Models for Observational Data* (1990); Higham, *Accuracy
and Stability of Numerical Algorithms* (2002), chapter 12 (refinement).
"""

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from kernelbook.certificates import Certificate
from kernelbook.numeric.blas import SERIAL_RHS
from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.threads import serial_blas
from kernelbook.solvers.grls.saddle_factor import (
    NotPositiveDefinite,
    NullSpaceFactor,
    PackedSymmetric,
    SchurFactor,
    is_psd_on_null_space,
    project,
)

__all__ = ["METHODS", "Scaling", "Solution", "System"]

METHODS = ("auto", "cholesky", "nullspace")

_EPS = np.finfo(float).eps
_ENOUGH = 1e-13  # a relative residual not worth improving
_STEPS = 10
_ROWS = 256  # of P that are looked at together: a copy of them is small beside P


@dataclass
class Solution:
    """c, λ and what can be said about them; a column for each output.

    `energy` is yᵀGy = cᵀ(Φ + ρD⁻¹)c in units of `y_unit`²/`unit` (its own might overflow).
    """

    c: np.ndarray
    lam: np.ndarray
    energy: np.ndarray
    y_unit: np.ndarray
    certificates: tuple


class Scaling:
    """(Φ, P, w) brought to identity noise and orthonormal features; takes the array `gram` over.

    Attributes
    ----------
    gram : (m, m) array
        SΦS / unit, in the memory of the argument.
    root : (m, 1) array
        The diagonal of S, S² = D·m/W.
    Q, T : arrays
        S P T = Q, QᵀQ = I.
    unit : float
        A power of two: 1 unless Φ or ρ is enormous or minute.  A Φ below the smallest number of
        full precision, 2·10⁻³⁰⁸, is zero.
    norm : float
        The Frobenius norm of `gram`.
    """

    def __init__(self, gram, P, weights=None, rho=0.0):
        m = len(gram)
        self.root, self.P = np.ones((m, 1)), P
        if weights is not None and np.ptp(weights) > 0:
            w = np.maximum(weights / weights.max(), 1e-300)
            self.root = np.sqrt(w * (m / w.sum()))[:, None]
            gram *= self.root
            gram *= self.root.T
            self.P = self.root * P
        self.features = column_space(P, self.root[:, 0] ** 2)
        self.Q, self.T = self.features.Q, self.features.T
        self.gram = gram
        self.unit, self.norm = 1.0, self._norm()
        if not (1e-100 < self.norm < 1e100 and (rho == 0 or 1e-100 < rho < 1e100)):
            self.unit = self._choose_unit(rho)
            gram /= self.unit
            self.norm = self._norm()

    def _norm(self):
        entries = self.gram.ravel()
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sqrt(np.dot(entries, entries)))

    def _choose_unit(self, rho):
        largest = max(self.gram.max(), -self.gram.min())
        if not np.isfinite(largest):
            raise ValueError(
                "the kernel matrix of the sample has entries that are NaN or infinite: rescale X, "
                "or choose a kernel whose values stay finite on it."
            )
        if largest < np.finfo(float).tiny:  # subnormal numbers, which have lost their digits
            self.gram[...] = 0.0
            largest = 0.0
        return power_of_two(max(largest, rho))


class System:
    """The factored system (2), for any number of right-hand sides.

    Parameters
    ----------
    gram : (m, m) array
        Φ, symmetric; C-contiguous float64.  Its memory is taken over and overwritten.
    P : (m, ℓ) array
        Any rank; ℓ = 0 is allowed.
    reg : float
        γ ≥ 0.
    weights : (m,) array of positive numbers, optional
    method : {"auto", "cholesky", "nullspace"}
        "auto" tries Cholesky with Schur complement first, then the null space.
    rounding : float, optional
        Given where nobody vouches for Φ: how exact its entries are, relatively.  That Φ is positive
        semidefinite on ker Pᵀ is then tried, for the price of a second factorization.
    """

    @serial_blas  # what is large, the factorization, has threads of its own
    def __init__(self, gram, P, reg, weights=None, method="auto", rounding=None):
        m, reg = len(gram), float(reg)
        if not 0 <= m * reg < np.inf:
            raise ValueError(
                f"reg={reg!r} times the {m} samples must be a finite number ≥ 0; a reg above some "
                "1e16 times the largest value of the kernel leaves the features alone anyway."
            )
        # An interpolant does not depend on the weights, but scaling by them could ruin the factor.
        self.scaling = Scaling(gram, P, weights if reg > 0 else None, m * reg)
        self.rho = m * reg / self.scaling.unit
        # Rounding moves the eigenvalues of Φ by some ε‖Φ‖ (Frobenius norm).
        self.noise = _EPS * self.scaling.norm
        self.store = PackedSymmetric(self.scaling.gram, 4 * self.noise)
        self.jitter = 0.0
        if rounding is not None and self.noise > 0:
            if not is_psd_on_null_space(self.store, self.scaling.Q, rounding * self.scaling.norm):
                raise ValueError(self._not_semidefinite(method))
        self.factor = self._factor(method)

    @property
    def rank(self):
        """The rank of P on the sample."""
        return self.scaling.Q.shape[1]

    def _factor(self, method):
        kinds = {
            "auto": (SchurFactor, NullSpaceFactor),
            "cholesky": (SchurFactor,),
            "nullspace": (NullSpaceFactor,),
        }[method]
        jitters = (0.0, 10 * self.noise, 1000 * self.noise) if self.rho > 0 else (0.0,)
        for jitter in jitters:
            for kind in kinds:
                try:
                    factor = kind(self.store, self.scaling.Q, self.rho, jitter)
                except NotPositiveDefinite:
                    continue
                self.jitter = jitter
                return factor
        if self.rho == 0:
            raise ValueError(
                "reg=0 asks for interpolation, but the kernel matrix is singular to rounding "
                "(duplicate points? a kernel that is too wide, or not strictly definite?): use "
                "reg > 0."
            )
        raise ValueError(self._not_semidefinite(method))

    def _not_semidefinite(self, method):
        where = (
            "" if method == "cholesky" or not self.rank else " on the null space of the features"
        )
        return (
            f"the kernel matrix is not positive semidefinite{where}: it is no kernel, or it is a "
            "conditionally positive definite one whose polynomials are not among the features."
        )

    def solve(self, Y, evaluate=None) -> Solution:
        """The minimizer for each column of Y.

        `evaluate(c, λ)` is f on the sample as it will be predicted; without it, Φc + Pλ.
        """
        with serial_blas if Y.shape[1] <= SERIAL_RHS else nullcontext():
            return self._solve(Y, evaluate)

    def _solve(self, Y, evaluate):
        scaling, m = self.scaling, len(Y)
        y_unit = power_of_two(np.abs(Y).max(axis=0))
        target = scaling.root * (Y / y_unit)
        rest = project(scaling.Q, target)
        size = _norms(rest) + 1e-4 * _norms(target)

        # Start from the features alone: where they explain y to rounding, c stays exactly zero.
        U, product = np.zeros_like(target), np.zeros_like(target)
        lam = scaling.T @ (scaling.Q.T @ target)
        residual = target - scaling.P @ lam
        enough = np.maximum(_ENOUGH * size, 16 * _EPS * _norms(target))
        unfinished = _norms(residual) > enough
        for _ in range(_STEPS):
            if not unfinished.any():
                break
            dU, d_nu = self.factor.solve(residual)
            dU, d_nu = dU * unfinished, d_nu * unfinished
            trial = self._at(project(scaling.Q, U + dU), lam + scaling.T @ d_nu, target)
            before, after = _norms(residual), _norms(trial[3])
            better = after < before
            U, lam, product, residual = (
                np.where(better, new, old)
                for new, old in zip(trial, (U, lam, product, residual), strict=True)
            )
            unfinished = (after < 0.9 * before) & (after > enough)
        with np.errstate(over="ignore"):
            c, coef = scaling.root * U * (y_unit / scaling.unit), lam * y_unit
        if not (np.isfinite(c).all() and np.isfinite(coef).all()):
            raise ValueError("the coefficients overflow: rescale y, or the kernel.")
        if evaluate is not None:
            residual = target - scaling.root * (evaluate(c, coef) / y_unit) - self.rho * U
        kkt = _norms(residual) / np.where(size > 0, size, 1.0)

        quadratic = np.sum(U * product, axis=0)
        if np.any(quadratic < -1e-8 * scaling.norm * np.sum(U * U, axis=0)):
            raise ValueError(
                "the kernel matrix is not positive semidefinite where Pᵀc = 0: cᵀΦc < 0 was found, "
                "and the objective has no minimum.  It is no kernel, or a conditionally positive "
                "definite one whose polynomials are not among the features."
            )
        quadratic = np.maximum(quadratic, 0.0)
        loss = _norms(residual + self.rho * U) ** 2
        with np.errstate(over="ignore"):
            primal = (loss + self.rho * quadratic) / m * y_unit * y_unit
            gap = _norms(residual) ** 2 / m * y_unit * y_unit
        # Where the objective is above the largest number, that number is the bound below it.
        dual = np.minimum(primal, np.finfo(float).max) - np.where(np.isfinite(primal), gap, 0.0)
        constraint = _relative_constraint(scaling.P, U)
        return Solution(
            c=c,
            lam=coef,
            energy=quadratic + self.rho * np.sum(U * U, axis=0),
            y_unit=y_unit,
            certificates=tuple(
                Certificate(*map(float, row))
                for row in zip(primal, dual, constraint, kkt, strict=True)
            ),
        )

    def _at(self, U, lam, target):
        """U, λ, ΦU, and the residual of the scaled system at these very coefficients."""
        product = self.store.times(U)
        return U, lam, product, target - self.scaling.P @ lam - product - self.rho * U

    def variance(self, k_xx, k, p):
        """The posterior variance of f(x) per unit of scale, a flat prior on λ; and its rounding.

        Parameters
        ----------
        k_xx : (n,) array
            Φ(x, x).
        k : (n, m) array
            Φ(x, x_i).
        p : (n, ℓ) array
            φ_p(x).
        """
        unit, root = self.scaling.unit, self.scaling.root
        k_xx, k = k_xx / unit, root * (k.T / unit)
        v, a = self.factor.variance(k_xx, k, (p @ self.scaling.T).T)
        rounding = 4 * _EPS * (np.abs(v) + np.abs(k_xx) + 2 * np.sum(np.abs(a * k), axis=0))
        rounding += (4 * self.noise + self.jitter) * np.sum(a * a, axis=0)
        return np.maximum(v, 0.0) * unit, rounding * unit

    def semidefinite(self):
        """Whether Φ is positive semidefinite to rounding, not only where Pᵀc = 0."""
        upper = np.triu(self.store.square, 1)
        Phi = upper + upper.T
        np.fill_diagonal(Phi, self.store.diagonal)
        return bool(np.linalg.eigvalsh(Phi)[0] >= -1e3 * _EPS * self.scaling.norm)

    def coef_covariance(self):
        """(Pᵀ(Φ + ρD⁻¹)⁻¹P)⁻¹, the covariance of λ per unit of scale."""
        T = self.scaling.T
        with np.errstate(over="ignore", invalid="ignore"):
            return T @ self.factor.feature_covariance() @ T.T * self.scaling.unit


def power_of_two(x):
    """The power of two just below each positive x; 1 for zero."""
    exponent = np.frexp(np.where(np.asarray(x) > 0, x, 1.0))[1] - 1
    return np.ldexp(1.0, exponent)


def _norms(A):
    return np.sqrt(np.einsum("ij,ij->j", A, A))


def _relative_constraint(P, U):
    """The largest |Σ_i P_ip c_i| / Σ_i |P_ip c_i| for each column."""
    size = np.maximum(P.max(axis=0, initial=0.0), -P.min(axis=0, initial=0.0))
    sums = sizes = 0.0
    for i in range(0, len(P), _ROWS):
        part, rest = P[i : i + _ROWS] / np.where(size > 0, size, 1.0), U[i : i + _ROWS]
        sums, sizes = sums + part.T @ rest, sizes + np.abs(part).T @ np.abs(rest)
    sums = np.abs(sums)
    return np.max(sums / np.where(sizes > 0, sizes, 1.0), axis=0, initial=0.0)

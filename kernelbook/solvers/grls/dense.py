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
units of y (of what the features leave of y, plus 10⁻⁴ of y itself).  `fit` computes the f of its
certificate as predictions will be, with the predictor that it returns, and not from the Gram
matrix, whose rounding a kernel far from the origin does not share with its products.

**Ill-conditioned systems** are refined: the residual of (2), computed with the coefficients as
they will be used, is solved for once more, as long as it shrinks.  Where ρ is lost in the
rounding of Φ the factorization itself fails; it is then repeated with a larger ρ and the
refinement does what it can.  What it achieved is in the certificate.

**γ = 0** asks for the interpolant of least seminorm, the limit γ → 0.  It exists for every y iff
Φ is definite on ker Pᵀ; otherwise this is an error.

**No kernel?**  Φ + ρI may be definite where Φ is not, if ρ is large; then (2) has a solution, which
minimizes nothing.  So a matrix that is not known to be one is tried on ker Pᵀ by itself.

**Rounding.**  The posterior variance k(x,x) − … is a difference that may be far smaller than its
terms.  With f(x) = aᵀy, an error E in Φ moves it by aᵀEa, errors in k by 2aᵀδk; `variance` returns
what that amounts to for ‖E‖ = ε‖Φ‖, beside the variance itself.

Chapter: book/free/grls

References
----------
Li, Lee & Leung, *Generalized regularized least-squares learning with predefined features in a
Hilbert space*, NIPS 2006; Wahba, *Spline Models for Observational Data* (1990); Higham, *Accuracy
and Stability of Numerical Algorithms* (2002), chapter 12 (refinement).
"""

from dataclasses import replace
from functools import partial

import numpy as np

from kernelbook.numeric.blas import SERIAL_RHS
from kernelbook.numeric.facts import gram_facts
from kernelbook.numeric.linalg import (
    norms,
    project_out,
    refine,
    rounding_of,
    squared_norms,
    symmetric_copy,
)
from kernelbook.numeric.threads import serial_blas
from kernelbook.solvers.grls.posterior import DensePosterior
from kernelbook.solvers.grls.predictor import GramColumns, KernelExpansion, fitted_values
from kernelbook.solvers.grls.problem import Scaled, ScaledGram, Target, relative_constraint
from kernelbook.solvers.grls.saddle_factor import (
    PackedSymmetric,
    factored,
    is_psd_on_null_space,
)
from kernelbook.solvers.grls.solution import (
    Solution,
    certify,
    rank_warnings,
    zero_kernel_warnings,
)

__all__ = ["System", "fit", "gram_and_rounding"]

_EPS = np.finfo(float).eps
REFINEMENT_RTOL = 1e-13  # a relative residual not worth improving
MAX_REFINEMENTS = 10

_INDEFINITE = (
    "the kernel matrix is not positive semidefinite{where}: it is no kernel, or it is a "
    "conditionally positive definite one whose polynomials are not among the features."
)


def gram_and_rounding(kernel, X, shift=None):
    """A Gram matrix that a solver may overwrite, and how exact its entries are, relatively; None
    where it is known that the kernel is positive definite.  `kernel` None: X is the matrix.
    """
    if kernel is None:
        gram = symmetric_copy(X)
        return gram, rounding_of(gram)
    gram = kernel(X if shift is None else X - shift.origin)
    return gram, None if kernel._proven else rounding_of(gram)


def fit(kernel, X, P, Y, reg, weights=None, method="auto", shift=None, columns=slice(None)):
    """The minimizer for each column of Y, with its predictor, its posterior and its certificate.

    Parameters
    ----------
    kernel : Kernel or None
        None: X is the Gram matrix.
    X : (m, d) rows, or (m, m) array
    P : (m, ℓ) array
    Y : (m, k) array
    reg, weights, method
        As for `System`.
    shift : OriginShift, optional
    columns : array, optional
        For a Gram matrix, the columns that belong to its rows wherever predictions are asked for.
    """
    gram, rounding = gram_and_rounding(kernel, X, shift)
    facts = gram_facts(gram) if shift is None else None
    predictor = GramColumns(columns) if kernel is None else KernelExpansion(kernel, X, shift=shift)
    predicted, few = partial(fitted_values, predictor, X, P), Y.shape[1] <= SERIAL_RHS
    with serial_blas:
        system = System(gram, P, reg, weights, method, rounding)
        if few:
            solution = system.solve(Y, predicted)
        posterior = _posterior(predictor, system, (P, reg, weights, method))
    if not few:  # products with so many columns are worth several threads
        solution = system.solve(Y, predicted)
    solution.predictor, predictor.c = predictor, solution.c
    solution.solver, solution.posterior = system.factor.name, posterior
    solution.facts = facts
    solution.warnings = rank_warnings(system.problem.features, P) + zero_kernel_warnings(
        system.rounding_level == 0, system.rank, len(Y)
    )
    return solution


def _posterior(predictor, system, refit):
    """What variances are computed from; the factored system is kept only if it must be."""
    covariance, shift = None, predictor.shift
    kernel = getattr(predictor, "kernel", None)
    if kernel is None or kernel.cpd_order == 0:
        covariance = system.coef_covariance()
    if covariance is not None and shift is not None:
        at_g = system.solve(shift.g[:, None])
        covariance = shift.covariance(covariance, at_g.c[:, 0], at_g.lam[:, 0])
    known_psd = kernel is not None and kernel._proven
    kept = system if kernel is None else None
    return DensePosterior(predictor, refit, System, kept, covariance, known_psd)


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
        Given where it is not known whether Φ is positive semidefinite on ker Pᵀ: the relative
        accuracy of its entries.  Φ is then tested, at the cost of a second factorization.

    The caller holds BLAS to one thread, as `fit` does: the factorization has threads of its own.
    """

    def __init__(self, gram, P, reg, weights=None, method="auto", rounding=None):
        m, reg = len(gram), float(reg)
        if not 0 <= m * reg < np.inf:
            raise ValueError(
                f"reg={reg!r} times the {m} samples must be a finite number ≥ 0; a reg above some "
                "1e16 times the largest value of the kernel leaves the features alone anyway."
            )
        # An interpolant does not depend on the weights, but scaling by them could ruin the factor.
        self.problem = Scaled(P, weights if reg > 0 else None)
        self.rank = self.problem.rank
        self.gram = ScaledGram(gram, self.problem, m * reg)
        self.rho = m * reg / self.gram.unit
        # Rounding moves the eigenvalues of Φ by some ε‖Φ‖ (Frobenius norm).
        self.rounding_level = _EPS * self.gram.norm
        level, Q = self.rounding_level, self.problem.Q
        self.store = PackedSymmetric(self.gram.matrix, 4 * level)
        psd = (
            rounding is None
            or level == 0
            or is_psd_on_null_space(self.store, Q, rounding * self.gram.norm)
        )
        self.factor = factored(self.store, Q, self.rho, method, level) if psd else None
        if self.factor is None:
            raise ValueError(self._no_factor(psd, method))

    @property
    def jitter(self):
        """What had to be added to ρ before there was a factor."""
        return self.factor.jitter

    def _no_factor(self, psd, method):
        if psd and self.rho == 0:
            return (
                "reg=0 asks for interpolation, but the kernel matrix is singular to rounding "
                "(duplicate points? a kernel that is too wide, or not strictly definite?): use "
                "reg > 0."
            )
        everywhere = method == "cholesky" or not self.rank
        return _INDEFINITE.format(where="" if everywhere else " on the null space of the features")

    def solve(self, Y, predicted=None) -> Solution:
        """The minimizer for each column of Y.

        `predicted(c, λ)` returns λ as it will be kept and f on the sample as it will be predicted;
        without it λ and Φc + Pλ.
        """
        target = Target(self.problem, Y)
        # 1. Solve and refine, from the features alone: where these explain y to rounding, c
        #    stays exactly zero.
        zero = np.zeros_like(target.values)
        tolerance = np.maximum(REFINEMENT_RTOL * target.y_scale, target.rounding)
        U, lam, product, residual = refine(
            lambda state, active: self._improved(state, active, target),
            (zero, target.lam, zero, target.residual),
            tolerance,
            MAX_REFINEMENTS,
            rate=0.9,
        )
        # 2. Back to the user's units, and the residual of f as it will be predicted.
        y_unit, root = target.y_unit, self.problem.sqrt_weights
        with np.errstate(over="ignore"):
            c, lam = root * U * (y_unit / self.gram.unit), lam * y_unit
        square = squared_norms(U)
        quadratic = self._quadratic_form(U, product, square)
        energy = quadratic + self.rho * square
        solution = Solution(c, lam, energy, y_unit, self.rank, (), unit=self.gram.unit)
        if predicted is not None:
            solution.lam, f = predicted(c, lam)
            residual = target.values - root * (f / y_unit) - self.rho * U
        # 3. Certify: the gap is the mean square of the residual.
        certificates = certify(
            *(target.y_scale, y_unit),
            primal=squared_norms(residual + self.rho * U) + self.rho * quadratic,
            gap=squared_norms(residual),
            fit_error=norms(residual),
            constraint=relative_constraint(self.problem.P, U),
            m=len(Y),
        )
        return replace(
            solution,
            certificates=certificates,
            advice="The linear system is too ill-conditioned: a larger reg, a narrower kernel "
            "or scaled data help.",
        )

    def _improved(self, state, active, target):
        """One step of refinement: solve for the residual of the unfinished columns."""
        U, lam, _, residual = state
        dU, d_nu = self.factor.solve(residual)
        U = project_out(self.problem.Q, U + dU * active)
        lam = lam + self.problem.T @ (d_nu * active)
        product = self.store.times(U)
        residual = target.values - self.problem.P @ lam - product - self.rho * U
        return U, lam, product, residual

    def _quadratic_form(self, U, product, square):
        """uᵀΦu, an error where it is negative beyond rounding; `square` is uᵀu."""
        value = np.einsum("ij,ij->j", U, product)
        if np.any(value < -1e-8 * self.gram.norm * square):
            raise ValueError(
                _INDEFINITE.format(
                    where=" where Pᵀc = 0: cᵀΦc < 0 was found, and the objective has no minimum"
                )
            )
        return np.maximum(value, 0.0)

    @serial_blas
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
        unit, root = self.gram.unit, self.problem.sqrt_weights
        k_xx, k = k_xx / unit, root * (k.T / unit)
        v, a = self.factor.variance(k_xx, k, (p @ self.problem.T).T)
        rounding = 4 * _EPS * (np.abs(v) + np.abs(k_xx) + 2 * np.sum(np.abs(a * k), axis=0))
        rounding += (4 * self.rounding_level + self.jitter) * squared_norms(a)
        return np.maximum(v, 0.0) * unit, rounding * unit

    @serial_blas
    def covariance(self, K_xx, k, p):
        """The posterior covariance of several values, as `variance`, from the (n, n) prior one."""
        unit, root = self.gram.unit, self.problem.sqrt_weights
        k = root * (k.T / unit)
        return self.factor.covariance(K_xx / unit, k, (p @ self.problem.T).T) * unit

    def influence(self, Y):
        """GY, without refinement."""
        root = self.problem.sqrt_weights
        return root * self.factor.solve(root * Y)[0] / self.gram.unit

    @serial_blas
    def diagonal(self):
        """G_ii, where c = Gy; and the share of noise in the variance of y_i, ρG_ii/w_i ≤ 1."""
        inner, root = self.factor.diagonal(), self.problem.sqrt_weights[:, 0]
        return root**2 * inner / self.gram.unit, self.rho * inner

    def is_semidefinite(self):
        """Whether Φ is positive semidefinite to rounding, not only where Pᵀc = 0."""
        upper = np.triu(self.store.square, 1)
        Phi = upper + upper.T
        np.fill_diagonal(Phi, self.store.diagonal)
        return bool(np.linalg.eigvalsh(Phi)[0] >= -1e3 * self.rounding_level)

    def coef_covariance(self):
        """(Pᵀ(Φ + ρD⁻¹)⁻¹P)⁻¹, the covariance of λ per unit of scale."""
        T = self.problem.T
        with np.errstate(over="ignore", invalid="ignore"):
            return T @ self.factor.feature_covariance() @ T.T * self.gram.unit

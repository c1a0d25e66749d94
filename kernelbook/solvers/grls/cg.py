"""G-RLS on the full kernel without the kernel matrix: projected, preconditioned CG.

In the units of `grls.problem`, K̃ = SKS and M = I − QQᵀ, the system of G-RLS on the null space of
the features is

    (MK̃M + ρI) u = Mỹ,      Qᵀu = 0,      ρ = mγ,                                          (1)

symmetric and positive definite there, also for conditionally positive definite kernels.  A product
with it is one pass over the upper half of the kernel matrix, which is never stored.  The answer
is the exact one, to the tolerance that the certificate shows: c = Su, with Pᵀc = 0.

**Preconditioner.**  For K(x, x) ≤ 1 the eigenvalues of (1) lie between ρ and ρ + m; without help it
takes up to ½√(1 + 1/γ) steps a factor e.  The Nyström approximation F Fᵀ ≈ MK̃M of `nystrom.basis`
captures the large ones, and by Woodbury's formula

    (FFᵀ + ρI)⁻¹ = (I − F(FᵀF + ρI)⁻¹Fᵀ)/ρ.

F is m×r and kept; what it misses of K̃ decides the number of steps.

**Certificate**: that of the exact solver, since Qᵀu = 0 holds to rounding.  The gap is the mean
square of the residual δ = ỹ − S f − ρu, recomputed from the coefficients as predictions use
them.

Chapter: book/computing/beyond

References
----------
Frangella, Tropp & Udell, *Randomized Nyström preconditioning*, SIAM J. Matrix Anal. Appl. 44
(2023); Wang et al., *Exact Gaussian processes on a million data points*, NeurIPS 2019.
"""

import numpy as np
from scipy import linalg

from kernelbook.numeric.conjugate_gradients import restarted
from kernelbook.numeric.linalg import cholesky_shifted, norms, project_out, squared_norms
from kernelbook.numeric.tiles import silent
from kernelbook.solvers.grls.predictor import KernelExpansion
from kernelbook.solvers.grls.problem import Scaled, Target, relative_constraint
from kernelbook.solvers.grls.solution import Solution, certify, rank_warnings

__all__ = ["solve"]

_EPS = np.finfo(float).eps


def solve(kernel, X, P, Y, reg, weights=None, basis=None, tol=1e-8, max_iter=1000, tick=silent):
    """The minimizer for each column of Y.

    Parameters
    ----------
    kernel : Kernel
    X : (m, d) rows
    P : (m, ℓ) array
        Any rank; ℓ = 0 is allowed.
    Y : (m, k) array
    reg : float
        γ > 0.
    weights : (m,) array of positive numbers, optional
    basis : CenterBasis, optional
        Of the preconditioner; without it there is none.
    tol : float
        Wanted for `kkt`.
    max_iter : int
        The largest number of products with the kernel matrix, beyond those that compute residuals.
    tick : callable, optional
        tick(rows) as products proceed.
    """
    m = X.shape[0]
    rho = m * float(reg)
    if not 0 < rho < np.inf:
        raise ValueError(f"reg={reg!r} times the {m} samples must be a finite number > 0.")
    problem = Scaled(P, weights)
    target, Q, root = Target(problem, Y), problem.Q, problem.sqrt_weights

    def product(V):
        return kernel.gram_matvec(X, V, tick)

    def apply(V):
        return project_out(Q, root * product(root * project_out(Q, V))) + rho * V

    def evaluate(U):
        """U, λ, K̃U, the residual δ of the coefficients as they are used, and its projection."""
        U = project_out(Q, U)
        g = product(root * U) if U.any() else np.zeros_like(U)
        lam, _ = target.fit_features(g - (rho * U) / root)
        residual = target.values - root * g - problem.P @ lam - rho * U
        return U, lam, root * g, residual, project_out(Q, residual) * ~target.explained

    state, steps, negative = restarted(
        *(apply, _preconditioner(basis, X, problem, rho), evaluate),
        evaluate(np.zeros_like(target.values)),
        tol * target.y_scale,
        max_iter,
    )
    U, lam, KU, residual, _ = state
    quadratic = np.einsum("ij,ij->j", U, KU)
    if negative.any() or np.any(quadratic < -1e-8 * norms(U) * norms(KU)):
        raise ValueError(
            f"{kernel!r} is not positive semidefinite on the sample where Pᵀc = 0: it is no "
            "kernel, or a conditionally positive definite one whose polynomials are not among "
            "the features."
        )
    penalty = rho * np.maximum(quadratic, 0.0)
    primal = squared_norms(residual + rho * U) + penalty
    gap = np.minimum(squared_norms(residual), primal)
    with np.errstate(over="ignore"):
        c, lam = root * U * target.y_unit, lam * target.y_unit
    constraint = relative_constraint(problem.P, U)
    return Solution(
        *(c, lam),
        energy=penalty / rho + rho * squared_norms(U),
        y_unit=target.y_unit,
        rank=problem.rank,
        certificates=certify(
            target.y_scale, target.y_unit, primal, gap, np.sqrt(gap), constraint, m
        ),
        predictor=KernelExpansion(kernel, X, c),
        n_iter=steps,
        solver="cg",
        warnings=rank_warnings(problem.features, P),
    )


def _preconditioner(basis, X, problem, rho):
    if basis is None or basis.rank == 0:
        return lambda R: R / rho
    F = basis.evaluate(X)
    F *= problem.sqrt_weights * np.sqrt(basis.unit)
    F = project_out(problem.Q, F)
    gram = F.T @ F
    factor = cholesky_shifted(gram, rho, _EPS * np.linalg.norm(gram))

    def precondition(R):
        inner = linalg.cho_solve(factor, F.T @ R, check_finite=False)
        return project_out(problem.Q, (R - F @ inner) / rho)

    return precondition

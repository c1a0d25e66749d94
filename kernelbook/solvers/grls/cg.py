"""G-RLS on the full kernel without the kernel matrix: projected, preconditioned CG.

In the units of `grls.problem`, K̃ = SKS and M = I − QQᵀ, the system of G-RLS on the null space of
the
features is

    (MK̃M + ρI) u = Mỹ,      Qᵀu = 0,      ρ = mγ,                                          (1)

symmetric and positive definite there, also for conditionally positive definite kernels.  A product
with it is one pass over the upper half of the kernel matrix, whose tiles are forgotten.  The answer
is the exact one, to the tolerance that the certificate shows: c = Su, with Pᵀc = 0.

**Preconditioner.**  For K(x, x) ≤ 1 the eigenvalues of (1) lie between ρ and ρ + m; without help it
takes up to ½√(1 + 1/γ) steps a factor e.  The Nyström approximation F Fᵀ ≈ MK̃M of `nystrom.basis`
knows the large ones, and by Woodbury's formula

    (FFᵀ + ρI)⁻¹ = (I − F(FᵀF + ρI)⁻¹Fᵀ)/ρ.

F is m×r and kept; what it leaves of K̃ decides the number of steps.

**Certificate**: that of the exact solver, since Qᵀu = 0 holds to rounding.  The gap is the mean
square of the residual δ = ỹ − S f − ρu, computed anew from the coefficients as predictions use
them.

References
----------
Frangella, Tropp & Udell, *Randomized Nyström preconditioning*, SIAM J. Matrix Anal. Appl. 44
(2023); Wang et al., *Exact Gaussian processes on a million data points*, NeurIPS 2019.
"""

import numpy as np
from scipy import linalg

from kernelbook.numeric.conjugate_gradients import conjugate_gradients, norms
from kernelbook.numeric.tiles import silent
from kernelbook.solvers.grls.nystrom.normal_equations import factored
from kernelbook.solvers.grls.problem import IterativeSolution, ScaledData
from kernelbook.solvers.grls.saddle_factor import project

__all__ = ["solve"]

_EPS = np.finfo(float).eps
_ROUNDS = 6  # residuals computed anew


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
        At most so many products with the kernel matrix, beyond those that compute residuals.
    tick : callable, optional
        tick(rows) as products proceed.
    """
    data, m = ScaledData(P, Y, weights), X.shape[0]
    rho = m * float(reg)
    if not 0 < rho < np.inf:
        raise ValueError(f"reg={reg!r} times the {m} samples must be a finite number > 0.")
    Q, root = data.Q, data.root

    def product(V):
        return kernel.gram_matvec(X, V, tick)

    def apply(V):
        return project(Q, root * product(root * project(Q, V))) + rho * V

    precondition = _preconditioner(basis, X, data, rho)
    enough, unfinished = tol * data.size, ~data.explained
    U, steps = np.zeros_like(data.target), 0
    state = _evaluate(data, product, rho, U)
    for _ in range(_ROUNDS):
        before = norms(state[3])
        unfinished &= before > enough
        if not unfinished.any() or steps >= max_iter:
            break
        left = np.maximum(0.5 * enough, 1e-9 * before)
        right = project(Q, state[3]) * unfinished
        dU, used, negative = conjugate_gradients(apply, precondition, right, left, max_iter - steps)
        if negative.any():
            raise _indefinite(kernel)
        steps += used
        trial = _evaluate(data, product, rho, project(Q, U + dU))
        better = norms(trial[3]) < before
        state = tuple(np.where(better, new, old) for new, old in zip(trial, state, strict=True))
        U = state[0]
        unfinished &= norms(state[3]) < 0.5 * before
    return _finish(kernel, data, rho, state, steps)


def _preconditioner(basis, X, data, rho):
    if basis is None or basis.rank == 0:
        return lambda R: R / rho
    F = basis.evaluate(X)
    F *= data.root * np.sqrt(basis.unit)
    F = project(data.Q, F)
    gram = F.T @ F
    factor = factored(gram, rho, _EPS * np.linalg.norm(gram))

    def precondition(R):
        inner = linalg.cho_solve(factor, F.T @ R, check_finite=False)
        return project(data.Q, (R - F @ inner) / rho)

    return precondition


def _evaluate(data, product, rho, U):
    """U, λ, K̃U and the residual δ, from the coefficients as they are used."""
    g = product(data.root * U) if U.any() else np.zeros_like(U)
    lam, _ = data.given(g - (rho * U) / data.root)
    return U, lam, data.root * g, data.target - data.root * g - data.P @ lam - rho * U


def _finish(kernel, data, rho, state, steps):
    U, lam, KU, residual = state
    quadratic = np.einsum("ij,ij->j", U, KU)
    if np.any(quadratic < -1e-8 * norms(U) * norms(KU)):
        raise _indefinite(kernel)
    penalty = rho * np.maximum(quadratic, 0.0)
    loss = norms(residual + rho * U) ** 2
    gap = np.minimum(norms(residual) ** 2, loss + penalty)
    with np.errstate(over="ignore"):
        c, coef = data.root * U * data.y_unit, lam * data.y_unit
    if not (np.isfinite(c).all() and np.isfinite(coef).all()):
        raise ValueError("the coefficients overflow: rescale y, or the kernel.")
    return IterativeSolution(
        *(c, coef),
        energy=penalty / rho + rho * norms(U) ** 2,
        y_unit=data.y_unit,
        unit=1.0,
        features=data.features,
        certificates=data.certificates(loss, penalty, gap, U),
        n_iter=steps,
    )


def _indefinite(kernel):
    return ValueError(
        f"{kernel!r} is not positive semidefinite on the sample where Pᵀc = 0: it is no kernel, or "
        "a conditionally positive definite one whose polynomials are not among the features."
    )

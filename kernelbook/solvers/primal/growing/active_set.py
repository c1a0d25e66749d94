"""From the sides of the samples to the solution: linear equations for the hinge.

    minimize  ½‖w‖² + Σ u_i (1 − y_i f_i)₊,    f = X̂w + Pλ,    w = X̂ᵀβ,    α_i = y_iβ_i .

At the solution every sample is on one of three sides: beyond the margin, α_i = 0; short of it,
α_i = u_i; or on it, y_i f_i = 1 with 0 ≤ α_i ≤ u_i.  Let F be those on it and R the rest.  Then

    X̂_F X̂_Fᵀ β_F + P_F λ = y_F − X̂_F X̂_Rᵀ β_R,      P_Fᵀ β_F = −P_Rᵀ β_R,

and no iteration is needed: w, λ and β are exact up to rounding.

**A wrong guess shows where it is wrong.**  A sample of F whose α_i leaves [0, u_i] belongs to the
bound that it crossed; a sample of R on the wrong side of the margin belongs to F.  Moving them, and
repeating that until none moves, is the primal-dual active set method: Newton's method on the
optimality conditions themselves.  From a good guess it takes a few rounds; from a bad one it
diverges, and then more samples move than in the round before.  So `active_set_solve` gives up
early, and `primal.proximal`, whose subproblems approach the solution, calls it again with a better
guess.

More than k + ℓ samples on the margin are too many: f has only that many degrees of freedom.
One round costs a product with X̂ and a Cholesky factor as large as F, O(nk + k³).  The equations
are those of the proximal point method, with ε on the diagonal, and repeating them removes the
influence of ε: samples that coincide do no harm.

Chapter: book/primal/incremental

References
----------
Hintermüller, Ito & Kunisch (2002), *The primal-dual active set strategy as a semismooth Newton
method*, SIAM J. Optim. 13.
"""

import numpy as np
from scipy.linalg import lapack

__all__ = ["active_set_solve"]

MAX_ACTIVE_SET_CHANGES = 12
"""So many guesses, if each is better than the last."""
TIKHONOV_RATE = 1e-10
"""ε, in units of the largest ‖x̂_i‖² on the margin."""
MAX_REFINEMENTS = 4
"""How often the equations are repeated to remove ε."""
PINV_RTOL = 1e-13
"""Smaller eigenvalues of P_FᵀH⁻¹P_F, relative to the largest, count as zero."""


def active_set_solve(X, P, y, u, lam, alpha):
    """The solution of the hinge problem near a guess, or None.

    Parameters
    ----------
    X : (m, k) array
    P : (m, ℓ) array
    y : (m,) array of ±1
    u : (m,) array, positive
        The box constraints of α.
    lam, alpha : arrays
        The guess; the sides are those of α.  Where the samples on the margin do not determine λ,
        it stays as near to `lam` as it can.

    Returns
    -------
    (w, λ, α) or None
        All conditions of optimality hold up to rounding, except that Pᵀβ = 0 may fail where
        the samples on the margin cannot restore it: the caller must check.
    """
    lam, beta, side, last = lam.copy(), y * alpha, _side(alpha, u), None
    w, excess = X.T @ beta, P.T @ beta
    for _ in range(MAX_ACTIVE_SET_CHANGES):
        # Solve for the samples on the margin.
        F = np.flatnonzero(side == 0)
        if F.size > X.shape[1] + P.shape[1]:
            return None
        if F.size:
            solved = _solve_face(X[F], P[F], y[F], beta[F], w, lam, excess)
            if solved is None:
                return None
            beta[F], w, lam, excess = solved

        # Which samples are on the wrong side?
        margin = y * (X @ w + P @ lam)
        after = np.where(side * (1.0 - margin) < 0.0, 0, side)
        after[F] = _side(y[F] * beta[F], u[F])
        moved = np.flatnonzero(after != side)
        if moved.size == 0:
            return X.T @ beta, lam, y * beta
        if moved.size > (0.5 * F.size + 5 if last is None else last):
            return None

        # A sample that leaves the margin takes the α of its bound; one that joins keeps its α.
        left = moved[after[moved] != 0]
        change = np.where(after[left] > 0, y[left] * u[left], 0.0) - beta[left]
        beta[left] += change
        w, excess = w + change @ X[left], excess + change @ P[left]
        side, last = after, moved.size
    return None


def _side(alpha, u):
    """−1 beyond the margin, 0 on it, 1 short of it."""
    return (alpha >= u).astype(np.int8) - (alpha <= 0.0)


def _solve_face(X, P, y, beta, w, lam, excess):
    """(β_F, w, λ, Pᵀβ) that put all samples of F on the margin; None if rounding prevents it."""
    H = X @ X.T
    H[np.diag_indices_from(H)] += TIKHONOV_RATE * H.diagonal().max()
    factor, info = lapack.dpotrf(H.T, overwrite_a=1)
    if info:
        return None
    W = _solve(factor, P)
    S = P.T @ W
    if not np.isfinite(S).all():
        return None
    S = np.linalg.pinv(S, PINV_RTOL, hermitian=True) if len(S) > 1 else _reciprocal(S)
    for _ in range(MAX_REFINEMENTS):
        step = _solve(factor, y - X @ w - P @ lam)
        change = S @ (step @ P + excess)
        step = step - W @ change
        lam = lam + change
        beta, w, excess = beta + step, w + step @ X, excess + step @ P
        if np.abs(step).max() <= 1e-14 * np.abs(beta).max():
            break
    return beta, w, lam, excess


def _solve(factor, right):
    return lapack.dpotrs(factor, right)[0] if right.size else right


def _reciprocal(S):
    return np.divide(1.0, S, out=np.zeros_like(S), where=S > 0)

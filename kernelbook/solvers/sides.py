"""Whoever knows the sides knows the solution: linear equations for the hinge, and who is wrong.

    minimize  ½‖w‖² + Σ u_i (1 − y_i f_i)₊,    f = X̂w + Pλ,    w = X̂ᵀβ,    α_i = y_iβ_i .

At the solution every sample is on one of three sides: beyond the margin, α_i = 0; short of it,
α_i = u_i; or on it, y_i f_i = 1 with 0 ≤ α_i ≤ u_i.  Let F be those on it and R the rest.  Then

    X̂_F X̂_Fᵀ β_F + P_F λ = y_F − X̂_F X̂_Rᵀ β_R,      P_Fᵀ β_F = −P_Rᵀ β_R,

and nothing is left to iterate: w, λ and β are exact up to rounding.

**A wrong guess shows where it is wrong.**  A sample of F whose α_i leaves [0, u_i] belongs to the
bound that it crossed; one of R on the wrong side of the margin belongs to F.  To move them, and to
repeat that until nobody moves, is the primal-dual active set method: Newton's method on the
optimality conditions themselves.  From a good guess it takes a few rounds; from a bad one it runs
away.  Which of the two, one sees at once, for then more samples move than in the round before.  So
`by_sides` is quick to give up; whoever called it (`kernelbook.solvers.multipliers`, whose
subproblems come closer and closer) asks again with a better guess.

More than k + ℓ samples on the margin are no guess at all: f has only so many degrees of freedom.
One round costs two products with X̂ and a Cholesky factor as large as F, O(nk + k³).  The
equations are those of the proximal point method, with ε on the diagonal, and ε's influence is
removed by repeating them: so samples that coincide do no harm.

References
----------
Hintermüller, Ito & Kunisch (2002), *The primal-dual active set strategy as a semismooth Newton
method*, SIAM J. Optim. 13.
"""

import numpy as np
from scipy.linalg import lapack

__all__ = ["by_sides"]

ROUNDS = 12
"""So many guesses, if every one is better than the last."""
DAMPING = 1e-10
"""ε, in units of the largest ‖x̂_i‖² on the margin."""
REPEATS = 4
"""How often the equations are repeated to remove ε."""


def by_sides(X, P, y, u, lam, alpha):
    """The solution of the hinge problem near a guess, or None.

    Parameters
    ----------
    X : (m, k) array
    P : (m, ℓ) array
    y : (m,) array of ±1
    u : (m,) array, positive
        The prices.
    lam, alpha : arrays
        The guess; the sides are those of α.  Where the samples on the margin do not determine λ,
        it stays as near to `lam` as it can.

    Returns
    -------
    (w, λ, α) or None
        All conditions of optimality hold up to rounding, except that Pᵀβ = 0 may fail where
        the samples on the margin cannot repair it: it is for the caller to judge.
    """
    k, alpha = X.shape[1], alpha.copy()
    sides, movers = _sides(alpha, u), None
    for _ in range(ROUNDS):
        F = np.flatnonzero(sides == 0)
        if F.size > k + P.shape[1]:
            return None
        found = _equations(X, P, y, F, lam, y * alpha)
        if found is None:
            return None
        w, lam, alpha[F] = found
        wrong = sides * (1.0 - y * (X @ w + P @ lam)) < 0
        after = np.where(sides == 0, _sides(alpha, u), np.where(wrong, 0, sides))
        moved = int(np.count_nonzero(after != sides))
        if moved == 0:
            return w, lam, alpha
        if moved > (0.5 * F.size + 5 if movers is None else movers):
            return None
        # Who leaves the margin takes the α of his bound; who comes to it brings that along.
        alpha = np.where(after == 0, alpha, np.where(after > 0, u, 0.0))
        sides, movers = after, moved
    return None


def _sides(alpha, u):
    """−1 beyond the margin, 0 on it, 1 short of it."""
    return (alpha >= u).astype(np.int8) - (alpha <= 0.0).astype(np.int8)


def _equations(X, P, y, F, lam, beta):
    """w, λ and α_F for the samples F on the margin; None where rounding makes them insoluble."""
    w, excess = X.T @ beta, P.T @ beta
    if F.size == 0:
        return w, lam, beta[F]
    X, P, y, beta = X[F], P[F], y[F], beta[F]
    K = X @ X.T
    K[np.diag_indices_from(K)] += DAMPING * K.diagonal().max()
    L, failed = lapack.dpotrf(K.T, lower=1, overwrite_a=1)  # Kᵀ is in the order of Fortran
    if failed:
        return None
    # One column more than asked for: LAPACK refuses none, and there may be no feature.
    solved = lapack.dpotrs(L, np.column_stack([P, y]), lower=1)[0][:, :-1]
    inverse = np.linalg.pinv(P.T @ solved, rcond=1e-13, hermitian=True)
    for _ in range(REPEATS):
        step = lapack.dpotrs(L, y - X @ w - P @ lam, lower=1)[0]
        change = inverse @ (P.T @ step + excess)
        step -= solved @ change
        beta, lam = beta + step, lam + change
        w, excess = w + X.T @ step, excess + P.T @ step
        if np.abs(step).max() <= 1e-14 * np.abs(beta).max():
            break
    return w, lam, y * beta

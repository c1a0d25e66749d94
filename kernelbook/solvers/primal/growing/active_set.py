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
`active_set_solve` is quick to give up; whoever called it (`primal.proximal`, whose
subproblems come closer and closer) asks again with a better guess.

More than k + ℓ samples on the margin are no guess at all: f has only so many degrees of freedom.
One round costs a product with X̂ and a Cholesky factor as large as F, O(nk + k³), if the inner
products are at hand (`solvers.primal.growing.inner_products`).  The equations are those of the
proximal
point method, with ε on the diagonal, and ε's influence is removed by repeating them: so samples
that coincide do no harm.

References
----------
Hintermüller, Ito & Kunisch (2002), *The primal-dual active set strategy as a semismooth Newton
method*, SIAM J. Optim. 13.
"""

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.numeric.small_algebra import add, dot, factorize, solve
from kernelbook.solvers.primal.growing.inner_products import decisions, face_matrix, near_margin

__all__ = ["active_set_solve"]

ROUNDS = 12
"""So many guesses, if every one is better than the last."""
DAMPING = 1e-10
"""ε, in units of the largest ‖x̂_i‖² on the margin."""
REPEATS = 4
"""How often the equations are repeated to remove ε."""


def active_set_solve(X, P, y, u, lam, alpha, near=None):
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
    near : Near, optional
        Inner products of X's rows that are known; it may gain members.

    Returns
    -------
    (w, λ, α) or None
        All conditions of optimality hold up to rounding, except that Pᵀβ = 0 may fail where
        the samples on the margin cannot repair it: it is for the caller to judge.
    """
    near = near_margin(X, P.shape[1]) if near is None else near
    lam, alpha, w = lam.copy(), alpha.copy(), np.zeros(X.shape[1])
    if not _search(near, np.ascontiguousarray(P), y, u, w, lam, alpha):
        return None
    return X.T @ (y * alpha), lam, alpha


@jit(fast=True)
def _search(near, P, y, u, w, lam, alpha):
    """Move w, λ and α to the solution; False where that leads away."""
    X, n, k, l = near.rows, y.size, w.size, lam.size
    side, after, f = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    free, movers = 0, -1
    for i in range(n):
        side[i] = _side(alpha[i], u[i])
        free += side[i] == 0
    if free > k + l:
        return False
    face, excess = np.empty(n, np.int64), np.zeros(l)  # Pᵀβ
    for i in range(n):
        if alpha[i] != 0.0:
            add(y[i] * alpha[i], X[i], w)
            add(y[i] * alpha[i], P[i], excess)
    for _ in range(ROUNDS):
        m = 0
        for i in range(n):
            if side[i] == 0:
                face[m] = i
                m += 1
        if m > k + l:
            return False
        if m > 0 and not _equations(near, P, y, face[:m], w, lam, alpha, excess):
            return False
        decisions(X, w, P, lam, f)
        moved = 0
        for i in range(n):
            after[i] = side[i]
            if side[i] == 0:
                after[i] = _side(alpha[i], u[i])
            elif side[i] * (1.0 - y[i] * f[i]) < 0.0:
                after[i] = 0
            moved += after[i] != side[i]
        if moved == 0:
            return True
        if moved > (0.5 * m + 5 if movers < 0 else movers):
            return False
        # Who leaves the margin takes the α of his bound; who comes to it brings that along.
        for i in range(n):
            if after[i] != side[i] and after[i] != 0:
                change = (u[i] if after[i] > 0 else 0.0) - alpha[i]
                alpha[i] = u[i] if after[i] > 0 else 0.0
                add(y[i] * change, X[i], w)
                add(y[i] * change, P[i], excess)
            side[i] = after[i]
        movers = moved
    return False


@jit
def _side(alpha, u):
    """−1 beyond the margin, 0 on it, 1 short of it."""
    return (1 if alpha >= u else 0) - (1 if alpha <= 0.0 else 0)


@jit(fast=True)
def _equations(near, P, y, F, w, lam, alpha, excess):
    """Solve for λ and α_F, w = X̂ᵀβ and Pᵀβ follow; False where rounding makes that impossible."""
    X, m, l = near.rows, F.size, lam.size
    H, step, W = np.empty((m, m)), np.empty(m), np.empty((l, m))
    if not face_matrix(near, F, H):
        return False
    largest = 0.0
    for a in range(m):
        largest = max(largest, H[a, a])
    for a in range(m):
        H[a, a] += DAMPING * largest
        for p in range(l):
            W[p, a] = P[F[a], p]
    if not factorize(H):
        return False
    B, S = W.copy(), np.empty((l, l))
    for p in range(l):
        solve(H, W[p])
    for p in range(l):
        for o in range(l):
            S[p, o] = dot(B[p], W[o])
    if not np.isfinite(S).all():
        return False
    S = _pseudo_inverse(S)
    wanted = np.empty(l)
    for _ in range(REPEATS):
        for a in range(m):
            i = F[a]
            step[a] = y[i] - dot(X[i], w) - dot(P[i], lam)
        solve(H, step)
        for p in range(l):
            wanted[p] = dot(B[p], step) + excess[p]
        for p in range(l):
            change = dot(S[p], wanted)
            lam[p] += change
            add(-change, W[p], step)
        longest, largest = 0.0, 0.0
        for a in range(m):
            i = F[a]
            alpha[i] += y[i] * step[a]
            add(step[a], X[i], w)
            add(step[a], P[i], excess)
            longest, largest = max(longest, abs(step[a])), max(largest, abs(alpha[i]))
        if longest <= 1e-14 * largest:
            break
    return True


@jit
def _pseudo_inverse(S):
    """S⁺ of a positive semidefinite S; what is below 10⁻¹³ of the largest eigenvalue is zero."""
    inverse = np.zeros_like(S)
    if len(S) == 1:
        inverse[0, 0] = 1.0 / S[0, 0] if S[0, 0] > 0.0 else 0.0
    elif len(S) > 1:
        size, V = np.linalg.eigh(S)
        for k in range(len(S)):
            if size[k] > 1e-13 * size[-1]:
                inverse += np.outer(V[:, k], V[:, k]) / size[k]
    return inverse

"""Newton's method on the active face: from a good guess of the SVM-GB dual to its exact solution.

    minimize  ½βᵀKβ − yᵀβ,      Qᵀβ = 0,   lo ≤ β ≤ hi           (Q: orthonormal features)

Whoever knew which coordinates end at a bound would only have to solve one linear system, for
the rest, F, and for the multipliers ν.  So guess F: every coordinate that is free, or that sits
at a bound and wants to leave it under the current ν.  With v = y − Kβ − Qν solve

    [ K_FF + εI   B ] [ d ]   [ v_F ]
    [ Bᵀ          0 ] [ μ ] = [  b  ]

where B holds the rows F of the features and b = −Qᵀβ.  Coordinates of β + d that leave the box
are held at the bound they crossed: each is one more equation, one more unit column of B, on the
*same* Cholesky factor.  When nothing leaves any more, β + d is a feasible point, and an exact
line search towards it makes the objective fall.

The proximal term ε is what makes this work far from the solution.  Without it the directions
that K hardly sees send most coordinates out of the box at once, and the method stalls.  ε starts
near K's diagonal, falls tenfold with every good step and rises with every bad one; because it is
centred at the current β it does not move the solution (Rockafellar's proximal method of
multipliers), and it makes singular K — duplicates, linear kernels — harmless.  When F does not
determine all multipliers, μ is the change of least norm.

References
----------
Rockafellar (1976), *Augmented Lagrangians and applications of the proximal point algorithm in
convex programming*, Math. Oper. Res. 1; Scheinberg (2006), *An efficient implementation of an
active set method for SVMs*, JMLR 7.
"""

import numpy as np
from scipy import linalg

from kernelbook.numeric.blas import cholesky, solve_factored
from kernelbook.solvers.svm.certificate import violation

__all__ = ["face_minimizer", "newton"]

EPS = np.finfo(float).eps
ROUNDS = 12
"""How often a step may be re-solved because coordinates left the box."""


def newton(K, Q, y, lo, hi, beta, nu, *, prox=1e-2, limit=None, max_steps=60):
    """Drive (β, ν) to the solution as far as rounding allows, or return the best point seen.

    Parameters
    ----------
    K : (m, m) array, positive semidefinite;  Q : (m, r) array, orthonormal columns
    beta, nu : arrays, the start; β may violate Qᵀβ = 0 a little
    prox : float
        First ε, in units of the largest diagonal entry of K.
    limit : int, optional
        Give up when F is larger: the factor would take too much memory.

    Returns
    -------
    beta, nu, steps
    """
    scale = K.diagonal().max(initial=0.0) or 1.0
    eps, least = prox * scale, 1e-13 * scale * max(1, len(y))
    best, lowest, idle, patience = (np.inf, beta, nu), np.inf, 0, 10
    for step in range(max_steps):
        Kb = K @ beta
        v = y - Kb - Q @ nu
        r = Q.T @ beta
        error, value = _error(beta, v, r, lo, hi), (0.5 * Kb - y) @ beta
        # On the way the violation goes up and down, but the objective must fall.
        better = error < 0.5 * best[0] or value < lowest - 1e-3 * abs(lowest)
        idle = 0 if better else idle + 1
        lowest = min(lowest, value)
        if error < best[0]:
            best = (error, beta, nu)
        rounding = EPS * (1 + scale * np.abs(beta).sum() + np.abs(nu).max(initial=0.0))
        if error <= rounding or idle > patience:
            return *best[1:], step
        F = np.flatnonzero(((beta > lo) | (v > 0)) & ((beta < hi) | (v < 0)))
        if limit is not None and F.size > limit:
            return *best[1:], step
        try:
            target, mu = face_minimizer(K[np.ix_(F, F)], Q, v, r, lo, hi, beta, F, eps)
        except linalg.LinAlgError:  # not definite, to rounding: more damping helps
            target = None
        if target is None:
            eps *= 10
            continue
        s = np.zeros_like(beta)
        s[F] = target - beta[F]
        t = _exact_step(K, Q, s, v, mu)
        moved = np.clip(beta + t * s, lo, hi)
        moved[F] = target if t == 1 else moved[F]
        beta = moved
        if t > 0.1:
            nu = nu + t * mu
        # When an undamped step inside the box does not help, what is left is rounding.
        undamped = t == 1 and eps <= 1e-8 * scale
        patience = 2 if undamped and np.all((target > lo[F]) & (target < hi[F])) else 10
        eps = max(0.1 * eps, least) if t > 0.5 else 10 * eps if t < 0.1 else eps
    return *best[1:], max_steps


def _error(beta, v, r, lo, hi):
    """KKT violation plus the constraint's, in comparable units."""
    size = np.abs(beta).sum()
    return violation(beta, v, lo, hi) + (np.abs(r).max(initial=0.0) / size if size > 0 else 0.0)


def face_minimizer(H, Q, v, r, lo, hi, beta, F, eps, most=0.5):
    """The minimizer over the face F with the box respected, and the change μ of ν.

    H is a copy of K_FF, and is destroyed.  If more than the fraction `most` of the coordinates
    would have to be held at a bound, F was not the face, and the answer is (None, None).
    """
    lo, hi, start, B = lo[F], hi[F], beta[F], Q[F]
    H[np.diag_indices(F.size)] += eps
    L = H.T  # in the order that LAPACK can overwrite
    cholesky(L)
    d, W, b = solve_factored(L, v[F]), solve_factored(L, B), -r
    held = np.zeros(0, dtype=np.intp)
    z = start
    for _ in range(ROUNDS):
        # The unit columns of B for coordinates that are held: they pick rows, nothing to store.
        mu = _least_norm_solve(np.vstack([B.T @ W, W[held]]), np.append(B.T @ d, d[held]) - b)
        kept, z = z[held], start + d - W @ mu
        z[held] = kept
        out = np.flatnonzero((z < lo) | (z > hi))
        if out.size == 0:
            break
        if held.size + out.size > most * F.size + 10:
            return None, None
        z[out] = np.clip(z[out], lo[out], hi[out])
        unit = np.zeros((F.size, out.size), order="F")
        unit[out, np.arange(out.size)] = 1.0
        held, b = np.append(held, out), np.append(b, z[out] - start[out])
        W = np.hstack([W, solve_factored(L, unit)])
    return np.clip(z, lo, hi), mu[: r.size]


def _least_norm_solve(S, rhs):
    """Solve Sx = rhs for positive semidefinite S; least norm where S is singular."""
    if rhs.size == 0:
        return rhs
    try:
        L, lower = linalg.cho_factor(S, lower=True, check_finite=False)
        if L.diagonal().min() > 1e-6 * L.diagonal().max():
            return linalg.cho_solve((L, lower), rhs, check_finite=False)
    except linalg.LinAlgError:
        pass
    size, U = linalg.eigh(S, check_finite=False)
    kept = size > 1e-13 * size[-1]
    return U[:, kept] @ ((U[:, kept].T @ rhs) / size[kept])


def _exact_step(K, Q, s, v, mu):
    """The best t in [0, 1] along s for the Lagrangian at the new multipliers."""
    slope = v @ s - mu @ (Q.T @ s)
    if slope <= 0:
        return 0.0
    curvature = s @ (K @ s)
    return 1.0 if curvature <= slope else slope / curvature

"""Newton's method on the active face: from a good guess of the SVM-GB dual to its exact solution.

    minimize  ½βᵀKβ − yᵀβ,      Qᵀβ = 0,   lower ≤ β ≤ upper           (Q: orthonormal features)

If we knew which coordinates end at a bound, one linear system would give the rest, F, and the
multipliers ν.  So guess F: every coordinate that is free, or that is at a bound and whose gradient
points inwards under the current ν.  With v = y − Kβ − Qν solve

    [ K_FF + εI   B ] [ d ]   [ v_F ]
    [ Bᵀ          0 ] [ μ ] = [  b  ]

where B holds the rows F of the features and b = −Qᵀβ.  Coordinates of β + d that leave the box
are clipped to the bound they crossed: each is one more equation, one more unit column of B, on the
*same* Cholesky factor.  When no coordinate leaves any more, β + d is a feasible point, and an exact
line search towards it makes the objective fall.

The proximal term ε is what makes this work far from the solution.  Without it the directions
that K hardly sees send most coordinates out of the box at once, and the method stalls.  ε starts
near K's diagonal, falls tenfold with every good step and rises with every bad one; because it is
centred at the current β it does not move the solution (Rockafellar's proximal method of
multipliers), and it makes singular K — duplicates, linear kernels — harmless.  When F does not
determine all multipliers, μ is the change of least norm.

Chapter: book/computing/smo

References
----------
Rockafellar (1976), *Augmented Lagrangians and applications of the proximal point algorithm in
convex programming*, Math. Oper. Res. 1; Scheinberg (2006), *An efficient implementation of an
active set method for SVMs*, JMLR 7.
"""

import numpy as np
from scipy import linalg

from kernelbook.numeric.blas import cholesky, solve_factored, solve_semidefinite

__all__ = [
    "FINAL_DAMPING_FACTOR", "INITIAL_DAMPING", "active_set_newton", "exact_step", "face_minimizer",
]  # fmt: skip

EPS = np.finfo(float).eps
MAX_CLIPPING_ROUNDS = 12
"""How often a step may be re-solved because coordinates left the box."""
INITIAL_DAMPING = 1e-2
"""First ε, in units of K's diagonal, from a good start."""
FINAL_DAMPING_FACTOR = 1e-3
"""How fast the damping falls once the face is found."""


def active_set_newton(
    K, Q, y, lower, upper, beta, nu, *, damping=INITIAL_DAMPING, max_face=None, max_steps=60
):
    """Drive (β, ν) to the solution as far as rounding allows, or return the best point seen.

    Parameters
    ----------
    K : (m, m) array, positive semidefinite;  Q : (m, r) array, orthonormal columns
    beta, nu : arrays, the start; β may violate Qᵀβ = 0 a little
    damping : float
        First ε, in units of the largest diagonal entry of K.
    max_face : int, optional
        Give up when F is larger: the factor would take too much memory.

    Returns
    -------
    beta, nu, steps
    """
    scale = K.diagonal().max(initial=0.0) or 1.0
    eps, least = damping * scale, 1e-13 * scale * max(1, len(y))
    best, lowest, idle, patience = (np.inf, beta, nu), np.inf, 0, 10
    for step in range(max_steps):
        # Measure: gradient, residual, objective, and what is violated; keep the best point.
        Kb = K @ beta
        v, r = y - Kb - Q @ nu, Q.T @ beta
        may_grow, may_fall = beta < upper, beta > lower
        size = np.abs(beta).sum()
        error = v[may_grow].max(initial=0.0) - v[may_fall].min(initial=0.0)
        error += np.abs(r).max(initial=0.0) / (size or 1.0)
        value = (0.5 * Kb - y) @ beta
        # The violation may rise on the way, but the objective must fall.
        better = error < 0.5 * best[0] or value < lowest - 1e-3 * abs(lowest)
        idle = 0 if better else idle + 1
        lowest = min(lowest, value)
        if error < best[0]:
            best = (error, beta, nu)
        rounding = EPS * (1 + scale * size + np.abs(nu).max(initial=0.0))
        if error <= rounding or idle > patience:
            return *best[1:], step
        # The face, and the minimizer over it within the box.
        F = np.flatnonzero((may_fall | (v > 0)) & (may_grow | (v < 0)))
        if max_face is not None and F.size > max_face:
            return *best[1:], step
        try:
            target, mu = face_minimizer(K[np.ix_(F, F)], Q, v, r, lower, upper, beta, F, eps)
        except linalg.LinAlgError:  # not definite, to rounding: more damping helps
            target = None
        if target is None:
            eps *= 10
            continue
        # An exact line search towards it.
        s = np.zeros_like(beta)
        s[F] = target - beta[F]
        t = exact_step(v @ s - mu @ (Q.T @ s), s @ (K @ s))
        moved = np.clip(beta + t * s, lower, upper)
        moved[F] = target if t == 1 else moved[F]
        beta = moved
        if t > 0.1:
            nu = nu + t * mu
        # The next damping.  If an undamped step inside the box does not help, rounding is left; if
        # nothing was clipped, this is the face, and damping has done its work.
        inside = t == 1 and np.all((target > lower[F]) & (target < upper[F]))
        patience = 2 if inside and eps <= 1e-8 * scale else 10
        factor = FINAL_DAMPING_FACTOR if inside else 0.1
        eps = max(factor * eps, least) if t > 0.5 else 10 * eps if t < 0.1 else eps
    return *best[1:], max_steps


def face_minimizer(H, Q, v, r, lower, upper, beta, F, eps, max_clipped=0.5):
    """The minimizer over the face F with the box respected, and the change μ of ν.

    H is a copy of K_FF, and is destroyed.  If more than the fraction `max_clipped` of the
    coordinates would have to be clipped, F was not the face, and the answer is (None, None).
    """
    lower, upper, start, B = lower[F], upper[F], beta[F], Q[F]
    H[np.diag_indices(F.size)] += eps
    L = H.T  # in the order that LAPACK can overwrite
    cholesky(L)
    solved = solve_factored(L, np.column_stack([v[F], B]))
    d, W, b = solved[:, 0], solved[:, 1:], -r
    clipped = np.zeros(0, dtype=np.intp)
    z = start
    for _ in range(MAX_CLIPPING_ROUNDS):
        # The unit columns of B for clipped coordinates pick rows: nothing to store.
        mu = solve_semidefinite(
            np.vstack([B.T @ W, W[clipped]]), np.append(B.T @ d, d[clipped]) - b
        )
        kept, z = z[clipped], start + d - W @ mu
        z[clipped] = kept
        out = np.flatnonzero((z < lower) | (z > upper))
        if out.size == 0:
            break
        if clipped.size + out.size > max_clipped * F.size + 10:
            return None, None
        z[out] = np.clip(z[out], lower[out], upper[out])
        unit = np.zeros((F.size, out.size), order="F")
        unit[out, np.arange(out.size)] = 1.0
        clipped, b = np.append(clipped, out), np.append(b, z[out] - start[out])
        W = np.hstack([W, solve_factored(L, unit)])
    return np.clip(z, lower, upper), mu[: r.size]


def exact_step(slope, curvature):
    """The t in [0, 1] that minimizes ½·curvature·t² − slope·t: the Lagrangian along a step."""
    return 0.0 if slope <= 0 else 1.0 if curvature <= slope else slope / curvature

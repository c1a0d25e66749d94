"""Newton's method on a small face, compiled: `svm.active_set` without the calls in between.

A face of fifty coordinates takes a microsecond or two for each of the vector operations of
`solvers.svm.active_set.newton`, and NumPy and SciPy take longer than that to be asked.  One-vs-one
classification has hundreds of such problems.  So the same iteration is written out in loops here.
What differs:

- *The kernel matrix is given by blocks*, which pairs of classes share: a row is put together when
  a coordinate first moves (`kernelbook.solvers.svm.pair_matrix`).
- *Equations are solved by plain loops* (`small_algebra`).  With more than `LIMIT` coordinates,
  where LAPACK is faster, `newton_small` gives up, and `svm.active_set.newton` can take over.
"""

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.numeric.small_algebra import dot, factorize, least_norm_solve, solve
from kernelbook.solvers.svm.pair_matrix import diagonal, fetch, times

__all__ = ["LIMIT", "newton_small"]

EPS = float(np.finfo(float).eps)
LIMIT = 300
"""The largest face."""
SETTLED = 1e-3
"""How fast the proximal term falls once the face is found."""
ROUNDS = 12
"""How often a step may be re-solved because coordinates left the box."""


# --------------------------------------------------------------------------------- the step


@jit
def _target(K, Q, v, res, lo, hi, beta, F, eps):
    """(found, minimizer over the face F within the box, change of ν); see `active_set`."""
    n, r = F.size, Q.shape[1]
    most = n // 2 + 10  # coordinates that may be held
    H, d, W = np.empty((n, n)), np.empty(n), np.empty((r + most, n))
    fetch(K, F)
    rows, slot = K.rows, K.slot
    for a in range(n):
        row = rows[slot[F[a]]]
        for b in range(a, n):
            H[a, b] = row[F[b]]
        H[a, a] += eps
        d[a] = v[F[a]]
        for p in range(r):
            W[p, a] = Q[F[a], p]
    z, mu = beta[F], np.zeros(r)
    if not factorize(H):
        return False, z, mu
    solve(H, d)
    B = W[:r].copy()
    for p in range(r):
        solve(H, W[p])
    held, rhs = np.empty(most, np.int64), np.empty(r + most)
    for p in range(r):
        rhs[p] = dot(B[p], d) + res[p]
    q = 0  # how many are held
    for _ in range(ROUNDS):
        S = np.empty((r + q, r + q))
        for b in range(r + q):
            for p in range(r):
                S[p, b] = dot(B[p], W[b])
            for a in range(q):
                S[r + a, b] = W[b, held[a]]
        mu = least_norm_solve(S, rhs[: r + q])
        inside = np.ones(n, dtype=np.bool_)
        inside[held[:q]] = False
        out = 0
        for a in range(n):
            if not inside[a]:
                continue
            value = beta[F[a]] + d[a]
            for b in range(r + q):
                value -= W[b, a] * mu[b]
            z[a] = value
            out += value < lo[F[a]] or value > hi[F[a]]
        if out == 0:
            break
        if q + out > most:
            return False, z, mu
        for a in range(n):
            low, high = lo[F[a]], hi[F[a]]
            if inside[a] and (z[a] < low or z[a] > high):
                z[a] = low if z[a] < low else high
                # One more equation, a unit column of B on the same factor.
                W[r + q] = 0.0
                W[r + q, a] = 1.0
                solve(H, W[r + q])
                held[q], rhs[r + q] = a, d[a] - (z[a] - beta[F[a]])
                q += 1
    for a in range(n):
        z[a] = min(max(z[a], lo[F[a]]), hi[F[a]])
    return True, z, mu[:r].copy()


@jit
def newton_small(K, Q, y, lo, hi, beta, nu, prox, max_steps):
    """Drive (β, ν) to the solution as far as rounding allows, in place, or to the best point seen.

    Parameters
    ----------
    K : PairMatrix, positive semidefinite;  Q : (n, r) array, orthonormal columns
    beta, nu : arrays, the start; β may violate Qᵀβ = 0 a little
    prox : float
        First ε, in units of the largest diagonal entry of K.

    Returns
    -------
    The number of steps.
    """
    n, r = Q.shape
    scale = 0.0
    for i in range(n):
        scale = max(scale, diagonal(K, i))
    scale = scale if scale > 0.0 else 1.0
    eps, least = prox * scale, 1e-13 * scale * n
    lowest, best, best_beta, best_nu = np.inf, np.inf, beta.copy(), nu.copy()
    idle, patience, step = 0, 10, 0
    Kb, v, s, Ks, F = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int64)
    while step < max_steps:
        times(K, beta, Kb)
        up, down, value, size, count = 0.0, 0.0, 0.0, 0.0, 0
        for i in range(n):
            v[i] = y[i] - Kb[i]
            for p in range(r):
                v[i] -= Q[i, p] * nu[p]
            grows, falls = beta[i] < hi[i], beta[i] > lo[i]
            if grows and v[i] > up:
                up = v[i]
            if falls and -v[i] > down:
                down = -v[i]
            if (falls or v[i] > 0.0) and (grows or v[i] < 0.0):
                F[count] = i
                count += 1
            value += (0.5 * Kb[i] - y[i]) * beta[i]
            size += abs(beta[i])
        res, error, far = np.zeros(r), 0.0, 0.0
        for p in range(r):
            for i in range(n):
                res[p] += Q[i, p] * beta[i]
            error, far = max(error, abs(res[p])), max(far, abs(nu[p]))
        error = up + down + (error / size if size > 0.0 else 0.0)
        # On the way the violation goes up and down, but the objective must fall.
        better = error < 0.5 * best or value < lowest - 1e-3 * abs(lowest)
        idle = 0 if better else idle + 1
        lowest = min(lowest, value)
        if error < best:
            best, best_beta[:], best_nu[:] = error, beta, nu
        if error <= EPS * (1.0 + scale * size + far) or idle > patience or count > LIMIT:
            break
        step += 1
        face = F[:count]
        found, target, mu = _target(K, Q, v, res, lo, hi, beta, face, eps)
        if not found:
            eps *= 10.0
            continue
        s[:] = 0.0
        for a in range(count):
            s[face[a]] = target[a] - beta[face[a]]
        times(K, s, Ks)
        # The best t in [0, 1] along s for the Lagrangian at the new multipliers.
        slope, curvature = dot(v, s), dot(s, Ks)
        for p in range(r):
            for a in range(count):
                slope -= mu[p] * Q[face[a], p] * s[face[a]]
        t = 0.0 if slope <= 0.0 else 1.0 if curvature <= slope else slope / curvature
        free = True
        for a in range(count):
            i = face[a]
            beta[i] = target[a] if t == 1.0 else min(max(beta[i] + t * s[i], lo[i]), hi[i])
            free = free and lo[i] < target[a] < hi[i]
        if t > 0.1:
            nu += t * mu
        # When an undamped step inside the box does not help, what is left is rounding.
        patience = 2 if free and t == 1.0 and eps <= 1e-8 * scale else 10
        # Where nobody had to be held at a bound, this is the face, and ε has done its work.
        less = SETTLED if free and t == 1.0 else 0.1
        eps = max(less * eps, least) if t > 0.5 else 10.0 * eps if t < 0.1 else eps
    beta[:], nu[:] = best_beta, best_nu
    return step

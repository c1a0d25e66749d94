"""Newton's method on a small active set, compiled: `svm.active_set` without calls from Python.

With fifty coordinates each vector operation of `active_set_newton` takes a microsecond or two, less
than the call of NumPy or SciPy around it; and one-vs-one classification has hundreds of such
problems.  So the same iteration is written out in loops.  It is kept apart on purpose: it differs
in data structure and stopping rules.

- *The kernel matrix is given by blocks*, which pairs of classes share: a row is assembled when a
  coordinate first moves (`svm.pairs.blocks`).
- *Equations are solved by plain loops* (`numeric.small_algebra`).  With more than `MAX_FACE`
  coordinates, where LAPACK is faster, `newton_small` gives up and `svm.active_set` takes over.

Chapter: book/computing/smo
"""

from typing import NamedTuple

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.numeric.small_algebra import dot, factorize, least_norm_solve, solve
from kernelbook.solvers.svm.active_set import FINAL_DAMPING_FACTOR
from kernelbook.solvers.svm.pairs.blocks import diagonal, fetch, times

__all__ = ["MAX_FACE", "newton_small"]

EPS = float(np.finfo(float).eps)
MAX_FACE = 300
"""The largest face."""
MAX_CLIPPING_ROUNDS = 12
"""How often a step may be re-solved because coordinates left the box."""


class Box(NamedTuple):
    """The problem apart from K."""

    Q: np.ndarray
    y: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class Work(NamedTuple):
    """Vectors that one iteration passes to the next."""

    Kb: np.ndarray  # Kβ
    v: np.ndarray  # y − Kβ − Qν
    residual: np.ndarray  # Qᵀβ
    s: np.ndarray  # the step
    Ks: np.ndarray
    face: np.ndarray  # its first entries are the face


@jit
def newton_small(K, Q, y, lower, upper, beta, nu, damping, max_steps):
    """Drive (β, ν) to the solution as far as rounding allows, in place, or to the best point seen.

    Parameters
    ----------
    K : PairMatrix, positive semidefinite;  Q : (n, r) array, orthonormal columns
    beta, nu : arrays, the start; β may violate Qᵀβ = 0 a little
    damping : float
        First ε, in units of the largest diagonal entry of K.

    Returns
    -------
    The number of steps.
    """
    n, r = Q.shape
    box = Box(Q, y, lower, upper)
    work = Work(
        np.empty(n), np.empty(n), np.empty(r), np.empty(n), np.empty(n), np.empty(n, np.int64)
    )
    scale = 0.0
    for i in range(n):
        scale = max(scale, diagonal(K, i))
    scale = scale if scale > 0.0 else 1.0
    eps, least = damping * scale, 1e-13 * scale * n
    lowest, best, best_beta, best_nu = np.inf, np.inf, beta.copy(), nu.copy()
    idle, patience, step = 0, 10, 0
    while step < max_steps:
        # Keep the best point; stop at rounding error, or where steps no longer help.
        error, value, rounding, size = _measure(K, box, beta, nu, scale, work)
        # The violation may rise on the way, but the objective must fall.
        better = error < 0.5 * best or value < lowest - 1e-3 * abs(lowest)
        idle = 0 if better else idle + 1
        lowest = min(lowest, value)
        if error < best:
            best, best_beta[:], best_nu[:] = error, beta, nu
        if error <= rounding or idle > patience or size > MAX_FACE:
            break
        step += 1

        # The minimizer over the face, within the box.
        face = work.face[:size]
        found, target, mu = _face_minimizer(K, box, work, beta, face, eps)
        if not found:
            eps *= 10.0
            continue

        # An exact line search towards it.
        t, inside = _move(K, box, work, beta, face, target, mu)
        if t > 0.1:
            for p in range(r):
                nu[p] += t * mu[p]

        # The next damping.  If an undamped step inside the box does not help, rounding is left.
        patience = 2 if inside and t == 1.0 and eps <= 1e-8 * scale else 10
        # If nothing was clipped, this is the face, and damping has done its work.
        factor = FINAL_DAMPING_FACTOR if inside and t == 1.0 else 0.1
        eps = max(factor * eps, least) if t > 0.5 else 10.0 * eps if t < 0.1 else eps
    beta[:], nu[:] = best_beta, best_nu
    return step


@jit
def _measure(K, box, beta, nu, scale, work):
    """(the error, the objective, the error that rounding explains, the size of the face)."""
    Q, y, lower, upper = box
    Kb, v, residual, _, _, face = work
    n, r = Q.shape
    times(K, beta, Kb)
    up, down, value, size, count = 0.0, 0.0, 0.0, 0.0, 0
    for i in range(n):
        vi = y[i] - Kb[i]
        for p in range(r):
            vi -= Q[i, p] * nu[p]
        v[i] = vi
        may_grow, may_fall = beta[i] < upper[i], beta[i] > lower[i]
        if may_grow and vi > up:
            up = vi
        if may_fall and -vi > down:
            down = -vi
        if (may_fall or vi > 0.0) and (may_grow or vi < 0.0):
            face[count] = i
            count += 1
        value += (0.5 * Kb[i] - y[i]) * beta[i]
        size += abs(beta[i])
    imbalance, largest_nu = 0.0, 0.0
    for p in range(r):
        left = 0.0
        for i in range(n):
            left += Q[i, p] * beta[i]
        residual[p] = left
        imbalance, largest_nu = max(imbalance, abs(residual[p])), max(largest_nu, abs(nu[p]))
    error = up + down + (imbalance / size if size > 0.0 else 0.0)
    return error, value, EPS * (1.0 + scale * size + largest_nu), count


@jit
def _face_minimizer(K, box, work, beta, F, eps):
    """(found, minimizer over the face F within the box, change of ν); see `svm.active_set`."""
    Q, _, lower, upper = box
    n, r = F.size, Q.shape[1]
    max_clipped = n // 2 + 10

    # The factor of H = K_FF + εI, and H⁻¹ times the right-hand side and the features.
    H, d, W = np.empty((n, n)), np.empty(n), np.empty((r + max_clipped, n))
    fetch(K, F)
    rows, slot = K.rows, K.slot
    for a in range(n):
        row = rows[slot[F[a]]]
        for b in range(a, n):
            H[a, b] = row[F[b]]
        H[a, a] += eps
        d[a] = work.v[F[a]]
        for p in range(r):
            W[p, a] = Q[F[a], p]
    z, mu = beta[F], np.zeros(r)
    if not factorize(H):
        return False, z, mu
    solve(H, d)
    B = W[:r].copy()
    for p in range(r):
        solve(H, W[p])
    clipped, rhs = np.empty(max_clipped, np.int64), np.empty(r + max_clipped)
    for p in range(r):
        rhs[p] = dot(B[p], d) + work.residual[p]

    # Solve; clip what leaves the box, one more equation each; solve again, until all is inside.
    inside, q = np.ones(n, dtype=np.bool_), 0
    for _ in range(MAX_CLIPPING_ROUNDS):
        S = np.empty((r + q, r + q))
        for b in range(r + q):
            for p in range(r):
                S[p, b] = dot(B[p], W[b])
            for a in range(q):
                S[r + a, b] = W[b, clipped[a]]
        mu = least_norm_solve(S, rhs[: r + q])
        outside = 0
        for a in range(n):
            if not inside[a]:
                continue
            value = beta[F[a]] + d[a]
            for b in range(r + q):
                value -= W[b, a] * mu[b]
            z[a] = value
            outside += z[a] < lower[F[a]] or z[a] > upper[F[a]]
        if outside == 0:
            break
        if q + outside > max_clipped:
            return False, z, mu
        for a in range(n):
            low, high = lower[F[a]], upper[F[a]]
            if inside[a] and (z[a] < low or z[a] > high):
                z[a] = low if z[a] < low else high
                # A unit column of B on the same factor.
                W[r + q] = 0.0
                W[r + q, a] = 1.0
                solve(H, W[r + q])
                clipped[q], rhs[r + q] = a, d[a] - (z[a] - beta[F[a]])
                inside[a] = False
                q += 1
    for a in range(n):
        z[a] = min(max(z[a], lower[F[a]]), upper[F[a]])
    return True, z, mu[:r].copy()


@jit
def _move(K, box, work, beta, face, target, mu):
    """The best t in [0, 1] towards the target, taken; and whether the target was in the interior.

    "Best" is for the Lagrangian at the new multipliers.
    """
    Q, _, lower, upper = box
    s, Ks = work.s, work.Ks
    s[:] = 0.0
    for a in range(face.size):
        s[face[a]] = target[a] - beta[face[a]]
    times(K, s, Ks)
    slope, curvature = dot(work.v, s), dot(s, Ks)
    for p in range(mu.size):
        for a in range(face.size):
            slope -= mu[p] * Q[face[a], p] * s[face[a]]
    t = 0.0 if slope <= 0.0 else 1.0 if curvature <= slope else slope / curvature
    inside = True
    for a in range(face.size):
        i = face[a]
        beta[i] = target[a] if t == 1.0 else min(max(beta[i] + t * s[i], lower[i]), upper[i])
        inside = inside and lower[i] < target[a] < upper[i]
    return t, inside

"""The SVM-GB dual for small samples: one attempt, compiled, and a proof.

    minimize  ½βᵀKβ − yᵀβ,      Qᵀβ = 0,   lo ≤ β ≤ hi           (Q: orthonormal features)

A pair of classes with a few hundred samples is solved by fifty steps of SMO and five of Newton's
method, a fifth of a millisecond.  The relay of `svm_dual` spends twenty times as much on being
ready for everything else.  So the two are called first, in compiled form:

1. `smo_lanes` to a violation of 0.1, on rows copied in single precision when they are needed;
   without a constant among the features, `smo_box`.
2. `face_small`: Newton's method on the face, in double precision, to rounding error.
3. Feasibility, λ and certificate exactly as in `svm_dual`.

The certificate decides: it must show a violation that rounding explains.  Otherwise `solve_small`
returns None, and the relay starts from the beginning.  So nothing is lost but the attempt, and
nothing has to be proved of the sample beforehand.  In particular the features need not be tried for
separation (T3): if they separate the sample the minimum is 0, and a dual value above 0 shows that
they do not.

With up to 1,000 samples the rows in single precision take 4 MB at most, those that are used.

What the proof needs: a K that is positive semidefinite (not strictly: β need not be unique, for h
is), and numbers of ordinary size, so that no change of units is called for.
"""

import numpy as np

from kernelbook._jit import jit
from kernelbook.features import feature_range
from kernelbook.solvers.face_small import newton_small
from kernelbook.solvers.part import part, times
from kernelbook.solvers.smo import smo_box
from kernelbook.solvers.smo_lanes import FAR, LANES, Lanes, smo_lanes
from kernelbook.solvers.svm_certificate import COARSE_GAP, certify, repair, settled
from kernelbook.solvers.svm_dual import SVMSolution, bounds_reached, rounding_floor
from kernelbook.solvers.svm_multipliers import choose_multipliers
from kernelbook.solvers.svm_problem import constant_first

__all__ = ["solve_small"]

START = 0.1
"""The violation at which Newton's method takes over."""

PROX = 1e-2
"""Its first proximal term, in units of K's diagonal."""


def solve_small(whole, rows, P, y, C, start=None, *, tol=1e-3, gap_tol=None, memory=None):
    """Solve one binary problem on some rows of a larger one, or return None; see the module.

    Parameters
    ----------
    whole : (M, M) array, C-contiguous, positive semidefinite
    rows : (n,) array of integers, the samples of this problem
    P, y, C : (n, ℓ), (n,), (n,) arrays
        Of these samples, as in `svm_dual.solve_svm`.
    start : (n,) array, optional
        A β near the solution: Newton's method goes on from there, without SMO.  If that comes to
        nothing, all begins at zero.
    memory : array, optional
        See `kernelbook.solvers.part.part`.
    """
    index = rows.astype(np.uint64)
    scale, least, most = _extremes(whole, index, C)
    if not (1e-8 < scale < 1e8 and scale * most < 1e7 and least > 1e-8):
        return None
    Q, T, has_constant = _span(P)
    lo, hi = np.minimum(0.0, y * C), np.maximum(0.0, y * C)
    rho, penalized = 0.0, Q[:, has_constant:]
    if penalized.shape[1]:  # as in `svm_problem`
        rho = max(scale, 1.0 / np.median(C)) * y.size / penalized.shape[1]
    K, problem = part(whole, index, memory), (Q, y, lo, hi)

    def proved(beta, nu, steps, h):
        """The solution from where Newton's method ended, h = Kβ; None if it proves too little."""
        if not settled(Q, beta, lo, hi):
            beta = repair(Q, beta, lo, hi)
            times(K, beta, h)
        nu = choose_multipliers(h, Q, y, C, *bounds_reached(y * beta, C), nu)
        proof = certify(h, P, y, C, beta, T @ nu, scale)
        exact = proof.kkt <= min(tol, rounding_floor(scale, beta))
        if not exact or proof.relative_gap > (gap_tol or COARSE_GAP):
            return None
        if not proof.dual > 1e-9 * np.abs(beta).sum():  # perhaps the features separate
            return None
        return SVMSolution(beta, T @ nu, Q.shape[1], max(1, steps), proof, h)

    if start is not None:
        beta, h = repair(Q, np.clip(start, lo, hi), lo, hi), np.empty(y.size)
        times(K, beta, h)
        where = bounds_reached(y * beta, C)
        nu = choose_multipliers(h, Q, y, C, *where, np.zeros(Q.shape[1]))
        steps = _newton_and_product(K, *problem, beta, nu, PROX, h)
        solution = proved(beta, nu, steps, h)
        if solution is not None:
            return solution
    if has_constant:
        return proved(*_pairs_and_newton(K, Q, rho, y, lo, hi))
    beta, nu, steps, reached = _in_the_box(whole, index, Q, rho, y, lo, hi)
    h = np.empty(y.size)
    steps += _newton_and_product(K, *problem, beta, nu, PROX if reached else 1.0, h)
    return proved(beta, nu, steps, h)


@jit(brief=True)
def _extremes(whole, index, C):
    """(the largest K_ii, the least C_i, the largest C_i)"""
    scale, least, most = 0.0, np.inf, 0.0
    for k in range(index.size):
        scale = max(scale, whole[index[k], index[k]])
        least, most = min(least, C[k]), max(most, C[k])
    return scale, least, most


def _span(P):
    """Orthonormal Q, the constant first if it is in the span; T with λ = Tν; whether it is."""
    n, l = P.shape
    if l == 1 and _one_number(P[:, 0]):
        return np.full((n, 1), n**-0.5), np.array([[n**-0.5 / P[0, 0]]]), True
    span = feature_range(P)
    Q, has_constant = constant_first(span.Q)
    return np.ascontiguousarray(Q), span.T @ (span.Q.T @ Q), has_constant


@jit(brief=True)
def _one_number(x):
    """Whether all of x is the same number, and not zero."""
    for i in range(x.size):
        if x[i] != x[0]:
            return False
    return x.size > 0 and x[0] != 0.0


@jit
def _newton_and_product(K, Q, y, lo, hi, beta, nu, prox, h):
    """Newton's method in place, and h = Kβ; returns the number of steps."""
    steps = newton_small(K, Q, y, lo, hi, beta, nu, prox, 80)
    times(K, beta, h)
    return steps


@jit
def _pairs_and_newton(K, Q, rho, y, lo, hi):
    """All from zero in one call, for other threads to go on with Python meanwhile: β, ν, steps, h.

    Threads that take turns at Python spend their time waking each other up.
    """
    beta, nu, steps, reached = _by_pairs(K, Q, rho, y, lo, hi)
    h = np.empty(y.size)
    steps += _newton_and_product(K, Q, y, lo, hi, beta, nu, PROX if reached else 1.0, h)
    return beta, nu, steps, h


@jit
def _by_pairs(K, Q, rho, y, lo, hi):
    """SMO from zero to START; features but the constant, which is first, by multipliers.

    Returns (β, ν, steps, whether it got there).
    """
    (n, r), b = Q.shape, -(-y.size // LANES)
    diag, A = np.ones((b, LANES), np.float32), np.zeros((r - 1, b, LANES), np.float32)
    beta, nu, v = np.zeros(n), np.zeros(r), np.zeros((b, LANES))
    up, down = np.empty((b, LANES), np.float32), np.empty((b, LANES), np.float32)
    for i in range(n):
        square = K.whole[K.index[i], K.index[i]]
        for p in range(1, r):
            A[p - 1, i // LANES, i % LANES] = np.sqrt(rho) * Q[i, p]
            square += rho * Q[i, p] * Q[i, p]
        diag[i // LANES, i % LANES] = square
        v[i // LANES, i % LANES] = y[i]
    G = Lanes(
        np.empty((n, b, LANES), np.float32), diag, np.full(n, -1), np.array([0, n]),
        np.empty((b, 0, LANES), np.float32), A, K,
    )  # fmt: skip
    steps, eps, flat = 0, 1.0 if r > 1 else START, v.reshape(-1)
    while True:
        up[:], down[:] = -FAR, FAR
        for i in range(n):
            if beta[i] < hi[i]:
                up[i // LANES, i % LANES] = 0.0
            if beta[i] > lo[i]:
                down[i // LANES, i % LANES] = 0.0
        used, left, _ = smo_lanes(G, lo, hi, beta, v, up, down, eps, 20 * n)
        steps += used
        for p in range(1, r):
            slip = 0.0
            for i in range(n):
                slip += Q[i, p] * beta[i]
            nu[p] += rho * slip
            for i in range(n):
                flat[i] -= rho * slip * Q[i, p]
        if left > eps or eps <= START:
            break
        eps = 0.3 if eps > 0.3 else START
    top, bottom = -np.inf, np.inf
    for i in range(n):
        if beta[i] < hi[i]:
            top = max(top, flat[i])
        if beta[i] > lo[i]:
            bottom = min(bottom, flat[i])
    nu[0] = 0.5 * (top + bottom) * np.sqrt(n)
    return beta, nu, steps, left <= START


def _in_the_box(whole, index, Q, rho, y, lo, hi):
    """The same without a constant: all features by multipliers."""
    K = whole[np.ix_(index, index)] + rho * Q @ Q.T
    diag, v, steps = K.diagonal().copy(), y.copy(), 0
    beta, nu = np.zeros(y.size), np.zeros(Q.shape[1])
    for eps in (1.0, 0.3, START) if rho else (START,):
        used, left = smo_box(K, diag, lo, hi, beta, v, eps, 20 * y.size)
        steps += used
        step = rho * (Q.T @ beta)
        nu += step
        v -= Q @ step
        if left > eps:
            break
    return beta, nu, steps, left <= START

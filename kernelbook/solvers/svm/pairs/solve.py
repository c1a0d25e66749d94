"""The SVM-GB dual of a pair of classes: one compiled attempt, and a certificate.

    minimize  ½βᵀKβ − yᵀβ,      Qᵀβ = 0,   lower ≤ β ≤ upper     (Q: orthonormal features)

A pair of classes with a few hundred samples takes fifty steps of SMO and five of Newton's method, a
fifth of a millisecond.  The relay of `svm.solve` takes twenty times as long, because it is
prepared for everything else.  So this is tried first:

1. *SMO* to a violation of 0.1: `smo_lanes` on single-precision copies of the rows it needs.
   Without a constant among the features, `smo_box` on the assembled matrix.
2. *Newton's method* on the active set, in double precision, to rounding error.
3. The common exit, `svm.certificate.finish`.

With one thread for each core, compiled code runs side by side, but only one thread at a time can be
in Python: so 1. and 2. are one compiled call.

The certificate decides: it must show a violation that rounding explains.  Otherwise `solve_pair`
returns None and `svm.solve` starts from the beginning; nothing has to be known about the sample in
advance.  In particular no test for separation (T3) is needed: if the features separate the sample
the minimum is 0, and a dual value above 0 shows that they do not.

Requirements: a positive semidefinite K (β need not be unique, for Kβ is) and numbers of ordinary
size, so that no change of units is needed.
"""

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.solvers.svm.active_set import INITIAL_DAMPING
from kernelbook.solvers.svm.certificate import (
    DEFAULT_TOLERANCE,
    finish,
    rounding_floor,
    starting_point,
)
from kernelbook.solvers.svm.large.lanes import LANES, Lanes, masks, violation_bounds
from kernelbook.solvers.svm.large.smo_lanes import smo_lanes
from kernelbook.solvers.svm.pairs.active_set import newton_small
from kernelbook.solvers.svm.pairs.blocks import assembled, diagonal, times
from kernelbook.solvers.svm.problem import DualPoint, is_ordinary, penalty_weight, pose, prepare
from kernelbook.solvers.svm.smo import augmented_smo

__all__ = ["NEWTON_HANDOVER", "newton_and_product", "smo_from_zero", "solve_pair"]

NEWTON_HANDOVER = 0.1
"""The violation at which Newton's method takes over."""


def solve_pair(K, P, y, C, start=None, *, tolerance=DEFAULT_TOLERANCE):
    """Solve one binary problem, or return None; see the module.

    Parameters
    ----------
    K : PairMatrix, positive semidefinite
    P, y, C : (n, ℓ), (n,), (n,) arrays
        As in `svm.solve.solve_robust`.
    start : (n,) array, optional
        A β near the solution: Newton's method starts there, without SMO.  If that fails, the
        attempt is made from zero.
    """
    scale = float(max(K.A.diagonal().max(initial=0.0), K.D.diagonal().max(initial=0.0)))
    if not is_ordinary(scale, C):
        return None
    dual = pose(P, y, C, scale)

    def finished(point, h):
        """The solution, h = Kβ at the point; None if its certificate is not good enough."""
        product = lambda beta: h if beta is point.beta else _product(K, beta)  # noqa: E731
        solution = finish(dual, point, product, tolerance)
        proof, size = solution.certificate, np.abs(solution.beta).sum()
        exact = tolerance.accepts(proof, rounding_floor(scale, solution.beta))
        # If the dual value is zero, the features may separate the sample.
        return solution if exact and proof.dual > 1e-9 * size else None

    if start is not None:
        beta, nu, h = starting_point(dual, start, lambda beta: _product(K, beta))
        box = y, dual.lower, dual.upper
        steps = newton_and_product(K, dual.Q, *box, beta, nu, INITIAL_DAMPING, h)
        solution = finished(DualPoint(beta, nu, steps), h)
        if solution is not None:
            return solution
    search = _search_pairs if dual.has_constant else _search_box
    return finished(*search(K, dual))


def _product(K, beta):
    h = np.empty(beta.size)
    times(K, beta, h)
    return h


def _search_pairs(K, dual):
    """SMO and Newton's method in one compiled call: the point, and Kβ there."""
    columns = dual.Q.shape[1] - 1
    rho = penalty_weight(dual.size, dual.C, columns) if columns else 0.0
    args = K, dual.Q, rho, dual.y, dual.lower, dual.upper
    beta, nu, steps, h = _smo_and_newton(*args, NEWTON_HANDOVER, INITIAL_DAMPING)
    return DualPoint(beta, nu, steps), h


def _search_box(K, dual):
    """The same without a constant: all features are an augmented Lagrangian."""
    problem = prepare(assembled(K), dual.P, dual.y, dual.C, overwrite=True)
    levels = (1.0, 0.3, NEWTON_HANDOVER) if problem.rho else (NEWTON_HANDOVER,)
    zero = np.zeros(dual.y.size), np.zeros(dual.Q.shape[1])
    beta, nu, steps, reached = augmented_smo(problem, *zero, levels, 20 * dual.y.size)
    h, damping = np.empty(beta.size), INITIAL_DAMPING if reached else 1.0
    box = dual.y, dual.lower, dual.upper
    steps += newton_and_product(K, dual.Q, *box, beta, nu, damping, h)
    return DualPoint(beta, nu, steps), h


@jit
def newton_and_product(K, Q, y, lower, upper, beta, nu, damping, h):
    """Newton's method in place, and h = Kβ; returns the number of steps."""
    steps = newton_small(K, Q, y, lower, upper, beta, nu, damping, 80)
    times(K, beta, h)
    return steps


@jit
def _smo_and_newton(K, Q, rho, y, lower, upper, handover, damping):
    """Both searches from zero, in one call without the GIL: β, ν, steps, Kβ."""
    beta, nu, steps, reached = smo_from_zero(K, Q, rho, y, lower, upper, handover)
    h = np.empty(y.size)
    damping = damping if reached else 1.0
    steps += newton_and_product(K, Q, y, lower, upper, beta, nu, damping, h)
    return beta, nu, steps, h


@jit
def smo_from_zero(K, Q, rho, y, lower, upper, target):
    """SMO from zero to the target; all features but the constant are an augmented Lagrangian.

    Returns (β, ν, steps, whether it got there).
    """
    # The matrix in lanes, of which no row has been computed, and v = y.
    (n, r), b = Q.shape, -(-y.size // LANES)
    diag, A = np.ones((b, LANES), np.float32), np.zeros((r - 1, b, LANES), np.float32)
    beta, nu, v = np.zeros(n), np.zeros(r), np.zeros((b, LANES))
    for i in range(n):
        square = diagonal(K, i)
        for p in range(1, r):
            A[p - 1, i // LANES, i % LANES] = np.sqrt(rho) * Q[i, p]
            square += rho * Q[i, p] * Q[i, p]
        diag[i // LANES, i % LANES] = square
        v[i // LANES, i % LANES] = y[i]
    G = Lanes(
        np.empty((n, b, LANES), np.float32), diag, np.full(n, -1), np.array([0, n]),
        np.empty((b, 0, LANES), np.float32), A, K,
    )  # fmt: skip

    # SMO to 1, 0.3 and the target, with a multiplier update after each.
    steps, eps, flat = 0, 1.0 if r > 1 else target, v.reshape(-1)
    while True:
        used, left, _ = smo_lanes(G, lower, upper, beta, v, *masks(beta, lower, upper), eps, 20 * n)
        steps += used
        for p in range(1, r):
            residual = 0.0
            for i in range(n):
                residual += Q[i, p] * beta[i]
            nu[p] += rho * residual
            for i in range(n):
                flat[i] -= rho * residual * Q[i, p]
        if left > eps or eps <= target:
            break
        eps = 0.3 if eps > 0.3 else target

    # The bias, in the middle of what v leaves open.
    top, bottom = violation_bounds(flat[:n], beta, lower, upper)
    nu[0] = 0.5 * (top + bottom) * np.sqrt(n)
    return beta, nu, steps, left <= target

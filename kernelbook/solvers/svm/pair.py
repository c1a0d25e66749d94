"""A small SVM-GB dual from zero to proof, without a return to Python in between.

    minimize  ½βᵀKβ − yᵀβ,      Qᵀβ = 0,   lo ≤ β ≤ hi           (Q: orthonormal, a constant first)

What `svm.small` does one after the other, SMO, Newton's method, the bias and the certificate, takes
so little time for a pair of classes with a few hundred samples that to lead from one to the next in
Python counts.  On several threads all the more: compiled code runs side by side, but only one
thread at a time can be in Python, and the others wait.  So where the constant is the only feature,
as in the support vector machine that everybody knows, a pair is one compiled call (`_prove`), and a
few numbers come back to be judged by `solve_with_constant`.

Whatever is not the rule (numbers of extraordinary size, a β that rounding has left outside the box,
a bias that no free sample determines) is left to `svm.small`, which has the patience.
"""

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.solvers.svm.active_set_small import newton_small
from kernelbook.solvers.svm.certificate import COARSE_GAP, from_terms, is_feasible, residual, terms
from kernelbook.solvers.svm.large.smo_lanes import LANES, Lanes, ends, masks, smo_lanes
from kernelbook.solvers.svm.multipliers import mean_bias
from kernelbook.solvers.svm.pair_matrix import PairMatrix, diagonal, times
from kernelbook.solvers.svm.robust import DualSolution, at_bounds, rounding_floor

__all__ = [
    "PROX",
    "START",
    "by_pairs",
    "extremes",
    "is_ordinary",
    "newton_and_product",
    "one_number",
    "pairs_and_newton",
    "solve_with_constant",
    "worth_keeping",
]

START = 0.1
"""The violation at which Newton's method takes over."""

PROX = 1e-2
"""Its first proximal term, in units of K's diagonal."""


def solve_with_constant(K, P, y, C, tol, gap_tol):
    """`svm.small.solve_small` for one feature that is constant, or None where that does not do."""
    found, beta, coef, steps, h, scale, *numbers = _prove(*K, P, y, C)
    if not found:
        return None
    proof = from_terms(*numbers)
    if not worth_keeping(proof, beta, scale, tol, gap_tol):
        return None
    return DualSolution(beta, np.array([coef]), 1, max(1, steps), proof, h)


def worth_keeping(proof, beta, scale, tol, gap_tol):
    """Whether the violation is that of rounding, the gap as asked, and T3 out of the question."""
    exact = proof.kkt <= min(tol, rounding_floor(scale, beta))
    narrow = proof.relative_gap <= (gap_tol or COARSE_GAP)
    # With a dual value of zero perhaps the features separate the sample.
    return exact and narrow and proof.dual > 1e-9 * np.abs(beta).sum()


@jit
def _prove(A, B, D, rows, slot, count, P, y, C):
    """(whether all went well, β, λ, steps, h, the largest K_ii, and what `from_terms` takes)

    K comes in pieces: Numba takes longer to know the type of a tuple than of what is in it.
    """
    n, K = y.size, PairMatrix(A, B, D, rows, slot, count)
    beta, h, coef, steps = np.zeros(n), np.zeros(n), 0.0, 0
    numbers = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    scale, least, most = extremes(K, C)
    if not is_ordinary(scale, least, most) or not one_number(P[:, 0]):
        return False, beta, coef, steps, h, scale, *numbers
    Q, lo, hi = np.full((n, 1), n**-0.5), np.minimum(0.0, y * C), np.maximum(0.0, y * C)
    beta, _, steps, h = pairs_and_newton(K, Q, 0.0, y, lo, hi)
    at_zero, at_C = at_bounds(y * beta, C)
    bias, found = mean_bias(h, Q[:, 0], y, at_zero, at_C)
    if not found or not is_feasible(Q, beta, lo, hi):
        return False, beta, coef, steps, h, scale, *numbers
    coef = bias / P[0, 0]
    gap, energy, loss, slip, kkt = terms(h, h + P[0, 0] * coef, y, C, beta)
    numbers = (gap, energy, loss, slip, kkt, residual(P, beta))
    return energy > 0.0 and np.isfinite(gap), beta, coef, steps, h, scale, *numbers


@jit(brief=True)
def extremes(K, C):
    """(the largest K_ii, the least C_i, the largest C_i)"""
    scale, least, most = 0.0, np.inf, 0.0
    for i in range(C.size):
        scale = max(scale, diagonal(K, i))
        least, most = min(least, C[i]), max(most, C[i])
    return scale, least, most


@jit(brief=True)
def is_ordinary(scale, least, most):
    """Whether no change of units is called for."""
    return 1e-8 < scale < 1e8 and scale * most < 1e7 and least > 1e-8


@jit(brief=True)
def one_number(x):
    """Whether all of x is the same number, and not zero."""
    for i in range(x.size):
        if x[i] != x[0]:
            return False
    return x.size > 0 and x[0] != 0.0


@jit
def newton_and_product(K, Q, y, lo, hi, beta, nu, prox, h):
    """Newton's method in place, and h = Kβ; returns the number of steps."""
    steps = newton_small(K, Q, y, lo, hi, beta, nu, prox, 80)
    times(K, beta, h)
    return steps


@jit
def pairs_and_newton(K, Q, rho, y, lo, hi):
    """All from zero in one call, for other threads to go on with Python meanwhile: β, ν, steps, h.

    Threads that take turns at Python spend their time waking each other up.
    """
    beta, nu, steps, reached = by_pairs(K, Q, rho, y, lo, hi)
    h = np.empty(y.size)
    steps += newton_and_product(K, Q, y, lo, hi, beta, nu, PROX if reached else 1.0, h)
    return beta, nu, steps, h


@jit
def by_pairs(K, Q, rho, y, lo, hi):
    """SMO from zero to START; features but the constant, which is first, by multipliers.

    Returns (β, ν, steps, whether it got there).
    """
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
    steps, eps, flat = 0, 1.0 if r > 1 else START, v.reshape(-1)
    while True:
        used, left, _ = smo_lanes(G, lo, hi, beta, v, *masks(beta, lo, hi), eps, 20 * n)
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
    top, bottom = ends(flat[:n], beta, lo, hi)
    nu[0] = 0.5 * (top + bottom) * np.sqrt(n)
    return beta, nu, steps, left <= START

"""The SVM-GB dual for small samples: one attempt, compiled, and a proof.

    minimize  ½βᵀKβ − yᵀβ,      Qᵀβ = 0,   lo ≤ β ≤ hi           (Q: orthonormal features)

A pair of classes with a few hundred samples is solved by fifty steps of SMO and five of Newton's
method, a fifth of a millisecond.  The relay of `svm.robust` spends twenty times as much on being
ready for everything else.  So the two are called first, in compiled form:

1. `smo_lanes` to a violation of 0.1, on rows copied in single precision when they are needed;
   without a constant among the features, `smo_box`.
2. `active_set_small`: Newton's method on the face, in double precision, to rounding error.
3. Feasibility, λ and certificate exactly as in `svm.robust`.

All three are one compiled call where the constant is the only feature (`svm.pair`).

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

from kernelbook.numeric.column_space import column_space
from kernelbook.solvers.svm.certificate import certify, is_feasible, make_feasible
from kernelbook.solvers.svm.multipliers import choose_multipliers
from kernelbook.solvers.svm.pair import (
    PROX,
    START,
    extremes,
    is_ordinary,
    newton_and_product,
    one_number,
    pairs_and_newton,
    solve_with_constant,
    worth_keeping,
)
from kernelbook.solvers.svm.pair_matrix import assembled, times
from kernelbook.solvers.svm.problem import constant_first
from kernelbook.solvers.svm.robust import DualSolution, at_bounds
from kernelbook.solvers.svm.smo import smo_box

__all__ = ["solve_small"]


def solve_small(K, P, y, C, start=None, *, tol=1e-3, gap_tol=None):
    """Solve one binary problem, or return None; see the module.

    Parameters
    ----------
    K : PairMatrix, positive semidefinite
    P, y, C : (n, ℓ), (n,), (n,) arrays
        As in `svm.robust.solve_robust`.
    start : (n,) array, optional
        A β near the solution: Newton's method goes on from there, without SMO.  If that comes to
        nothing, all begins at zero.
    """
    if start is None and P.shape[1] == 1:
        solution = solve_with_constant(K, P, y, C, tol, gap_tol)
        if solution is not None:
            return solution
    scale, least, most = extremes(K, C)
    if not is_ordinary(scale, least, most):
        return None
    Q, T, has_constant = _span(P)
    lo, hi = np.minimum(0.0, y * C), np.maximum(0.0, y * C)
    rho, penalized = 0.0, Q[:, has_constant:]
    if penalized.shape[1]:  # as in `svm.problem`
        rho = max(scale, 1.0 / np.median(C)) * y.size / penalized.shape[1]
    problem = (Q, y, lo, hi)

    def proved(beta, nu, steps, h):
        """The solution from where Newton's method ended, h = Kβ; None if it proves too little."""
        if not is_feasible(Q, beta, lo, hi):
            beta = make_feasible(Q, beta, lo, hi)
            times(K, beta, h)
        nu = choose_multipliers(h, Q, y, C, *at_bounds(y * beta, C), nu)
        proof = certify(h, P, y, C, beta, T @ nu, scale)
        if not worth_keeping(proof, beta, scale, tol, gap_tol):
            return None
        return DualSolution(beta, T @ nu, Q.shape[1], max(1, steps), proof, h)

    if start is not None:
        beta, h = make_feasible(Q, np.clip(start, lo, hi), lo, hi), np.empty(y.size)
        times(K, beta, h)
        where = at_bounds(y * beta, C)
        nu = choose_multipliers(h, Q, y, C, *where, np.zeros(Q.shape[1]))
        steps = newton_and_product(K, *problem, beta, nu, PROX, h)
        solution = proved(beta, nu, steps, h)
        if solution is not None:
            return solution
    if has_constant:
        return proved(*pairs_and_newton(K, Q, rho, y, lo, hi))
    beta, nu, steps, reached = _in_the_box(assembled(K), Q, rho, y, lo, hi)
    h = np.empty(y.size)
    steps += newton_and_product(K, *problem, beta, nu, PROX if reached else 1.0, h)
    return proved(beta, nu, steps, h)


def _span(P):
    """Orthonormal Q, the constant first if it is in the span; T with λ = Tν; whether it is."""
    n, l = P.shape
    if l == 1 and one_number(P[:, 0]):
        return np.full((n, 1), n**-0.5), np.array([[n**-0.5 / P[0, 0]]]), True
    span = column_space(P)
    Q, has_constant = constant_first(span.Q)
    return np.ascontiguousarray(Q), span.T @ (span.Q.T @ Q), has_constant


def _in_the_box(K, Q, rho, y, lo, hi):
    """The same without a constant: all features by multipliers."""
    K = K + rho * Q @ Q.T
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

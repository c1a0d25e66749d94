"""The SVM-GB dual for large samples: a search in single precision, a proof in double.

    minimize  ½βᵀKβ − yᵀβ,      Qᵀβ = 0,   lo ≤ β ≤ hi           (Q: orthonormal features)

Nearly all the time of a large problem goes into reading K.  A matrix in single precision takes half
the time, and what it gets wrong, 10⁻⁷ to 10⁻⁵ of an entry, matters only at the very end.  So:

1. *Descend.*  SMO on the single-precision K, to a violation of 0.3.  Features other than the
   constant are an augmented Lagrangian: ρQQᵀ is added to K (`large.state`).
2. *Jump.*  Newton's method on the face, where it costs less than SMO would (`large.search`).
3. *Prove.*  The point is moved to exact feasibility, f is computed in double precision, as
   prediction will compute it, λ is chosen by the rule, and the certificate decides.  If it is not
   good enough the search goes on from the *exact* gradient: iterative refinement (Wilkinson).
   Errors of single precision then act on what is still to be done only, and vanish with it.

What the proof needs of K: that it is positive semidefinite.  With a linear kernel β is not unique,
but h = Kβ is, and the certificate is about f.  What the search needs: the constant in the span of
the features, so that pairs of coordinates can keep 1ᵀβ = 0, and numbers of ordinary size.

`solve_large` returns None where it does not apply or does not get there; then
`svm.robust.solve_robust`
has to do it, whose relay of methods takes longer, and hardly ever fails.
"""

import numpy as np

from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.threads import serial_blas
from kernelbook.solvers.svm.certificate import COARSE_GAP, certify, make_feasible
from kernelbook.solvers.svm.large.search import search
from kernelbook.solvers.svm.large.state import GramSource, state_at_zero
from kernelbook.solvers.svm.multipliers import choose_multipliers, hard_margin_multipliers
from kernelbook.solvers.svm.problem import constant_first
from kernelbook.solvers.svm.robust import DualSolution, at_bounds

__all__ = ["solve_large"]

ROUNDS = 8
"""How often the search may go on from the exact gradient."""


@serial_blas
def solve_large(
    gram: GramSource, P, y, C, *, tol=1e-3, gap_tol=None, span=None, start=None, verbose=0
):
    """Solve one binary problem, or return None; see the module, and `svm.robust.solve_robust`.

    Parameters
    ----------
    span : optional
        `column_space(P)`, of features that are known not to separate the sample.
    start : (m,) array, optional
        A β to start from, the solution with another C for example; zero if None.
    """
    m, scale = y.size, float(gram.diagonal.max(initial=0.0))
    tried, span = span is not None, span or column_space(P)
    Q, has_constant = constant_first(span.Q)
    ordinary = 1e-8 < scale < 1e8 and scale * C.max() < 1e7 and C.min() > 1e-8
    if not has_constant or not ordinary:
        return None
    if not tried and Q.shape[1] > 1 and hard_margin_multipliers(span.Q, y, C) is not None:
        return None
    state = state_at_zero(gram, Q, y, C)
    last, goal = None, _inner_goal(tol, gap_tol)
    beta, h = np.zeros(m), np.zeros(m)
    if start is not None:
        beta = make_feasible(Q, np.clip(start, state.lo, state.hi), state.lo, state.hi)
        h = gram.product(beta)
        where = at_bounds(y * beta, C)
        nu = choose_multipliers(h, Q, y, C, *where, state.nu)
        _go_on_from(state, y, beta, nu, h)
    for _ in range(ROUNDS):
        search(state, goal)
        before, beta = beta, make_feasible(Q, state.beta, state.lo, state.hi)
        h = _moved_product(gram, h, before, beta)
        where = at_bounds(y * beta, C)
        nu = choose_multipliers(h, Q, y, C, *where, state.nu)
        coef = span.T @ (span.Q.T @ (Q @ nu))
        proof = certify(h, P, y, C, beta, coef, scale)
        if verbose:
            print(
                f"   single: {state.steps} steps, violation {proof.kkt:.1e}, "
                f"gap {proof.relative_gap:.1e} relative, "
                f"{np.count_nonzero(beta)} of {m} samples support"
            )
        if proof.kkt <= tol and proof.relative_gap <= (gap_tol or COARSE_GAP):
            return DualSolution(beta, coef, span.rank, max(1, state.steps), proof, h)
        if last is not None and proof.kkt > 0.5 * last and proof.kkt > tol:
            return None
        last, goal = proof.kkt, 0.1 * min(goal, proof.kkt)
        _go_on_from(state, y, beta, nu, h)
    return None


def _go_on_from(state, y, beta, nu, h):
    """Put the state at a feasible β, with the exact gradient."""
    state.beta, state.nu = beta.copy(), nu
    state.gradient[:] = y - h - state.Q @ nu  # Qᵀβ = 0: no penalty


def _moved_product(gram, h, before, beta):
    """Kβ from h = K·before: where most coordinates stay, only the others have to be asked."""
    if 2 * np.count_nonzero(beta != before) < np.count_nonzero(beta):
        return h + gram.product(beta - before)
    return gram.product(beta)


def _inner_goal(tol, gap_tol):
    """Half of tol, so that rounding leaves the certificate room."""
    return 0.5 * tol if gap_tol is None else min(0.5 * tol, gap_tol)

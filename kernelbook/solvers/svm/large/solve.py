"""The SVM-GB dual for large samples: a search in single precision, a certificate in double.

    minimize  ½βᵀKβ − yᵀβ,      Qᵀβ = 0,   lower ≤ β ≤ upper     (Q: orthonormal features)

Nearly all the time of a large problem goes into reading K.  A matrix in single precision takes half
the time, and its errors, 10⁻⁷ to 10⁻⁵ of an entry, matter only at the very end.  So:

1. *Descend.*  SMO on the single-precision K, to a violation of 0.3.  Features other than the
   constant are an augmented Lagrangian: ρQQᵀ is added to K (`large.state`).
2. *Jump.*  Newton's method on the active set, where it costs less than SMO would (`large.search`).
3. *Finish.*  The common exit `svm.certificate.finish`, with Φβ in double precision, as prediction
   computes it.  If the certificate is not good enough the search goes on from the *exact* gradient:
   iterative refinement (Wilkinson).  Errors of single precision then act only on what is left.

Requirements: a positive semidefinite K (β need not be unique, for Kβ is); the constant in the span
of the features, so that pairs of coordinates can keep 1ᵀβ = 0; numbers of ordinary size.

`solve_large` returns None where it does not apply or does not succeed; `svm.solve.solve_robust`
takes longer, and hardly ever fails.

Chapter: book/computing/fast
"""

import numpy as np

from kernelbook.numeric.threads import serial_blas
from kernelbook.solvers.svm.certificate import (
    DEFAULT_TOLERANCE,
    finish,
    solve_separable,
    starting_point,
)
from kernelbook.solvers.svm.large.search import search
from kernelbook.solvers.svm.large.state import GramSource, state_at_zero
from kernelbook.solvers.svm.problem import DualPoint, is_ordinary, pose

__all__ = ["MovingProduct", "solve_large"]

MAX_REFINEMENTS = 8
"""How often the search may go on from the exact gradient."""


@serial_blas
def solve_large(gram: GramSource, P, y, C, *, tolerance=DEFAULT_TOLERANCE, start=None, verbose=0):
    """Solve one binary problem, or return None; see the module, and `svm.solve.solve_robust`.

    Parameters
    ----------
    start : (m,) array, optional
        A β to start from, the solution with another C for example; zero if None.
    """
    dual = pose(P, y, C, float(gram.diagonal.max(initial=0.0)))
    separable = solve_separable(dual)
    if separable is not None:
        return separable
    if not dual.has_constant or not is_ordinary(dual.size, C):
        return None
    state, product = state_at_zero(gram, dual), MovingProduct(gram)
    if start is not None:
        _continue_from(state, y, *starting_point(dual, start, product))
    last, goal = np.inf, _search_goal(tolerance)
    for _ in range(MAX_REFINEMENTS):
        search(state, goal)
        solution = finish(dual, DualPoint(state.beta, state.nu, state.steps), product, tolerance)
        proof = solution.certificate
        if verbose:
            print(
                f"   single: {state.steps} steps, violation {proof.kkt:.1e}, "
                f"gap {proof.relative_gap:.1e} relative, "
                f"{np.count_nonzero(solution.beta)} of {y.size} samples support"
            )
        if tolerance.accepts(proof):
            return solution
        if proof.kkt > 0.5 * last and proof.kkt > tolerance.kkt:
            return None
        last, goal = proof.kkt, 0.1 * min(goal, proof.kkt)
        nu = dual.Q.T @ (P @ solution.coef)
        _continue_from(state, y, solution.beta, nu, solution.kernel_values)
    return None


def _continue_from(state, y, beta, nu, h):
    """Put the state at a feasible β, with the exact gradient."""
    state.beta, state.nu = beta.copy(), nu
    state.gradient[:] = y - h - state.Q @ nu  # Qᵀβ = 0: no penalty


class MovingProduct:
    """β ↦ Kβ for a β that moves: if most coordinates stay, only the others are multiplied."""

    def __init__(self, gram):
        self.gram, self.beta, self.h = gram, None, None

    def __call__(self, beta):
        before, self.beta = self.beta, beta.copy()
        few_moved = before is not None and (
            2 * np.count_nonzero(beta != before) < np.count_nonzero(beta)
        )
        self.h = self.h + self.gram.product(beta - before) if few_moved else self.gram.product(beta)
        return self.h


def _search_goal(tolerance):
    """Half of the tolerance, so that rounding leaves the certificate room."""
    half = 0.5 * tolerance.kkt
    return half if tolerance.gap is None else min(half, tolerance.gap)

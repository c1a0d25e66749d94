"""The one exit of every dual solver: point → feasible β → λ → certificate.

Solvers differ in how they find a point (β, ν).  What makes a solution of it is the same for all:

1. β is moved to an exactly feasible point (`svm.feasibility`).
2. Φβ is computed as prediction computes it, where the caller supplies the product.
3. λ is chosen by the rule of `svm.multipliers`, starting from the solver's ν.
4. The certificate is that of f = Φβ + Pλ (`svm.certificate`).

Two exceptions, both decided by the certificate.  The rule for λ is meant for optimal points; far
from them the solver's own multipliers may be better.  And if the gap is large, rounding may have
left margins just below one: `lift_margins` tries to lift them.
"""

from dataclasses import replace

import numpy as np

from kernelbook.solvers.svm.certificate import certify
from kernelbook.solvers.svm.feasibility import is_feasible, make_feasible
from kernelbook.solvers.svm.multipliers import choose_multipliers, hard_margin_multipliers
from kernelbook.solvers.svm.solution import (
    MAX_RELATIVE_GAP,
    DualPoint,
    DualSolution,
    at_bounds,
    lift_margins,
)

__all__ = ["finish", "recertified", "solve_separable", "starting_point"]


def finish(dual, point: DualPoint, product, tolerance, in_span=None) -> DualSolution:
    """The solution that a point becomes.

    Parameters
    ----------
    dual : Dual
    product : callable, β ↦ Φβ on the sample
        In the units of the caller; called once, with the feasible β.
    tolerance : Tolerance
        For choosing between candidates; whether the result is good enough is not decided here.
    in_span : callable, optional
        b ↦ the part of Φβ, within the span of the features, that the solver's ν accounts for.
    """
    basis = point.basis or dual.basis
    b = point.beta
    if not point.exact and not is_feasible(basis.functions, b, dual.lower, dual.upper):
        b = make_feasible(basis.functions, b, dual.lower, dual.upper)
    beta = b if dual.unit == 1.0 else b / dual.unit
    h = product(beta)
    guess = point.nu if in_span is None else point.nu - basis.functionals @ in_span(b)
    places = at_bounds(dual.y * b, np.abs(dual.lower + dual.upper))
    nu = choose_multipliers(h, basis.functions, dual.y, dual.C, *places, guess)
    best = _certified(dual, beta, basis.T @ nu, h, point.steps)
    if best.certificate.kkt > tolerance.kkt:  # the rule chooses among optimal λ
        own = _certified(dual, beta, basis.T @ guess, h, point.steps)
        best = min(best, own, key=tolerance.rank)
    if best.certificate.relative_gap > MAX_RELATIVE_GAP:
        lifted = lift_margins(best.beta, best.coef, h, dual.P, dual.y, dual.C, dual.size)
        lifted = _certified(dual, *lifted, point.steps)
        best = min(best, lifted, key=lambda s: s.certificate.relative_gap)
    return best


def _certified(dual, beta, coef, h, steps) -> DualSolution:
    """β and λ with their certificate, for h = Φβ."""
    proof = certify(h, dual.P, dual.y, dual.C, beta, coef, dual.size)
    return DualSolution(beta, coef, dual.rank, max(1, steps), proof, h)


def recertified(solution, h, P, y, C, size) -> DualSolution:
    """The same β and λ, with the certificate for another h = Φβ, rounded differently."""
    proof = certify(h, P, y, C, solution.beta, solution.coef, size)
    return replace(solution, certificate=proof, kernel_values=h)


def solve_separable(dual):
    """The solution β = 0 where the features alone separate the sample (T3), otherwise None."""
    nu = hard_margin_multipliers(dual.basis.functions, dual.y, dual.C)
    if nu is None:
        return None
    zero = np.zeros(dual.y.size)
    args = dual.P, dual.y, dual.C, dual.size
    solution = _certified(dual, *lift_margins(zero, dual.basis.T @ nu, zero, *args), 1)
    return solution if solution.certificate.gap == 0 else None


def starting_point(dual, start, product):
    """(b, ν, Kb) for a proposed β: clipped, made feasible, with ν by the rule."""
    Q = dual.basis.functions
    b = np.clip(start * dual.unit, dual.lower, dual.upper)
    b = make_feasible(Q, b, dual.lower, dual.upper)
    h = product(b)
    places = at_bounds(dual.y * b, np.abs(dual.lower + dual.upper))
    nu = choose_multipliers(h, Q, dual.y, dual.C, *places, np.zeros(Q.shape[1]))
    return b, nu, h

"""The robust solver: a relay of methods on one Gram matrix, until a certificate is good enough.

    minimize  ½|f|² + Σ C_i (1 − y_i f(x_i))₊,       f = Σ β_i Φ(x_i, ·) + Σ λ_p φ_p

is solved in its dual, a quadratic program with one equation for each free feature,

    minimize  ½βᵀΦβ − yᵀβ,      Pᵀβ = 0,   0 ≤ y_iβ_i ≤ C_i .

Each method is good where the one before it is slow:

0. `solve_separable`: if the features alone separate the sample, β = 0 (T3).
1. From a start, if there is one: Newton's method (`svm.active_set`).
2. *SMO* (`svm.smo`): many cheap steps to a violation of about 0.1.  The bias is an equation it can
   keep; any other feature is an augmented Lagrangian.  Then *Newton's method* on the active set SMO
   has found, to rounding error.  If SMO did not get that far (a huge C), the same with more
   damping.
3. *Interior points* (`svm.interior`) if that fails (features that leave λ undetermined, nearly a
   linear program) and m is not large; then Newton again.
4. *Cardinal functions* (`numeric.span_basis`): what remains may be due to features of many sizes,
   1 and 10⁻⁹ and 10⁻⁷⁰.  Interior points once more, in a basis that preserves the small values.
5. Otherwise SMO to a smaller violation, Newton, and so on.

Every candidate leaves through `svm.finish`, and its certificate alone decides.

Chapter: book/computing/smo
"""

import numpy as np

from kernelbook.numeric.span_basis import cardinal_basis
from kernelbook.numeric.threads import serial_blas
from kernelbook.solvers.svm.active_set import INITIAL_DAMPING, active_set_newton
from kernelbook.solvers.svm.feasibility import make_feasible
from kernelbook.solvers.svm.finish import finish, solve_separable, starting_point
from kernelbook.solvers.svm.interior import interior_point
from kernelbook.solvers.svm.problem import prepare
from kernelbook.solvers.svm.smo import augmented_smo
from kernelbook.solvers.svm.solution import DEFAULT_TOLERANCE, DualPoint, rounding_floor

__all__ = ["EXACT_UP_TO", "Budget", "Incumbent", "solve_robust"]

EXACT_UP_TO = 1000
"""Up to this m the solution is always driven to rounding error, whatever the tolerance."""

INTERIOR_UP_TO = 5000
"""Up to this m a step of m³/3 operations is worth trying."""

INTERIOR_FIRST_UP_TO = 300
"""Up to this m interior points cost no more than another round of SMO."""

MAX_STALLED = 2
"""Candidates in a row, after interior points, that may fail to improve on the best one."""

EQUALITY_RTOL = 1e-6
"""What may be left of an equation Pᵀβ = 0 of a small problem, relative to its terms."""

MIN_VIOLATION = 1e-9
"""SMO is never asked for less."""


@serial_blas
def solve_robust(
    gram,
    P,
    y,
    C,
    *,
    tolerance=DEFAULT_TOLERANCE,
    max_iter=-1,
    definiteness="pd",
    linear_offset=None,
    start=None,
    product=None,
    skip_smo=False,
    overwrite=False,
    verbose=0,
):
    """Solve one binary problem.

    Parameters
    ----------
    gram : (m, m) array;  P : (m, ℓ) array;  y : (m,) array of ±1
    C : (m,) array, positive
        The upper end of each box.  Only ratios matter for the choice of λ, where C is the weight.
    tolerance : Tolerance
    max_iter : int
        Steps of all methods together; −1 for no limit but common sense.
    definiteness : {"pd", "cpd", "unknown"}
        What is known of the kernel; see `svm.problem`.
    linear_offset : (m,) array, optional
        g, where the kernel is Φ = gram + g1ᵀ + 1gᵀ and the constant is in the span of the
        features: Φβ is then gram·β + (gᵀβ)1.  Points far from the origin have a linear kernel of
        this form, whose entries would be all rounding error; see `estimators._centering`.
    start : (m,) array, optional
        A β to start from.
    product : callable, optional
        β ↦ Φβ as prediction computes it; the Gram matrix if None.
    skip_smo : bool
        SMO and Newton have already failed: a tiny problem goes on to interior points.
    overwrite : bool
        Allow `gram` to be destroyed; saves a copy when there are several features.

    Returns
    -------
    DualSolution
        The best candidate; the caller judges it by its certificate.
    """
    problem = prepare(
        gram, P, y, C, definiteness=definiteness, linear_offset=linear_offset, overwrite=overwrite
    )
    separable = solve_separable(problem)
    if separable is not None:
        return separable
    if product is None:

        def product(beta):
            return problem.kernel_values(beta * problem.unit)

    budget = Budget(max(10_000_000, 100 * y.size) if max_iter < 0 else max_iter)
    incumbent = Incumbent(problem, tolerance, verbose)
    for point in _attempts(problem, budget, start, skip_smo):
        incumbent.offer(finish(problem, point, product, tolerance, problem.in_span), point)
        if incumbent.accepted or incumbent.stalled:
            break
    return incumbent.best


class Budget:
    """The steps that all methods together may take."""

    def __init__(self, limit):
        self.limit, self.used = limit, 0

    @property
    def exhausted(self):
        return self.used >= self.limit

    def at_most(self, steps):
        """As many of these steps as are left."""
        return min(steps, self.limit - self.used)


class Incumbent:
    """The best solution so far, and whether the search should go on.

    After interior points usually only rounding is left: then the search ends when `MAX_STALLED`
    candidates in a row have not improved on the best one.
    """

    def __init__(self, problem, tolerance, verbose=0):
        self.problem, self.tolerance, self.verbose = problem, tolerance, verbose
        self.best, self.accepted = None, False
        self._without_progress, self._past_interior = 0, False

    @property
    def stalled(self):
        return self._past_interior and self._without_progress >= MAX_STALLED

    def offer(self, solution, point):
        """Take the solution into account that has become of a point."""
        proof, small = solution.certificate, self.problem.y.size <= EXACT_UP_TO
        if self.verbose:
            print(
                f"{point.method:>9}: {point.steps} steps, violation {proof.kkt:.1e}, "
                f"gap {proof.relative_gap:.1e} relative, "
                f"{np.count_nonzero(point.beta)} of {point.beta.size} samples support"
            )
        improved = self.best is None or proof.kkt < 0.9 * self.best.certificate.kkt
        self._past_interior |= point.method == "interior"
        if improved:
            self._without_progress = 0
        elif point.method != "cardinal":  # two of these are one attempt
            self._without_progress += 1
        better = [s for s in (self.best, solution) if s is not None]
        self.best = min(better, key=self.tolerance.rank)

        goal = self.tolerance
        if small and point.method == "SMO+Newton":
            goal = goal.down_to(rounding_floor(self.problem.scale, point.beta))
        # An equation that only a few small coefficients enter: cardinal functions may do better.
        balanced = not small or proof.constraint <= EQUALITY_RTOL
        self.accepted = goal.accepts(proof) and balanced


# ---------------------------------------------------------------------------------- attempts


def _attempts(problem, budget, start, skip_smo):
    """Yield better and better points, until there is nothing left to try."""
    m = problem.y.size
    with_interior = m <= INTERIOR_UP_TO
    if start is not None:
        yield _from_start(problem, budget, start)
    if skip_smo and m <= INTERIOR_FIRST_UP_TO:
        with_interior = False
        yield from _restarts(problem, budget)

    b, nu = np.zeros(m), np.zeros(problem.rank)
    eps, max_smo = 0.1, 20 * m
    coarser = (1.0, 0.3) if problem.rho > 0 else ()  # while the multipliers are far off
    while eps > MIN_VIOLATION and not budget.exhausted:
        b, nu, reached = _coarse_smo(problem, budget, b, nu, (*coarser, eps), max_smo)
        coarser = ()
        b, nu = _newton_polish(problem, budget, b, nu, reached, with_interior)
        yield DualPoint(b, nu, budget.used, "SMO+Newton")
        enough_smo = eps <= (0.1 if m <= INTERIOR_FIRST_UP_TO else 1e-3)
        if with_interior and not budget.exhausted and (enough_smo or not reached):
            with_interior = False
            yield from _restarts(problem, budget)
        if reached:
            eps /= 10
        else:
            max_smo *= 4


def _from_start(problem, budget, start):
    """Newton's method from a proposed β."""
    b, nu, _ = starting_point(problem, start, lambda b: problem.K @ b)
    b, nu = _newton(problem, budget, b, nu, INITIAL_DAMPING, max_face=_modest_face(problem))
    return DualPoint(b, nu, budget.used, "SMO+Newton")


def _coarse_smo(problem, budget, b, nu, levels, max_steps):
    """SMO from the last feasible point, to each of these violations in turn."""
    max_steps = budget.at_most(max_steps)
    b, nu, steps, reached = augmented_smo(problem, b, nu, levels, max_steps)
    budget.used += steps
    return b, nu, reached


def _newton_polish(problem, budget, b, nu, reached, with_interior):
    """Newton's method on the active set that SMO has found; a feasible point."""
    if not budget.exhausted:
        modest = _modest_face(problem)
        if reached:
            b, nu = _newton(problem, budget, b, nu, INITIAL_DAMPING, max_face=modest)
        else:
            # A poor start needs full damping; and interior points, which follow, need more memory.
            limit = problem.y.size if with_interior else modest
            b, nu = _newton(problem, budget, b, nu, 1.0, max_face=limit)
    return make_feasible(problem.Q, b, problem.lower, problem.upper), nu


def _restarts(problem, budget):
    """Interior points: in the orthonormal basis, then in cardinal functions."""
    yield _interior_restart(problem, budget)
    if problem.y.size <= EXACT_UP_TO and problem.rank and not budget.exhausted:
        yield from _cardinal_restart(problem, budget)


def _interior_restart(problem, budget):
    box = problem.y, problem.lower, problem.upper
    b, nu, steps = interior_point(problem.K, problem.Q, *box, max_steps=budget.at_most(80))
    budget.used += steps
    if not budget.exhausted:
        b, nu = _newton(problem, budget, b, nu, 1e-6, max_steps=60)
    return DualPoint(b, nu, budget.used, "interior")


def _cardinal_restart(problem, budget):
    basis, box = cardinal_basis(problem.P, problem.span), (problem.lower, problem.upper)
    b, nu, steps = interior_point(
        problem.K, basis.functions, problem.y, *box, keep_going=True, max_steps=budget.at_most(300)
    )
    budget.used += steps
    yield DualPoint(b, nu, budget.used, "cardinal", basis)
    # A tiny move off a bound, for feasibility, becomes visible if λ is huge.
    yield DualPoint(b, nu, budget.used, "cardinal", basis, exact=True)


def _modest_face(problem):
    """The size of a face whose factor needs a fifth of the memory of the Gram matrix."""
    return max(EXACT_UP_TO + 500, int(0.44 * problem.y.size))


def _newton(problem, budget, b, nu, damping, *, max_face=None, max_steps=80):
    args = problem.K, problem.Q, problem.y, problem.lower, problem.upper, b, nu
    b, nu, steps = active_set_newton(
        *args, damping=damping, max_face=max_face, max_steps=budget.at_most(max_steps)
    )
    budget.used += steps
    return b, nu

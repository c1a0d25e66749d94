"""One binary problem: which solver, in which order, and when the certificate is good enough.

    minimize  ½|f|² + Σ C_i (1 − y_i f(x_i))₊,       f = Σ β_i Φ(x_i, ·) + Σ λ_p φ_p

is solved in its dual, a quadratic program with one equation for each free feature,

    minimize  ½βᵀΦβ − yᵀβ,      Pᵀβ = 0,   0 ≤ y_iβ_i ≤ C_i .

`ABILITIES` says what each solver can do.  With solver="auto" a large sample is tried without a
Gram matrix first (`svm.large`).  Everything else, and what that leaves, goes to `solve_robust`, a
relay of methods on one Gram matrix, each of them good where the one before it is slow:

1. *SMO* (`svm.smo`): many cheap steps to a violation of about 0.1.  The bias is an equation it can
   keep; any other feature is an augmented Lagrangian.  Then *Newton's method* (`svm.active_set`) on
   the active set SMO has found, to rounding error.  If SMO did not get that far (a huge C), the
   same with more damping.  If a start is given, Newton's method begins there.
2. *Separation*: if the dual is nearly zero, or the first point is not good enough, the features
   alone may separate the sample.  Then β = 0 (T3).
3. *Interior points* (`svm.interior`) where that fails (features that leave λ undetermined, nearly a
   linear program) and m is not large; then Newton again.
4. *Cardinal functions* (`numeric.span_basis`): what remains may be due to features of many sizes,
   1 and 10⁻⁹ and 10⁻⁷⁰.  Interior points once more, in a basis that preserves the small values.
5. Otherwise SMO to a smaller violation, Newton, and so on.

Every point leaves through `svm.certificate.finish`, and its certificate alone decides.

Chapter: book/computing/smo
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kernelbook.numeric.span_basis import cardinal_basis
from kernelbook.numeric.threads import serial_blas
from kernelbook.solvers.svm.active_set import INITIAL_DAMPING, active_set_newton
from kernelbook.solvers.svm.certificate import (
    DEFAULT_TOLERANCE,
    Tolerance,
    finish,
    rounding_floor,
    solve_separable,
    starting_point,
)
from kernelbook.solvers.svm.interior import interior_point
from kernelbook.solvers.svm.large.solve import solve_large
from kernelbook.solvers.svm.memory import room_for_matrix, room_for_search
from kernelbook.solvers.svm.problem import DualPoint, DualProblem, DualSolution, prepare
from kernelbook.solvers.svm.reference import solve_reference
from kernelbook.solvers.svm.smo import augmented_smo

__all__ = [
    "ABILITIES", "EXACT_UP_TO", "SOLVERS", "Relay", "able", "solve_binary", "solve_on_gram",
    "solve_robust",
]  # fmt: skip

EXACT_UP_TO = 1000
"""Up to this m the solution is always driven to rounding error, whatever the tolerance."""

INTERIOR_UP_TO = 5000
"""Up to this m a step of m³/3 operations is worth trying."""

INTERIOR_FIRST_UP_TO = 300
"""Up to this m interior points cost no more than another round of SMO."""

MAX_STALLED_POINTS = 2
"""Points in a row, after interior points, that may fail to improve on the best solution."""

EQUALITY_RTOL = 1e-6
"""What may be left of an equation Pᵀβ = 0 of a small problem, relative to its terms."""

MIN_VIOLATION = 1e-9
"""SMO is never asked for less."""

SOLVERS = {
    "auto": "the fastest solver that applies; where its certificate fails, the next one",
    "robust": "SMO, active set and interior points in turn, on the Gram matrix of each problem",
    "cvxopt": "the paper's quadratic and linear program; needs kernelbook[reference]",
}


@dataclass(frozen=True)
class Ability:
    """What a solver can do.

    Attributes
    ----------
    rows : the numbers of samples it is made for
    any_kernel : whether the kernel may be indefinite on the whole space, or unknown
    sparse_rows : whether the rows of X may be sparse
    counts_steps : whether it can be told how many steps to take
    takes_start : whether it can start from a given β
    """

    rows: range
    any_kernel: bool = True
    sparse_rows: bool = True
    counts_steps: bool = True
    takes_start: bool = True


SMALL, LARGE, ANY_SIZE = range(1, EXACT_UP_TO + 1), range(EXACT_UP_TO + 1, 2**62), range(1, 2**62)
ABILITIES = {
    "large": Ability(LARGE, any_kernel=False, sparse_rows=False, counts_steps=False),
    "pairs": Ability(SMALL, any_kernel=False, counts_steps=False),
    "robust": Ability(ANY_SIZE),
    "cvxopt": Ability(ANY_SIZE, takes_start=False),
}


def able(solver: str, source: Any, m: int, max_iter: int = -1) -> bool:
    """Whether a solver can do a problem of m samples with this kernel."""
    ability = ABILITIES[solver]
    return (
        m in ability.rows
        and (ability.any_kernel or source.definite)
        and (ability.sparse_rows or not source.sparse)
        and (ability.counts_steps or max_iter < 0)
    )


def solve_binary(
    source: Any,
    P: np.ndarray,
    y: np.ndarray,
    C: np.ndarray,
    *,
    solver: str = "auto",
    start: np.ndarray | None = None,
    max_iter: int = -1,
    **options: Any,
) -> DualSolution:
    """Solve one binary problem; the certificate is that of f as predicted.

    Parameters
    ----------
    source : KernelSource or MatrixSource
    P, y, C, start, max_iter, options : as in `solve_robust`
    solver : one of `SOLVERS`

    Returns
    -------
    DualSolution
    """
    if solver == "auto" and able("large", source, y.size, max_iter):
        with room_for_search(source, y.size):
            solution = solve_large(source, P, y, C, start=start, **options)
        if solution is not None:
            return solution
    rest = {"start": start, "max_iter": max_iter, "overwrite": source.writable}
    small = y.size <= EXACT_UP_TO  # a few megabytes are there
    with nullcontext() if small else room_for_matrix(source, y.size, y.size, solver):
        return solve_on_gram(source, source.gram(), P, y, C, solver=solver, **rest, **options)


def solve_on_gram(
    source: Any,
    gram: np.ndarray,
    P: np.ndarray,
    y: np.ndarray,
    C: np.ndarray,
    *,
    solver: str = "auto",
    definiteness: str | None = None,
    start: np.ndarray | None = None,
    overwrite: bool = False,
    skip_smo: bool = False,
    **options: Any,
) -> DualSolution:
    """The same on a Gram matrix, which the solver may destroy if `overwrite`."""
    # Of a function nothing is known: products are compared with the matrix, which must stay.
    kept = None if source.consistent else gram
    options |= {
        "definiteness": definiteness or source.definiteness,
        "linear_offset": source.linear_offset,
        "product": partial(source.product, gram=kept),
    }
    if solver == "cvxopt":
        return solve_reference(gram, P, y, C, **options)
    return solve_robust(
        gram, P, y, C, start=start, overwrite=overwrite, skip_smo=skip_smo, **options
    )


@serial_blas
def solve_robust(
    gram: np.ndarray,
    P: np.ndarray,
    y: np.ndarray,
    C: np.ndarray,
    *,
    tolerance: Tolerance = DEFAULT_TOLERANCE,
    max_iter: int = -1,
    definiteness: str = "pd",
    linear_offset: np.ndarray | None = None,
    start: np.ndarray | None = None,
    product: Callable | None = None,
    skip_smo: bool = False,
    overwrite: bool = False,
    verbose: int = 0,
) -> DualSolution:
    """Solve one binary problem on its Gram matrix.

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
        this form, whose entries would be all rounding error; see `Linear.far_origin`.
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
        The best that was found; the caller judges it by its certificate.
    """
    problem = prepare(
        gram, P, y, C, definiteness=definiteness, linear_offset=linear_offset, overwrite=overwrite
    )
    relay = Relay(problem, tolerance, max_iter, product, verbose)
    return relay.run(start, skip_smo)


class Relay:
    """The methods in turn, the steps that are left to them, and the best solution so far.

    After interior points usually only rounding is left: then the search ends when
    `MAX_STALLED_POINTS` in a row have not improved on the best solution.
    """

    def __init__(
        self,
        problem: DualProblem,
        tolerance: Tolerance = DEFAULT_TOLERANCE,
        max_iter: int = -1,
        product: Callable | None = None,
        verbose: int = 0,
    ) -> None:
        self.problem, self.tolerance, self.verbose = problem, tolerance, verbose
        self.product = product or (lambda beta: problem.kernel_values(beta * problem.unit))
        self.m = problem.y.size
        self.steps, self.max_steps = 0, max(10_000_000, 100 * self.m) if max_iter < 0 else max_iter
        self.best: Any = None  # a DualSolution, after the first point
        self.n_stalled, self.past_interior = 0, False

    def run(self, start: np.ndarray | None = None, skip_smo: bool = False) -> DualSolution:
        """The best solution that the methods find."""
        problem = self.problem
        in_span: Callable | None = problem.in_span
        if problem.projection is None and problem.linear_offset is None:
            in_span = None
        for point in self.attempts(start, skip_smo):
            first = self.best is None
            solution = finish(problem, point, self.product, self.tolerance, in_span)
            accepted = self.accepts(solution, point)
            # If the dual value is zero, the features may separate the sample.
            small_dual = solution.certificate.dual <= 1e-9 * np.abs(solution.beta).sum()
            if first and (small_dual or not accepted):
                separable = solve_separable(problem)
                if separable is not None:
                    return separable
            if accepted or (self.past_interior and self.n_stalled >= MAX_STALLED_POINTS):
                break
        return self.best

    def accepts(self, solution: Any, point: DualPoint) -> bool:
        """Whether this solution is good enough; it is kept if it is the best."""
        proof, small = solution.certificate, self.m <= EXACT_UP_TO
        if self.verbose:
            print(
                f"{point.method:>9}: {point.steps} steps, violation {proof.kkt:.1e}, "
                f"gap {proof.relative_gap:.1e} relative, "
                f"{np.count_nonzero(point.beta)} of {self.m} samples support"
            )
        self.past_interior |= point.method == "interior"
        if self.best is None or proof.kkt < 0.9 * self.best.certificate.kkt:
            self.n_stalled = 0
        elif point.method != "cardinal":  # two of these are one attempt
            self.n_stalled += 1
        if self.best is None:
            self.best = solution
        else:
            self.best = min(self.best, solution, key=self.tolerance.rank)

        kkt = np.inf
        if small and point.method == "SMO+Newton":
            kkt = rounding_floor(self.problem.scale, point.beta)
        # An equation that only a few small coefficients enter: cardinal functions may do better.
        balanced = not small or proof.constraint <= EQUALITY_RTOL
        return balanced and self.tolerance.accepts(proof, kkt)

    # ------------------------------------------------------------------------------- methods

    def attempts(
        self, start: np.ndarray | None = None, skip_smo: bool = False
    ) -> Iterator[DualPoint]:
        """Yield better and better points, until there is nothing left to try."""
        interior_left = self.m <= INTERIOR_UP_TO
        if start is not None:
            b, nu, _ = starting_point(self.problem, start, lambda b: self.problem.K @ b)
            b, nu = self.newton(b, nu, INITIAL_DAMPING, max_face=self.modest_face)
            yield DualPoint(b, nu, self.steps, "SMO+Newton")
        if skip_smo and self.m <= INTERIOR_FIRST_UP_TO:
            interior_left = False
            yield from self.restarts()

        b, nu = np.zeros(self.m), np.zeros(self.problem.Q.shape[1])
        eps, max_smo = 0.1, 20 * self.m
        coarser = (1.0, 0.3) if self.problem.rho > 0 else ()  # while the multipliers are far off
        while eps > MIN_VIOLATION and self.steps_left:
            b, nu, used, reached = augmented_smo(
                self.problem, b, nu, (*coarser, eps), min(max_smo, self.steps_left)
            )
            self.steps, coarser = self.steps + used, ()
            if self.steps_left and reached:
                b, nu = self.newton(b, nu, INITIAL_DAMPING, max_face=self.modest_face)
            elif self.steps_left:
                # A poor start needs full damping; and interior points, which follow, need as much
                # memory as the largest face.
                largest = self.m if interior_left else self.modest_face
                b, nu = self.newton(b, nu, 1.0, max_face=largest)
            yield DualPoint(b, nu, self.steps, "SMO+Newton")
            enough_smo = eps <= (0.1 if self.m <= INTERIOR_FIRST_UP_TO else 1e-3)
            if interior_left and self.steps_left and (enough_smo or not reached):
                interior_left = False
                yield from self.restarts()
            if reached:
                eps /= 10
            else:
                max_smo *= 4

    def restarts(self) -> Iterator[DualPoint]:
        """Interior points: in the orthonormal basis, then in cardinal functions."""
        problem = self.problem
        b, nu = self.interior(problem.Q, 80)
        if self.steps_left:
            b, nu = self.newton(b, nu, 1e-6, max_steps=60)
        yield DualPoint(b, nu, self.steps, "interior")
        if self.m <= EXACT_UP_TO and nu.size and self.steps_left:
            basis = cardinal_basis(problem.P, problem.span)
            b, nu = self.interior(basis.functions, 300, keep_going=True)
            yield DualPoint(b, nu, self.steps, "cardinal", basis)
            # A tiny move off a bound, for feasibility, becomes visible if λ is huge.
            yield DualPoint(b, nu, self.steps, "cardinal", basis, exact=True)

    def interior(
        self, Q: np.ndarray, max_steps: int, **options: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        box = self.problem.y, self.problem.lower, self.problem.upper
        options["max_steps"] = min(max_steps, self.steps_left)
        b, nu, steps = interior_point(self.problem.K, Q, *box, **options)
        self.steps += steps
        return b, nu

    def newton(
        self,
        b: np.ndarray,
        nu: np.ndarray,
        damping: float,
        *,
        max_face: int | None = None,
        max_steps: int = 80,
    ) -> tuple[np.ndarray, np.ndarray]:
        problem = self.problem
        box = problem.y, problem.lower, problem.upper
        options = {"max_face": max_face, "max_steps": min(max_steps, self.steps_left)}
        b, nu, steps = active_set_newton(
            problem.K, problem.Q, *box, b, nu, damping=damping, **options
        )
        self.steps += steps
        return b, nu

    @property
    def steps_left(self) -> int:
        return self.max_steps - self.steps

    @property
    def modest_face(self) -> int:
        """The size of a face whose factor needs a fifth of the memory of the Gram matrix."""
        return max(EXACT_UP_TO + 500, int(0.44 * self.m))

"""The support vector machine with free features, from Gram matrix to (β, λ) and proof.

    minimize  ½|f|² + Σ C_i (1 − y_i f(x_i))₊,       f = Σ β_i Φ(x_i, ·) + Σ λ_p φ_p

is solved in its dual, a quadratic program with one equation for each free feature,

    minimize  ½βᵀΦβ − yᵀβ,      Pᵀβ = 0,   0 ≤ y_iβ_i ≤ C_i,

by a relay of methods, each good at what the one before it is bad at:

0. `hard_margin_multipliers`: if the features alone separate the sample, β = 0 (T3).  Done.
1. `smo`: many cheap steps to a violation of about 0.1.  The bias is an equation it can keep; any
   other feature is an augmented Lagrangian, λ += ρPᵀβ between runs.
2. `svm.active_set`: Newton's method on the face that SMO has pointed at, to rounding error.  If
   SMO did not
   get that far (a huge C), the same with more damping.
3. `interior`: where that fails (features that leave λ undetermined, nearly a linear program) and m
   is not large, interior points, and Newton again.
4. `svm.dual_bases`: what is left may be due to features of many sizes, 1 and 10⁻⁹ and 10⁻⁷⁰.
   Interior points once more, with their cardinal functions, which keep the small values.
5. Otherwise SMO to a smaller violation, Newton, and so on.

Every candidate is moved to an exactly feasible point, gets its λ by the rule of
`svm.multipliers`, and is accepted or not by its certificate alone.
"""

from dataclasses import dataclass

import numpy as np

from kernelbook.certificates import Certificate
from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.jit import jit
from kernelbook.numeric.threads import serial_blas
from kernelbook.solvers.svm.active_set import newton
from kernelbook.solvers.svm.certificate import COARSE_GAP, certify, make_feasible
from kernelbook.solvers.svm.convexity import definiteness
from kernelbook.solvers.svm.dual_bases import cardinal_basis, orthonormal_basis
from kernelbook.solvers.svm.interior import interior_point
from kernelbook.solvers.svm.multipliers import choose_multipliers, hard_margin_multipliers
from kernelbook.solvers.svm.problem import DualProblem, prepare
from kernelbook.solvers.svm.smo import smo_box, smo_pairs

__all__ = [
    "SMALL",
    "DualSolution",
    "at_bounds",
    "lift_margins",
    "rounding_floor",
    "solve_robust",
    "solve_separable",
]

SMALL = 1000
"""Up to this m the solution is always driven to rounding error, whatever `tol`."""

INTERIOR = 5000
"""Up to this m a step of m³/3 operations is worth trying."""

TINY = 300
"""Up to this m interior points cost no more than another round of SMO."""

FAR = 1e4
"""Multipliers beyond this are brought back: rounding of f = Kβ + Qν grows with them."""

PATIENCE = 2
"""Candidates in a row, after interior points, that may fail to improve on the best one."""

BALANCED = 1e-6
"""What may be left of an equation Pᵀβ = 0 of a small problem, relative to its terms."""

EXACT = 1e-9
"""The violation, beyond what rounding explains, above which a small problem goes on."""


@dataclass(frozen=True)
class DualSolution:
    """β, λ, the rank of P, the number of steps, the certificate, and h = Φβ on the sample."""

    beta: np.ndarray
    coef: np.ndarray
    rank: int
    n_iter: int
    certificate: Certificate
    h: np.ndarray


@serial_blas
def solve_robust(
    gram,
    P,
    y,
    C,
    *,
    tol=1e-3,
    gap_tol=None,
    max_iter=-1,
    kind="pd",
    tilt=None,
    tried=False,
    overwrite=False,
    verbose=0,
):
    """Solve one binary problem.

    Parameters
    ----------
    gram : (m, m) array;  P : (m, ℓ) array;  y : (m,) array of ±1
    C : (m,) array, positive
        The upper end of each box.  Only ratios matter for the choice of λ, where C is the weight.
    tol : float
        Largest violation, in units of the margin; see `svm.certificate`.
    gap_tol : float, optional
        Largest relative duality gap, demanded in addition; `svm.certificate.COARSE_GAP` if None.
    max_iter : int
        Steps of all methods together; −1: as many as it takes, within reason.
    kind : {"pd", "cpd", "unknown"}
        What is known of the kernel; see `svm.problem`.
    tilt : (m,) array, optional
        g, where the kernel is Φ = gram + g1ᵀ + 1gᵀ and the constant is in the span of the
        features: Φβ is then gram·β + (gᵀβ)1.  Points far from the origin have a linear kernel of
        this form, whose entries would be all rounding error; see `estimators._centering`.
    tried : bool
        Whether `svm.small`, which is the first two methods, has been tried in vain: then a tiny
        problem goes on to interior points, and comes back to them only if these fail.
    overwrite : bool
        Allow `gram` to be destroyed; saves a copy when there are several features.

    Returns
    -------
    SVMSolution
        The best candidate; whether it is good enough is for the caller to say, by `certificate`.
    """
    size = max(gram.max(initial=0.0), -gram.min(initial=0.0))  # no m×m mask
    if not np.isfinite(size):
        raise ValueError("the kernel matrix has entries that are NaN or infinite.")
    span = column_space(P)
    if kind == "unknown":
        kind = definiteness(gram, span.Q)

    def as_solution(beta, coef, h, steps):
        certificate = certify(h, P, y, C, beta, coef, size)
        return DualSolution(beta, coef, span.rank, max(1, steps), certificate, h)

    apart = solve_separable(P, y, C, size, span)
    if apart is not None:
        return apart

    problem = prepare(gram, span.Q, y, C, kind=kind, overwrite=overwrite)
    best, idle, last_resort = None, 0, False
    for b, nu, basis, steps, method in _candidates(problem, P, span, max_iter, tried):
        h, free = problem.kernel_part(b), np.zeros(y.size)
        if problem.shift is not None:
            free -= problem.Q @ (problem.shift.T @ b)
        if tilt is not None:
            level = tilt @ (b / problem.unit)
            h, free = h + level, free - level
        guess = nu + basis.functionals @ free
        where = at_bounds(y * b, np.abs(problem.hi + problem.lo))
        chosen = choose_multipliers(h, basis.functions, y, problem.weight, *where, guess)
        solution = as_solution(b / problem.unit, basis.T @ chosen, h, steps)
        if solution.certificate.kkt > tol:  # which λ is a question for the optimal ones only
            own = as_solution(b / problem.unit, basis.T @ guess, h, steps)
            solution = min(solution, own, key=lambda s: _rank(s, tol))
        if solution.certificate.relative_gap > COARSE_GAP:
            longer = lift_margins(solution.beta, solution.coef, h, P, y, C, size)
            longer = as_solution(*longer, steps)
            solution = min(solution, longer, key=lambda s: s.certificate.relative_gap)
        proof = solution.certificate
        if verbose:
            print(
                f"{method:>9}: {steps} steps, violation {proof.kkt:.1e}, "
                f"gap {proof.relative_gap:.1e} relative, "
                f"{np.count_nonzero(b)} of {b.size} samples support"
            )
        better = best is None or proof.kkt < 0.9 * best.certificate.kkt
        idle, last_resort = 0 if better else idle + 1, last_resort or method == "interior"
        idle -= method == "anchors" and not better  # a second last resort
        best = solution if best is None else min(best, solution, key=lambda s: _rank(s, tol))
        # After the interior-point method there is little that SMO could add.
        exact = y.size <= SMALL and method == "SMO+Newton"
        goal = min(tol, rounding_floor(problem.scale, b)) if exact else tol
        # A faint feature that its own few coefficients do not balance: the anchors may know better.
        balanced = y.size > SMALL or proof.constraint <= BALANCED
        if proof.kkt <= goal and proof.relative_gap <= (gap_tol or COARSE_GAP) and balanced:
            break
        # What interior points leave is rounding, as a rule: two more attempts, each of four times
        # the length of the one before, and no more.
        if last_resort and idle >= PATIENCE:
            break
    return best


def solve_separable(P, y, C, size, span=None):
    """The solution β = 0 where the features alone separate the sample (T3), otherwise None.

    The kernel is not asked, only how large it is: `size` is its largest entry.
    """
    span = column_space(P) if span is None else span
    nu = hard_margin_multipliers(span.Q, y, C)
    if nu is None:
        return None
    zero = np.zeros(y.size)
    beta, coef, h = lift_margins(zero, span.T @ nu, zero, P, y, C, size)
    proof = certify(h, P, y, C, beta, coef, size)
    return DualSolution(beta, coef, span.rank, 1, proof, h) if proof.gap == 0 else None


def _rank(solution, tol):
    """Smaller is better: first the violation, and once that is within tol, the gap."""
    proof = solution.certificate
    return max(proof.kkt, tol), proof.relative_gap


def lift_margins(beta, lam, h, P, y, C, size):
    """β, λ and h times 1 + s, s the least that lifts every y_i f_i < 1 to 1, rounding included.

    Where no α_i is at C_i, all f_i should be on the right side of the margin, and a hair below
    it costs C_i: if λ is 10⁹ or C is 10²⁰, more than everything else.  s is as small as that hair.
    """
    f = h + P @ lam
    rounding = 8 * np.finfo(float).eps * (size * np.abs(beta).sum() + np.abs(P) @ np.abs(lam))
    hair = np.max(1.0 - y * f + rounding, initial=0.0)
    if not hair < 0.5 or np.any(y * beta * (1 + 2 * hair) >= C):
        return beta, lam, h
    longer = 1.0 / (1.0 - hair)
    return longer * beta, longer * lam, longer * h


@jit(brief=True)
def at_bounds(alpha, C):
    """Which α_i are 0 and which are C_i, up to rounding."""
    tiny = 0.0
    for i in range(alpha.size):
        tiny = max(tiny, 1e-11 * alpha[i])
    at_zero, at_C = np.empty(alpha.size, np.bool_), np.empty(alpha.size, np.bool_)
    for i in range(alpha.size):
        at_zero[i] = alpha[i] <= min(tiny, 0.5 * C[i])
        at_C[i] = not at_zero[i] and C[i] - alpha[i] <= 1e-11 * C[i]
    return at_zero, at_C


def rounding_floor(scale, b):
    """A violation that rounding errors in f explain."""
    return EXACT + 64 * np.finfo(float).eps * scale * np.abs(b).sum()


def _candidates(problem: DualProblem, P, span, max_iter, tried=False):
    """Better and better (b, ν, basis of ν, steps, method), until there is nothing left to try."""
    m = problem.y.size
    args = (problem.K, problem.Q, problem.y, problem.lo, problem.hi)
    basis = orthonormal_basis(span, problem.Q)
    budget = max(10_000_000, 100 * m) if max_iter < 0 else max_iter
    modest = max(SMALL + 500, int(0.44 * m))  # a factor of a fifth of the Gram matrix
    b, nu, steps = np.zeros(m), np.zeros(problem.Q.shape[1]), 0
    eps, cap, interior = 0.1, 20 * m, m <= INTERIOR
    if tried and m <= TINY:
        interior = False
        yield from _last_resorts(problem, P, span, basis, steps, budget)

    while eps > 1e-9 and steps < budget:
        levels = (1.0, 0.3, eps) if steps == 0 and problem.rho > 0 else (eps,)
        b, nu, used, reached = _approach(problem, b, nu, levels, min(cap, budget - steps))
        steps += used
        if steps < budget:
            # A start that is not good needs all the damping there is; then, what comes after
            # Newton would cost more memory still.
            prox, limit = (1e-2, modest) if reached else (1.0, m if interior else modest)
            left = min(80, budget - steps)
            b, nu, used = newton(*args, b, nu, prox=prox, limit=limit, max_steps=left)
            steps += used
        b = make_feasible(problem.Q, b, problem.lo, problem.hi)
        yield b, nu, basis, steps, "SMO+Newton"
        if interior and steps < budget and (not reached or eps <= (0.1 if m <= TINY else 1e-3)):
            interior = False
            yield from _last_resorts(problem, P, span, basis, steps, budget)
        if reached:
            eps /= 10
        else:
            cap *= 4


def _last_resorts(problem, P, span, basis, steps, budget):
    yield from _interior(problem, basis, steps, budget)
    if problem.y.size <= SMALL:
        yield from _anchored(problem, P, span, steps, budget)


def _interior(problem, basis, steps, budget):
    args = (problem.K, problem.Q, problem.y, problem.lo, problem.hi)
    b, nu, used = interior_point(*args, max_steps=min(80, budget - steps))
    steps += used
    nu = _fetch_back(problem, b, nu)
    if steps < budget:
        b, nu, used = newton(*args, b, nu, prox=1e-6, max_steps=min(60, budget - steps))
        steps += used
    yield make_feasible(problem.Q, b, problem.lo, problem.hi), nu, basis, steps, "interior"


def _anchored(problem, P, span, steps, budget):
    """Interior points with cardinal functions."""
    if span.rank == 0 or steps >= budget:
        return
    basis = cardinal_basis(P, span)
    box = (problem.lo, problem.hi)
    args = (problem.K, basis.functions, problem.y, *box)
    b, nu, used = interior_point(*args, stubborn=True, max_steps=min(300, budget - steps))
    steps += used
    yield make_feasible(basis.functions, b, *box), nu, basis, steps, "anchors"
    # Repair may have moved a coordinate off its bound by a hair that a huge λ makes visible.
    yield b, nu, basis, steps, "anchors"


def _fetch_back(problem, b, nu):
    """ν on its way to the chosen one: where nothing holds ν, interior points lose it to infinity.

    Not all the way: ν in the middle of the optimal ones tells the free coordinates best.
    """
    where = at_bounds(problem.y * b, np.abs(problem.hi + problem.lo))
    near = choose_multipliers(problem.K @ b, problem.Q, problem.y, problem.weight, *where, nu)
    far = np.linalg.norm(nu - near)
    return nu if far <= FAR else near + FAR / far * (nu - near)


def _approach(problem, b, nu, levels, budget):
    """SMO to each violation in `levels`, with a multiplier update after each."""
    K, Q, y, lo, hi = problem.K, problem.Q, problem.y, problem.lo, problem.hi
    diag = K.diagonal().copy()
    b, nu, steps, reached = b.copy(), nu.copy(), 0, True
    smo = smo_pairs if problem.has_constant else smo_box
    for eps in levels:
        v = y - K @ b - Q @ nu
        used, left = smo(K, diag, lo, hi, b, v, eps, budget - steps)
        steps += used
        if problem.has_constant:
            bias = 0.5 * (np.max(v[b < hi]) + np.min(v[b > lo]))
            nu[0] += bias * np.sqrt(y.size)
        nu[problem.has_constant :] += problem.rho * (problem.penalized.T @ b)
        if left > eps:
            reached = False
            break
    return b, nu, steps, reached

"""The search for the best parameters: several starts, then Newton's method, then the curvature.

1. Every start is followed by L-BFGS-B, on at most 400 rows; a larger sample goes on from the
   distinct optima found there, as far as they come near the best.
2. The Hessian at the best one, by central differences of the exact gradient, gives Newton steps,
   a few at most.  They end where no logarithm of a parameter moves by more than 10⁻⁵, or where a
   step would make the criterion worse.
3. The inverse Hessian of −log L, s at its best, approximates the covariance of the logarithms.

Each evaluation is one factorization, and gives value and gradient.

Chapter: book/computing/likelihood

Reference: Byrd, Lu, Nocedal & Zhu, SIAM J. Sci. Comput. 16 (1995), for L-BFGS-B.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from kernelbook.numeric.linalg import project_out
from kernelbook.numeric.tiles import silent
from kernelbook.solvers.grls.saddle_factor import NotPositiveDefinite
from kernelbook.solvers.grls.tuning.boxes import box_of
from kernelbook.solvers.grls.tuning.checks import disputed, flat_names, messages_of
from kernelbook.solvers.grls.tuning.criteria import Criteria, Sample
from kernelbook.solvers.grls.tuning.settings import MAX_ROWS, Tuning, TuningResult

__all__ = ["Objective", "criteria_at", "tune"]

SCREEN_ROWS = 400
NEAR = 10.0  # optima of the screening within this of the best are followed further
MAX_STEPS, NEWTON_STEPS = 200, 5
STEP, SMALL_STEP = 1e-4, 1e-5  # of differences; where Newton's method ends
GRADIENT_TOL = 1e-3
FLAT_CURVATURE = 1e-6  # in units of the largest: no Newton step there
_BAD = 1e10  # above the last good value where the matrix is not definite


def tune(
    kernel,
    X,
    P,
    Y,
    reg,
    weights=None,
    settings: Tuning | None = None,
    rng=None,
    tick: Callable[[int], None] = silent,
):
    """(kernel, reg, `TuningResult`): the parameters at which a criterion is best.

    Parameters
    ----------
    kernel : Kernel or None
        None: X is the Gram matrix, and only reg is chosen.
    X : (m, d) rows, or (m, m) array
    P : (m, ℓ) array
    Y : (m, k) array
    reg : float
        Where the search starts, or what it keeps.
    weights : (m,) array of positive numbers, optional
    settings : Tuning, optional
    rng : numpy RandomState, optional
        For the rows of a sample that is too large, and those of the screening.
    tick : callable, optional
        tick(rows) at each evaluation.
    """
    settings = settings or Tuning()
    rng = rng or np.random.RandomState(0)
    m = len(Y)
    limit = settings.max_rows or MAX_ROWS
    rows = None if m <= limit else np.sort(rng.choice(m, limit, replace=False))
    given = kernel, X, P, Y, reg, weights, settings.criterion
    whole = Objective(*given, rows, tick)
    screen = whole
    if whole.m > SCREEN_ROWS:
        some = np.sort(rng.choice(whole.m, SCREEN_ROWS, replace=False))
        some = some if rows is None else rows[some]
        screen = Objective(*given, some, tick)
        if not screen.possible():
            screen = whole
    box = box_of(kernel, whole.X, reg, lambda k: whole.level(k) / whole.unit, settings)
    for objective in (whole, screen):
        objective.free(box.names)
    found = distinct([descend(screen, box, start) for start in box.starts(settings.starts)])
    if screen is not whole:
        near = [point for value, point in found if value < found[0][0] + NEAR]
        found = distinct([descend(whole, box, point) for point in near])
    point = found[0][1]
    point, hessian, inside = polished(whole, box, point)
    found[0] = (whole(point)[0], point)
    covariance = covariance_of(hessian, inside, settings.criterion)
    flat = flat_names(box.names, hessian, inside, whole(point)[0])
    on_bound = tuple(n for n, free in zip(box.names, inside, strict=True) if not free)
    best = whole.criteria(point)
    texts = [
        *box.messages,
        *messages_of(box, point, on_bound, flat, rows, m, settings),
        *disputed(screen, box, point, descend),
    ]
    result = TuningResult(
        settings.criterion,
        tuple(box.names),
        np.exp(point),
        covariance,
        best.log_likelihood("ml" if settings.criterion == "ml" else "reml"),
        best.values(),
        on_bound,
        flat,
        [(v, dict(zip(box.names, np.exp(p).tolist(), strict=True))) for v, p in found],
        rows,
        whole.count,
        tuple(texts),
    )
    return *whole.parameters(point), result


def criteria_at(kernel, X, P, Y, reg, weights=None):
    """Every criterion at given parameters, by name; see `TuningResult.criteria`."""
    objective = Objective(kernel, X, P, Y, reg, weights, "reml")
    return objective.criteria(np.empty(0)).values()


class Objective:
    """A criterion as a function of the logarithms of the free parameters.

    Parameters
    ----------
    kernel, X, P, Y, reg, weights
        As for `tune`.
    criterion : str
    rows : array of int, optional
        Which rows count; by default all.

    Attributes
    ----------
    unit : float
        ρ/reg.  The noise of an observation is s·reg·W for the weights W of the whole sample.
    """

    def __init__(self, kernel, X, P, Y, reg, weights, criterion, rows=None, tick=silent):
        total = len(Y) if weights is None else weights.sum()
        rows = slice(None) if rows is None else rows
        self.kernel, self.reg, self.criterion, self.tick = kernel, reg, criterion, tick
        self.X = X[rows] if kernel is not None else X[rows][:, rows]
        weights = None if weights is None else weights[rows]
        self.sample = Sample(P[rows], Y[rows], weights)
        self.m, self.count, self.names = self.sample.m, 0, ()
        self.unit = total * self.m / self.sample.total
        self.definite = kernel is None or kernel.cpd_order == 0
        self._check(criterion)

    def _check(self, criterion):
        s = self.sample
        if s.total <= s.rank or s.m <= s.rank:
            raise ValueError(
                f"tune={criterion!r} needs more observations than free features: {s.m} rows, whose "
                f"weights sum to {s.total:g}, and features of rank {s.rank}.  Take fewer features, "
                f"or more samples."
            )
        if criterion == "ml" and not self.definite:
            raise ValueError(
                f"tune='ml' is not defined for {self.kernel!r}, which is fixed only up to terms in "
                f"the free features; use tune='reml', which does not depend on them."
            )
        if s.explained and criterion in ("reml", "ml"):
            raise ValueError(
                f"tune={criterion!r}: the free features explain y to rounding, and there is "
                f"nothing to learn for the kernel; leave tune=None, or use fewer features."
            )

    def possible(self):
        """Whether the rows say as much of the features as they should; for a part of a sample."""
        return self.sample.m > 2 * self.sample.rank and not self.sample.explained

    def level(self, kernel):
        """The mean eigenvalue of the kernel matrix where Pᵀc = 0."""
        gram = self._gram(kernel)
        rest = project_out(self.sample.problem.Q, gram * self.sample.problem.sqrt_weights.T)
        trace = np.sum(self.sample.problem.sqrt_weights[:, 0] * rest.diagonal())
        return float(trace) / (self.m - self.sample.rank)

    def _gram(self, kernel):
        return np.array(self.X, dtype=np.float64, order="C") if kernel is None else kernel(self.X)

    def free(self, names):
        """Say what the entries of a point are."""
        self.names = tuple(names)

    def parameters(self, point):
        """The kernel and reg at a point."""
        values = dict(zip(self.names, np.exp(point).tolist(), strict=True))
        reg = values.pop("reg", self.reg)
        return (self.kernel.tuned(values) if values else self.kernel), reg

    def criteria(self, point):
        """`Criteria` at a point."""
        kernel, reg = self.parameters(point)
        self.count += 1
        self.tick(self.m)
        return Criteria(self._gram(kernel), self.sample, reg * self.unit, self.definite)

    def __call__(self, point, criterion=None):
        """Value and gradient."""
        criterion = criterion or self.criterion
        try:
            found = self.criteria(point)
        except NotPositiveDefinite:
            return np.inf, np.zeros(len(point))
        value = found.value(criterion)
        matrix, slope = found.weight_matrix(criterion)
        by_name = {"reg": slope}
        wanted = [name for name in self.names if name != "reg"]
        if wanted:
            by_name |= self.parameters(point)[0].gradient_traces(self.X, matrix)
        gradient = np.array([by_name[name] for name in self.names])
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return np.inf, np.zeros(len(point))
        return value, gradient


def descend(objective, box, start, criterion=None):
    """(value, point) of a local optimum."""
    if not len(start):
        return objective(start, criterion)[0], start
    worst = [None]

    def guarded(point):
        value, gradient = objective(point, criterion)
        if not np.isfinite(value):
            return (worst[0] or 0.0) + _BAD, gradient
        worst[0] = value if worst[0] is None else max(worst[0], value)
        return value, gradient

    bounds = list(zip(box.low, box.high, strict=True))
    options = {"gtol": GRADIENT_TOL, "ftol": 1e-11, "maxiter": MAX_STEPS}
    done = minimize(guarded, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(done.fun), np.clip(done.x, box.low, box.high)


def distinct(found):
    """The optima that differ, the best first."""
    kept = []
    for value, point in sorted(found, key=lambda pair: pair[0]):
        if not any(np.abs(point - other).max(initial=0.0) < 0.05 for _, other in kept):
            kept.append((value, point))
    return kept


def polished(objective, box, point):
    """(point, Hessian of the free ones, which are free) after Newton steps."""
    value, gradient = objective(point)
    for step in range(NEWTON_STEPS):
        inside = free_at(box, point, gradient)
        hessian = hessian_of(objective, point, inside)
        if step == 0 and inside.any():
            end = led_to_bounds(objective, box, point, value, gradient, hessian, inside)
            if end is not None:
                point, (value, gradient) = end, objective(end)
                continue
        if step == NEWTON_STEPS - 1 or not inside.any():
            break
        curvature, directions = np.linalg.eigh(hessian)
        bent = curvature > FLAT_CURVATURE * max(1.0, curvature[-1])
        along = np.where(bent, directions.T @ gradient[inside], 0.0)
        move = np.zeros_like(point)
        move[inside] = -directions @ (along / np.where(bent, curvature, 1.0))
        new = np.clip(point + move, box.low, box.high)
        new_value, new_gradient = objective(new)
        if not new_value <= value + 1e-9 * (1.0 + abs(value)):
            break
        small = np.abs(new - point).max() < SMALL_STEP
        point, value, gradient = new, new_value, new_gradient
        if small:
            break
    return point, hessian, inside


def free_at(box, point, gradient):
    """Which parameters are not held by a bound."""
    low, high = point <= box.low + 1e-6, point >= box.high - 1e-6
    return ~((low & (gradient >= 0)) | (high & (gradient <= 0)))


def led_to_bounds(objective, box, point, value, gradient, hessian, inside):
    """The point with parameters moved to a bound, where the criterion is no worse there; or None.

    A noise of zero, or an infinite width, is approached ever more slowly; where on the way a search
    stops is chance.
    """
    moved = None
    for k, bend in zip(np.flatnonzero(inside), np.diag(hessian), strict=True):
        if abs(gradient[k]) > 10 * GRADIENT_TOL or abs(bend) > 10 * GRADIENT_TOL:
            continue
        trial = (point if moved is None else moved).copy()
        trial[k] = box.low[k] if gradient[k] > 0 else box.high[k]
        there = objective(trial)[0]
        if there <= value + 1e-6 * (1.0 + abs(value)):
            moved, value = trial, min(value, there)
    return moved


def hessian_of(objective, point, inside):
    """By central differences of the gradient, symmetric."""
    which = np.flatnonzero(inside)
    rows = []
    for k in which:
        step = np.zeros_like(point)
        step[k] = STEP
        up, down = objective(point + step)[1], objective(point - step)[1]
        rows.append((up - down)[which] / (2 * STEP))
    hessian = np.array(rows).reshape(which.size, which.size)
    return (hessian + hessian.T) / 2


def covariance_of(hessian, inside, criterion):
    """The inverse of the Hessian; NaN where it has no meaning."""
    p = len(inside)
    covariance = np.full((p, p), np.nan)
    if criterion in ("loo", "gcv") or not inside.any():
        return covariance
    curvature, directions = np.linalg.eigh(hessian)
    inverse = np.where(curvature > 0, 1.0 / np.where(curvature > 0, curvature, 1.0), np.inf)
    with np.errstate(invalid="ignore"):
        block = (directions * inverse) @ directions.T
    covariance[np.ix_(inside, inside)] = block
    return covariance

"""Hidden checks of assignment 3.  Never released, never built into the book."""

import numpy as np
from scipy.spatial.distance import cdist

from kernelbook.course import LIMIT, Assignment, Question, Slip
from kernelbook.course.assignment import arrays


def gaussian(X, width=1.0):
    return np.exp(-cdist(X, X, "sqeuclidean") / width**2)


def problem(rng, m=16, overlap=1.0):
    y = rng.permutation(np.where(np.arange(m) < m // 2, 1.0, -1.0))
    X = rng.normal(size=(m, 2)) * overlap + 0.8 * y[:, None]
    return gaussian(X), y


def feasible(rng, y, C):
    """An arbitrary point of the dual's feasible set, some of it at bounds."""
    alpha = C * np.clip(rng.uniform(-0.3, 1.3, size=len(y)), 0, 1)
    for label in (1.0, -1.0):
        inside = y == label
        excess = max(0.0, label * (y @ alpha))
        if excess:
            alpha[inside] *= 1 - excess / alpha[inside].sum()
    return alpha


def points(rng):
    for m, C in ((10, 0.7), (16, 5.0)):
        gram, y = problem(rng, m)
        alpha = feasible(rng, y, C)
        yield f"{m} samples, C = {C}", (gram, y, C, alpha, rng.normal())
        yield "the same with a large b", (gram, y, C, alpha, 5 + rng.normal())
    yield "nothing learned yet", (gram, y, C, np.zeros(m), 0.0), LIMIT


def primal(gram, y, C, alpha, b):
    beta = y * alpha
    slack = 1 - y * (gram @ beta + b)
    return beta @ gram @ beta / 2 + C * slack[slack > 0].sum()


def dual(gram, y, alpha):
    beta = y * alpha
    return beta @ gram @ beta / 2 - alpha.sum()


def duality_gap(gram, y, C, alpha, b):
    return primal(gram, y, C, alpha, b) + dual(gram, y, alpha)


def problems(rng):
    yield "16 samples", (*problem(rng), 2.0)
    yield "a small C, many at the bound", (*problem(rng, 20), 0.05)
    gram, y = problem(rng, 12, overlap=0.3)
    yield "classes far apart, a large C", (gram, y, 100.0)
    yield "classes that overlap", (*problem(rng, 30, overlap=2.0), 0.5)
    few = np.where(np.arange(12) < 2, -1.0, 1.0)
    yield "two against ten", (gaussian(rng.normal(size=(12, 2))), few, 0.4)
    X = rng.normal(size=(10, 2))
    X[1] = X[0]
    y = np.where(np.arange(10) % 2, 1.0, -1.0)
    yield "a point that is in both classes", (gaussian(X), y, 3.0), LIMIT


def matrices(gram, y, C):
    m = len(y)
    G = np.zeros((2 * m, m))
    G[np.arange(m), np.arange(m)] = -1
    G[m + np.arange(m), np.arange(m)] = 1
    Q = np.diag(y) @ gram @ np.diag(y)
    h = np.r_[np.zeros(m), C * np.ones(m)]
    return Q, -np.ones(m), G, h, y.reshape(1, m), np.zeros(1)


def libsvm(gram, y, C):
    """LIBSVM, an independent solver."""
    from sklearn.svm import SVC

    machine = SVC(C=C, kernel="precomputed", tol=1e-9).fit(gram, y)
    alpha = np.zeros(len(y))
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    return alpha


def judge_alpha(accuracy):
    def judge(arguments, answer, value):
        gram, y, C = arguments[:3]
        alpha = arrays(value, (len(y),))
        if alpha.min() < -1e-6 * C or alpha.max() > C * (1 + 1e-6):
            return "alpha leaves the box"
        if abs(y @ alpha) > 1e-6 * C * len(y):
            return "the equation y'alpha = 0 does not hold"
        best = dual(gram, y, answer)
        short = dual(gram, y, alpha) - best
        if short > accuracy * abs(best):
            share = short / abs(best)
            return f"the dual objective misses its minimum by {share:.0e}"
        return None

    return judge


def optima(rng):
    for m, C in ((14, 3.0), (18, 0.6)):
        gram, y = problem(rng, m)
        yield (
            f"{m} samples, some of them free",
            (gram, y, C, libsvm(gram, y, C)),
        )
    # A tiny C and balanced classes: all at the bound, none free.
    gram, y = problem(rng, 10)
    yield "no free support vector", (gram, y, 1e-3, np.full(10, 1e-3)), LIMIT
    # Unequal distances make the interval lopsided; one sample at zero.
    x = np.array([0.0, 0.3, 1.0, 4.0])
    labels = np.array([1.0, -1.0, 1.0, -1.0])
    alpha = 0.01 * np.array([1.0, 1.0, 0.0, 0.0])
    arguments = (np.outer(x, x), labels, 0.01, alpha)
    yield "two at the bound, two at zero", arguments, LIMIT


def constant(gram, y, C, alpha):
    """All of it from the inequalities: a free sample gives both."""
    v = y - gram @ (y * alpha)
    at_zero, at_C = alpha <= 1e-6 * C, alpha >= (1 - 1e-6) * C
    free = ~at_zero & ~at_C
    if free.any():
        return float(np.mean(v[free]))
    lower = [v[i] for i in range(len(y)) if (y[i] > 0) == at_zero[i]]
    upper = [v[i] for i in range(len(y)) if (y[i] > 0) == at_C[i]]
    return float((max(lower) + min(upper)) / 2)


def mean_of_margins(gram, y, C, alpha):
    free = (alpha > 1e-6 * C) & (alpha < (1 - 1e-6) * C)
    if not free.any():
        return constant(gram, y, C, alpha)
    return np.mean((1 - y * (gram @ (y * alpha)))[free])


def any_pair(gram, y, C, alpha):
    v = y - gram @ (y * alpha)
    return int(np.argmax(v)), int(np.argmin(v))


def pairs(rng):
    for m, C in ((9, 1.0), (15, 4.0), (12, 0.2)):
        gram, y = problem(rng, m)
        yield f"{m} samples", (gram, y, C, feasible(rng, y, C))
    yield "all samples at the bound", (gram, y, 0.1, np.full(12, 0.1))


def worst_pair(gram, y, C, alpha):
    v = y - gram @ (y * alpha)
    low, high = np.minimum(0, C * y), np.maximum(0, C * y)
    beta = y * alpha
    grow = [k for k in range(len(y)) if beta[k] < high[k]]
    shrink = [k for k in range(len(y)) if beta[k] > low[k]]
    return max(grow, key=lambda k: v[k]), min(shrink, key=lambda k: v[k])


def steps(rng):
    gram, y = problem(rng, 10)
    alpha = feasible(rng, y, 2.0)
    for i, j in ((0, 1), (2, 3), (5, 4), (7, 9), (8, 6)):
        yield f"variables {i} and {j}", (gram, y, 2.0, alpha, i, j)
    i, j = int(np.argmax(y)), int(np.argmin(y))
    yield "a small box", (gram, y, 0.05, np.zeros(10), i, j)
    near = np.where(np.outer(y, y) < 0, gram, 0.0)
    i, j = (int(k) for k in np.unravel_index(np.argmax(near), near.shape))
    yield "a large box", (gram, y, 1e3, np.zeros(10), i, j)
    x = np.array([[0.3], [0.3], [1.0], [2.0]])
    twins = gaussian(x)
    for y in ([1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]):
        arguments = (twins, np.array(y), 1.5, np.full(4, 0.5), 0, 1)
        yield "two identical points", arguments, LIMIT


def best_step(gram, y, C, alpha, i, j):
    """A parabola on an interval: its ends, or where its slope is zero."""
    direction = np.zeros(len(y))
    direction[i], direction[j] = y[i], -y[j]  # of alpha
    ends = []
    for k in (i, j):
        d = direction[k]
        ends.append(sorted(((0 - alpha[k]) / d, (C - alpha[k]) / d)))
    least, most = max(e[0] for e in ends), min(e[1] for e in ends)
    Q = np.outer(y, y) * gram
    slope = direction @ (Q @ alpha - 1)
    curvature = direction @ Q @ direction
    candidates = [least, most]
    if curvature > 1e-10:
        candidates.append(float(np.clip(-slope / curvature, least, most)))
    change = [slope * t + curvature * t * t / 2 for t in candidates]
    return alpha + candidates[int(np.argmin(change))] * direction


def judge_step(arguments, answer, value):
    gram, y, C, alpha, i, j = arguments
    new = arrays(value, (len(y),))
    others = np.ones(len(y), bool)
    others[[i, j]] = False
    if np.abs(new - alpha)[others].max() > 1e-10:
        return "a variable other than the two has changed"
    if new.min() < -1e-9 * C or new.max() > C * (1 + 1e-9):
        return "alpha leaves the box"
    if abs(y @ (new - alpha)) > 1e-9 * C:
        return "the equation does not hold any more"
    if dual(gram, y, new) > dual(gram, y, answer) + 1e-9:
        return "the objective could be smaller"
    return None


def with_tolerance(rng):
    for about, arguments, *marks in problems(rng):
        yield about, (*arguments, 1e-7), *marks


def unclipped(gram, y, C, alpha, i, j):
    v = y - gram @ (y * alpha)
    curvature = gram[i, i] + gram[j, j] - 2 * gram[i, j]
    if curvature < 1e-10:
        return best_step(gram, y, C, alpha, i, j)
    t = (v[i] - v[j]) / curvature
    new = alpha.copy()
    new[i] += y[i] * t
    new[j] -= y[j] * t
    return new


def unsigned(gram, y, C):
    return (gram, *matrices(gram, y, C)[1:])


def upwards(gram, y, C):
    Q, q, *rest = matrices(gram, y, C)
    return (Q, -q, *rest)


BETA = "you return $\\beta_i = y_i\\alpha_i$; asked for is $\\alpha$."
SLIPS = {
    "primal_objective": (
        Slip(
            lambda gram, y, C, alpha, b: primal(gram, y, C, alpha, 0.0),
            "the bias $b$ is missing.",
        ),
        Slip(
            lambda gram, y, C, alpha, b: (
                primal(gram, y, C, alpha, b)
                + (y * alpha) @ gram @ (y * alpha) / 2
            ),
            "the factor one half in front of "
            "$\\beta^\\top\\mathbf\\Phi\\beta$ is "
            "missing.",
        ),
        Slip(
            lambda gram, y, C, alpha, b: primal(gram, y, C / len(y), alpha, b),
            "you take the mean of the losses; asked for is $C$ times their "
            "sum.",
        ),
        Slip(
            lambda gram, y, C, alpha, b: primal(gram, y, C, y * alpha, b),
            "you use $\\alpha$ as coefficients; they are "
            "$\\beta_i = y_i\\alpha_i$.",
        ),
    ),
    "qp_matrices": (
        Slip(
            unsigned,
            "the labels are missing in $Q$: its entries are "
            "$y_iy_j\\Phi_{ij}$.",
        ),
        Slip(upwards, "the sign of the linear term: the program is minimized."),
    ),
    "solve_dual": (Slip(lambda g, y, C: y * libsvm(g, y, C), BETA),),
    "bias": (
        Slip(
            mean_of_margins,
            "you average $1 - y_i(\\mathbf\\Phi\\beta)_i$, which is $y_ib$ at "
            "a free sample; multiply by $y_i$ once more.",
        ),
        Slip(
            lambda gram, y, C, alpha: np.mean(
                (y - gram @ (y * alpha))[alpha > 1e-6 * C]
            ),
            "you average over all support vectors; those at $C$ lie inside "
            "their margins and do not tell $b$.",
        ),
        Slip(
            lambda gram, y, C, alpha: np.mean(y - gram @ (y * alpha)),
            "you average over all samples; only the free ones lie on their "
            "margins.",
        ),
        Slip(
            lambda *a: -constant(*a),
            "the sign: $f = \\mathbf\\Phi\\beta + b$, so that "
            "$b = y_i - (\\mathbf\\Phi\\beta)_i$.",
        ),
    ),
    "violating_pair": (
        Slip(
            lambda *a: worst_pair(*a)[::-1],
            "you return (j, i); the first is the one that may grow.",
        ),
        Slip(
            any_pair,
            "you choose among all samples; $i$ must be able to grow and $j$ "
            "to shrink inside the box.",
        ),
    ),
    "smo_step": (
        Slip(
            unclipped,
            "your step leaves the box: cut it off where the first of the two "
            "variables meets its bound.",
        ),
    ),
    "smo": (Slip(lambda g, y, C, tol: y * libsvm(g, y, C), BETA),),
    "gap": (
        Slip(
            lambda gram, y, C, alpha, b: duality_gap(gram, y, C, alpha, 0.0),
            "the bias $b$ is missing.",
        ),
        Slip(
            lambda gram, y, C, alpha, b: primal(gram, y, C, alpha, b),
            "this is the primal objective alone; the gap is its distance to "
            "the "
            "dual one.",
        ),
        Slip(
            lambda gram, y, C, alpha, b: (
                primal(gram, y, C, alpha, b) - dual(gram, y, alpha)
            ),
            "the sign of the dual objective: it is written as a minimum here, "
            "so "
            "it is added.",
        ),
    ),
}

ASSIGNMENT = Assignment(
    name="svm",
    number=3,
    title="The support vector machine from its dual",
    packages=("numpy", "cvxopt"),
    questions=(
        Question(
            "primal_objective",
            3,
            points,
            primal,
            slips=SLIPS["primal_objective"],
        ),
        Question(
            "qp_matrices", 4, problems, matrices, slips=SLIPS["qp_matrices"]
        ),
        Question(
            "solve_dual",
            4,
            problems,
            libsvm,
            rtol=1e-3,
            judge=judge_alpha(1e-6),
            slips=SLIPS["solve_dual"],
        ),
        Question(
            "bias",
            4,
            optima,
            constant,
            rtol=1e-5,
            atol=1e-5,
            slips=SLIPS["bias"],
        ),
        Question(
            "violating_pair",
            4,
            pairs,
            worst_pair,
            slips=SLIPS["violating_pair"],
        ),
        Question(
            "smo_step",
            5,
            steps,
            best_step,
            judge=judge_step,
            slips=SLIPS["smo_step"],
        ),
        Question(
            "smo",
            5,
            with_tolerance,
            lambda gram, y, C, tol: libsvm(gram, y, C),
            judge=judge_alpha(1e-5),
            rtol=1e-3,
            slips=SLIPS["smo"],
            without=("cvxopt",),
        ),
        Question("gap", 3, points, duality_gap, slips=SLIPS["gap"]),
    ),
)

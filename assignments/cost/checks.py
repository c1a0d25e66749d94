"""Hidden checks of assignment 7.  Never released, never built into the book."""

import math

import numpy as np
from scipy import linalg

from kernelbook.course import LIMIT, Assignment, Question, Slip


def basis(P):
    """Orthonormal bases of the range of P and of what is orthogonal to it."""
    U, s, _ = np.linalg.svd(P)
    r = int((s > 1e-10 * max(s.max(initial=0.0), 1e-300)).sum())
    return U[:, :r], U[:, r:]


def spectrum(gram, P, reg):
    """Rank, directions and shrinkage of the kernel part."""
    Z, Q = basis(P)
    values, U = linalg.eigh(Q.T @ gram @ Q)
    values = np.maximum(values, 0)
    return Z, Q @ U, values / (values + len(gram) * reg)


def smoother(gram, P, reg):
    Z, V, q = spectrum(gram, P, reg)
    return Z @ Z.T + (V * q) @ V.T


def degrees(gram, P, reg):
    Z, _, q = spectrum(gram, P, reg)
    return Z.shape[1] + q.sum()


def risk(gram, P, reg, f, tau):
    Z, V, q = spectrum(gram, P, reg)
    m = len(gram)
    bias = ((1 - q) ** 2 * (V.T @ f) ** 2).sum() / m
    return bias, tau**2 * Z.shape[1] / m, tau**2 * (q**2).sum() / m


def scores(gram, P, reg, y):
    S = smoother(gram, P, reg)
    r, m = y - S @ y, len(y)
    left_out = r / (1 - np.diag(S))
    return (
        r @ r / m,
        left_out @ left_out / m,
        (r @ r / m) / (1 - np.trace(S) / m) ** 2,
    )


def rows_needed(l, excess):
    m = l + 2
    while l / (m - l - 1) > excess:
        m += 1
    return m


def regrets(theta, tau):
    theta = np.asarray(theta)
    best = theta**2 * tau**2 / (theta**2 + tau**2)
    return np.column_stack([tau**2 - best, theta**2 - best])


def freed(gram, P, v, reg):
    return degrees(gram, np.column_stack([P, v]), reg) - degrees(gram, P, reg)


# Inputs


def problem(rng, m, degree=1, width=0.9):
    x = np.sort(rng.uniform(0, 4, size=m))
    gram = np.exp(-(((x[:, None] - x) / width) ** 2))
    return gram, np.vander(x, degree + 1, increasing=True), x


def problems(rng):
    gram, P, _ = problem(rng, int(rng.integers(9, 13)))
    yield "a line beside a Gaussian", (gram, P, rng.uniform(0.01, 0.1))
    gram, P, _ = problem(rng, int(rng.integers(13, 17)), degree=2, width=0.5)
    yield "a parabola, a narrow kernel", (gram, P, rng.uniform(0.001, 0.01))
    gram, P, _ = problem(rng, 8)
    P = np.column_stack([P, P @ rng.normal(size=2)])
    yield "a column that depends on the others", (gram, P, 0.05), LIMIT


def truths(rng):
    for degree, width in ((1, 0.6), (2, 1.2)):
        m = int(rng.integers(9, 15))
        gram, P, x = problem(rng, m, degree, width)
        f = np.sin(2 * x) + rng.normal() * x
        yield f"{degree + 1} features", (gram, P, 0.02, f, rng.uniform(0.3, 2))
    yield "no kernel at all", (0 * gram, P, 0.02, f, 0.5), LIMIT


def measured(rng):
    for degree, width in ((0, 0.7), (2, 1.0)):
        m = int(rng.integers(10, 16))
        gram, P, x = problem(rng, m, degree, width)
        y = np.sin(2 * x) + x + 0.3 * rng.normal(size=m)
        yield f"{degree + 1} features", (gram, P, rng.uniform(0.01, 0.1), y)
    yield "no kernel at all", (0 * gram, P, 0.05, y), LIMIT


def sizes(rng):
    yield "a few columns", (int(rng.integers(3, 9)), rng.uniform(0.2, 0.5))
    yield "many columns", (int(rng.integers(30, 70)), rng.uniform(0.05, 0.15))
    yield "a generous bound", (int(rng.integers(10, 20)), rng.uniform(1.2, 3))


def directions(rng):
    for n in (4, 7):
        yield f"{n} directions", (2 * rng.normal(size=n), rng.uniform(0.5, 2))
    yield "a direction that is not needed", (np.zeros(1), 0.7), LIMIT


def candidates(rng):
    gram, P, x = problem(rng, int(rng.integers(9, 14)), width=0.8)
    yield "a wiggly feature", (gram, P, np.cos(9 * x), 0.02)
    gram, P, x = problem(rng, int(rng.integers(9, 14)), width=1.5)
    yield "a smooth feature", (gram, P, x**2 + rng.normal(), 0.005)
    gram, P, _ = problem(rng, 9)
    yield (
        "a feature that is free already",
        (gram, P, P @ [1.0, -2.0], 0.05),
        LIMIT,
    )


# Slips

CHAPTER = "the chapter Generalized regularized least squares"
MEAN = (
    "your answer is what one gets with $\\gamma$ instead of $m\\gamma$; see "
    f"{CHAPTER}, where the mean over the samples is multiplied by $m$."
)


def without_m(function):
    return lambda gram, P, reg, *a: function(gram, P, reg / len(gram), *a)


def kernel_alone(gram, reg):
    return gram @ linalg.inv(gram + len(gram) * reg * np.eye(len(gram)))


def sums(gram, P, reg, f, tau):
    return tuple(len(gram) * part for part in risk(gram, P, reg, f, tau))


def deviations(gram, P, reg, f, tau):
    bias, features, kernel = risk(gram, P, reg, f, tau)
    return bias, features / tau, kernel / tau


def trace_for_squares(gram, P, reg, f, tau):
    bias, features, _ = risk(gram, P, reg, f, tau)
    return bias, features, tau**2 * spectrum(gram, P, reg)[2].sum() / len(gram)


def one_division(gram, P, reg, y):
    S = smoother(gram, P, reg)
    r = y - S @ y
    ours = scores(gram, P, reg, y)
    return ours[0], np.mean(r**2 / (1 - np.diag(S))), ours[2]


def linear_gcv(gram, P, reg, y):
    fitted, left_out, gcv = scores(gram, P, reg, y)
    return fitted, left_out, math.sqrt(gcv * fitted)


def gram_degrees(gram, P, reg):
    return np.linalg.matrix_rank(P) + np.trace(kernel_alone(gram, reg))


SLIPS = {
    "smoother": (
        Slip(without_m(smoother), MEAN),
        Slip(
            lambda gram, P, reg: np.eye(len(gram)) - smoother(gram, P, reg),
            "this matrix gives the residuals; $S$ gives the fitted values.",
        ),
        Slip(
            lambda gram, P, reg: kernel_alone(gram, reg),
            "this is kernel ridge regression: the features are missing.",
        ),
        Slip(
            lambda gram, P, reg: kernel_alone(gram + P @ P.T, reg),
            "you added the features to the kernel, which penalizes them; here "
            "they are free.",
        ),
    ),
    "degrees_of_freedom": (
        Slip(without_m(degrees), MEAN),
        Slip(
            gram_degrees,
            "you added the rank of $P$ to the degrees of freedom of the kernel "
            "alone; the kernel part is fitted on what is orthogonal to the "
            "features.",
        ),
        Slip(
            lambda gram, P, reg: len(gram) - degrees(gram, P, reg),
            "these are the degrees of freedom of the residual, $m - "
            "\\mathrm{df}$.",
        ),
        Slip(
            lambda gram, P, reg: (smoother(gram, P, reg) ** 2).sum(),
            "this is the trace of $S^\\top S$; asked for is the trace of $S$.",
        ),
    ),
    "risk": (
        Slip(without_m(risk), MEAN),
        Slip(sums, "these are sums over the sample; asked for are means."),
        Slip(
            deviations,
            "the noise enters with its variance $\\tau^2$, not with $\\tau$.",
        ),
        Slip(
            trace_for_squares,
            "your kernel part has $\\sum_k q_k$; the variance of "
            "$q\\varepsilon$ is $q^2\\tau^2$.",
        ),
    ),
    "scores": (
        Slip(without_m(scores), MEAN),
        Slip(
            one_division,
            "your leave-one-out error divides the squared residual by $1 - "
            "S_{ii}$ once; the residual is divided before it is squared.",
        ),
        Slip(
            linear_gcv,
            "your third number divides by $1 - \\mathrm{df}/m$ once; it is "
            "squared.",
        ),
    ),
    "rows_needed": (
        Slip(
            lambda l, excess: math.ceil(l / excess),
            "this is the cost $\\ell/m$ at the points of the sample; new "
            "points have $\\ell/(m - \\ell - 1)$.",
        ),
        Slip(
            lambda l, excess: l + math.ceil(l / excess),
            "one row is missing: the denominator is $m - \\ell - 1$, and the "
            "least $m$ is rounded up.",
        ),
    ),
    "regrets": (
        Slip(
            lambda theta, tau: regrets(theta, tau)[:, ::-1],
            "the columns are exchanged: the first belongs to a free feature.",
        ),
        Slip(
            lambda theta, tau: np.column_stack(
                [np.full(len(theta), tau**2), np.asarray(theta) ** 2]
            ),
            "these are the costs themselves; subtract the cost of the best "
            "$q$.",
        ),
        Slip(
            lambda theta, tau: regrets(theta, math.sqrt(tau)),
            "the noise has the variance $\\tau^2$, not $\\tau$.",
        ),
    ),
    "freed": (
        Slip(
            lambda gram, P, v, reg: freed(gram, P, v, reg / len(gram)),
            MEAN,
        ),
        Slip(
            lambda gram, P, v, reg: -freed(gram, P, v, reg),
            "the sign: degrees of freedom grow when a feature is freed.",
        ),
        Slip(
            lambda gram, P, v, reg: freed(gram, P[:, :0], v, reg),
            "you left out the features that are free already.",
        ),
    ),
}

ASSIGNMENT = Assignment(
    name="cost",
    number=7,
    title="What a free feature costs",
    questions=(
        Question(
            "smoother",
            3,
            problems,
            smoother,
            rtol=1e-6,
            nearly=1e-4,
            slips=SLIPS["smoother"],
        ),
        Question(
            "degrees_of_freedom",
            2,
            problems,
            degrees,
            rtol=1e-6,
            nearly=1e-4,
            slips=SLIPS["degrees_of_freedom"],
        ),
        Question(
            "risk",
            4,
            truths,
            risk,
            rtol=1e-6,
            nearly=1e-4,
            slips=SLIPS["risk"],
        ),
        Question(
            "scores",
            4,
            measured,
            scores,
            rtol=1e-6,
            nearly=1e-4,
            slips=SLIPS["scores"],
        ),
        Question(
            "rows_needed", 2, sizes, rows_needed, slips=SLIPS["rows_needed"]
        ),
        Question("regrets", 3, directions, regrets, slips=SLIPS["regrets"]),
        Question(
            "freed",
            3,
            candidates,
            freed,
            rtol=1e-5,
            atol=1e-8,
            nearly=1e-3,
            slips=SLIPS["freed"],
        ),
    ),
)

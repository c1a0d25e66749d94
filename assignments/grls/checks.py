"""Hidden checks of assignment 2.  Never released, never built into the book."""

import numpy as np
from scipy import linalg

from kernelbook.course import LIMIT, Assignment, Question, Slip


def minimizer(gram, P, y, reg):
    """The constraint eliminated; serves conditional kernels, too."""
    m = len(y)
    Q = linalg.qr(P)[0][:, P.shape[1] :]
    A = gram + m * reg * np.eye(m)
    c = Q @ np.linalg.lstsq(Q.T @ A @ Q, Q.T @ y, rcond=None)[0]
    return c, np.linalg.lstsq(P, y - A @ c, rcond=None)[0]


def value(gram, P, y, reg, c, lam):
    return np.mean((y - gram @ c - P @ lam) ** 2) + reg * c @ (gram @ c)


def problem(rng, m=12, kind="gaussian", degree=1):
    x = np.sort(rng.uniform(0, 4, size=m))
    r = np.abs(x[:, None] - x)
    gram = np.exp(-((r / 0.9) ** 2)) if kind == "gaussian" else r**3
    P = np.vander(x, degree + 1, increasing=True)
    return gram, P, np.sin(2 * x) + 0.3 * x + 0.2 * rng.normal(size=m)


def fits(rng):
    yield "a line under a Gaussian", (*problem(rng), 0.05)
    yield "a cubic spline", (*problem(rng, kind="cubic"), 0.01)
    yield "a parabola, few samples", (*problem(rng, m=6, degree=2), 0.3)
    _, P, y = problem(rng, m=8)
    yield "no kernel at all", (np.zeros((8, 8)), P, y, 0.1), LIMIT


def points(rng):
    for m in (9, 14):
        gram, P, y = problem(rng, m=m)
        c, lam = rng.normal(size=m), rng.normal(size=2)
        yield f"{m} samples, arbitrary coefficients", (gram, P, y, 0.2, c, lam)
    yield "all coefficients zero", (gram, P, y, 0.2, 0 * c, 0 * lam), LIMIT


def refits(gram, P, y, reg):
    m = len(y)
    left_out = []
    for i in range(m):
        keep = np.arange(m) != i
        # The same mγ with one sample less: γ grows by m / (m - 1).
        c, lam = minimizer(
            gram[np.ix_(keep, keep)], P[keep], y[keep], reg * m / (m - 1)
        )
        left_out.append(y[i] - gram[i, keep] @ c - P[i] @ lam)
    return np.array(left_out)


def anchored(rng):
    for degree in (1, 2):
        _, P, _ = problem(rng, m=10, degree=degree)
        order = rng.permutation(10)
        yield f"{degree + 1} features", (P, P[order[: degree + 1]])
    yield "the anchors themselves", (P[order[:3]], P[order[:3]]), LIMIT


def cardinal(P, P_anchors):
    return P @ linalg.inv(P_anchors)


def four_matrices(rng):
    for kind, degree in (("gaussian", 2), ("cubic", 1)):
        gram, P, _ = problem(rng, m=9, kind=kind, degree=degree)
        first = rng.permutation(9)[: degree + 1]
        blocks = (
            gram,
            gram[:, first],
            gram[np.ix_(first, first)],
            cardinal(P, P[first]),
        )
        yield f"a {kind} kernel, {degree + 1} anchors", blocks
    anchors = blocks[2]
    E = np.eye(len(anchors))
    yield "the anchors themselves", (anchors, anchors, anchors, E), LIMIT


def conditional(gram, to_anchors, anchors, E):
    projector = np.hstack([np.eye(len(gram)), -E])
    return (
        projector
        @ np.block([[gram, to_anchors], [to_anchors.T, anchors]])
        @ projector.T
    )


def split(rng):
    for m, degree in ((9, 1), (12, 2)):
        gram, P, y = problem(rng, m=m, degree=degree)
        order = rng.permutation(m)
        gram, P, y = gram[np.ix_(order, order)], P[order], y[order]
        l = degree + 1
        E = cardinal(P, P[:l])
        H = conditional(gram, gram[:, :l], gram[:l, :l], E)[l:, l:]
        yield f"{m} samples, {l} features", (H, E[l:], y[:l], y[l:], 0.1)
    E, y1, y2 = rng.normal(size=(4, 2)), rng.normal(size=2), rng.normal(size=4)
    yield "no kernel at all", (np.zeros((4, 4)), E, y1, y2, 0.5), LIMIT


def printed(H, E, y1, y2, reg):
    m = len(y1) + len(y2)
    return y1, linalg.solve(
        H + m * reg * np.eye(len(y2)), y2 - E @ y1, assume_a="sym"
    )


def repaired(H, E, y1, y2, reg):
    """Both equations at once; the minimizer that stays one as H is changed."""
    l, s = len(y1), (len(y1) + len(y2)) * reg
    system = np.block([[np.eye(l), -s * E.T], [E, H + s * np.eye(len(y2))]])
    z = linalg.solve(system, np.concatenate([y1, y2]))
    return z[:l], z[l:]


def judge_repaired(arguments, answer, value):
    H, E, y1, y2, reg = arguments
    lam, c = (np.asarray(v, dtype=float) for v in value)
    if lam.shape != y1.shape or c.shape != y2.shape:
        return f"shapes {y1.shape} and {y2.shape} are expected"
    if not (np.isfinite(lam).all() and np.isfinite(c).all()):
        return "the result contains NaN or infinity"
    m = len(y1) + len(y2)
    first = np.abs(lam - y1 - m * reg * E.T @ c).max()
    second = np.abs(H @ c + m * reg * c + E @ lam - y2).max()
    size = np.abs(np.concatenate([y1, y2])).max()
    if max(first, second) > 1e-7 * size:
        return "the equations of a minimum do not hold"
    return None


def orders(rng):
    for m, degree in ((10, 1), (12, 2)):
        gram, P, y = problem(rng, m=m, degree=degree)
        permutations = [rng.permutation(m) for _ in range(4)]
        yield f"{m} samples, four orders", (gram, P, y, 0.02, permutations)


def ratios(gram, P, y, reg, permutations):
    l = P.shape[1]
    least = value(gram, P, y, reg, *minimizer(gram, P, y, reg))
    found = []
    for order in permutations:
        G, F, t = gram[np.ix_(order, order)], P[order], y[order]
        E = cardinal(F, F[:l])
        H = conditional(G, G[:, :l], G[:l, :l], E)[l:, l:]
        lam, c = printed(H, E[l:], t[:l], t[l:], reg)
        fitted = np.concatenate([lam, E[l:] @ lam + H @ c])
        found.append((np.mean((t - fitted) ** 2) + reg * c @ H @ c) / least)
    return np.array(found)


CHAPTER = "the chapter Generalized regularized least squares"


def penalized(gram, P, y, reg):
    m, l = P.shape
    A = np.block([[gram + m * reg * np.eye(m), P], [P.T, np.eye(l)]])
    solution = linalg.solve(A, np.concatenate([y, np.zeros(l)]))
    return solution[:m], solution[m:]


def without_features(gram, P, y, reg):
    G = linalg.inv(gram + len(y) * reg * np.eye(len(y)))
    return G @ y / np.diag(G)


def in_sample(gram, P, y, reg):
    c, lam = minimizer(gram, P, y, reg)
    return y - gram @ c - P @ lam


def with_fewer(solve):
    """m counts the samples that are no anchors."""

    def function(H, E, y1, y2, reg):
        return solve(H, E, y1, y2, reg * len(y2) / (len(y1) + len(y2)))

    return function


SLIPS = {
    "fit_grls": (
        Slip(
            lambda gram, P, y, reg: minimizer(gram, P, y, reg / len(y)),
            "your answer is what one gets with $\\gamma$ instead of "
            "$m\\gamma$ in "
            f"the system; see {CHAPTER}, where the mean over the samples is "
            "multiplied by $m$.",
        ),
        Slip(
            lambda gram, P, y, reg: minimizer(
                gram, P, y, reg * (len(y) - 1) / len(y)
            ),
            "your answer has $m - 1$ in place of $m$.",
        ),
        Slip(
            penalized,
            "your answer is what one gets if the coefficients $\\lambda$ are "
            "penalized, too: the lower right block of the system is zero.",
        ),
        Slip(
            lambda *a: minimizer(*a)[::-1],
            "you return (lam, c); asked for is (c, lam).",
        ),
    ),
    "objective": (
        Slip(
            lambda gram, P, y, reg, c, lam: (
                len(y) * value(gram, P, y, reg / len(y), c, lam)
            ),
            "you sum the squared residuals; $L$ has their mean.",
        ),
        Slip(
            lambda gram, P, y, reg, c, lam: (
                value(gram, P, y, 0, c, lam) + reg * c @ c
            ),
            "your penalty is $\\gamma\\,c^\\top c$; $L$ has "
            "$\\gamma\\,c^\\top\\mathbf\\Phi c$.",
        ),
        Slip(
            lambda gram, P, y, reg, c, lam: value(
                gram, P, y, len(y) * reg, c, lam
            ),
            "your penalty has $m\\gamma$; that belongs to the system, not to "
            "$L$.",
        ),
        Slip(
            lambda gram, P, y, reg, c, lam: value(gram, P, y, 0, c, lam),
            "the penalty is missing.",
        ),
        Slip(
            lambda gram, P, y, reg, c, lam: value(gram, P, y, reg, c, 0 * lam),
            "the features are missing in the residual.",
        ),
    ),
    "leave_one_out": (
        Slip(
            in_sample,
            "these are the residuals at samples that the fit has seen; see "
            f"leave-one-out in {CHAPTER}.",
        ),
        Slip(
            without_features,
            "your matrix leaves the features out: they are fitted again, too, "
            "when a sample is left out.",
        ),
        Slip(
            lambda gram, P, y, reg: refits(
                gram, P, y, reg * (len(y) - 1) / len(y)
            ),
            "your answer has $m - 1$ in place of $m$; the system keeps the "
            "full number of samples.",
        ),
        Slip(
            lambda *a: -refits(*a),
            "the sign: asked for is $y_i - f^{(-i)}(x_i)$.",
        ),
    ),
    "cardinal": (
        Slip(
            lambda P, A: P @ linalg.inv(A).T,
            "the inverse is transposed: at the anchors your $E$ is not the "
            "identity.",
        ),
        Slip(
            lambda P, A: cardinal(P, A).T,
            "this is the transpose of $E$, as paper B writes it: here a row "
            "belongs to a sample, a column to an anchor.",
        ),
        Slip(lambda P, A: P @ A, "you multiply by the matrix; invert it."),
        Slip(
            lambda P, A: P @ A.T,
            "you multiply by the transpose; asked for is the inverse.",
        ),
    ),
    "conditional_gram": (
        Slip(
            lambda gram, to, anchors, E: (
                gram - 2 * to @ E.T + E @ anchors @ E.T
            ),
            "the two middle terms are each other's transpose, and you take the "
            "same one twice: $H$ must be symmetric.",
        ),
        Slip(
            lambda gram, to, anchors, E: (
                gram - to @ E.T - E @ to.T - E @ anchors @ E.T
            ),
            "the sign of the last sum is plus: what both middle terms took "
            "away "
            "comes back once.",
        ),
        Slip(
            lambda gram, to, anchors, E: gram - to @ E.T + E @ anchors @ E.T,
            "the interpolant is taken out in one argument only; a middle term "
            "is missing.",
        ),
        Slip(
            lambda gram, to, anchors, E: gram - to @ E.T - E @ to.T,
            "the last sum, over both indices, is missing.",
        ),
    ),
    "printed_solution": (
        Slip(
            with_fewer(printed),
            "your $m$ counts the samples that are no anchors; $m$ counts all "
            "of "
            "them.",
        ),
        Slip(
            lambda H, E, y1, y2, reg: printed(H, 0 * E, y1, y2, reg),
            "take the part of the features, $E\\tilde\\lambda$, away from "
            "$y_2$.",
        ),
        Slip(
            repaired,
            "this is the minimizer; asked for here is what the paper prints.",
        ),
    ),
    "excess": (
        Slip(
            lambda gram, P, y, reg, orders: (
                ratios(gram, P, y, reg, orders)
                * value(gram, P, y, reg, *minimizer(gram, P, y, reg))
            ),
            "these are the values themselves; divide them by the minimum of "
            "$L$.",
        ),
    ),
    "repaired_solution": (
        Slip(
            with_fewer(repaired),
            "your $m$ counts the samples that are no anchors; $m$ counts all "
            "of "
            "them.",
        ),
        Slip(
            printed,
            "this is what the paper prints; at the anchors it passes through "
            "the "
            "data and is no minimizer.",
        ),
    ),
}

ASSIGNMENT = Assignment(
    name="grls",
    number=2,
    title="Least squares with free features, and a slip in a paper",
    questions=(
        Question(
            "fit_grls",
            4,
            fits,
            minimizer,
            rtol=1e-6,
            nearly=1e-4,
            slips=SLIPS["fit_grls"],
        ),
        Question("objective", 2, points, value, slips=SLIPS["objective"]),
        Question(
            "leave_one_out",
            4,
            fits,
            refits,
            rtol=1e-6,
            nearly=1e-4,
            slips=SLIPS["leave_one_out"],
        ),
        Question(
            "cardinal",
            3,
            anchored,
            cardinal,
            rtol=1e-6,
            nearly=1e-4,
            slips=SLIPS["cardinal"],
        ),
        Question(
            "conditional_gram",
            4,
            four_matrices,
            conditional,
            rtol=1e-6,
            slips=SLIPS["conditional_gram"],
        ),
        Question(
            "printed_solution",
            3,
            split,
            printed,
            rtol=1e-6,
            nearly=1e-4,
            slips=SLIPS["printed_solution"],
        ),
        Question(
            "excess",
            4,
            orders,
            ratios,
            rtol=1e-5,
            nearly=1e-3,
            slips=SLIPS["excess"],
        ),
        Question(
            "repaired_solution",
            4,
            split,
            repaired,
            judge=judge_repaired,
            slips=SLIPS["repaired_solution"],
        ),
    ),
)

"""Hidden checks of assignment 8.  Never released, never built into the book."""

import numpy as np
from scipy import linalg

from kernelbook.course import LIMIT, Assignment, Question, Slip


def gram_of_columns(X, Z, columns, widths):
    A = X[:, columns] / np.asarray(widths)
    B = Z[:, columns] / np.asarray(widths)
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(-1))


def design(dist, soil):
    levels = np.unique(soil)[1:]
    indicators = [(soil == level).astype(float) for level in levels]
    return np.column_stack([np.ones(len(dist)), np.sqrt(dist), *indicators])


def pieces(gram, P, reg):
    """A^-1, A^-1 P, P' A^-1 P and G, all from one symmetric inverse."""
    A = gram + len(gram) * reg * np.eye(len(gram))
    inverse = linalg.inv(A)
    B = inverse @ P
    S = P.T @ B
    return A, B, S, inverse - B @ linalg.solve(S, B.T)


def coefficients(gram, P, y, reg):
    _, B, S, G = pieces(gram, P, reg)
    m, l = P.shape
    lam = linalg.solve(S, B.T @ y)
    variance = y @ G @ y / (m - l)
    return lam, np.sqrt(variance * np.diag(linalg.inv(S)))


def logdet(A):
    return np.linalg.slogdet(A)[1]


def restricted(gram, P, y, reg):
    A, _, S, G = pieces(gram, P, reg)
    m, l = P.shape
    determinants = logdet(A) + logdet(S) - logdet(P.T @ P)
    return (m - l) * np.log(y @ G @ y) + determinants


def slope(gram, P, y, reg):
    _, _, _, G = pieces(gram, P, reg)
    (m, l), c = P.shape, G @ y
    return m * reg * (np.trace(G) - (m - l) * (c @ c) / (y @ c))


def effects(grams, P, y, reg):
    _, _, _, G = pieces(grams.sum(0), P, reg)
    values = grams @ (G @ y)
    return values - values.mean(1, keepdims=True)


def groups_left_out(gram, P, y, reg, groups):
    _, _, _, G = pieces(gram, P, reg)
    c, residuals = G @ y, np.zeros(len(y))
    for group in np.unique(groups):
        S = np.flatnonzero(groups == group)
        residuals[S] = linalg.solve(G[np.ix_(S, S)], c[S])
    return residuals


# Inputs


def table(rng, m):
    X = np.column_stack(
        [rng.uniform(0, 3, m), rng.normal(size=m), rng.uniform(0, 9, m)]
    )
    P = np.column_stack([np.ones(m), X[:, 0]])
    y = 2 + X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=m)
    return X, P, y


def pairs(rng):
    X, Z = rng.normal(size=(6, 4)), rng.normal(size=(3, 4))
    yield "two columns of four", (X, Z, [2, 0], [0.7, 1.9])
    yield "three columns", (X, Z, [3, 1, 2], list(rng.uniform(0.5, 2, 3)))
    yield "a single column", (X[:1], Z, [1], [1.3]), LIMIT


def soils(rng):
    for about, values in (("three soils", (1, 2, 3)), ("others", (2, 5, 7))):
        m = int(rng.integers(9, 14))
        soil = rng.permutation(np.resize(values, m))
        yield about, (rng.uniform(0.1, 4, m), soil)
    yield "a single soil", (rng.uniform(0.1, 4, 5), np.full(5, 4)), LIMIT


def samples(rng):
    for about, width in (("a wide kernel", 1.5), ("a narrow kernel", 0.5)):
        X, P, y = table(rng, int(rng.integers(11, 16)))
        gram = gram_of_columns(X, X, [1], [width])
        yield about, (gram, P, y, rng.uniform(0.01, 0.1))
    X, P, y = table(rng, 12)
    yield "no kernel", (np.zeros((12, 12)), P, y, 0.05), LIMIT


def sums(rng):
    for m in (11, 14):
        X, P, y = table(rng, m)
        parts = [gram_of_columns(X, X, [j], [w]) for j, w in ((1, 0.8), (2, 3))]
        yield f"{m} rows", (np.stack(parts), P, y, rng.uniform(0.01, 0.1))
    yield "a single kernel", (np.stack(parts[:1]), P, y, 0.05), LIMIT


def grouped(rng):
    for m, k in ((12, 4), (15, 5)):
        X, P, y = table(rng, m)
        gram = gram_of_columns(X, X, [1, 2], [0.9, 4.0])
        groups = rng.permutation(np.resize(np.arange(k), m))
        yield f"{k} groups", (gram, P, y, rng.uniform(0.01, 0.1), groups)
    yield "a group for each row", (gram, P, y, 0.05, np.arange(m)), LIMIT


# Slips

MEAN = (
    "your answer is what one gets with $\\gamma$ instead of $m\\gamma$; see "
    "the chapter Generalized regularized least squares, where the mean over "
    "the samples is multiplied by $m$."
)


def without_m(function):
    return lambda gram, P, y, reg, *a: function(gram, P, y, reg / len(y), *a)


def least_squares(gram, P, y, reg):
    m, l = P.shape
    lam = np.linalg.lstsq(P, y, rcond=None)[0]
    variance = ((y - P @ lam) ** 2).sum() / (m - l)
    return lam, np.sqrt(variance * np.diag(linalg.inv(P.T @ P)))


def divided_by_m(gram, P, y, reg):
    lam, errors = coefficients(gram, P, y, reg)
    m, l = P.shape
    return lam, errors * np.sqrt((m - l) / m)


def variances(gram, P, y, reg):
    lam, errors = coefficients(gram, P, y, reg)
    return lam, errors**2


def profile_likelihood(gram, P, y, reg):
    A, _, _, G = pieces(gram, P, reg)
    return len(y) * np.log(y @ G @ y) + logdet(A)


def all_rows_counted(gram, P, y, reg):
    G = pieces(gram, P, reg)[3]
    return restricted(gram, P, y, reg) + P.shape[1] * np.log(y @ G @ y)


def without_basis(gram, P, y, reg):
    return restricted(gram, P, y, reg) + logdet(P.T @ P)


def unrestricted_slope(gram, P, y, reg):
    A, _, _, G = pieces(gram, P, reg)
    m, c = len(y), G @ y
    return m * reg * (np.trace(linalg.inv(A)) - m * (c @ c) / (y @ c))


def uncentred(grams, P, y, reg):
    return grams @ (pieces(grams.sum(0), P, reg)[3] @ y)


def one_at_a_time(grams, P, y, reg):
    return np.stack([effects(g[None], P, y, reg)[0] for g in grams])


def row_by_row(gram, P, y, reg, groups):
    G = pieces(gram, P, reg)[3]
    return G @ y / np.diag(G)


SLIPS = {
    "gram_of_columns": (
        Slip(
            lambda X, Z, columns, widths: gram_of_columns(
                X, Z, columns, np.sqrt(widths)
            ),
            "the differences are divided by $\\sigma$ before they are squared.",
        ),
        Slip(
            lambda X, Z, columns, widths: np.sqrt(
                gram_of_columns(X, Z, columns, widths)
            ),
            "there is no $\\frac12$ in the exponent of this book's Gaussian.",
        ),
        Slip(
            lambda X, Z, columns, widths: gram_of_columns(
                X, Z, columns, np.full(len(columns), widths[0])
            ),
            "each column has a width of its own.",
        ),
    ),
    "design": (
        Slip(
            lambda dist, soil: np.column_stack(
                [design(dist, soil)[:, :2], soil == soil.min()]
                + [soil == level for level in np.unique(soil)[1:]]
            ),
            "with an indicator for *every* soil the columns add up to the "
            "constant; the smallest soil has none.",
        ),
        Slip(
            lambda dist, soil: design(dist**2, soil),
            "the second column is the root of the distance.",
        ),
        Slip(
            lambda dist, soil: np.column_stack(
                [design(dist, soil)[:, :2], soil]
            ),
            "the number of a soil is a name: it needs a column for each level.",
        ),
    ),
    "coefficients": (
        Slip(without_m(coefficients), MEAN),
        Slip(
            divided_by_m,
            "the variance is estimated with $m - \\ell$ in the denominator, "
            "not with $m$.",
        ),
        Slip(variances, "these are variances; take their roots."),
        Slip(
            least_squares,
            "this is ordinary least squares: the kernel is missing.",
        ),
    ),
    "restricted": (
        Slip(without_m(restricted), MEAN),
        Slip(
            profile_likelihood,
            "this is the likelihood of $y$ with the best $\\lambda$, not the "
            "restricted one: see the chapter Choosing by likelihood.",
        ),
        Slip(
            all_rows_counted,
            "the logarithm of $y^\\top Gy$ counts $m - \\ell$ times: the "
            "features take $\\ell$ of the rows.",
        ),
        Slip(
            without_basis,
            "$\\log\\det P^\\top P$ is missing; without it another basis of "
            "the same features has another likelihood.",
        ),
    ),
    "slope": (
        Slip(
            lambda gram, P, y, reg: slope(gram, P, y, reg) / reg,
            "this is the derivative by $\\gamma$; asked for is that by "
            "$\\log\\gamma$.",
        ),
        Slip(
            unrestricted_slope,
            "this is the slope of the likelihood that is not restricted.",
        ),
        Slip(
            lambda gram, P, y, reg: -slope(gram, P, y, reg),
            "the sign: asked for is the derivative of *minus* twice the log "
            "likelihood.",
        ),
    ),
    "effects": (
        Slip(uncentred, "each component has the mean 0 on the sample."),
        Slip(
            one_at_a_time,
            "you fitted each kernel alone; all components share the "
            "coefficients $c$ of one fit with the sum of the kernels.",
        ),
        Slip(lambda grams, P, y, reg: effects(grams, P, y, reg / len(y)), MEAN),
    ),
    "groups_left_out": (
        Slip(without_m(groups_left_out), MEAN),
        Slip(
            row_by_row,
            "you left out one row at a time; here whole groups are left out.",
        ),
        Slip(
            lambda *a: -groups_left_out(*a),
            "the sign: a residual is the label minus the prediction.",
        ),
    ),
}


def question(name, points, cases, reference, rtol=1e-6, nearly=0.0):
    return Question(
        name,
        points,
        cases,
        reference,
        rtol=rtol,
        nearly=nearly,
        slips=SLIPS[name],
    )


ASSIGNMENT = Assignment(
    name="tables",
    number=8,
    title="Models of tables",
    questions=(
        question("gram_of_columns", 2, pairs, gram_of_columns),
        question("design", 3, soils, design),
        question("coefficients", 4, samples, coefficients, nearly=1e-4),
        question("restricted", 4, samples, restricted, nearly=1e-4),
        question("slope", 3, samples, slope, rtol=1e-5, nearly=1e-3),
        question("effects", 3, sums, effects, nearly=1e-4),
        question("groups_left_out", 3, grouped, groups_left_out, nearly=1e-4),
    ),
)

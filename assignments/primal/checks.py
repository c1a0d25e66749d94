"""Hidden checks of assignment 5.  Never released, never built into the book."""

import numpy as np
from scipy import linalg, optimize

from kernelbook.course import LIMIT, Assignment, Question, Slip
from kernelbook.course.assignment import arrays


def spd(rng, m):
    A = rng.normal(size=(m, m + 3))
    return A @ A.T / m


def gaussian(x, width):
    return np.exp(-((np.subtract.outer(x, x) / width) ** 2))


def centres(rng):
    for M, d in ((5, 1), (6, 2), (4, 3)):
        widths = rng.uniform(0.5, 3.0, size=M)
        yield f"{M} centres, d = {d}", (rng.normal(size=(M, d)), widths)
    yield "a single centre", (rng.normal(size=(1, 2)), widths[:1]), LIMIT


def l2(centers, widths):
    M, d = centers.shape
    G = np.empty((M, M))
    for i in range(M):
        for j in range(M):
            # By precisions: the product of two Gaussians, integrated.
            p, q = widths[i] ** -2, widths[j] ** -2
            squares = np.sum((centers[i] - centers[j]) ** 2)
            heights = (2 * p / np.pi) ** (d / 4) * (2 * q / np.pi) ** (d / 4)
            volume = (np.pi / (p + q)) ** (d / 2)
            G[i, j] = heights * volume * np.exp(-p * q / (p + q) * squares)
    return G


def l2_with(height, factor=1.0):
    """Inner products with another prefactor, or another exponent."""

    def function(centers, widths):
        squares = np.sum((centers[:, None] - centers[None]) ** 2, axis=2)
        total = np.add.outer(widths**2, widths**2)
        share = 2 * np.outer(widths, widths) / total
        exponent = -factor * squares / total
        return height(share, centers.shape[1]) * np.exp(exponent)

    return function


def positive(rng):
    for m in (3, 6):
        yield f"{m} functions", (spd(rng, m),)
    yield "a single function", (np.array([[rng.uniform(2, 5)]]),), LIMIT


def triangular(G):
    return linalg.inv(linalg.cholesky(G, lower=False))


def judge_triangular(arguments, answer, value):
    (G,) = arguments
    T = arrays(value, G.shape)
    if np.abs(np.tril(T, -1)).max() > 1e-8 * np.abs(T).max():
        return "the matrix is not upper triangular"
    if np.diag(T).min() <= 0:
        return "the diagonal is not positive"
    if np.abs(T.T @ G @ T - np.eye(len(G))).max() > 1e-7:
        return "the functions are not orthonormal"
    return None


def nearly_singular(rng):
    A = rng.normal(size=(6, 3))
    yield "rank 3", (A @ A.T, 1e-8)
    Q = linalg.qr(rng.normal(size=(5, 5)))[0]
    values = 50 * np.array([1, 0.3, 1e-2, 1e-5, 1e-7])
    yield "some eigenvalues below the limit", ((Q * values) @ Q.T, 1e-4)
    yield "a single function", (np.array([[3.0]]), 1e-4), LIMIT


def rank(G, rtol):
    values = linalg.eigvalsh(G)
    return int((values > rtol * values[-1]).sum())


def judge_truncated(arguments, answer, value):
    G, _ = arguments
    T = arrays(value, (len(G), answer))
    if np.abs(T.T @ G @ T - np.eye(answer)).max() > 1e-6:
        return "the functions are not orthonormal"
    # They must span the large eigenvectors.
    top = linalg.eigh(G)[1][:, -answer:]
    outside = T - top @ (top.T @ T)
    if np.abs(outside).max() > 1e-6 * np.abs(T).max():
        return "the columns leave the span of the large eigenvectors"
    return None


def eigenfunctions(scale, limit=None):
    """The kept eigenvectors, scaled in another way or chosen by another."""

    def function(G, rtol):
        values, vectors = linalg.eigh(G)
        keep = values > (limit or (lambda rtol, most: rtol * most))(
            rtol, values[-1]
        )
        return vectors[:, keep] * scale(values[keep])

    return function


def bases(rng):
    for n, M in ((7, 4), (4, 6)):
        about = f"{n} samples, {M} functions"
        yield about, (rng.normal(size=(n, M)), spd(rng, M))
    yield "a single sample", (rng.normal(size=(1, 3)), spd(rng, 3)), LIMIT


def kernel(B, G):
    xhat = linalg.solve_triangular(
        linalg.cholesky(G, lower=True), B.T, lower=True
    )
    return xhat.T @ xhat


def machines(rng):
    for n, k, l in ((20, 4, 1), (30, 6, 2)):
        y = np.where(rng.uniform(size=n) < 0.5, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        xhat = rng.normal(size=(n, k)) + 0.5 * y[:, None]
        P = np.column_stack([np.ones(n), rng.normal(size=(n, l - 1))])
        yield f"{n} samples, {l} free", (xhat, P, y, float(rng.uniform(0.5, 2)))


def to_solve(rng):
    yield from machines(rng)
    y = np.where(np.arange(9) % 3, 1.0, -1.0)
    nothing = (np.zeros((9, 2)), np.ones((9, 1)), y, 0.7)
    yield "coordinates that are zero", nothing, LIMIT


def with_points(rng):
    for about, (xhat, P, y, C) in machines(rng):
        w, lam = rng.normal(size=xhat.shape[1]), rng.normal(size=P.shape[1])
        yield about, (xhat, P, y, C, w, lam)
    xhat = y[:, None] * rng.uniform(1, 2, size=xhat.shape)
    far = (xhat, P, y, C, np.ones(len(w)), 0 * lam)
    yield "no sample has a slack", far, LIMIT


def value(z, A, k, y, C):
    slack = np.maximum(0, 1 - y * (A @ z))
    return z[:k] @ z[:k] / 2 + C * np.sum(slack**2)


def slope(z, A, k, y, C):
    """Sample by sample."""
    g = np.concatenate([z[:k], np.zeros(len(z) - k)])
    for a, label in zip(A, y, strict=True):
        slack = 1 - label * (a @ z)
        if slack > 0:
            g -= 2 * C * slack * label * a
    return g


def slopes(xhat, P, y, C, w, lam):
    k = len(w)
    z = np.concatenate([w, lam])
    g = slope(z, np.hstack([xhat, P]), k, y, C)
    return g[:k], g[k:]


def minimum(xhat, P, y, C):
    A, k = np.hstack([xhat, P]), xhat.shape[1]
    zero = np.zeros(A.shape[1])
    found = optimize.minimize(
        value, zero, (A, k, y, C), jac=slope, method="BFGS", tol=1e-9
    )
    return found.fun


def judge_minimum(arguments, answer, returned):
    xhat, P, y, C = arguments
    k = xhat.shape[1]
    A = np.hstack([xhat, P])
    w, lam = arrays(returned, (k,), (P.shape[1],))
    z = np.concatenate([w, lam])
    size = np.linalg.norm(slope(np.zeros(len(z)), A, k, y, C))
    if np.linalg.norm(slope(z, A, k, y, C)) > 1e-6 * size:
        return "the gradient is not zero"
    if value(z, A, k, y, C) > answer * (1 + 1e-6):
        return "the objective is not at its minimum"
    return None


def minimizer(xhat, P, y, C, penalty=0.0):
    """Where the minimum is: near it the function is a parabola."""
    A, k = np.hstack([xhat, P]), xhat.shape[1]
    weights = np.r_[np.ones(k), penalty * np.ones(P.shape[1])]

    def both(z):
        slack = np.maximum(0, 1 - y * (A @ z))
        gradient = weights * z - 2 * C * A.T @ (y * slack)
        return weights * z @ z / 2 + C * slack @ slack, gradient

    zero = np.zeros(A.shape[1])
    z = optimize.minimize(both, zero, jac=True, method="BFGS", tol=1e-8).x
    active = A[y * (A @ z) < 1]
    labels = y[y * (A @ z) < 1]
    system = np.diag(weights) + 2 * C * active.T @ active
    z = linalg.solve(system, 2 * C * active.T @ labels)
    return z[:k], z[k:]


def one_more(rng):
    for k in (2, 5):
        G = spd(rng, k + 1)
        L = linalg.cholesky(G[:k, :k], lower=True)
        yield f"{k} functions and a new one", (L, G[k, :k], float(G[k, k]))
    a = rng.normal(size=5)
    inside = G[:5, :5] @ a
    yield "one that is in the span", (L, inside, float(a @ inside)), LIMIT


def factor(L, b, d):
    G = np.block([[L @ L.T, b[:, None]], [b[None, :], np.array([[d]])]])
    if d - b @ linalg.solve(L @ L.T, b) <= 1e-10 * d:
        return L
    return linalg.cholesky(G, lower=True)


def grown(L, row, corner):
    k = len(L)
    larger = np.zeros((k + 1, k + 1))
    larger[:k, :k] = L
    larger[k, :k] = row
    larger[k, k] = corner
    return larger


def grow_with(change):
    """The new row with another corner, or in another place."""

    def function(L, b, d):
        row = linalg.solve_triangular(L, b, lower=True)
        rest = d - row @ row
        if rest <= 1e-10 * d:
            return L
        return change(L, row, rest, d)

    return function


def gram_matrices(rng):
    x = rng.uniform(size=12)
    scale = rng.uniform(0.5, 2, size=12)
    yield (
        "a scaled Gaussian, 4 steps",
        (
            np.outer(scale, scale) * gaussian(x, 0.3),
            4,
        ),
    )
    yield "a random matrix, 6 steps", (spd(rng, 9), 6)
    A = rng.normal(size=(8, 3))
    yield "rank 3, 6 steps", (A @ A.T, 6), LIMIT


def greedy(gram, steps):
    """Schur complements in full."""
    rest, chosen, columns = gram.copy(), [], []
    for _ in range(steps):
        p = int(np.argmax(np.diag(rest)))
        if rest[p, p] <= 1e-12 * np.diag(gram).max():
            break
        columns.append(rest[:, p] / np.sqrt(rest[p, p]))
        rest = rest - np.outer(columns[-1], columns[-1])
        chosen.append(p)
    return np.array(chosen), np.array(columns).T


def greedy_with(pick, subtract=True):
    """The same construction with another choice, or without what is known."""

    def function(gram, steps):
        rest, first = np.diag(gram).astype(float), np.diag(gram)
        chosen, L = [], np.zeros((len(gram), steps))
        for k in range(steps):
            p = int(pick(k, first, rest))
            if rest[p] <= 1e-12 * first.max():
                break
            known = L[:, :k] @ L[p, :k] if subtract else 0.0
            L[:, k] = (gram[:, p] - known) / np.sqrt(rest[p])
            rest = rest - L[:, k] ** 2
            rest[p] = 0.0
            chosen.append(p)
        return np.array(chosen), L[:, : len(chosen)]

    return function


def largest_left(k, first, rest):
    return np.argmax(rest)


def in_order(k, first, rest):
    return k


def by_the_first_diagonal(k, first, rest):
    return np.argsort(-first, kind="stable")[k]


def chosen_sets(rng):
    x = np.sort(rng.uniform(size=10))
    yield "a Gaussian", (gaussian(x, 0.2), rng.permutation(10)[:4])
    yield "a random matrix", (spd(rng, 8), rng.permutation(8)[:5])
    yield "nothing chosen", (spd(rng, 5), np.zeros(0, dtype=int)), LIMIT


def left(gram, chosen):
    shares = [1.0]
    for s in range(1, len(chosen) + 1):
        S = chosen[:s]
        L = linalg.cholesky(gram[np.ix_(S, S)], lower=True)
        V = linalg.solve_triangular(L, gram[S], lower=True)
        shares.append(1 - np.sum(V**2) / np.trace(gram))
    return np.array(shares)


def changed_slope(change):
    def function(xhat, P, y, C, w, lam):
        return change(*slopes(xhat, P, y, C, w, lam), w, lam)

    return function


SLIPS = {
    "l2_gram": (
        Slip(
            l2_with(lambda share, d: share**0.5),
            "your prefactor is that of one dimension; in $d$ dimensions it "
            "has the exponent $d/2$.",
        ),
        Slip(
            l2_with(lambda share, d: share**d),
            "the exponent of the prefactor is $d/2$, not $d$.",
        ),
        Slip(
            l2_with(lambda share, d: 1.0),
            "the prefactor is missing: functions of different widths overlap "
            "less.",
        ),
        Slip(
            l2_with(lambda share, d: share ** (d / 2), 2.0),
            "your exponent is twice as large as asked for: "
            "$-\\|z - z'\\|^2/(\\sigma^2 + \\sigma'^2)$.",
        ),
    ),
    "orthonormalize": (
        Slip(
            lambda G: triangular(G).T,
            "this is the transpose of $T$, a lower triangular matrix: the "
            "columns belong to the new functions.",
        ),
        Slip(
            lambda G: linalg.cholesky(linalg.inv(G), lower=True),
            "the functions are orthonormal, but the matrix is lower "
            "triangular: the first of them must use the first basis function "
            "alone.",
        ),
        Slip(
            lambda G: linalg.cholesky(G),
            "this is the Cholesky factor of $G$; $T$ is its inverse.",
        ),
        Slip(
            lambda G: linalg.inv(linalg.cholesky(linalg.inv(G), lower=True)).T,
            "you factor $G^{-1}$ and invert once more.",
        ),
        Slip(
            lambda G: linalg.inv(linalg.sqrtm(G).real),
            "this is $G^{-1/2}$: the functions are orthonormal, but each uses "
            "all basis functions.",
        ),
    ),
    "truncate": (
        Slip(
            eigenfunctions(lambda values: 1 / values),
            "you divide by the eigenvalue; its root makes the norm one.",
        ),
        Slip(
            eigenfunctions(lambda values: np.ones(len(values))),
            "these are the eigenvectors: as coefficients of functions they "
            "have the squared norm of their eigenvalue.",
        ),
        Slip(
            eigenfunctions(np.sqrt),
            "you multiply by the root of the eigenvalue; divide by it.",
        ),
        Slip(
            eigenfunctions(
                lambda values: values**-0.5, lambda rtol, most: rtol
            ),
            "your limit is `rtol` itself; it is meant relative to the largest "
            "eigenvalue.",
        ),
    ),
    "equivalent_kernel": (
        Slip(
            lambda B, G: B @ B.T,
            "this holds for orthonormal functions; in general the inverse of "
            "their Gram matrix is in the middle.",
        ),
        Slip(
            lambda B, G: B @ G @ B.T,
            "the Gram matrix of the functions is not inverted.",
        ),
    ),
    "gradient": (
        Slip(
            changed_slope(lambda g, h, w, lam: (g - w, h)),
            "the gradient of the penalty $\\tfrac12\\|w\\|^2$ is missing.",
        ),
        Slip(
            changed_slope(lambda g, h, w, lam: (g, h + lam)),
            "you penalize $\\lambda$; the features are free.",
        ),
        Slip(
            changed_slope(lambda g, h, w, lam: (w + (g - w) / 2, h / 2)),
            "the factor 2 from the square of the slack is missing.",
        ),
    ),
    "solve_primal": (
        Slip(
            lambda xhat, P, y, C: minimizer(xhat, P, y, C, 1.0),
            "you penalize $\\lambda$ as well; the features are free.",
        ),
        Slip(
            lambda xhat, P, y, C: minimizer(xhat, P, y, C / 2),
            "your answer is what one gets with $C/2$: the derivative of the "
            "square brings a factor 2.",
        ),
        Slip(
            lambda xhat, P, y, C: minimizer(xhat, P, y, 2 * C),
            "your answer is what one gets with $2C$: the penalty is "
            "$\\tfrac12\\|w\\|^2$, with the half.",
        ),
        Slip(
            lambda xhat, P, y, C: minimizer(xhat, P, y, C / len(y)),
            "you take the mean of the losses; asked for is $C$ times their "
            "sum.",
        ),
    ),
    "grow": (
        Slip(
            grow_with(lambda L, row, rest, d: grown(L, row, rest)),
            "the new diagonal entry is the root of what is left.",
        ),
        Slip(
            lambda L, b, d: grown(
                L, linalg.solve_triangular(L, b, lower=True), np.sqrt(d)
            ),
            "what the other functions explain of the new one must be "
            "subtracted from $d$.",
        ),
        Slip(
            grow_with(
                lambda L, row, rest, d: (
                    grown(L, 0, np.sqrt(rest))
                    + np.pad(row[:, None], ((0, 1), (len(L), 0)))
                )
            ),
            "you put the new entries into a column; $L$ is lower triangular, "
            "and they are its last row.",
        ),
    ),
    "pivoted": (
        Slip(
            greedy_with(in_order),
            "you take the functions in their order; the one with the most "
            "left comes next.",
        ),
        Slip(
            greedy_with(by_the_first_diagonal),
            "you choose by the diagonal of `gram`; it is the *remaining* "
            "diagonal that decides, and each step changes it.",
        ),
        Slip(
            greedy_with(largest_left, subtract=False),
            "subtract from the new column what the earlier ones explain of it.",
        ),
        Slip(
            lambda gram, steps: greedy(gram, steps)[::-1],
            "you return the matrix first; the indices come first.",
        ),
    ),
    "remainders": (
        Slip(
            lambda gram, chosen: 1 - left(gram, chosen),
            "this is the share that is explained; asked for is what is left.",
        ),
        Slip(
            lambda gram, chosen: left(gram, chosen) * np.trace(gram),
            "divide by the trace: asked for are shares.",
        ),
        Slip(
            lambda gram, chosen: left(gram, chosen)[1:],
            "begin with no function at all, where everything is left.",
        ),
    ),
}

ASSIGNMENT = Assignment(
    name="primal",
    number=5,
    title="Basis expansions in the primal",
    questions=(
        Question("l2_gram", 4, centres, l2, slips=SLIPS["l2_gram"]),
        Question(
            "orthonormalize",
            3,
            positive,
            triangular,
            judge=judge_triangular,
            slips=SLIPS["orthonormalize"],
        ),
        Question(
            "truncate",
            3,
            nearly_singular,
            rank,
            judge=judge_truncated,
            slips=SLIPS["truncate"],
            canonical=lambda T: T @ T.T,  # whatever the signs and the order
        ),
        Question(
            "equivalent_kernel",
            3,
            bases,
            kernel,
            rtol=1e-6,
            nearly=1e-4,
            slips=SLIPS["equivalent_kernel"],
        ),
        Question(
            "gradient",
            4,
            with_points,
            slopes,
            nearly=1e-4,
            slips=SLIPS["gradient"],
        ),
        Question(
            "solve_primal",
            5,
            to_solve,
            minimum,
            rtol=1e-5,
            judge=judge_minimum,
            slips=SLIPS["solve_primal"],
        ),
        Question(
            "grow",
            4,
            one_more,
            factor,
            rtol=1e-6,
            nearly=1e-4,
            slips=SLIPS["grow"],
        ),
        Question(
            "pivoted",
            5,
            gram_matrices,
            greedy,
            rtol=1e-6,
            slips=SLIPS["pivoted"],
        ),
        Question(
            "remainders",
            3,
            chosen_sets,
            left,
            rtol=1e-6,
            nearly=1e-4,
            slips=SLIPS["remainders"],
        ),
    ),
)

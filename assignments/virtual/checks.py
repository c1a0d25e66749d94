"""Hidden checks of assignment 4.  Never released, never built into the book."""

import itertools

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist
from scipy.special import xlogy

from kernelbook.course import LIMIT, Assignment, Question, Slip


def plates(X, Z):
    r = cdist(X, Z)
    return xlogy(r**2, r)


def plane(X):
    return np.column_stack([np.ones(len(X)), X])


def gaussian(x, width=0.7):
    return np.exp(-((np.subtract.outer(x, x) / width) ** 2))


def pairs_of_sets(rng):
    X = rng.normal(size=(6, 2))
    yield "6 against 4 points", (X, 3 * rng.normal(size=(4, 2)))
    both = np.vstack([X[:2], X[:1] + 5])
    yield "points that occur in both", (X, both), LIMIT


def feature_matrices(rng):
    X = rng.uniform(size=(9, 2))
    yield "a plane at scattered points", (plane(X),)
    X[:4, 1] = 2 * X[:4, 0] + 1
    yield "the first points on a line", (plane(X),)
    x = np.repeat(rng.uniform(size=4), 2)
    yield "every point twice, a parabola", (np.vander(x, 3),)
    yield "a point for each feature", (plane(rng.normal(size=(3, 2))),), LIMIT


def best_condition(P):
    l = P.shape[1]
    subsets = itertools.combinations(range(len(P)), l)
    return min(np.linalg.cond(P[list(s)]) for s in subsets)


def judge_anchors(arguments, answer, value):
    (P,) = arguments
    chosen = np.asarray(value)
    if chosen.dtype.kind != "i" or chosen.shape != (P.shape[1],):
        return f"{P.shape[1]} integers are expected"
    if chosen.min() < 0 or chosen.max() >= len(P):
        return "an index is out of range"
    if not np.linalg.cond(P[chosen]) <= 1e3 * answer:
        return "these rows do not form a well-conditioned matrix"
    return None


def largest_rows(P):
    return np.argsort(-np.sum(np.abs(P), axis=1))[: P.shape[1]]


def one_anchor(rng):
    x = rng.normal(size=7)
    r = np.abs(np.subtract.outer(x, x))
    yield "minus the distance, the third point", (-r, 2)
    yield "minus a multiquadric, the last point", (-np.sqrt(1 + r**2), 6)
    yield "a single point", (np.array([[rng.uniform(1, 2)]]), 0), LIMIT


def anchored(gram, a):
    D = np.eye(len(gram))
    D[:, a] -= 1
    return D @ gram @ D.T


def conditional(rng):
    X = rng.uniform(size=(8, 2))
    yield "thin plates", (plates(X, X), plane(X))
    x = rng.uniform(0, 3, size=7)
    r = np.abs(np.subtract.outer(x, x))
    yield "cubes of distances", (r**3, np.vander(x, 2))
    yield "a feature of another size", (-r, np.full((7, 1), 30.0))


def projected(gram, P):
    M = np.eye(len(P)) - P @ linalg.pinv(P)
    return M @ gram @ M


def to_project(rng):
    yield from conditional(rng)
    P = rng.normal(size=(4, 4)) + 3 * np.eye(4)
    gram = gaussian(rng.uniform(0, 3, size=4))
    yield "a feature for each point", (gram, P), LIMIT


def to_interpolate(rng):
    for about, (gram, P) in conditional(rng):
        yield about, (gram, P, rng.normal(size=len(P)))
    flat = P @ rng.normal(size=P.shape[1])
    yield "the values of a feature", (gram, P, flat), LIMIT


def energy(gram, P, values):
    Q = linalg.null_space(P.T)
    c = Q @ linalg.solve(Q.T @ gram @ Q, Q.T @ values)
    return c @ values


def definite(rng):
    for m, l in ((6, 2), (8, 3)):
        x = rng.uniform(0, 3, size=m)
        yield f"{m} samples, {l} features", (gaussian(x), np.vander(x, l))


def extended(gram, P):
    m, l = P.shape
    G, F = np.zeros((m + l, m + l)), np.zeros((m + l, l))
    G[:m, :m], G[m:, m:] = gram, np.eye(l)
    F[:m], F[m:] = P, np.eye(l)
    return G, F


def virtual_first(gram, P):
    l = P.shape[1]
    return linalg.block_diag(np.eye(l), gram), np.vstack([np.eye(l), P])


def both_kinds(rng):
    yield from definite(rng)
    X = 3 * rng.uniform(size=(7, 2))
    yield "thin plates", (plates(X, X), plane(X))


def values_kept_out(gram, P):
    # c = (z, -P'z) runs through the constraint's solutions.
    B = np.vstack([np.eye(len(P)), -P.T])
    return linalg.eigh(gram + P @ P.T, B.T @ B, eigvals_only=True)


def least(gram, P):
    return values_kept_out(gram, P)[0]


def prices(rng):
    for m, l in ((9, 1), (12, 2)):
        x = np.sort(rng.uniform(0, 3, size=m))
        P = np.vander(x, l, increasing=True)
        y = 3 + x + rng.normal(size=m)
        kappas = [0.1, 3.0, 50.0]
        yield f"{m} samples, {l} features", (gaussian(x), P, y, 0.05, kappas)


def differences(gram, P, y, reg, kappas):
    m = len(y)
    Q = linalg.null_space(P.T)
    S = m * reg * np.eye(m)
    c = Q @ linalg.solve(Q.T @ (gram + S) @ Q, Q.T @ y)
    free = gram @ c + P @ np.linalg.lstsq(P, y - (gram + S) @ c)[0]
    kernels = [gram + k * P @ P.T for k in kappas]
    fits = [K @ linalg.solve(K + S, y) for K in kernels]
    return np.array([np.abs(fit - free).max() for fit in fits])


def penalty(take):
    def function(gram, P, values):
        Q = linalg.null_space(P.T)
        c = Q @ linalg.solve(Q.T @ gram @ Q, Q.T @ values)
        return take(c, gram)

    return function


SLIPS = {
    "thin_plate": (
        Slip(
            lambda X, Z: xlogy(cdist(X, Z), cdist(X, Z)),
            "this is $r\\log r$; asked for is $r^2\\log r$.",
        ),
        Slip(
            lambda X, Z: 2 * xlogy(cdist(X, Z), cdist(X, Z)),
            "this is $r\\log r^2$; asked for is $r^2\\log r$.",
        ),
        Slip(
            lambda X, Z: 2 * plates(X, Z),
            "this is $r^2\\log r^2$, twice what is asked for: "
            "$\\log r^2 = 2\\log r$.",
        ),
        Slip(
            lambda X, Z: -plates(X, Z),
            "the sign: asked for is $+r^2\\log r$.",
        ),
    ),
    "pick_anchors": (
        Slip(
            lambda P: np.arange(P.shape[1]),
            "you return the first $\\ell$ rows, as the papers do, perhaps in "
            "another order; they may be one point twice, or lie on a line. A "
            "factorization of $P$ permutes its columns, one of $P^\\top$ its "
            "rows.",
        ),
        Slip(
            largest_rows,
            "these are the largest rows; large rows can depend on each other.",
        ),
    ),
    "schoenberg": (
        Slip(
            lambda gram, a: anchored(gram, a) - 2 * gram[a, a],
            "the sign of the last term: the value at the anchor was taken away "
            "twice and comes back once.",
        ),
        Slip(
            lambda gram, a: gram - gram[:, [a]],
            "you take the anchor out of one argument only.",
        ),
        Slip(
            lambda gram, a: gram - gram[:, [a]] + gram[a, a],
            "one of the two middle terms is missing: $H$ must be symmetric.",
        ),
        Slip(
            lambda gram, a: anchored(gram, 0),
            "you use the first sample; the anchor is sample a.",
        ),
    ),
    "project_out": (
        Slip(
            lambda gram, P: (np.eye(len(P)) - P @ linalg.pinv(P)) @ gram,
            "you project on one side only: the result must be symmetric.",
        ),
        Slip(
            lambda gram, P: P @ linalg.pinv(P) @ gram @ P @ linalg.pinv(P),
            "you project onto the range of $P$; asked for is its complement.",
        ),
        Slip(
            lambda gram, P: (
                (np.eye(len(P)) - P @ P.T) @ gram @ (np.eye(len(P)) - P @ P.T)
            ),
            "$I - PP^\\top$ is a projection only if the columns of $P$ are "
            "orthonormal.",
        ),
    ),
    "least_energy": (
        Slip(
            penalty(lambda c, gram: np.sqrt(abs(c @ gram @ c))),
            "this is the root of the energy.",
        ),
        Slip(
            penalty(lambda c, gram: c @ c),
            "this is $c^\\top c$; the energy is $c^\\top\\mathbf\\Phi c$.",
        ),
        Slip(
            lambda gram, P, values: values @ linalg.solve(gram, values),
            "you interpolate without the features.",
        ),
    ),
    "extend": (
        Slip(
            virtual_first,
            "your virtual points come first; they follow the samples.",
        ),
        Slip(
            lambda gram, P: (virtual_first(gram, P)[0], extended(gram, P)[1]),
            "in your Gram matrix the virtual points come first; they follow "
            "the samples.",
        ),
        Slip(
            lambda gram, P: (
                np.block([[gram, P], [P.T, np.eye(P.shape[1])]]),
                extended(gram, P)[1],
            ),
            "the features do not belong into the kernel: "
            "$\\Phi(v_p, x) = 0$ for all samples.",
        ),
        Slip(
            lambda gram, P: (
                extended(gram, P)[0],
                np.vstack([P, np.ones((P.shape[1],) * 2)]),
            ),
            "at a virtual point one feature is 1 and the others are 0.",
        ),
        Slip(
            lambda gram, P: extended(gram, P)[::-1],
            "you return the features first; the Gram matrix comes first.",
        ),
    ),
    "extended_minimum": (
        Slip(
            lambda gram, P: linalg.eigvalsh(
                linalg.block_diag(gram, np.eye(P.shape[1]))
            )[0],
            "you forgot the constraint: only vectors that are orthogonal to "
            "the "
            "extended features count.",
        ),
        Slip(
            lambda gram, P: values_kept_out(gram, P)[-1],
            "this is the largest value; asked for is the least.",
        ),
    ),
    "price": (
        Slip(
            lambda gram, P, y, reg, kappas: differences(
                gram, P, y, reg, [1 / k for k in kappas]
            ),
            "you use $1/\\kappa$ in place of $\\kappa$.",
        ),
        Slip(
            lambda gram, P, y, reg, kappas: differences(
                gram, P, y, reg / len(y), kappas
            ),
            "your answer is what one gets with $\\gamma$ instead of "
            "$m\\gamma$.",
        ),
    ),
}

ASSIGNMENT = Assignment(
    name="virtual",
    number=4,
    title="Virtual samples and conditionally positive definite kernels",
    questions=(
        Question(
            "thin_plate", 3, pairs_of_sets, plates, slips=SLIPS["thin_plate"]
        ),
        Question(
            "pick_anchors",
            4,
            feature_matrices,
            best_condition,
            judge=judge_anchors,
            slips=SLIPS["pick_anchors"],
            canonical=np.sort,  # the same anchors in any order
        ),
        Question(
            "schoenberg", 3, one_anchor, anchored, slips=SLIPS["schoenberg"]
        ),
        Question(
            "project_out",
            3,
            to_project,
            projected,
            nearly=1e-4,
            slips=SLIPS["project_out"],
        ),
        Question(
            "least_energy",
            4,
            to_interpolate,
            energy,
            rtol=1e-5,
            nearly=1e-3,
            slips=SLIPS["least_energy"],
        ),
        Question("extend", 3, definite, extended, slips=SLIPS["extend"]),
        Question(
            "extended_minimum",
            4,
            both_kinds,
            least,
            atol=1e-8,
            nearly=1e-4,
            slips=SLIPS["extended_minimum"],
        ),
        Question(
            "price",
            4,
            prices,
            differences,
            rtol=1e-6,
            nearly=1e-4,
            slips=SLIPS["price"],
        ),
    ),
)

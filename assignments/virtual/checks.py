"""Hidden checks of assignment 4.  Never released, never built into the book."""

import itertools

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist
from scipy.special import xlogy

from kernelbook.course import Assignment, Question


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
    yield "points that occur in both", (X, np.vstack([X[:2], X[:1] + 5]))


def feature_matrices(rng):
    X = rng.uniform(size=(9, 2))
    yield "a plane at scattered points", (plane(X),)
    X[:4, 1] = 2 * X[:4, 0] + 1
    yield "the first points on a line", (plane(X),)
    x = np.repeat(rng.uniform(size=4), 2)
    yield "every point twice, a parabola", (np.vander(x, 3),)


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


def one_anchor(rng):
    x = rng.normal(size=7)
    r = np.abs(np.subtract.outer(x, x))
    yield "minus the distance, the third point", (-r, 2)
    yield "minus a multiquadric, the last point", (-np.sqrt(1 + r**2), 6)


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


def to_interpolate(rng):
    for about, (gram, P) in conditional(rng):
        yield about, (gram, P, rng.normal(size=len(P)))


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


def both_kinds(rng):
    yield from definite(rng)
    X = 3 * rng.uniform(size=(7, 2))
    yield "thin plates", (plates(X, X), plane(X))


def least(gram, P):
    # c = (z, -P'z) runs through the constraint's solutions.
    m = len(P)
    B = np.vstack([np.eye(m), -P.T])
    return linalg.eigh(gram + P @ P.T, B.T @ B, eigvals_only=True)[0]


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


ASSIGNMENT = Assignment(
    name="virtual",
    number=4,
    title="Virtual samples and conditionally positive definite kernels",
    questions=(
        Question("thin_plate", 3, pairs_of_sets, plates),
        Question(
            "pick_anchors",
            4,
            feature_matrices,
            best_condition,
            judge=judge_anchors,
        ),
        Question("schoenberg", 3, one_anchor, anchored),
        Question("project_out", 3, conditional, projected),
        Question("least_energy", 4, to_interpolate, energy, rtol=1e-5),
        Question("extend", 3, definite, extended),
        Question("extended_minimum", 4, both_kinds, least, atol=1e-8),
        Question("price", 4, prices, differences, rtol=1e-6),
    ),
)

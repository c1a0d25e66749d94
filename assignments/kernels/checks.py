"""Hidden checks of assignment 1.  Never released, never built into the book."""

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist

from kernelbook.course import Assignment, Question


def gaussian(X, Z, width):
    return np.exp(-cdist(X, Z, "sqeuclidean") / width**2)


def points(rng, m, d):
    return rng.normal(size=(m, d))


def two_sets(rng):
    yield (
        "7 and 5 points in the plane",
        (points(rng, 7, 2), points(rng, 5, 2), 1.7),
    )
    yield "one column", (points(rng, 4, 1), points(rng, 6, 1), 0.6)
    yield "one point against many", (points(rng, 1, 3), points(rng, 8, 3), 2.5)


def definite(K):
    slack = 1e-10 * np.abs(K).max()
    return bool(
        np.abs(K - K.T).max() <= slack and linalg.eigvalsh(K).min() >= -slack
    )


def matrices(rng):
    A = rng.normal(size=(6, 3))
    yield "a Gram matrix of rank 3", (A @ A.T,)
    yield "the same, tiny", (1e-12 * A @ A.T,)
    yield "one negative eigenvalue", (A @ A.T - 0.1 * np.eye(6),)
    B = rng.normal(size=(4, 4))
    yield "positive quadratic form, not symmetric", (20 * np.eye(4) + B - B.T,)
    yield (
        "two negative eigenvalues, positive entries",
        (np.ones((4, 4)) - 0.5 * np.eye(4),),
    )
    yield "determinant positive", (np.diag([-1.0, -2.0, 3.0]),)


def indefinite(rng):
    for m in (3, 8):
        Q = linalg.qr(rng.normal(size=(m, m)))[0]
        values = rng.uniform(-1, 0.5, size=m)
        values[0], values[1] = -1.5, 4.0
        yield f"a symmetric matrix of size {m}", ((Q * values) @ Q.T,)


def judge_witness(arguments, answer, value):
    (K,) = arguments
    c = np.asarray(value, dtype=float)
    if c.shape != (len(K),):
        return f"a vector with {len(K)} entries is expected"
    if not abs(linalg.norm(c) - 1) < 1e-7:
        return "the vector does not have length one"
    return (
        None
        if c @ K @ c <= answer + 1e-7
        else "another vector makes c'Kc smaller"
    )


def least_eigenvalue(K):
    return linalg.eigvalsh(K)[0]


def grams(rng):
    X = points(rng, 6, 2)
    yield "an inhomogeneous polynomial kernel", ((1 + X @ X.T) ** 2,)
    Y = 1e3 * np.vstack([X, X[:2]])
    yield "repeated points far from the origin", (Y @ Y.T,)
    yield "a Gaussian", (gaussian(X, X, 1.3),)


def distances(K):
    # An independent way: coordinates from the eigendecomposition.
    values, vectors = linalg.eigh(K)
    V = vectors * np.sqrt(np.maximum(values, 0))
    return cdist(V, V)


def judge_distances(arguments, answer, value):
    D = np.asarray(value, dtype=float)
    if D.shape != answer.shape:
        return f"the shape is {D.shape}, but {answer.shape} is expected"
    if not (np.isfinite(D).all() and (D >= 0).all()):
        return "a distance is NaN, infinite or negative"
    # A root near zero loses half of the digits.
    worst = float(np.abs(D**2 - answer**2).max() / np.abs(answer**2).max())
    return (
        None
        if worst < 1e-9
        else f"the squared distances are off by {worst:.1e} of their size"
    )


def centred(K):
    M = np.eye(len(K)) - 1 / len(K)
    return M @ K @ M


def conditional(rng):
    x = np.sort(rng.uniform(0, 5, size=7))
    r = np.abs(x[:, None] - x)
    one, line = np.ones((7, 1)), np.column_stack([np.ones(7), x])
    yield "minus the distance, beside a constant", (-r, one)
    yield "plus the distance", (r, one)
    yield "the cube of the distance, beside a line", (r**3, line)
    yield "the same, beside a constant", (r**3, one)
    yield (
        "a Gaussian beside a line",
        (gaussian(x[:, None], x[:, None], 1.0), line),
    )
    yield (
        "minus the distance, beside a feature that is not constant",
        (-r, x[:, None] ** 2),
    )
    X = rng.uniform(size=(9, 2))
    R = cdist(X, X)
    plates = R**2 * np.log(np.where(R > 0, R, 1.0))
    yield (
        "thin plates beside a plane",
        (plates, np.column_stack([np.ones(9), X])),
    )


def conditionally_definite(gram, P):
    M = np.eye(len(P)) - P @ linalg.pinv(P)
    return bool(linalg.eigvalsh(M @ gram @ M)[0] >= -1e-9 * np.abs(gram).max())


def fits(rng):
    X = points(rng, 9, 2)
    yield "a Gaussian", (gaussian(X, X, 1.0), rng.normal(size=9), 0.03)
    yield "a linear kernel, singular", (X @ X.T, rng.normal(size=9), 0.2)
    yield "a single sample", (np.array([[2.0]]), np.array([3.0]), 0.5)


def ridge(K, y, reg):
    return np.linalg.lstsq(K + len(y) * reg * np.eye(len(y)), y, rcond=None)[0]


def scales(rng):
    yield (
        "8 points in the plane, three widths",
        (points(rng, 8, 2), [0.5, 1.0, 3.0]),
    )
    yield "one column, one width", (points(rng, 5, 1), [0.8])


def relative_spectra(X, widths):
    rows = [np.sort(linalg.svdvals(gaussian(X, X, w)))[::-1] for w in widths]
    return np.array([row / row.sum() for row in rows])


ASSIGNMENT = Assignment(
    name="kernels",
    number=1,
    title="Kernels and Gram matrices",
    questions=(
        Question("gaussian_gram", 3, two_sets, gaussian),
        Question("is_psd", 3, matrices, definite),
        Question(
            "witness", 3, indefinite, least_eigenvalue, judge=judge_witness
        ),
        Question(
            "feature_distances", 3, grams, distances, judge=judge_distances
        ),
        Question("center", 4, grams, centred),
        Question("is_cpd", 4, conditional, conditionally_definite),
        Question("fit_ridge", 4, fits, ridge),
        Question("spectra", 3, scales, relative_spectra, atol=1e-8),
    ),
)

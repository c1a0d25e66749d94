"""Hidden checks of assignment 1.  Never released, never built into the book."""

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist

from kernelbook.course import LIMIT, Assignment, Question, Slip


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
    one, many = points(rng, 1, 3), points(rng, 8, 3)
    yield "one point against many", (one, many, 2.5), LIMIT


def definite(K):
    slack = 1e-10 * np.abs(K).max()
    return bool(
        np.abs(K - K.T).max() <= slack and linalg.eigvalsh(K).min() >= -slack
    )


def matrices(rng):
    # The sizes are drawn: they must not tell the answers.
    def low_rank():
        A = rng.normal(size=(int(rng.integers(4, 8)), 3))
        return A @ A.T

    yield "a Gram matrix of rank 3", (low_rank(),)
    yield "another of rank 3, tiny", (1e-12 * low_rank(),)
    K = low_rank()
    yield "some negative eigenvalues", (K - 0.1 * np.eye(len(K)),)
    n = int(rng.integers(4, 8))
    B = rng.normal(size=(n, n))
    yield "positive quadratic form, not symmetric", (20 * np.eye(n) + B - B.T,)
    n = int(rng.integers(4, 8))
    yield (
        "negative eigenvalues, positive entries",
        (np.ones((n, n)) - rng.uniform(0.2, 0.6) * np.eye(n),),
    )
    n = int(rng.integers(4, 8))
    signs = np.where(np.arange(n) < 2, -1.0, 1.0)
    yield "determinant positive", (np.diag(signs * rng.uniform(1, 3, n)),)
    n = int(rng.integers(4, 8))
    A = rng.normal(size=(n, n))
    yield "positive definite, of full rank", (A @ A.T + 0.1 * np.eye(n),)
    # One sign pattern and one size, two answers.
    X = points(rng, n, 2)
    K = gaussian(X, X, 2.0)
    low = linalg.eigvalsh(K)[0]
    yield "a Gaussian, of full rank", (K + 0.05 * np.eye(n),)
    yield (
        "a Gaussian less too much of the identity",
        (K - (low + 0.5 * (1 - low)) * np.eye(n),),
    )
    n = int(rng.integers(4, 8))
    Q = linalg.qr(rng.normal(size=(n, n)))[0][:, :3]
    values = np.array([4.0, 2.0, -rng.uniform(0.5, 1)])
    yield "singular, with one negative eigenvalue", ((Q * values) @ Q.T,)
    n = int(rng.integers(4, 8))
    order = rng.permutation(n)
    K = np.ones((n, n))
    K[0, 1] = K[1, 0] = rng.uniform(1.5, 2)
    K[:2, 2:] = K[2:, :2] = 0.0
    yield (
        "singular and indefinite, positive diagonal",
        (K[np.ix_(order, order)],),
    )
    n = int(rng.integers(4, 8))
    yield "nothing but zeros", (np.zeros((n, n)),), LIMIT


def indefinite(rng):
    for m in (3, 8):
        Q = linalg.qr(rng.normal(size=(m, m)))[0]
        values = rng.uniform(-1, 0.5, size=m)
        values[0], values[1] = -1.5, 4.0
        yield f"a symmetric matrix of size {m}", ((Q * values) @ Q.T,)
    yield "a single number", (np.array([[-rng.uniform(1, 3)]]),), LIMIT


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


def eigenvector(choose):
    """The direction that belongs to an eigenvalue of K."""
    return lambda K: linalg.eigh(K)[1][:, choose(linalg.eigvalsh(K))]


def row_for_column(K):
    values, vectors = linalg.eigh(K)
    return vectors[np.argmin(values)]


def grams(rng):
    X = points(rng, 6, 2)
    yield "an inhomogeneous polynomial kernel", ((1 + X @ X.T) ** 2,)
    Y = 1e3 * np.vstack([X, X[:2]])
    yield "repeated points far from the origin", (Y @ Y.T,), LIMIT
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
    def samples():
        n = int(rng.integers(6, 10))
        x = np.sort(rng.uniform(0, 5, size=n))
        line = np.column_stack([np.ones(n), x])
        return x, np.abs(x[:, None] - x), np.ones((n, 1)), line

    x, r, one, line = samples()
    yield "minus the distance, beside a constant", (-r, one)
    x, r, one, line = samples()
    yield "plus the distance", (r, one)
    x, r, one, line = samples()
    yield "the cube of the distance, beside a line", (r**3, line)
    x, r, one, line = samples()
    yield "the cube of the distance, beside a constant", (r**3, one)
    x, r, one, line = samples()
    yield (
        "a Gaussian beside a line",
        (gaussian(x[:, None], x[:, None], 1.0), line),
    )
    x, r, one, line = samples()
    yield "minus a Gaussian beside a line", (-np.exp(-(r**2)), line)
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
    yield (
        "cubes of distances in the plane, with the signs of thin plates",
        (np.sign(plates) * R**3, np.column_stack([np.ones(9), X])),
    )
    yield from same_signs(rng, samples)


def same_signs(rng, samples):
    """Calls with the same signs, sizes and features, and different answers."""
    _, r, one, line = samples()
    yield "minus a root of the distance, beside a constant", (-np.sqrt(r), one)
    yield "minus the cube of the distance, beside a constant", (-(r**3), one)
    _, r, _, line = samples()
    yield "a power of the distance, beside a line", (r**2.5, line)
    yield "the distance itself, beside a line", (r, line)
    _, r, _, line = samples()
    yield "one plus the cube of the distance, beside a line", (1 + r**3, line)
    yield "one plus the distance, beside a line", (1 + r, line)
    _, r, _, line = samples()
    yield "minus one and the distance, beside a line", (-1 - r, line)
    yield "minus one and the cube, beside a line", (-1 - r**3, line)
    for count in (1, 2):
        # Where P'c = 0 only A A' counts, which is zero at q.
        n = int(rng.integers(6, 10))
        P, B = rng.normal(size=(2, n, count))
        q = linalg.null_space(P.T)[:, 0]
        A = rng.normal(size=(n, n))
        A -= np.outer(q, q @ A)
        gram = A @ A.T + P @ B.T + B @ P.T
        little = 0.5 * np.abs(gram).min() * np.outer(q, q)
        yield f"{count} random features, raised", (gram + little, P)
        yield f"{count} random features, lowered", (gram - little, P)


def conditionally_definite(gram, P):
    M = np.eye(len(P)) - P @ linalg.pinv(P)
    return bool(linalg.eigvalsh(M @ gram @ M)[0] >= -1e-9 * np.abs(gram).max())


def definite_on(basis, sign=1):
    """Is the form definite on the range of another matrix?"""

    def function(gram, P):
        Q = basis(P)
        least = linalg.eigvalsh(sign * Q.T @ gram @ Q)[0]
        return bool(least >= -1e-10 * np.abs(gram).max())

    return function


def fits(rng):
    X = points(rng, 9, 2)
    yield "a Gaussian", (gaussian(X, X, 1.0), rng.normal(size=9), 0.03)
    yield "a linear kernel, singular", (X @ X.T, rng.normal(size=9), 0.2)
    yield "a single sample", (np.array([[2.0]]), np.array([3.0]), 0.5), LIMIT


def ridge(K, y, reg):
    return np.linalg.lstsq(K + len(y) * reg * np.eye(len(y)), y, rcond=None)[0]


def scales(rng):
    yield (
        "8 points in the plane, three widths",
        (points(rng, 8, 2), [0.5, 1.0, 3.0]),
    )
    yield "one column, one width", (points(rng, 5, 1), [0.8])
    yield "a single point", (points(rng, 1, 2), [0.5, 2.0]), LIMIT


def relative_spectra(X, widths):
    rows = [np.sort(linalg.svdvals(gaussian(X, X, w)))[::-1] for w in widths]
    return np.array([row / row.sum() for row in rows])


def scaled_spectra(change):
    def function(X, widths):
        rows = []
        for w in widths:
            values = np.sort(linalg.svdvals(gaussian(X, X, w)))[::-1]
            rows.append(change(values))
        return np.array(rows)

    return function


HALF = "your exponent has $2\\sigma^2$; here the width is the $\\sigma$ of "
HALF += "$e^{-\\|x - z\\|^2/\\sigma^2}$."
SLIPS = {
    "gaussian_gram": (
        Slip(lambda X, Z, w: gaussian(X, Z, np.sqrt(2) * w), HALF),
        Slip(
            lambda X, Z, w: np.exp(-cdist(X, Z) / w),
            "you use the distance; asked for is its square.",
        ),
        Slip(
            lambda X, Z, w: np.exp(-cdist(X, Z) / w**2),
            "the square of the distance is missing.",
        ),
        Slip(
            lambda X, Z, w: np.exp(-cdist(X, Z, "sqeuclidean") / w),
            "you divide by the width; asked for is its square.",
        ),
        Slip(
            lambda X, Z, w: gaussian(Z, X, w),
            "this is the transpose: rows belong to X, columns to Z.",
        ),
    ),
    "is_psd": (
        Slip(
            lambda K: bool(K.min() >= 0),
            "you look at the entries; definiteness is a matter of eigenvalues.",
        ),
        Slip(
            lambda K: bool(
                linalg.eigvalsh((K + K.T) / 2).min() >= -1e-10 * np.abs(K).max()
            ),
            "a matrix that is not symmetric is no Gram matrix; look for that "
            "first.",
        ),
    ),
    "witness": (
        Slip(
            eigenvector(np.argmax),
            "this vector makes $c^\\top\\mathbf Kc$ as large as possible; "
            "asked for is the least.",
        ),
        Slip(
            row_for_column,
            "you took a row of the matrix of eigenvectors; they are its "
            "columns.",
        ),
        Slip(
            eigenvector(lambda values: np.argmin(np.abs(values))),
            "this belongs to the eigenvalue closest to zero; asked for is the "
            "least one, which is negative.",
        ),
        Slip(
            lambda K: eigenvector(np.argmin)(K) * np.sqrt(-least_eigenvalue(K)),
            "the direction is right; the vector must have length one.",
        ),
    ),
    "feature_distances": (
        Slip(
            lambda K: distances(K) ** 2,
            "these are the squared distances.",
        ),
    ),
    "center": (
        Slip(
            lambda K: K - K.mean(axis=0),
            "you center in one argument; take the means of the rows away, too, "
            "and give the mean of all back.",
        ),
        Slip(
            lambda K: K - K.mean(),
            "you take one number away from all entries.",
        ),
        Slip(
            lambda K: K - K.mean(0) - K.mean(1)[:, None] - K.mean(),
            "the sign of the last term: the mean of all was taken away twice "
            "and "
            "comes back once.",
        ),
        Slip(
            lambda K: K - K.mean(0) - K.mean(1)[:, None],
            "the mean of all was taken away twice and comes back once.",
        ),
    ),
    "is_cpd": (
        Slip(
            definite_on(lambda P: np.eye(len(P))),
            "you ask for definiteness on all $c$; only those with "
            "$P^\\top c = 0$ count.",
        ),
        Slip(
            definite_on(linalg.orth),
            "you look at the $c$ in the range of $P$; asked for are those "
            "that are orthogonal to it.",
        ),
        Slip(
            definite_on(lambda P: linalg.null_space(np.ones((1, len(P))))),
            "you take the constant for the feature, whatever $P$ is.",
        ),
        Slip(
            definite_on(lambda P: linalg.null_space(P.T), -1),
            "the sign: you answer whether minus the matrix is conditionally "
            "positive semidefinite.",
        ),
    ),
    "fit_ridge": (
        Slip(
            lambda K, y, reg: ridge(K, y, reg / len(y)),
            "your answer is what one gets with $\\gamma$ instead of "
            "$m\\gamma$; "
            "see A first fit in the chapter Regularized approximation.",
        ),
        Slip(
            lambda K, y, reg: ridge(K, y, reg / len(y) ** 2),
            "you divide by $m$; asked for is $m\\gamma$.",
        ),
    ),
    "spectra": (
        Slip(
            lambda X, widths: relative_spectra(X, widths)[:, ::-1],
            "the eigenvalues are in rising order; the largest comes first.",
        ),
        Slip(
            scaled_spectra(lambda v: v / v.max()),
            "you divide by the largest eigenvalue; asked for is the share of "
            "the "
            "sum.",
        ),
        Slip(
            lambda X, widths: relative_spectra(
                X, np.sqrt(2) * np.array(widths)
            ),
            HALF,
        ),
    ),
}

ASSIGNMENT = Assignment(
    name="kernels",
    number=1,
    title="Kernels and Gram matrices",
    questions=(
        Question(
            "gaussian_gram", 3, two_sets, gaussian, slips=SLIPS["gaussian_gram"]
        ),
        Question("is_psd", 3, matrices, definite, slips=SLIPS["is_psd"]),
        Question(
            "witness",
            3,
            indefinite,
            least_eigenvalue,
            judge=judge_witness,
            slips=SLIPS["witness"],
            canonical=np.abs,  # a direction has two signs
        ),
        Question(
            "feature_distances",
            3,
            grams,
            distances,
            judge=judge_distances,
            slips=SLIPS["feature_distances"],
        ),
        Question("center", 4, grams, centred, slips=SLIPS["center"]),
        Question(
            "is_cpd",
            4,
            conditional,
            conditionally_definite,
            slips=SLIPS["is_cpd"],
        ),
        Question(
            "fit_ridge", 4, fits, ridge, nearly=1e-4, slips=SLIPS["fit_ridge"]
        ),
        Question(
            "spectra",
            3,
            scales,
            relative_spectra,
            atol=1e-8,
            nearly=1e-4,
            slips=SLIPS["spectra"],
        ),
    ),
)

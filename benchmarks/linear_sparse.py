"""The linear machine on sparse text-like data: ten features free, beside LinearSVC and its bias.

LinearSVC punishes its bias like any other weight; we leave ten features alone, the constant
among them.  So the answers differ, and each side is judged by its own objective over the optimum of
its own problem: the excess is how much worse ours is *as a solution*, in units of the optimum.
"""

import numpy as np
from scipy import sparse
from sklearn.svm import LinearSVC

from benchmarks.harness import Case, Target
from kernelbook import LinearBasis, PrimalSVMClassifier

QUESTION = "PrimalSVMClassifier(LinearBasis), sparse rows, ℓ=10, beside LinearSVC with one bias"
TARGETS = {"LinearSVC": Target(median=1.0, worst=1.0)}


def text_like(m, words, topics=9, length=60, seed=0):
    """Documents as unit rows of word counts with Zipf's frequencies, topics, and noisy labels."""
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, words + 1)
    favourites = rng.permutation(words)
    topic = rng.integers(0, topics, m)
    counts = rng.poisson(length, m) + 5
    rows = np.repeat(np.arange(m), counts)
    columns = rng.choice(words, counts.sum(), p=frequency / frequency.sum())
    # A third of the words of a document are those that its topic prefers.
    shifted = rng.random(columns.size) < 1 / 3
    columns[shifted] = favourites[(columns[shifted] + 997 * topic[rows[shifted]]) % words]
    X = sparse.csr_array((np.ones(columns.size), (rows, columns)), shape=(m, words))
    X.sum_duplicates()
    X.data = 1.0 + np.log(X.data)
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    X = sparse.csr_array(X.multiply(1.0 / np.asarray(norms).reshape(-1, 1)))
    # LIBLINEAR takes 32-bit column numbers only.
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    X = sparse.csr_array((X.data, indices, indptr), shape=X.shape)
    score = X @ rng.normal(size=words) + 0.2 * (topic % 2 - 0.5)
    y = np.where(score + 0.2 * np.std(score) * rng.normal(size=m) > np.median(score), 1.0, -1.0)
    P = np.hstack([np.ones((m, 1)), np.eye(topics)[topic] + 0.1 * rng.normal(size=(m, topics))])
    return X, P, y


def cases(quick):
    sizes = [(10_000, 1.0), *([] if quick else [(10_000, 10.0), (20_000, 1.0)])]
    for m, C in sizes:
        X, P, y = text_like(m, 30_000)
        for loss in ("hinge",) if quick else ("hinge", "squared_hinge"):
            best = {"ours": np.inf, "LinearSVC": np.inf}
            yield Case(
                f"{loss} m={m} C={C:g}",
                lambda X=X, P=P, y=y, C=C, loss=loss: ours(X, P, y, C, loss),
                {"LinearSVC": lambda X=X, y=y, C=C, loss=loss: theirs(X, y, C, loss)},
                lambda answer, X=X, P=P, y=y, C=C, loss=loss, best=best: relative(
                    answer, X, P, y, C, loss, best
                ),
                {"m": m, "d": 30_000, "C": C, "l": P.shape[1]},
            )


def ours(X, P, y, C, loss):
    model = PrimalSVMClassifier(
        LinearBasis(), lambda _: P, C=C, loss=loss, tol=1e-4, random_state=0
    )
    model.fit(X, y)
    return "ours", model.basis_coef_[0], model.coef_[0]


def theirs(X, y, C, loss):
    model = LinearSVC(C=C, loss=loss, dual=True, random_state=0, max_iter=10_000).fit(X, y)
    return "LinearSVC", model.coef_[0], model.intercept_


def relative(answer, X, P, y, C, loss, best):
    """The objective of an answer to its own problem, over the optimum of that problem."""
    side, w, lam = answer
    free = side == "ours"
    power = 2 if loss == "squared_hinge" else 1

    def objective(w, lam):
        f = X @ w + (P @ lam if free else lam[0])
        punished = w @ w if free else w @ w + lam @ lam
        return 0.5 * punished + C * np.sum(np.maximum(1.0 - y * f, 0.0) ** power)

    if best[side] == np.inf:
        best[side] = objective(*exact(X, P, y, C, loss, free))
    return objective(w, lam) / best[side]


def exact(X, P, y, C, loss, free):
    """A solution to many digits; LinearSVC's problem has its bias as one more punished column."""
    if free:
        features, rows = (lambda _: P), X
    else:
        features, rows = None, sparse.csr_array(sparse.hstack([X, np.ones((len(y), 1))]))
    model = PrimalSVMClassifier(LinearBasis(), features, C=C, loss=loss, tol=1e-6, random_state=0)
    model.fit(rows, y)
    w = model.basis_coef_[0]
    return (w, model.coef_[0]) if free else (w[:-1], w[-1:])

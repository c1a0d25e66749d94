"""Many classes from two: which binary problems to solve, and how their answers are combined.

A binary problem is a pair (rows, sign): the samples that take part, and ±1 for each.

**One-vs-one.**  A problem for every pair of classes a < b, on their samples only; positive means b.
Each casts a vote, and the class with most votes wins.  Ties are common (a cycle a > b > c > a), so
the sum of the decision values in favour of a class, squeezed into (−1/3, 1/3), is added to its
votes: less than any vote, but enough to break ties.  This is the decision function of
scikit-learn's SVC(decision_function_shape="ovr", break_ties=True).

**One-vs-rest.**  A problem for every class, on all samples; the largest decision value wins.

With two classes there is one problem, its sign is + for the second class, and there is one
decision value, not two.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

__all__ = ["SCHEMES", "binary_problems", "class_scores", "members", "predicted"]

SCHEMES = ("ovo", "ovr")


def members(codes: np.ndarray, n_classes: int) -> list[np.ndarray]:
    """The samples of each class, in their order."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=n_classes))[:-1])


def binary_problems(
    codes: np.ndarray, n_classes: int, scheme: str
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (rows, sign) for each problem; `codes` holds 0 … n_classes − 1.

    One against one, the samples of the first class come before those of the second.
    """
    if n_classes == 2:
        yield np.arange(codes.size), np.where(codes == 1, 1.0, -1.0)
    elif scheme == "ovo":
        for a, b in combinations(members(codes, n_classes), 2):
            sign = np.ones(a.size + b.size)
            sign[: a.size] = -1.0
            yield np.concatenate([a, b]), sign
    else:
        for k in range(n_classes):
            yield np.arange(codes.size), np.where(codes == k, 1.0, -1.0)


def class_scores(F: np.ndarray, n_classes: int, scheme: str) -> np.ndarray:
    """The decision function: (n,) for two classes, otherwise (n, n_classes).

    Parameters
    ----------
    F : (n, problems) array
        Decision values of the binary problems, in the order of `binary_problems`.
    """
    if n_classes == 2:
        return F[:, 0]
    if scheme == "ovr":
        return F
    votes, confidence = np.zeros((2, len(F), n_classes))
    for f, (a, b) in zip(F.T, combinations(range(n_classes), 2), strict=True):
        votes[:, b] += f > 0
        votes[:, a] += f <= 0
        confidence[:, b] += f
        confidence[:, a] -= f
    return votes + confidence / (3 * (np.abs(confidence) + 1))


def predicted(scores: np.ndarray) -> np.ndarray:
    """Codes of the winning classes; f = 0 between two classes is the first."""
    if scores.ndim == 1:
        return (scores > 0).astype(np.intp)
    return np.argmax(scores, axis=1)

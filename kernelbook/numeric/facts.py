"""Numbers that say whether a Gram matrix, or a matrix of features, can mean anything.

A few rows of a Gram matrix, evenly spread over the sample, are compared with all others.  What is
said of the numbers is in `kernelbook.estimators._sanity`.
"""

from typing import NamedTuple

import numpy as np

from kernelbook.numeric.column_space import column_space

__all__ = [
    "FeatureFacts", "GramFacts", "facts_of_rows", "feature_facts", "gram_facts", "probe_rows",
]  # fmt: skip

PROBES = 20
"""Rows that are compared with all others."""
UNEXPLAINED = 0.1
"""A smaller share of y, in squares, is no loss that a constant could explain."""


class GramFacts(NamedTuple):
    """Entries beside the diagonal in units of √(K_ii K_jj), in some rows.

    `largest` is the largest of them in absolute value; `variation` is 1 minus the least, and ∞
    where the diagonal is not constant.
    """

    largest: float
    variation: float


class FeatureFacts(NamedTuple):
    """The rank of the features, and which share of what they leave of y a constant explains."""

    rank: int
    lost: float


def probe_rows(m: int) -> np.ndarray:
    """The numbers of the rows to look at."""
    return np.unique(np.linspace(0, m - 1, PROBES).astype(int))


def gram_facts(gram: np.ndarray) -> GramFacts | None:
    """The facts of a Gram matrix; None where its diagonal is not positive, or not finite."""
    rows = probe_rows(len(gram))
    return facts_of_rows(np.array(gram[rows], dtype=float), rows, gram.diagonal())


def facts_of_rows(K: np.ndarray, rows: np.ndarray, diagonal: np.ndarray) -> GramFacts | None:
    """The same of the rows K of a Gram matrix, which are overwritten, and of its diagonal."""
    if not (diagonal.min() > 0 and np.isfinite(diagonal.max()) and np.isfinite(K).all()):
        return None
    with np.errstate(over="ignore", under="ignore"):
        K /= np.sqrt(diagonal[rows])[:, None]
        K /= np.sqrt(diagonal)
    own = np.arange(len(rows)), rows
    K[own] = 0.0
    largest = max(K.max(), -K.min())
    K[own] = 1.0
    same = diagonal.min() == diagonal.max()
    return GramFacts(float(largest), 1.0 - float(K.min()) if same else np.inf)


def feature_facts(P: np.ndarray, Y: np.ndarray | None) -> FeatureFacts:
    """The rank of P, and the largest share of a column of Y, which may be None, that it has lost.

    It loses a constant that is not in its span.  Columns that P explains but for a tenth, in
    squares, do not count.
    """
    m = len(P)
    Q = column_space(P).Q
    left = 1.0 - Q @ Q.sum(axis=0)  # of the constant
    if Y is None or left @ left <= 1e-12 * m:
        return FeatureFacts(Q.shape[1], 0.0)
    Y = np.asarray(Y, dtype=float).reshape(m, -1)
    size = np.abs(Y).max(axis=0)
    Y = Y / np.where(size > 0, size, 1.0)
    rest = Y - Q @ (Q.T @ Y)
    squares = np.einsum("ij,ij->j", rest, rest)
    some = squares > UNEXPLAINED * np.einsum("ij,ij->j", Y, Y)
    share = np.max((left @ rest[:, some]) ** 2 / (left @ left * squares[some]), initial=0.0)
    return FeatureFacts(Q.shape[1], float(share))

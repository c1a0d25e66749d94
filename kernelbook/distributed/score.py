"""R² and the share of right labels on Dask collections, in one pass.

A block says how much it weighs, the mean of its y, the squares about that mean, and the squares
that f leaves; two blocks together weigh W = W₁ + W₂ and have [1], with δ = mean₂ − mean₁,

    mean = mean₁ + (W₂/W) δ,      squares = squares₁ + squares₂ + (W₁W₂/W) δ²,

so that nothing cancels where y is far from zero.  These few numbers travel; the data stay where
they are.  The conventions are scikit-learn's: outputs count the same, a constant y is explained
completely or not at all, and a single sample has no R².

References
----------
[1] Chan, Golub & LeVeque, *Algorithms for computing the sample variance*, The American
Statistician 37 (1983).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbook.distributed.graph import aligned_blocks, tree_sum

__all__ = ["Accuracy", "Squares", "score_blocks"]


def score_blocks(block_score: Callable, X: Any, y: Any, sample_weight: Any = None) -> float:
    """The score of a learner on Dask collections with the same blocks; computed now.

    `block_score(X, y, w)` is the `Squares` or `Accuracy` of a block.
    """
    import dask

    frozen = dask.delayed(block_score, traverse=False)
    parts = [
        dask.delayed(_of_block)(frozen, *block) for block in aligned_blocks(X, y, sample_weight)
    ]
    total = tree_sum(parts)
    if isinstance(total, int) or not total.weight > 0:
        raise ValueError("X has no rows, or sample_weight is zero for all: there is no score.")
    return total.score()


def _of_block(block_score, X, y, w):
    rows = {len(a) for a in (X, y, w) if a is not None}
    if len(rows) > 1:
        raise ValueError(
            f"blocks of X, y and the weights have {sorted(rows)} rows: cut them alike."
        )
    return block_score(X, y, w) if len(X) else 0


@dataclass(frozen=True)
class Accuracy:
    """The weight of some labels, and of those that are right."""

    weight: float
    right: float

    def __add__(self, other):
        return (
            self
            if isinstance(other, int)
            else Accuracy(self.weight + other.weight, self.right + other.right)
        )

    __radd__ = __add__

    def score(self) -> float:
        return float(self.right / self.weight)


@dataclass(frozen=True)
class Squares:
    """W, the rows, the mean of y, the squares about it and those that f leaves, for each output."""

    weight: float
    rows: int
    mean: np.ndarray
    about: np.ndarray
    left: np.ndarray

    @classmethod
    def of(cls, y: Any, f: np.ndarray, w: np.ndarray) -> Any:
        """Of two matrices with a column for each output; 0 where all weights are zero."""
        weight = w.sum()
        if weight == 0:
            return 0
        mean = w @ y / weight
        return cls(weight, len(y), mean, w @ (y - mean) ** 2, w @ (y - f) ** 2)

    def __add__(self, other):
        if isinstance(other, int):
            return self
        weight, delta = self.weight + other.weight, other.mean - self.mean
        share = other.weight / weight
        return Squares(
            weight,
            self.rows + other.rows,
            self.mean + share * delta,
            self.about + other.about + self.weight * share * delta**2,
            self.left + other.left,
        )

    __radd__ = __add__

    def score(self) -> float:
        """R²; NaN for a single sample."""
        if self.rows < 2:
            return float("nan")
        about, left = self.about / self.weight, self.left / self.weight
        unexplained = np.where(left == 0, 0.0, 1.0)
        np.divide(left, about, out=unexplained, where=about > 0)
        return float(np.mean(1.0 - unexplained))

"""The last solution, as a start for the next fit.

Along a grid of C the solutions are similar: a sample far on the wrong side of the margin has α_i =
C for every C, and one far on the right side α_i = 0.  So the next fit starts from β_i times the
factor by which its C_i has grown.  With the same factor for all samples that is a feasible point
again: it is in the box, and Pᵀβ = 0.  Otherwise the solver makes it feasible.  The start decides
how long the search takes, never what it finds: the certificate decides that.

Reference: DeCoste & Wagstaff (2000), *Alpha seeding for support vector machines*, KDD.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

__all__ = ["LastFit"]


@dataclass(frozen=True)
class LastFit:
    """β of every binary problem, and C, of all samples passed to `fit`; zero if absent."""

    beta: np.ndarray
    C: np.ndarray
    classes: np.ndarray
    scheme: str

    @classmethod
    def of(
        cls,
        m: int,
        kept: np.ndarray,
        C: np.ndarray,
        problems: Any,
        solutions: Any,
        classes: np.ndarray,
        scheme: str,
    ) -> Self:
        """The solutions of a fit to m samples, of which `kept` have a positive weight."""
        beta, every_C = np.zeros((len(problems), m)), np.zeros(m)
        every_C[kept] = C
        for row, (rows, _), solution in zip(beta, problems, solutions, strict=True):
            row[kept[rows]] = solution.beta
        return cls(beta, every_C, classes, scheme)

    def starts(
        self,
        m: int,
        kept: np.ndarray,
        C: np.ndarray,
        problems: Any,
        classes: np.ndarray,
        scheme: str,
    ) -> list:
        """A β for each of the problems, or None for each if the problems have changed."""
        same = self.C.size == m and self.scheme == scheme
        if not same or not np.array_equal(self.classes, classes):
            return [None] * len(problems)
        grown = np.divide(C, self.C[kept], out=np.zeros_like(C), where=self.C[kept] > 0)
        return [
            grown[rows] * beta[kept[rows]]
            for beta, (rows, _) in zip(self.beta, problems, strict=True)
        ]

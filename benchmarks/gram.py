"""The Gram matrix itself, and how far it is from what the machine can do at all.

The floor is the larger of two times: writing the matrix once (memory), and the matrix product XXᵀ
(arithmetic).  NumPy sees that both factors are the same and computes half of the product, as we do;
so does `rbf_kernel`.  In a thousand dimensions that half is nearly all there is to do: how much
faster than `rbf_kernel` anybody can be there, the last lines say.
"""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.harness import Case, Target
from kernelbook import Gaussian

QUESTION = "Gram matrix of a Gaussian beside rbf_kernel and cdist + exp"
TARGETS = {"rbf_kernel": Target(median=2.0), "cdist + exp": Target(median=2.0)}


def cases(quick):
    m = 1000 if quick else 5000
    for d in (10,) if quick else (10, 1000):
        X = np.random.default_rng(0).normal(size=(m, d))
        width = d**0.5
        yield Case(
            f"m={m} d={d}",
            lambda X=X, w=width: Gaussian(w)(X),
            {
                "rbf_kernel": lambda X=X, w=width: rbf_kernel(X, gamma=w**-2),
                "cdist + exp": lambda X=X, w=width: by_distances(X, w),
                "writing m×m": lambda m=m: np.full((m, m), 1.0),
                "XXᵀ": lambda X=X: X @ X.T,
            },
            facts={"m": m, "d": d},
        )


def by_distances(X, width):
    K = cdist(X, X, "sqeuclidean")
    K *= -(width**-2)
    return np.exp(K, out=K)


def summary(rows):
    """Our time over the floor, and what is left for anybody to win over `rbf_kernel`."""
    by_case = {}
    for row in rows:
        by_case.setdefault(row.case, {"": row.seconds})[row.peer] = row.peer_seconds
    for case, t in by_case.items():
        floor = max(t["writing m×m"], t["XXᵀ"])
        yield (
            f"→ {case}: {t[''] / floor:.1f} times the floor "
            f"({'memory' if t['writing m×m'] > t['XXᵀ'] else 'arithmetic'}); "
            f"rbf_kernel is {t['rbf_kernel'] / floor:.1f} times above it"
        )

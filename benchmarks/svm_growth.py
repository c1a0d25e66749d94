"""How the cost of SVM-GB grows, in m and in ℓ: slopes of log time."""

import json

import numpy as np

from benchmarks.harness import Case
from benchmarks.problems import noisy_xor
from kernelbook import Gaussian, SVMGBClassifier

QUESTION = "SVMGBClassifier: seconds against m and ℓ"
TARGETS = {}

M = [1500, 3000, 6000], [12000]
L = [1, 4, 16], [64]


def cases(quick):
    sizes = [(m, 1) for m in M[0] + ([] if quick else M[1])]
    sizes += [(3000, l) for l in L[0][1:] + ([] if quick else L[1])]
    for m, l in sizes:
        X, y = noisy_xor(m, 10)
        P = np.random.default_rng(1).normal(size=(m, l))
        P[:, 0] = 1.0
        yield Case(
            f"m={m} l={l}",
            lambda X=X, y=y, P=P: fitted(X, y, P),
            facts={"m": m, "l": l},
        )


def fitted(X, y, P):
    return SVMGBClassifier(Gaussian(10**0.5), features=lambda _: P, C=10.0).fit(X, y)


def summary(rows):
    """The slopes."""
    facts = [json.loads(row.facts) for row in rows]
    for name, other, value in (("m", "l", 1), ("l", "m", 3000)):
        points = [
            (f[name], r.seconds) for f, r in zip(facts, rows, strict=True) if f[other] == value
        ]
        slope = np.polyfit(*np.log(np.array(points).T), 1)[0]
        yield f"→ seconds grow like {name}^{slope:.2f}"

"""Prediction: many new points, thousands of support vectors, no matrix in memory."""

import numpy as np
from sklearn.svm import SVC

from benchmarks.harness import Case, Target
from benchmarks.problems import noisy_xor
from kernelbook import Gaussian, SVMGBClassifier

QUESTION = "decision_function at many points, beside SVC's"
TARGETS = {"SVC.decision_function": Target(median=5.0)}


def cases(quick):
    n, m = (10_000, 3000) if quick else (100_000, 8000)
    for d in (10,) if quick else (10, 100):
        X, y = noisy_xor(m, d)
        width, new = d**0.5, np.random.default_rng(1).normal(size=(n, d))
        ours = SVMGBClassifier(Gaussian(width)).fit(X, y)
        svc = SVC(gamma=width**-2, cache_size=4000).fit(X, y)
        yield Case(
            f"n={n} supports={len(ours.support_)} d={d}",
            lambda ours=ours, new=new: ours.decision_function(new),
            {"SVC.decision_function": lambda svc=svc, new=new: svc.decision_function(new)},
            facts={"n": n, "supports": len(ours.support_), "d": d},
        )

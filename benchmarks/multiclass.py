"""Ten classes, 45 pairs: handwritten digits, one against one, beside SVC."""

from sklearn.datasets import load_digits
from sklearn.svm import SVC

from benchmarks.harness import Case, Target
from kernelbook import Gaussian, SVMGBClassifier

QUESTION = "SVMGBClassifier one-vs-one on the ten digits, beside SVC"
TARGETS = {"SVC": Target(median=2.0)}


def cases(quick):
    X, y = load_digits(return_X_y=True)
    width = 40.0
    for C in (1.0,) if quick else (1.0, 10.0):
        yield Case(
            f"digits m={len(X)} d=64 C={C:g}",
            lambda C=C: SVMGBClassifier(Gaussian(width), C=C).fit(X, y),
            {"SVC": lambda C=C: SVC(C=C, gamma=width**-2, cache_size=4000).fit(X, y)},
            facts={"m": len(X), "d": 64, "C": C, "classes": 10},
        )

"""Ten classes, 45 pairs: handwritten digits, one against one, beside SVC.

The objective is the sum over the pairs, each that of a machine with two classes.
"""

from itertools import combinations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from benchmarks.harness import Case, Target
from benchmarks.problems import hinge_objective
from kernelbook import Gaussian, SVMGBClassifier

QUESTION = "SVMGBClassifier one-vs-one on the ten digits, beside SVC"
TARGETS = {"SVC": Target(median=2.0)}

WIDTH = 40.0


def cases(quick):
    X, y = load_digits(return_X_y=True)
    for C in (1.0,) if quick else (1.0, 10.0):
        yield Case(
            f"digits m={len(X)} d=64 C={C:g}",
            lambda C=C: SVMGBClassifier(Gaussian(WIDTH), C=C).fit(X, y),
            {"SVC": lambda C=C: SVC(C=C, gamma=WIDTH**-2, cache_size=4000).fit(X, y)},
            lambda model, C=C: objective(model, X, y, C),
            facts={"m": len(X), "d": 64, "C": C, "classes": 10},
        )


def objective(model, X, y, C):
    """Σ ½βᵀKβ + C Σ (1 − ±f)₊ over the pairs of classes."""
    pairs, total = ours if isinstance(model, SVMGBClassifier) else svc, 0.0
    for positive, negative, beta, bias in pairs(model):
        rows = np.flatnonzero((y == positive) | (y == negative))
        used = np.flatnonzero(beta)
        support = np.searchsorted(rows, model.support_[used])
        sign = np.where(y[rows] == positive, 1.0, -1.0)
        total += hinge_objective(X[rows], sign, WIDTH, C)((support, beta[used], [bias]))
    return total


def ours(model):
    """(positive class, negative class, β on the support vectors, bias) of each pair."""
    pairs = combinations(model.classes_, 2)
    for (a, b), beta, coef in zip(pairs, model.dual_coef_, model.coef_, strict=True):
        yield b, a, beta, coef[0]


def svc(model):
    """The same of LIBSVM, which keeps β of a sample of class k against class l > k in row l − 1."""
    of = np.repeat(np.arange(model.classes_.size), model.n_support_)
    for p, (k, l) in enumerate(combinations(range(model.classes_.size), 2)):
        beta = np.where(of == k, model.dual_coef_[l - 1], 0.0)
        beta += np.where(of == l, model.dual_coef_[k], 0.0)
        yield model.classes_[k], model.classes_[l], beta, model.intercept_[p]

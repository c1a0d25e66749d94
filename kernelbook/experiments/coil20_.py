"""A, figures 1 and 2: COIL-20, 0/1 neighbour features beside a Gaussian kernel.

A trains on the first 6, 12, 24 and 48 views of each object and compares SVM, k-NN and SVM-GB (all
one-vs-one, parameters by cross-validation, here among 24 pairs), then fixes four groups of
parameters; A does not say which, so a grid of 24 ("figure 3") goes with ours.  What "first" and
"neighbour" mean is read in all the ways of `geodesic`.  Beside the accuracy each row says how many
of the 190 pairs of classes have a kernel part of zero, and what rank the features have on a pair:
where the features separate a pair, theorem T3 says that kernel and C do not matter at all.

Features are made anew in every fold of the cross-validation, from the labels of that fold's
training part alone.  λ is the one of least Σ(Pλ)²; a decision value of zero counts for the first
class of the pair.  Both are rules, not consequences: where the kernel part is zero every λ that
separates is optimal.  So each row says how often f = 0, and what the accuracy would be with the
other rules (`other_rules`); whether the features separate a pair is asked of a linear program,
which knows nothing of our solver.
"""

import warnings
from itertools import combinations

import numpy as np
from scipy.optimize import linprog
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from kernelbook import SVMGBClassifier
from kernelbook.datasets import load_coil20
from kernelbook.datasets.tables import COIL20
from kernelbook.experiments.geodesic import class_features, nearest, to_training, votes
from kernelbook.experiments.running import Experiment

__all__ = ["EXPERIMENT"]

# In this order: of parameters that cross-validate equally well the first are taken.
WIDTHS, CS = (30.0, 100.0, 10.0, 300.0, 3.0, 1000.0), (10.0, 1000.0, 0.1, 1e5)
FIXED = ((3.0, 0.01), (3.0, 100.0), (100.0, 0.01), (100.0, 100.0))
GRID = [(width, C) for width in (1.0, 3.0, 10.0, 30.0, 100.0, 300.0) for C in (0.01, 1, 100, 1e4)]
TOL, TIE = 1e-3, 1e-9
READINGS = [("transductive", False, k) for k in (3, 5, 7, 10)]
READINGS += [("transductive", True, 7), ("inductive", False, 7), ("all images", False, 7)]


def cells(quick):
    def cell(order, n, reading, itself, k, figure):
        return {
            "figure": figure,
            "order": order,
            "images": n,
            "reading": reading,
            "itself": itself,
            "k": k,
            "objects": 5 if quick else 20,
            "seed": 3000,
        }

    orders = ("angle", "file name")
    sizes = (6,) if quick else (6, 12, 24, 48)
    some = READINGS[2:6:3] if quick else READINGS
    first = [cell(o, n, *r, 1) for n in sizes for o in orders for r in some]
    second = [cell(o, sizes[-1], *READINGS[2], 2) for o in orders]
    third = [] if quick else [cell(o, 48, *READINGS[k], 3) for o in orders for k in (2, 5)]
    return first + second + third


def run(cell):
    data = load_coil20(order=cell["order"])
    rows = data.target < cell["objects"]
    X, y = data.data[rows], data.target[rows]
    train = np.tile(np.arange(72) < cell["images"], cell["objects"])
    images = Images(X, y, train, cell)
    if cell["figure"] == 1:
        return chosen(images)
    return fixed(images, FIXED if cell["figure"] == 2 else GRID)


class Images:
    """The sample and what is computed once: distances, kernels, features of a training set."""

    def __init__(self, X, y, train, cell):
        self.X, self.y, self.cell = X, y, cell
        self.n_classes = cell["objects"]
        self.train, self.test = np.flatnonzero(train), np.flatnonzero(~train)
        self.squared = cdist(X, X, "sqeuclidean")

    def gram(self, rows, columns, width):
        return np.exp(-self.squared[np.ix_(rows, columns)] / width**2)

    def features(self, train):
        """P and the k-NN vote of every image, from the labels of `train` alone."""
        cell, everyone = self.cell, self.cell["reading"] == "all images"
        distances = to_training(self.X, train, cell["k"], cell["reading"])
        labels = np.full(len(self.X), -1)
        labels[train] = self.y[train]
        own = np.full(len(self.X), -1)
        own[train] = train if everyone else np.arange(train.size)
        if everyone and not cell["itself"]:
            own = np.arange(len(self.X))
        near = nearest(distances, None if cell["itself"] else own)
        labels = labels if everyone else self.y[train]
        P = class_features(near, labels, self.n_classes)
        return P, votes(near, labels, self.n_classes)


def chosen(images):
    """Figure 1: parameters by cross-validation on the training images."""
    folds = StratifiedKFold(3, shuffle=True, random_state=images.cell["seed"])
    scores = {"SVM": {}, "SVM-GB": {}}
    for a, b in folds.split(images.train, images.y[images.train]):
        inner, held = images.train[a], images.train[b]
        P = images.features(inner)[0]
        for width in WIDTHS:
            for C in CS:
                for method in scores:
                    row = fit(images, method, inner, held, P, width, C)
                    key = width, C
                    scores[method][key] = scores[method].get(key, 0.0) + row["accuracy"] / 3
    P, vote = images.features(images.train)
    rows = [{"method": "3-NN", "accuracy": right(vote[images.test], images.y[images.test])}]
    for method, score in scores.items():
        width, C = max(score, key=score.get)
        row = fit(images, method, images.train, images.test, P, width, C, True)
        ends = {
            "width_end": at_end(score, 0, width, WIDTHS),
            "C_end": at_end(score, 1, C, CS),
        }
        rows.append(row | ends)
    return rows


def at_end(score, which, value, grid):
    """ "end" where the first or last value of a grid is better than its neighbour, else ""."""
    grid = sorted(grid)
    if value not in (grid[0], grid[-1]):
        return ""
    beside = grid[1] if value == grid[0] else grid[-2]
    best = {v: max(s for key, s in score.items() if key[which] == v) for v in (value, beside)}
    return "end" if best[value] > best[beside] else ""


def fixed(images, groups):
    """Figure 2: four groups of parameters, none of them chosen; "figure 3" is a grid of them."""
    P, vote = images.features(images.train)
    rows = [{"method": "3-NN", "accuracy": right(vote[images.test], images.y[images.test])}]
    for width, C in groups:
        for method in ("SVM", "SVM-GB"):
            rows.append(fit(images, method, images.train, images.test, P, width, C, True))
    return rows


def fit(images, method, train, test, P, width, C, rules=False):
    gram, gram_test = images.gram(train, train, width), images.gram(test, train, width)
    row = {"method": method, "width": width, "C": C}
    if method == "SVM":
        model = SVC(C=C, kernel="precomputed").fit(gram, images.y[train])
        return row | {"accuracy": right(model.predict(gram_test), images.y[test])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the row says what it would say
        model = SVMGBClassifier(kernel="precomputed", C=C, tol=TOL)
        model.fit(gram, images.y[train], P=P[train])
    row |= {
        "accuracy": right(model.predict(gram_test, P=P[test]), images.y[test]),
        "largest_violation": model.certificate_.kkt,
    }
    if not rules:
        return row
    zero = np.abs(model.dual_coef_).max(axis=1, initial=0.0) <= 1e-9 * C
    return row | {
        "pairs": len(zero),
        "kernel_part_zero": int(zero.sum()),
        "rank_least": int(model.rank_.min()),
        "rank_most": int(model.rank_.max()),
        "test_without_feature": float(np.mean(~P[test].any(axis=1))),
        **other_rules(images, model, zero, train, test, P, gram_test),
    }


def other_rules(images, model, zero, train, test, P, gram_test):
    """Ties, separated pairs, and the accuracy had λ or the ties been decided otherwise."""
    y, n = images.y[train], images.n_classes
    H = gram_test[:, model.support_] @ model.dual_coef_.T
    F = H + P[test] @ model.coef_.T
    # Where all separating λ are optimal: one of a linear program's corners, as in A (25).
    corner, separated = model.coef_.copy(), 0
    for k, (a, b) in enumerate(combinations(range(n), 2)):
        rows = (y == a) | (y == b)
        margins = np.where(y[rows] == b, 1.0, -1.0)[:, None] * P[train][rows]
        found = linprog(
            np.zeros(n), -margins, -np.ones(len(margins)), bounds=(None, None), method="highs-ds"
        )
        separated += found.status == 0
        if zero[k] and found.status == 0:
            corner[k] = found.x
    truth, G = images.y[test], H + P[test] @ corner.T
    return {
        "pairs_separated": separated,
        "ties": float(np.mean(np.abs(F) <= TIE)),
        "accuracy_ties_to_second": right(by_votes(F, n, 0.0, 1.0), truth),
        "accuracy_ties_shared": right(by_votes(F, n, 0.5, 0.5), truth),
        "accuracy_corner": right(by_votes(G, n, 1.0, 0.0), truth),
    }


def by_votes(F, n_classes, first, second):
    """One-vs-one, a tie giving `first` and `second` of a vote; equals by the sum of f."""
    votes, confidence = np.zeros((2, len(F), n_classes))
    for f, (a, b) in zip(F.T, combinations(range(n_classes), 2), strict=True):
        tie = np.abs(f) <= TIE
        f = np.where(tie, 0.0, f)
        votes[:, a] += (f < 0) + first * tie
        votes[:, b] += (f > 0) + second * tie
        confidence[:, a] -= f
        confidence[:, b] += f
    return np.argmax(votes + confidence / (9 * (np.abs(confidence) + 1)), axis=1)


def right(predicted, y):
    return float(np.mean(predicted == y))


EXPERIMENT = Experiment(
    "coil20",
    "A figs. 1, 2: COIL-20, geodesic neighbour features, every reading",
    cells,
    run,
    sources=(COIL20,),
    modules=("kernelbook.experiments.geodesic",),
)

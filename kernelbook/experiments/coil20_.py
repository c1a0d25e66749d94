"""A, figures 1 and 2: COIL-20, 0/1 neighbour features beside a Gaussian kernel.

A trains on the first 6, 12, 24 and 48 views of each object and compares SVM, k-NN and SVM-GB (all
one-vs-one, parameters by cross-validation), then fixes four groups of parameters.  What "first"
and "neighbour" mean is read in all the ways of `geodesic`.  Beside the accuracy each row says how
many of the 190 pairs of classes have a kernel part of zero, and what rank the features have on a
pair: where the features separate a pair, theorem T3 says that kernel and C do not matter at all.

Features are made anew in every fold of the cross-validation, from the labels of that fold's
training part alone.  λ is the one of least Σ(Pλ)²; a decision value of zero counts for the first
class of the pair.
"""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from kernelbook import SVMGBClassifier
from kernelbook.datasets import load_coil20
from kernelbook.datasets.tables import COIL20
from kernelbook.experiments.geodesic import class_features, nearest, to_training, votes
from kernelbook.experiments.running import Experiment

__all__ = ["EXPERIMENT"]

# In this order: of parameters that cross-validate equally well the first are taken, the smoothest.
WIDTHS, CS = (30.0, 10.0, 3.0), (10.0, 1000.0, 0.1)
FIXED = ((3.0, 0.01), (3.0, 100.0), (100.0, 0.01), (100.0, 100.0))
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
    return first + second


def run(cell):
    data = load_coil20(order=cell["order"])
    rows = data.target < cell["objects"]
    X, y = data.data[rows], data.target[rows]
    train = np.tile(np.arange(72) < cell["images"], cell["objects"])
    images = Images(X, y, train, cell)
    return fixed(images) if cell["figure"] == 2 else chosen(images)


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
        rows.append(fit(images, method, images.train, images.test, P, width, C))
    return rows


def fixed(images):
    """Figure 2: four groups of parameters, none of them chosen."""
    P, vote = images.features(images.train)
    rows = [{"method": "3-NN", "accuracy": right(vote[images.test], images.y[images.test])}]
    for width, C in FIXED:
        for method in ("SVM", "SVM-GB"):
            rows.append(fit(images, method, images.train, images.test, P, width, C))
    return rows


def fit(images, method, train, test, P, width, C):
    gram, gram_test = images.gram(train, train, width), images.gram(test, train, width)
    row = {"method": method, "width": width, "C": C}
    if method == "SVM":
        model = SVC(C=C, kernel="precomputed").fit(gram, images.y[train])
        return row | {"accuracy": right(model.predict(gram_test), images.y[test])}
    model = SVMGBClassifier(kernel="precomputed", C=C).fit(gram, images.y[train], P=P[train])
    zero = np.abs(model.dual_coef_).max(axis=1, initial=0.0) <= 1e-9 * C
    return row | {
        "accuracy": right(model.predict(gram_test, P=P[test]), images.y[test]),
        "pairs": len(zero),
        "kernel_part_zero": int(zero.sum()),
        "rank_least": int(model.rank_.min()),
        "rank_most": int(model.rank_.max()),
        "test_without_feature": float(np.mean(~P[test].any(axis=1))),
    }


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

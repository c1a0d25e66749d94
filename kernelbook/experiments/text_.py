"""A, figure 3, and B, figure 2: text categorization with pLSA features left free.

Six collections, training sizes from 100 to 3,200, ten random splits.  Words are the 2,000 of
highest mutual information with the class; ten pLSA features; linear kernels.  The papers' methods
are SVM and RLSC on words, the same on pLSA features, and SVM-GB and G-RLSC on words with the pLSA
features free; B's printed formula (26)(27) stands beside its minimizer.  Three things are varied
because they decide the outcome:

    protocol         "papers": words chosen with all labels, topics of all documents;
                     "clean": both from the training documents alone, test documents folded in
    representation   "interval": B's linear map to [−1, 1];  "l2": log counts of length one
    appended         the pLSA features simply added to the words, regularized like them: what
                     anyone would do today, and what "free" has to beat

C of the SVMs by three-fold cross-validation on the training documents (a grid of steps of 4,
then of 2 around its best), γ of RLSC by exact leave-one-out; matrices are divided by their mean
diagonal, so that one grid serves all.  SVMs are one-vs-one, RLSC one-vs-rest, as in the papers.
The topics of "papers" are transductive, its words know the test labels: that protocol measures the
leak, not the method.
"""

from functools import lru_cache

import numpy as np
from scipy import linalg
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from kernelbook import GRLSClassifierCV, SVMGBClassifier
from kernelbook.datasets import load_7sectors, load_newsgroups, load_webkb
from kernelbook.datasets.text import NEWSGROUPS, SECTORS, WEBKB
from kernelbook.experiments.plsa import fit_plsa, fold_in
from kernelbook.experiments.running import Experiment
from kernelbook.experiments.words import count_words, l2_log_counts, most_informative, to_interval

__all__ = ["EXPERIMENT"]

COLLECTIONS = ("comp", "rec", "sci", "talk", "sectors", "webkb")
SIZES = (100, 200, 400, 800, 1600, 3200)
WORDS, TOPICS, DIGITS = 2000, 10, 4
CS = tuple(4.0 ** np.arange(-3, 5))  # then halved and doubled around the best
REGS = 2.0 ** np.arange(-24, 3, 1)
WEIGHTS = (0.1, 1.0, 10.0)  # of appended features, relative to the words


def cells(quick):
    collections, sizes, repetitions = COLLECTIONS, SIZES, 10
    if quick:
        collections, sizes, repetitions = ("sci",), (100,), 1
    return [
        {
            "collection": collection,
            "protocol": protocol,
            "representation": representation,
            "size": size,
            "repetition": r,
            "seed": 4000 + r,
        }
        for r in range(repetitions)
        for size in sizes
        for collection in collections
        for protocol in ("clean", "papers")
        for representation in ("l2", "interval")
    ]


@lru_cache(maxsize=len(COLLECTIONS))
def collection(name):
    """Counts and classes of a collection, with the words that occur in three documents or more."""
    loaders = {"sectors": load_7sectors, "webkb": load_webkb}
    data = loaders[name]() if name in loaders else load_newsgroups(name)
    return count_words(data.data)[0], data.target


def run(cell):
    seen = cell["size"] if cell["protocol"] == "clean" else None
    order, counts, P, y = prepared(cell["collection"], cell["seed"], seen)
    train, test = order[: cell["size"]], order[cell["size"] :]
    X = l2_log_counts(counts) if cell["representation"] == "l2" else to_interval(counts, train)
    sample = Sample(kernels(X, train, test), kernels(P, train, test), P[train], P[test])
    folds = list(StratifiedKFold(3, shuffle=True, random_state=cell["seed"]).split(train, y[train]))
    scores = machines(sample, y[train], y[test], folds) | squares(sample, y[train], y[test])
    return [{"method": name, "accuracy": value} for name, value in scores.items()]


@lru_cache(maxsize=2 * len(COLLECTIONS))  # both protocols of every collection
def prepared(name, seed, size):
    """A random order, the chosen words and the topics, from the first `size` documents or all.

    The protocol of the papers (size None) uses them for every training size: they are kept.
    """
    counts, y = collection(name)
    order = np.random.default_rng(seed).permutation(len(y))
    seen, unseen = (order, order[:0]) if size is None else (order[:size], order[size:])
    counts = counts[:, np.sort(most_informative(counts[seen], y[seen], WORDS))]
    P = np.empty((len(y), TOPICS))
    P[seen], words, _ = fit_plsa(counts[seen], TOPICS, random_state=seed)
    P[unseen] = fold_in(counts[unseen], words) if unseen.size else 0.0
    # EM leaves shares like 1e-70.  A free feature has no unit: times λ = 1e70 it would be used.
    return order, counts, P.round(DIGITS), y


class Sample:
    """Normalized kernels (training, test) of the words and of the topics, and the topics."""

    def __init__(self, words, topics, P, P_test):
        self.words, self.topics, self.P, self.P_test = words, topics, P, P_test

    def appended(self, weight):
        return tuple(a + weight * b for a, b in zip(self.words, self.topics, strict=True))


def kernels(X, train, test):
    """Linear kernels of the training rows, and of test against training, in units of the first."""
    gram, other = X[train] @ X[train].T, X[test] @ X[train].T
    gram, other = (A.toarray() if hasattr(A, "toarray") else A for A in (gram, other))
    scale = np.trace(gram) / len(gram)
    return gram / scale, other / scale


# ----------------------------------------------------------------------------- hinge loss (A)


def machines(sample, y, y_test, folds):
    """Accuracy of the support vector machines, C by cross-validation."""

    def svm(gram, rows, C):
        return SVC(C=C, kernel="precomputed", cache_size=500).fit(gram, y[rows])

    def svm_gb(gram, rows, C):
        return SVMGBClassifier(kernel="precomputed", C=C).fit(gram, y[rows], P=sample.P[rows])

    def best(gram, fit, P=None):
        """The best cross-validated accuracy and its C, of equals the smallest: CS, then between."""
        right = {}

        def count(Cs):
            right.update(dict.fromkeys(Cs, 0))
            for a, b in folds:
                more = {} if P is None else {"P": P[b]}
                for C in Cs:
                    model = fit(gram[np.ix_(a, a)], a, C)
                    right[C] += np.sum(model.predict(gram[np.ix_(b, a)], **more) == y[b])
            return max(sorted(right), key=right.get)

        C = count(CS)
        C = count([C / 2, C * 2])
        return right[C], C

    everyone = np.arange(len(y))
    scores = {}
    for name, (gram, other) in {"SVM, words": sample.words, "SVM, pLSA": sample.topics}.items():
        model = svm(gram, everyone, best(gram, svm)[1])
        scores[name] = float(np.mean(model.predict(other) == y_test))
    choices = [(*best(sample.appended(w)[0], svm), w) for w in WEIGHTS]
    _, C, weight = max(choices, key=lambda c: c[0])
    gram, other = sample.appended(weight)
    scores["SVM, appended"] = float(np.mean(svm(gram, everyone, C).predict(other) == y_test))
    gram, other = sample.words
    model = svm_gb(gram, everyone, best(gram, svm_gb, sample.P)[1])
    scores["SVM-GB"] = float(np.mean(model.predict(other, P=sample.P_test) == y_test))
    return scores


# --------------------------------------------------------------------------- squared loss (B)


def squares(sample, y, y_test):
    """Accuracy of the least-squares classifiers, γ by leave-one-out."""

    def rlsc(kernel, P=None, P_test=None):
        model = GRLSClassifierCV(kernel="precomputed", features=None, regs=REGS)
        given = {} if P is None else {"P": P}
        model.fit(kernel[0], y, **given)
        more = {} if P is None else {"P": P_test}
        return model, float(np.mean(model.predict(kernel[1], **more) == y_test))

    scores = {
        "RLSC, words": rlsc(sample.words)[1],
        "RLSC, pLSA": rlsc(sample.topics)[1],
    }
    tried = [rlsc(sample.appended(weight)) for weight in WEIGHTS]
    scores["RLSC, appended"] = max(tried, key=lambda t: t[0].best_score_)[1]
    model, scores["G-RLSC"] = rlsc(sample.words, sample.P, sample.P_test)
    scores["G-RLSC, B (26)(27) as printed"] = printed(sample, y, y_test, model.reg_)
    return scores


def printed(sample, y, y_test, reg):
    """B's formula, one-vs-rest: what is left when the first ten documents weigh infinitely.

    That is what (26)(27) solve, whatever the anchors; solved like this, anchors that are nearly
    dependent do no further harm.  NaN if the ten documents determine no solution.
    """
    (gram, other), P = sample.words, sample.P
    m, l = P.shape
    labels = np.unique(y)
    price = np.where(np.arange(m) < l, 0.0, reg * m)
    system = np.block([[gram + np.diag(price), P], [P.T, np.zeros((l, l))]])
    targets = np.vstack([np.where(y[:, None] == labels, 1.0, -1.0), np.zeros((l, labels.size))])
    try:
        z = linalg.solve(system, targets, assume_a="sym")
    except linalg.LinAlgError:
        return float("nan")
    values = other @ z[:m] + sample.P_test @ z[m:]
    return float(np.mean(labels[np.argmax(values, axis=1)] == y_test))


EXPERIMENT = Experiment(
    "text",
    "A fig. 3, B fig. 2: six text collections, pLSA features free, appended or alone",
    cells,
    run,
    sources=(NEWSGROUPS, SECTORS, WEBKB),
    modules=("kernelbook.experiments.words", "kernelbook.experiments.plsa"),
)

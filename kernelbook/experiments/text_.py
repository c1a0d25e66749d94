"""A, figure 3, and B, figure 2: text categorization with pLSA features left free.

Six collections, training sizes from 100 to 3,200, ten random splits.  Words are the 2,000 of
highest mutual information with the class; ten pLSA features; linear kernels.  The papers' methods
are SVM and RLSC on words, the same on pLSA features, and SVM-GB and G-RLSC on words with the pLSA
features free; B's printed formula (26)(27) stands beside its minimizer.  Three things are varied
because they decide the outcome:

    protocol         "papers": words chosen with all labels, topics of all documents;
                     "clean": both from the training documents alone, test documents folded in;
                     "transductive": words from the training documents, topics of all documents,
                     so that shares of training and test documents are made in the same way
    representation   "interval": B's linear map to [−1, 1];  "l2": log counts of length one
    appended         the pLSA features simply added to the words, regularized like them: what
                     anyone would do today, and what "free" has to beat

A free feature has no unit: a share of 10⁻⁴ times λ = 10⁴ is as good as any, and the hinge, which
minds no f that is too large, uses it.  So SVM-GB also runs with shares rounded to a hundredth, and
with these one-vs-rest, where a topic is seen on all documents and not on those of two classes.

C of the SVMs by three-fold cross-validation on the training documents (a grid of steps of 4,
then of 2 around its best), γ of RLSC by exact leave-one-out; matrices are divided by their mean
diagonal, so that one grid serves all.  SVMs are one-vs-one, RLSC one-vs-rest, as in B; to tell the
scheme from the loss, the appended topics run one-vs-rest as well, with the weight that one-vs-one
has chosen.  The shares sum to one, so free topics bring a free constant: RLSC on words has one,
too, in a line of its own.  The topics of "papers" are transductive, its words know the test labels:
that protocol measures the leak, not the method.  Within the folds words and topics are not made
anew: C, γ and weights are chosen too optimistically, for all methods.
"""

import warnings
from functools import lru_cache
from itertools import combinations

import numpy as np
from scipy import linalg
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
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
WORDS, TOPICS = 2000, 10
DIGITS, FEWER_DIGITS = 4, 2
CS = tuple(4.0 ** np.arange(-3, 5))  # then halved and doubled around the best
REGS = 2.0 ** np.arange(-24, 3, 1)
PATIENCE = 10_000_000  # LIBSVM's steps a pair: on a kernel of ten topics it can go on for ever
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
        for protocol in ("clean", "transductive", "papers")
        for representation in ("l2", "interval")
    ]


@lru_cache(maxsize=len(COLLECTIONS))
def collection(name):
    """Counts and classes of a collection, with the words that occur in three documents or more."""
    loaders = {"sectors": load_7sectors, "webkb": load_webkb}
    data = loaders[name]() if name in loaders else load_newsgroups(name)
    return count_words(data.data)[0], data.target


def run(cell):
    order, counts, P, y = prepared(cell["collection"], cell["seed"], *scope(cell))
    train, test = order[: cell["size"]], order[cell["size"] :]
    P = rounded(P, DIGITS)
    X = l2_log_counts(counts) if cell["representation"] == "l2" else to_interval(counts, train)
    sample = Sample(kernels(X, train, test), kernels(P, train, test), P[train], P[test])
    folds = list(StratifiedKFold(3, shuffle=True, random_state=cell["seed"]).split(train, y[train]))
    scores = machines(sample, y[train], y[test], folds) | squares(sample, y[train], y[test])
    return [{"method": name} | found for name, found in scores.items()]


def scope(cell):
    """How many documents choose the words, and how many make the topics; None is all."""
    size = cell["size"]
    return {"clean": (size, size), "transductive": (size, None), "papers": (None, None)}[
        cell["protocol"]
    ]


@lru_cache(maxsize=3 * len(COLLECTIONS))  # the protocols of every collection
def prepared(name, seed, of_words, of_topics):
    """A random order, the chosen words and the topics, each from the first documents or all.

    The protocol of the papers uses them for every training size: they are kept.
    """
    counts, y = collection(name)
    order = np.random.default_rng(seed).permutation(len(y))
    judges = order[:of_words]
    counts = counts[:, np.sort(most_informative(counts[judges], y[judges], WORDS))]
    of_topics = len(y) if of_topics is None else of_topics
    seen, unseen = order[:of_topics], order[of_topics:]
    P = np.empty((len(y), TOPICS))
    P[seen], words, _ = fit_plsa(counts[seen], TOPICS, random_state=seed)
    P[unseen] = fold_in(counts[unseen], words) if unseen.size else 0.0
    return order, counts, P, y


def rounded(P, digits):
    """Shares without crumbs, still summing to one.

    EM leaves shares like 1e-70.  A free feature has no unit: times λ = 1e70 it would be used.
    """
    P = P.round(digits)
    return P / P.sum(axis=1, keepdims=True)


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
    """What became of the support vector machines, C by cross-validation."""

    def svm(gram, rows, C):
        model = SVC(C=C, kernel="precomputed", cache_size=500, max_iter=PATIENCE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(gram, y[rows])

    def svm_gb(P, multiclass):
        def fit(gram, rows, C):
            machine = SVMGBClassifier(kernel="precomputed", C=C, multiclass=multiclass)
            return machine.fit(gram, y[rows], P=P[rows])

        return fit

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

    def judge(kernel, C, **more):
        said = svm(kernel[0], everyone, C).predict(kernel[1])
        return {"accuracy": float(np.mean(said == y_test)), "C": float(C)} | more

    scores = {}
    for name, kernel in {"SVM, words": sample.words, "SVM, pLSA": sample.topics}.items():
        scores[name] = judge(kernel, best(kernel[0], svm)[1])
    choices = [(*best(sample.appended(w)[0], svm), w) for w in WEIGHTS]
    _, C, weight = max(choices, key=lambda c: c[0])
    scores["SVM, appended"] = judge(sample.appended(weight), C, weight=weight)
    gram, other = sample.appended(weight)
    constant = np.ones((len(y), 1)), np.ones((len(y_test), 1))
    fit = svm_gb(constant[0], "ovr")
    C = best(gram, fit, constant[0])[1]
    said = fit(gram, everyone, C).predict(other, P=constant[1])
    scores["SVM, appended, one-vs-rest"] = {
        "accuracy": float(np.mean(said == y_test)),
        "C": float(C),
        "weight": weight,
    }

    gram, other = sample.words
    for name, digits, multiclass in (
        ("SVM-GB", DIGITS, "ovo"),
        ("SVM-GB, rounded", FEWER_DIGITS, "ovo"),
        ("SVM-GB, rounded, one-vs-rest", FEWER_DIGITS, "ovr"),
    ):
        P, P_test = rounded(sample.P, digits), rounded(sample.P_test, digits)
        fit = svm_gb(P, multiclass)
        C = best(gram, fit, P)[1]
        model = fit(gram, everyone, C)
        # Theorem T3: where the topics separate the two sides, nothing is left for the words.
        largest = np.abs(model.dual_coef_).max(axis=1, initial=0.0)
        scores[name] = {
            "accuracy": float(np.mean(model.predict(other, P=P_test) == y_test)),
            "C": float(C),
            "problems": len(largest),
            "problems_without_words": int(np.sum(largest < 1e-8 * C)),
            "silenced": share_silenced(P, y, multiclass),
            "largest_lambda": float(np.abs(model.coef_).max()),
        }
    return scores


def silenced(P, sign):
    """Samples that are no support vectors, whatever the kernel and C, with the features P free.

    They are those where some combination u of the features is not zero that is nowhere of the wrong
    sign.  Sums of such u are such u; so the largest Σ t_i with 0 ≤ t_i ≤ 1 and t_i ≤ y_i u_i has
    t_i = 1 for all of them and 0 elsewhere.
    """
    m, l = P.shape
    most = np.append(np.ones(m), np.zeros(l))
    below = np.hstack([np.eye(m), -sign[:, None] * P])
    bounds = [(0, 1)] * m + [(None, None)] * l
    return linprog(-most, below, np.zeros(m), bounds=bounds).x[:m] > 0.5


def share_silenced(P, y, multiclass):
    """Of all samples of all binary problems, the share that is silenced."""
    labels, mute, total = np.unique(y), 0, 0
    pairs = combinations(labels, 2) if multiclass == "ovo" else ((c, None) for c in labels)
    for a, b in pairs:
        rows = np.arange(len(y)) if b is None else np.flatnonzero((y == a) | (y == b))
        mute += silenced(P[rows], np.where(y[rows] == a, 1.0, -1.0)).sum()
        total += rows.size
    return float(mute / total)


# --------------------------------------------------------------------------- squared loss (B)


def squares(sample, y, y_test):
    """What became of the least-squares classifiers, γ by leave-one-out."""

    def rlsc(kernel, P=None, P_test=None):
        model = GRLSClassifierCV(kernel="precomputed", features=None, regs=REGS)
        given, more = ({}, {}) if P is None else ({"P": P}, {"P": P_test})
        said = model.fit(kernel[0], y, **given).predict(kernel[1], **more)
        found = {"accuracy": float(np.mean(said == y_test)), "reg": float(model.reg_)}
        return found, model.best_score_

    scores = {"RLSC, words": rlsc(sample.words)[0], "RLSC, pLSA": rlsc(sample.topics)[0]}
    constant = np.ones((len(y), 1)), np.ones((len(y_test), 1))
    scores["RLSC, words and constant"] = rlsc(sample.words, *constant)[0]
    tried = [(*rlsc(sample.appended(weight)), weight) for weight in WEIGHTS]
    found, _, weight = max(tried, key=lambda t: t[1])
    scores["RLSC, appended"] = found | {"weight": weight}
    scores["G-RLSC"] = rlsc(sample.words, sample.P, sample.P_test)[0]
    reg = scores["G-RLSC"]["reg"]
    scores["G-RLSC, B (26)(27) as printed"] = {
        "accuracy": printed(sample, y, y_test, reg),
        "reg": reg,
        "condition_of_anchors": float(np.linalg.cond(sample.P[: sample.P.shape[1]])),
    }
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

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
                     anyone would do today; the papers do not have it

**Splits** are stratified, as both papers' are: `xval-prep`, which they name, deals the documents of
each class out to the blocks in turn.  Here every training set of every size has each class in
proportion, give or take one document, and a smaller one is part of every larger one.

A free feature has no unit: a share of 10⁻⁴ times λ = 10⁴ is as good as any, and the hinge, which
does not mind an f that is too large, uses it.  So up to `SMALL` documents SVM-GB also runs with
shares rounded to a hundredth, and with these one-vs-rest, where a topic is seen on all documents
and not on those of two classes.

**Grids** grow where their end is chosen (`search`): C of the SVMs by three-fold cross-validation on
the training documents (steps of 4, then of 2 around the best), the weight of appended topics in the
same way (steps of 10); γ of RLSC by exact leave-one-out on a grid that spans fifteen decades.  The
columns `C_end`, `weight_end` and `reg_end` say where a choice is still at an end.  Matrices are
divided by their mean diagonal, so that one grid serves all.  SVMs are one-vs-one, RLSC one-vs-rest,
as in B; to tell the scheme from the loss, the appended topics run one-vs-rest as well, with the
weight that one-vs-one has chosen.  The shares sum to one, so free topics bring a free constant:
RLSC on words has one, too, in a line of its own.  The topics of "papers" are transductive, its
words know the test labels: that protocol measures the leak, not the method.  Within the folds words
and topics are not made anew: C, γ and weights are chosen too optimistically, for all methods.

**Order of the cells.**  Small sizes come first, and repetitions of the largest size last: a run
that is stopped has its gaps there.  The transductive protocol is in the plan with one
representation, log counts.
"""

import warnings
from functools import lru_cache
from itertools import combinations

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from kernelbook import GRLSClassifierCV, SVMGBClassifier
from kernelbook.datasets import load_7sectors, load_newsgroups, load_webkb
from kernelbook.datasets.text import NEWSGROUPS, SECTORS, WEBKB
from kernelbook.experiments.narrow import grlsc_by_leave_one_out
from kernelbook.experiments.plsa import fit_plsa, fold_in
from kernelbook.experiments.running import Experiment
from kernelbook.experiments.search import Search
from kernelbook.experiments.words import count_words, l2_log_counts, most_informative, to_interval

__all__ = ["EXPERIMENT"]

COLLECTIONS = ("comp", "rec", "sci", "talk", "sectors", "webkb")
SIZES = (100, 200, 400, 800, 1600, 3200)
WORDS, TOPICS = 2000, 10
DIGITS, FEWER_DIGITS = 4, 2
SMALL = 800  # training documents up to which SVM-GB also runs with rounded shares
CS, C_LEAST, C_MOST = tuple(4.0 ** np.arange(-3, 5)), 4.0**-8, 4.0**9
REGS = 2.0 ** np.arange(-40, 11, 1)
PATIENCE = 10_000_000  # LIBSVM's steps a pair: on a kernel of ten topics it can go on for ever
WEIGHTS, WEIGHT_LEAST, WEIGHT_MOST = (0.1, 1.0, 10.0), 1e-4, 1e4  # of appended topics
SETTINGS = (
    ("clean", "l2"),
    ("clean", "interval"),
    ("transductive", "l2"),
    ("papers", "l2"),
    ("papers", "interval"),
)


def cells(quick):
    collections, sizes, repetitions = COLLECTIONS, SIZES, 10
    if quick:
        collections, sizes, repetitions = ("sci",), (100,), 1
    turns = [(size, r) for size in sizes for r in range(repetitions)]
    turns.sort(key=lambda turn: (turn[0] * (turn[1] + 2), turn))
    return [
        {
            "collection": collection,
            "protocol": protocol,
            "representation": representation,
            "size": size,
            "repetition": r,
            "seed": 4000 + r,
        }
        for size, r in turns
        for collection in collections
        for protocol, representation in SETTINGS
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
    sample = Sample(X, P, train, test)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=cell["seed"]).split(train, y[train]))
    scores = machines(sample, y[train], y[test], folds) | squares(sample, y[train], y[test])
    return [{"method": name} | found for name, found in scores.items()]


def scope(cell):
    """How many documents choose the words, and how many make the topics; None is all."""
    size = cell["size"]
    return {"clean": (size, size), "transductive": (size, None), "papers": (None, None)}[
        cell["protocol"]
    ]


def prepared(name, seed, of_words, of_topics):
    """A random order, the chosen words and the topics, each from the first documents or all.

    The protocol of the papers uses them for every training size: they are kept.
    """
    keep = _prepared_for_all if of_words is None else _prepared
    return keep(name, seed, of_words, of_topics)


def _prepare(name, seed, of_words, of_topics):
    counts, y = collection(name)
    order = stratified_order(y, seed)
    judges = order[:of_words]
    counts = counts[:, np.sort(most_informative(counts[judges], y[judges], WORDS))]
    of_topics = len(y) if of_topics is None else of_topics
    seen, unseen = order[:of_topics], order[of_topics:]
    P = np.empty((len(y), TOPICS))
    P[seen], words, _ = fit_plsa(counts[seen], TOPICS, random_state=seed)
    P[unseen] = fold_in(counts[unseen], words) if unseen.size else 0.0
    return order, counts, P, y


_prepared = lru_cache(maxsize=2)(_prepare)
_prepared_for_all = lru_cache(maxsize=None)(_prepare)


def stratified_order(y, seed):
    """A random order of which every beginning has each class in proportion, give or take one.

    The j-th document of a class of n (in random order) is put at (j + u)/n, u uniform in [0, 1):
    among the first share s of all places there are about s·n of the class, whatever the class.
    """
    rng = np.random.default_rng(seed)
    place = np.empty(len(y))
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        place[members] = (np.arange(members.size) + rng.random(members.size)) / members.size
    return np.argsort(place)


def rounded(P, digits):
    """Shares without crumbs, still summing to one.

    EM leaves shares like 1e-70.  A free feature has no unit: times λ = 1e70 it would be used.
    """
    P = P.round(digits)
    return P / P.sum(axis=1, keepdims=True)


class Sample:
    """Words and topics of training and test documents, each in units of its mean square.

    `words` and `topics` are pairs of rows (training, test), and what the functions below call a
    kernel is a pair of Gram matrices: training, and test against training.
    """

    def __init__(self, X, P, train, test):
        self.P, self.P_test = P[train], P[test]
        self.words = in_its_own_unit(X[train], X[test])
        self.topics = in_its_own_unit(self.P, self.P_test)
        self.of_words, self.of_topics = kernel_of(*self.words), kernel_of(*self.topics)

    def appended(self, weight):
        """The kernel of words with the topics beside them, the topics' part times `weight`."""
        pairs = zip(self.of_words, self.of_topics, strict=True)
        return tuple(a + weight * b for a, b in pairs)

    def appended_rows(self, weight):
        pairs = zip(self.words, self.topics, strict=True)
        return tuple(np.hstack([dense(a), np.sqrt(weight) * b]) for a, b in pairs)


def in_its_own_unit(X, X_test):
    unit = np.sqrt(X.multiply(X).sum() if sparse.issparse(X) else np.square(X).sum())
    unit /= np.sqrt(X.shape[0])
    return X / unit, X_test / unit


def kernel_of(X, X_test):
    return dense(X @ X.T), dense(X_test @ X.T)


def dense(A):
    return A.toarray() if sparse.issparse(A) else A


# ----------------------------------------------------------------------------- hinge loss (A)


def machines(sample, y, y_test, folds):
    """What became of the support vector machines, C by cross-validation."""
    words, topics = sample.of_words, sample.of_topics
    scores = {
        "SVM, words": judged(Pairs, words, y, y_test, folds),
        "SVM, pLSA": judged(Pairs, topics, y, y_test, folds),
    }
    found = {}

    def appended(weights):
        for weight in weights:
            kernel = sample.appended(weight)
            found[weight] = chosen(Pairs, kernel[0], y, folds)
        return {weight: found[weight].tried[found[weight].best()] for weight in weights}

    search = Search(appended, WEIGHTS, 10.0, WEIGHT_LEAST, WEIGHT_MOST)
    weight = search.run()
    more = {"weight": weight, "weight_end": search.end}
    kernel = sample.appended(weight)
    scores["SVM, appended"] = tested(Pairs, kernel, y, y_test, found[weight]) | more
    scores["SVM, appended, one-vs-rest"] = judged(OneVsRest, kernel, y, y_test, folds) | more

    variants = [("SVM-GB", DIGITS, "ovo")]
    if len(y) <= SMALL:
        variants += [
            ("SVM-GB, rounded", FEWER_DIGITS, "ovo"),
            ("SVM-GB, rounded, one-vs-rest", FEWER_DIGITS, "ovr"),
        ]
    for name, digits, multiclass in variants:
        P, P_test = rounded(sample.P, digits), rounded(sample.P_test, digits)
        search = chosen(Free.of(P, P, multiclass), words[0], y, folds)
        C = search.best()
        free = Free.of(P, P_test, multiclass)(words[0], y, np.arange(len(y)))
        said = free.predict(C, words[1], slice(None))
        model = free.machine
        # Theorem T3: where the topics separate the two sides, nothing is left for the words.
        largest = np.abs(model.dual_coef_).max(axis=1, initial=0.0)
        scores[name] = {
            "accuracy": float(np.mean(said == y_test)),
            "C": float(C),
            "C_end": search.end,
            "problems": len(largest),
            "problems_without_words": int(np.sum(largest < 1e-8 * C)),
            "silenced": share_silenced(P, y, multiclass),
            "largest_lambda": float(np.abs(model.coef_).max()),
        }
    return scores


class Pairs:
    """Standard machines, one-vs-one, on the samples `rows` with the Gram matrix `gram`."""

    def __init__(self, gram, y, rows):
        self.gram, self.y = gram, y[rows]

    def predict(self, C, other, _):
        """Labels of the samples whose kernel values with ours are the rows of `other`."""
        return self._svm(C).fit(self.gram, self.y).predict(other)

    @staticmethod
    def _svm(C):
        return SVC(C=C, kernel="precomputed", cache_size=500, max_iter=PATIENCE)


class OneVsRest(Pairs):
    """The same, one-vs-rest: the largest decision value wins."""

    def predict(self, C, other, _):
        labels = np.unique(self.y)
        values = [
            self._svm(C).fit(self.gram, self.y == label).decision_function(other)
            for label in labels
        ]
        return labels[np.argmax(values, axis=0)]


class Free(Pairs):
    """SVM-GB with the features P free; each fit starts from the last one."""

    def __init__(self, gram, y, rows, P, P_other, multiclass):
        super().__init__(gram, y, rows)
        self.P, self.P_other = P[rows], P_other
        self.machine = SVMGBClassifier(kernel="precomputed", multiclass=multiclass, warm_start=True)

    @classmethod
    def of(cls, P, P_other, multiclass):
        return lambda gram, y, rows: cls(gram, y, rows, P, P_other, multiclass)

    def predict(self, C, other, others):
        self.machine.set_params(C=C).fit(self.gram, self.y, P=self.P)
        return self.machine.predict(other, P=self.P_other[others])


def chosen(method, gram, y, folds):
    """The search for C by the number of samples classified correctly when left out."""
    parts = [(method(gram[np.ix_(a, a)], y, a), gram[np.ix_(b, a)], b) for a, b in folds]

    def right(Cs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return {
                C: sum(int(np.sum(m.predict(C, other, b) == y[b])) for m, other, b in parts)
                for C in Cs
            }

    search = Search(right, CS, 4.0, C_LEAST, C_MOST, halve=True)
    search.run()
    return search


def tested(method, kernel, y, y_test, search):
    """Fit with the chosen C, on all training samples; judge on the others."""
    machine = method(kernel[0], y, np.arange(len(y)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        said = machine.predict(search.best(), kernel[1], slice(None))
    accuracy = float(np.mean(said == y_test))
    return {"accuracy": accuracy, "C": float(search.best()), "C_end": search.end}


def judged(method, kernel, y, y_test, folds):
    return tested(method, kernel, y, y_test, chosen(method, kernel[0], y, folds))


def silenced(P, sign):
    """Samples that are no support vectors, whatever the kernel and C, with the features P free.

    They are those where some combination u of the features is not zero that is nowhere of the wrong
    sign.  Sums of such u are such u; so the largest Σ t_i with 0 ≤ t_i ≤ 1 and t_i ≤ y_i u_i has
    t_i = 1 for all of them and 0 elsewhere.
    """
    m, l = P.shape
    most = np.append(np.ones(m), np.zeros(l))
    below = sparse.hstack([sparse.eye_array(m), sparse.csr_array(-sign[:, None] * P)])
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

    narrow = len(y) > WORDS + TOPICS  # then the columns are fewer than the documents

    def rlsc(kernel, rows, P=None, P_test=None):
        if narrow:
            nothing = np.empty((len(y), 0)), np.empty((len(y_test), 0))
            P, P_test = nothing if P is None else (P, P_test)
            columns = tuple(dense(part) for part in rows)
            said, reg, score = grlsc_by_leave_one_out(*columns, y, P, P_test, REGS)
        else:
            model = GRLSClassifierCV(kernel="precomputed", features=None, regs=REGS)
            given, more = ({}, {}) if P is None else ({"P": P}, {"P": P_test})
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".* values of regs, from ")
                model.fit(kernel[0], y, **given)
            said, reg, score = model.predict(kernel[1], **more), model.reg_, model.best_score_
        found = {"accuracy": float(np.mean(said == y_test)), "reg": float(reg)}
        found["reg_end"] = "end" if reg in (REGS[0], REGS[-1]) else ""
        return found, score

    of_words = sample.of_words, sample.words
    constant = np.ones((len(y), 1)), np.ones((len(y_test), 1))
    scores = {
        "RLSC, words": rlsc(*of_words)[0],
        "RLSC, pLSA": rlsc(sample.of_topics, sample.topics)[0],
        "RLSC, words and constant": rlsc(*of_words, *constant)[0],
    }
    fits = {}

    def appended(weights):
        for weight in weights:
            rows = sample.appended_rows(weight) if narrow else None
            fits[weight] = rlsc(sample.appended(weight), rows)
        return {weight: fits[weight][1] for weight in weights}

    search = Search(appended, WEIGHTS, 10.0, WEIGHT_LEAST, WEIGHT_MOST)
    weight = search.run()
    scores["RLSC, appended"] = fits[weight][0] | {"weight": weight, "weight_end": search.end}
    scores["G-RLSC"] = rlsc(*of_words, sample.P, sample.P_test)[0]
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
    (gram, other), P = sample.of_words, sample.P
    m, l = P.shape
    labels = np.unique(y)
    ridge = np.where(np.arange(m) < l, 0.0, reg * m)
    system = np.block([[gram + np.diag(ridge), P], [P.T, np.zeros((l, l))]])
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
    modules=tuple(
        f"kernelbook.experiments.{name}" for name in ("words", "plsa", "search", "narrow")
    ),
    measures=("accuracy",),
)

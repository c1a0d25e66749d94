"""A path of growing classifiers over a training sample, and its validation samples.

`start` divides a sample as the parameter `stop` says: a part is held out to validate the path on
the rest, or a path on every fold, validated on the other samples, grows beside the one on all.
The whole sample is checked before it is divided: a part may look sound where the whole is not.
"""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import check_cv, train_test_split
from sklearn.utils import _safe_indexing

from kernelbook.certificates import Certificate
from kernelbook.estimators._multiclass import binary_problems, class_scores, predicted
from kernelbook.estimators._validation import labels
from kernelbook.features import evaluate, is_frame
from kernelbook.solvers.primal.growing.selection import IncrementalPath
from kernelbook.solvers.primal.predicted import recertified
from kernelbook.verifier import fingerprint

__all__ = ["STOP", "Growth", "Step", "start"]

STOP = ("held_out", "cv")
"""The validation samples that may end a path."""


class Step(NamedTuple):
    """One classifier of the path.

    Attributes
    ----------
    size : int
        The number of its basis functions.
    function : int
        The one that was added last, by its number in `basis_`.
    objective : float
        ½‖w‖² + C Σ loss on the training sample; with several binary problems, their sum.
    training_error, validation_error : float
        The weighted share of wrong predictions; NaN where there is no validation sample.
    certificate : Certificate
        The solver's, before the coefficients of the basis functions are computed: their rounding
        is not in it.
    """

    size: int
    function: int
    objective: float
    training_error: float
    validation_error: float
    certificate: Certificate


def start(
    model: Any, X: Any, y: Any, sample_weight: Any, seed: int
) -> tuple["Growth", list["Growth"]]:
    """The path to grow, and those on the folds, which validate it."""
    if model.stop is not None:
        X, y, sample_weight = _checked_once(model, X, y, sample_weight)
    if model.stop == "held_out":
        growth = Growth(model, *_hold_out(model, X, y, sample_weight, seed), seed)
        model.fingerprint_ = fingerprint(X, y, sample_weight)  # not that of the training part
        return growth, []
    growth, folds = Growth(model, X, y, sample_weight, None, seed), []
    for train, test in _splits(model, X, y, seed) if model.stop == "cv" else ():
        part, rest = _take(X, y, sample_weight, train), _take(X, y, sample_weight, test)
        folds.append(Growth(clone(model), *part, rest, seed))
    return growth, folds


def _checked_once(model, X, y, sample_weight):
    rows, y = model._rows(X, y)
    w = model._weights_of(rows, sample_weight)
    labels(y[w > 0])
    return X if is_frame(X) else rows, y, w


def _hold_out(
    model: Any, X: Any, y: Any, sample_weight: Any, seed: int
) -> tuple[Any, Any, Any, Any]:
    rows = np.flatnonzero(sample_weight)
    train, test = train_test_split(
        rows,
        test_size=model.validation_fraction,
        stratify=y[rows],
        random_state=seed,
    )
    train, test = np.sort(train), np.sort(test)
    return *_take(X, y, sample_weight, train), _take(X, y, sample_weight, test)


def _splits(model, X, y, seed):
    try:
        splitter = check_cv(model.cv, y, classifier=True)
    except ValueError as error:
        raise ValueError(
            f"cv={model.cv!r} must be an integer ≥ 2, the number of folds, or a splitter: {error}"
        ) from None
    if isinstance(model.cv, Integral):
        splitter.shuffle, splitter.random_state = True, seed
    return splitter.split(X, y)


class Growth:
    """The path of one estimator over one training sample, with a validation sample.

    `best` holds the solutions at the size that `predict` will use, as far as is known.
    """

    def __init__(
        self, model: Any, X: Any, y: Any, sample_weight: Any, held: Any, seed: int
    ) -> None:
        model._seed = seed
        sample, self.classes, codes, C = model._penalized_sample(X, y, sample_weight)
        P, n = sample.P, codes.size
        with model._room(n):
            G = None if model.basis_.orthonormal else model.basis_.gram()
            B: Any = G if _at_samples(model.basis_, n) else model.basis_.evaluate(sample.X)
        if model.train_on == "centers" and B.shape[1] != n:
            raise ValueError(
                f"train_on='centers' needs one basis function at each sample; there are "
                f"{B.shape[1]} functions and {n} samples of positive weight.  Use "
                "KernelBasis(kernel)."
            )
        self.X, self.truth, self.w = sample.X, codes, sample.w
        self._kept, self._size = sample.kept, sample.size
        self.held_truth, self.held_w = np.empty(0), np.empty(0)
        if held is not None:
            given, y_held, w_held = held
            X_held = model._rows(given)
            given = given if is_frame(given) else X_held
            stack = sparse.vstack if sparse.issparse(B) else np.vstack
            B = stack([B, model.basis_.evaluate(X_held)])
            P = np.vstack([P, evaluate(model.features_, given)])
            self.held_truth, self.held_w = y_held, w_held
        pairs = binary_problems(codes, self.classes.size, model.multiclass)
        self.path = IncrementalPath(
            B,
            G,
            P,
            [(rows, sign, C[rows]) for rows, sign in pairs],
            capacity=model.max_basis,
            select=model.select,
            n_candidates=model.n_candidates,
            rtol=0.0 if model.rtol is None else model.rtol,
            rng=np.random.default_rng(seed),
            only_centers=model.train_on == "centers",
        )
        self.scheme = model.multiclass
        self.weights: list[np.ndarray] = []
        self.coefs: list[np.ndarray] = []
        self.best: list = []

    def step(self) -> bool:
        if not self.path.step():
            return False
        self.weights.append(np.array([s.w for s in self.path.solutions]))
        self.coefs.append(np.array([s.coef for s in self.path.solutions]))
        return True

    def dual_coef(self) -> np.ndarray:
        """The β of the best solutions, zero for absent samples and those of other classes."""
        beta = np.zeros((len(self.best), self._size))
        for row, s, (rows, _, _) in zip(beta, self.best, self.path.problems, strict=True):
            if s.beta.size == rows.size:  # otherwise only the centres were trained on
                row[self._kept[rows]] = s.beta
        return beta

    def certificate(self, size: int, values: np.ndarray) -> Certificate:
        """Of the best solutions, which have so many functions, and Σ c_j f_j = values."""
        proofs = []
        for s, h, (rows, sign, C) in zip(self.best, values.T, self.path.problems, strict=True):
            used = self.path.trained_on(rows, size)
            here = rows[used]
            problem = self.path.P[here], sign[used], C[used], False
            proofs.append(recertified(s, h[here], s.w @ s.w, *problem))
        return Certificate.joint(proofs)

    def _codes(self, F):
        return predicted(class_scores(F, self.classes.size, self.scheme))

    def validation(self) -> tuple[float, float]:
        """(weight of the wrong predictions on the validation sample, weight of all)."""
        codes = self._codes(self.path.F[self.truth.size :])
        wrong = self.classes[codes] != self.held_truth
        return self.held_w @ wrong, self.held_w.sum()

    def record(self, validation_error: float) -> Step:
        wrong = self._codes(self.path.F[: self.truth.size]) != self.truth
        proof = self.path.certificate()
        return Step(
            size=len(self.path.factor.chosen),
            function=self.path.factor.chosen[-1],
            objective=proof.primal,
            training_error=float(self.w @ wrong / self.w.sum()),
            validation_error=float(validation_error),
            certificate=proof,
        )


def _at_samples(basis, n):
    """Whether function i is the element k_i of sample i: then f_j(x_i) = ⟨f_j, f_i⟩."""
    probe = np.zeros((n, 1))
    return not basis.orthonormal and basis.represent(probe) is probe


def _take(X: Any, y: Any, sample_weight: Any, rows: Any) -> tuple[Any, Any, Any]:
    return _safe_indexing(X, rows), y[rows], sample_weight[rows]

"""`IncrementalSVMClassifier`: a classifier over few basis functions, one more at a time.

Paper C, section 3.2: nested spaces H_1 ⊂ H_2 ⊂ …, each spanned by one more function, and in each
the support vector machine with *all* samples in its loss,

    minimize  ½‖Σ_j≤k w_j e_j‖² + C Σ w_i (1 − y_i f(x_i))₊,    f = Σ_j≤k w_j e_j + Σ_p λ_p φ_p .

The functions are chosen and the problems solved in `kernelbook.solvers.primal.growing.selection`.
"""

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from kernelbook.bases.orthonormal import OrthonormalBasis
from kernelbook.certificates import WARN_GAP
from kernelbook.estimators._multiclass import SCHEMES, class_scores, predicted
from kernelbook.estimators._validation import check_count, check_parameters, check_rtol
from kernelbook.estimators.in_basis.classifier import BasisClassifier
from kernelbook.estimators.in_basis.conditioning import (
    WARN_DROPPED,
    prediction_drift,
    rounding_bound,
    warn_of_drift,
    warn_of_rounding,
)
from kernelbook.estimators.in_basis.early_stopping import STOP, Step, start
from kernelbook.numeric.threads import serial_blas
from kernelbook.solvers.primal.growing.selection import SELECT

__all__ = ["IncrementalSVMClassifier", "Step"]


class IncrementalSVMClassifier(BasisClassifier):
    """Support vector machine over a basis that grows, with free features and the hinge loss.

    Parameters
    ----------
    basis : Basis or None
        The functions to choose from; see `kernelbook.bases`.  None means translates of the
        Gaussian of width √d at the samples.
    features : transformer, callable, "constant" or None
        The free features φ_p; they are there from the start and are not penalized.
    C : float
        The penalty of a unit of hinge loss.
    max_basis : int
        Stop at this many functions, or earlier when all others depend on those chosen.
    select : {"most_misclassified", "best_improvement", "random"}
        Which function comes next: the one that belongs to the sample with the least margin y f
        (at first, of the features alone); the one that makes the objective fall most; or any.
        `kernelbook.solvers.primal.growing.selection` has the details.
    stop : None, "held_out" or "cv"
        None stops only at `max_basis`.  "held_out" trains on a part of the samples and measures
        the error on the rest; "cv" grows a path on each fold beside the one on all samples and
        averages their errors.  Both stop when the error has not fallen below its least value
        for `patience` steps, and then use the smallest classifier with the least error.
    patience : int or None
        None never stops early: the errors are recorded, and the best size is used.
    validation_fraction : float
        For stop="held_out": the share of samples to hold out, stratified by class.
    cv : int or splitter
        For stop="cv"; an integer means stratified folds.
    n_candidates : int or None
        For select="best_improvement": how many functions, drawn at random, to consider in a step;
        None considers all.
    train_on : {"all", "centers"}
        "centers" is the competitor of C 4.2, which adds samples instead of functions: the k-th
        classifier is trained on the k samples at which its functions are centred, and on no
        others.  (The choice of the next one reads all labels, unless select="random".)  It needs
        a basis with one function at every sample.  Its objectives are sums over more and more
        samples, not comparable with one another.
    tol : float
        The largest duality gap, relative to the objective, that passes without a warning.  Steps
        usually reach 1e-11.
    rtol : float, optional
        A function whose squared distance from the span of the chosen ones is below rtol times its
        squared norm is refused; by default what rounding would hide.
    multiclass : {"ovo", "ovr"}
        All binary problems share the functions.
    class_weight : dict, "balanced" or None
    random_state : int, RandomState instance or None
        For random choices, candidates, and the held-out samples and folds; and for the centres
        of a basis that draws them and has no random_state of its own.
    verbose : int
        1 shows a bar with the remaining time: so many functions of max_basis, and the errors.

    Attributes
    ----------
    path_ : list of Step
        One record a step: size, function, objective, training_error, validation_error, certificate.
    n_basis_ : int
        The size that `predict` uses: the last, or with a stopping rule the best.
    selected_ : (steps,) array
        The chosen functions in their order, by their numbers in `basis_`.
    refused_ : array
        Functions that were refused as dependent.
    basis_coef_ : (problems, n_basis_) array
        w, the coefficients of the orthonormal functions.
    expansion_ : (problems, n_basis_) array
        The coefficients of the functions selected_[:n_basis_] of `basis_`: f = Σ_j expansion_j f_j
        + Σ λ_p φ_p is what `predict` evaluates.
    orthonormal_ : OrthonormalBasis
        The orthonormal functions, as combinations of those.
    coef_ : (problems, ℓ) array
        λ, for n_basis_ functions.
    intercept_ : (problems,) array
        The constant that f contains: the coefficient of the feature that is constant on the sample,
        times its value.  Absent if there is no such feature, or if P does not have full rank, so
        that other features could replace it.
    dual_coef_ : (problems, m) array
        The feasible β on which `certificate_` rests, as for `PrimalSVMClassifier`; absent where
        only a part of the samples is trained on (stop="held_out", train_on="centers").
    basis_ : Basis
        The fitted basis.
    classes_ : (k,) array
    certificate_ : Certificate
        Of the classifier with n_basis_ functions, as `predict` computes it: with the rounding of
        `expansion_`.  Those in `path_` are the solver's, before that rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook import IncrementalSVMClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = IncrementalSVMClassifier(C=10.0, max_basis=20).fit(X, y)
    >>> objectives = [step.objective for step in model.path_]
    >>> len(objectives), objectives == sorted(objectives, reverse=True)
    (20, True)
    >>> small = model.predict(X, n_basis=5)
    """

    def __init__(
        self,
        basis: Any = None,
        features: Any = "constant",
        C: float = 1.0,
        max_basis: int = 100,
        select: str = "most_misclassified",
        stop: str | None = None,
        patience: int | None = 10,
        validation_fraction: float = 0.2,
        cv: Any = 5,
        n_candidates: int | None = 59,
        train_on: str = "all",
        tol: float = 1e-6,
        rtol: float | None = None,
        multiclass: str = "ovo",
        class_weight: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.basis = basis
        self.features = features
        self.C = C
        self.max_basis = max_basis
        self.select = select
        self.stop = stop
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.n_candidates = n_candidates
        self.train_on = train_on
        self.tol = tol
        self.rtol = rtol
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labels y; a sample of weight 2 is the sample twice, one of weight 0 is absent.

        Ctrl-C ends the path: the learner keeps its steps so far, as the KeyboardInterrupt says.
        """
        self._check_parameters()
        with self._fresh():
            seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
            growth, folds = start(self, X, y, sample_weight, seed)
            size = growth.path.factor.capacity
            bar = tqdm(total=size, unit=" functions", disable=not self.verbose)
            with bar, serial_blas:  # every step asks for it; to ask once is cheaper
                self.path_, interrupted = self._grow(growth, folds, bar)
                self._keep(growth)
                drift = prediction_drift(growth.path.factor, self._weights)
        self._warn(growth)
        warn_of_rounding(rounding_bound(self.basis_, growth.path.factor.X, growth.path.solutions))
        warn_of_drift(drift)
        if interrupted:
            raise KeyboardInterrupt(
                f"fit was interrupted: the learner has kept its first {len(self.path_)} functions "
                f"of max_basis={self.max_basis}, and can be used."
            )
        return self

    def _grow(self, growth, folds, bar):
        """The path, and whether it was interrupted after its first step."""
        path, interrupted = [], False
        try:
            self._go_on(path, growth, folds, bar)
        except KeyboardInterrupt:
            if not path:
                raise
            interrupted = True
            growth.path.factor.truncate(len(path))
        if not path:
            raise ValueError("no basis function has a positive norm: there is nothing to choose.")
        return path, interrupted

    def _go_on(self, path, growth, folds, bar):
        least, since = np.inf, 0
        while len(path) < self.max_basis and growth.step():
            for fold in folds:
                fold.step()
            held = folds or [growth]
            wrong, total = np.sum([g.validation() for g in held], axis=0)
            error = wrong / total if total > 0 else np.nan
            path.append(growth.record(error))
            if self.stop is None or error < least:
                growth.best = growth.path.solutions
            bar.set_postfix_str(f"training error {path[-1].training_error:.3f}", refresh=False)
            bar.update()
            since = 0 if error < least else since + 1
            least = min(error, least)
            if self.stop is not None and self.patience is not None and since >= self.patience:
                break

    def _keep(self, growth):
        errors = [step.validation_error for step in self.path_]
        best = len(errors) if self.stop is None else int(np.argmin(errors)) + 1
        self.n_basis_, factor = best, growth.path.factor
        self.selected_ = np.array(factor.chosen, dtype=np.intp)
        self.refused_ = np.array(growth.path.refused, dtype=np.intp)
        self._core, steps = factor.core(), len(self.path_)  # an unrecorded step does not count
        self._weights, self._coefs = growth.weights[:steps], growth.coefs[:steps]
        self.basis_coef_, self.coef_ = self._weights[best - 1], self._coefs[best - 1]
        chosen = self.basis_.take(self.selected_[:best])
        core = None if self._core is None else self._core[:best, :best]
        self.orthonormal_ = OrthonormalBasis(chosen, "incremental", np.arange(best), core)
        self.expansion_ = self.orthonormal_.coefficients(self.basis_coef_.T).T
        if self.stop != "held_out" and self.train_on == "all":
            self.dual_coef_ = growth.dual_coef()
        ranks = [solution.rank for solution in growth.best]
        self._keep_intercept(growth.path.P[: growth.truth.size], ranks)
        values = self._kernel_part(growth.X, self.expansion_.T)
        self.certificate_ = growth.certificate(best, values)
        self.classes_, self._scheme = growth.classes, growth.scheme

    def _warn(self, growth):
        gaps = [p.relative_gap for s in self.path_ for p in s.certificate.parts or (s.certificate,)]
        worst = np.max(gaps)  # NaN where there is one: it proves nothing
        limit = min(self.tol, WARN_GAP)
        if not worst <= limit:
            warnings.warn(
                f"{type(self).__name__} did not reach tol={limit:g} at every step: the worst "
                f"duality gap is {worst:.1e} of the objective.  Scale the data, use a smaller "
                "C, or a larger tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        n = growth.truth.size
        visible = growth.path.visible(self.basis_.represent(np.zeros((n, 1))) is not None)
        if visible > WARN_DROPPED:
            warnings.warn(
                f"{self.refused_.size} basis functions were left out: up to rounding, or to rtol, "
                "they are combinations of those in use.  Yet at the samples they differ from "
                f"these combinations, by {visible:.1e} of what the functions in use are there: so "
                "the classifier, which is the best one over the functions in use, would be "
                "another if one of them were let in.  Use fewer or narrower functions, or "
                "reading='inner_product' if the basis has it.",
                UserWarning,
                stacklevel=3,
            )
        proof = self.certificate_
        predicted_gap = np.max([part.relative_gap for part in proof.parts or (proof,)])
        if worst <= limit and not predicted_gap <= limit:
            warnings.warn(
                f"{type(self).__name__} reached tol={limit:g}, but rounding in expansion_, the "
                "coefficients of nearly dependent basis functions, has left a duality gap of "
                f"{predicted_gap:.1e} of the objective.  Use fewer (max_basis, n_basis) or "
                "narrower functions, a larger rtol, or PrimalSVMClassifier.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _check_parameters(self):
        check_parameters(
            self,
            positive=("C", "tol"),
            counts={"max_basis": None},
            choices={"select": SELECT, "multiclass": SCHEMES, "train_on": ("all", "centers")},
        )
        if self.stop is not None and not (isinstance(self.stop, str) and self.stop in STOP):
            raise ValueError(f"stop={self.stop!r} is not known; use None, 'held_out' or 'cv'.")
        if self.patience is not None:
            check_count("patience", self.patience)
        if self.n_candidates is not None:
            check_count("n_candidates", self.n_candidates)
        check_rtol(self.rtol)
        if not isinstance(self.validation_fraction, Real) or not 0 < self.validation_fraction < 1:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} must be a number in (0, 1)."
            )
        if self.train_on == "centers" and self.select == "best_improvement":
            raise ValueError(
                "train_on='centers' adds samples, and their objectives cannot be compared: use "
                "select='most_misclassified' or 'random'."
            )

    # --------------------------------------------------------------------------- prediction

    def decision_function(self, X: Any, n_basis: int | None = None) -> np.ndarray:
        """f(X) of the classifier with `n_basis` functions, by default `n_basis_`.

        For two classes (n,); otherwise (n, classes): votes plus confidences in (−1/3, 1/3), or
        with multiclass="ovr" the decision values of the binary problems.
        """
        check_is_fitted(self, "classes_")
        k = self._size(n_basis)
        w = self._weights[k - 1].T
        c = w if self._core is None else self._core[:k, :k] @ w
        F = self._evaluate(X, c, self._coefs[k - 1].T)
        return class_scores(F, self.classes_.size, self._scheme)

    def predict(self, X: Any, n_basis: int | None = None) -> np.ndarray:
        """The class with the largest decision value, by the classifier with `n_basis` functions."""
        codes = predicted(self.decision_function(X, n_basis))
        return self.classes_[codes]

    def _kernel_part(self, X, c):
        return self.basis_.take(self.selected_[: len(c)]).combine(X, c)

    def _size(self, n_basis):
        if n_basis is None:
            return self.n_basis_
        whole = isinstance(n_basis, Integral) and not isinstance(n_basis, bool)
        if not whole or not 1 <= n_basis <= len(self.path_):
            raise ValueError(
                f"n_basis={n_basis!r} must be an integer from 1 to {len(self.path_)}, the sizes "
                "that were fitted."
            )
        return int(n_basis)

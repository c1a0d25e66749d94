"""`SVMGBClassifier`: the support vector machine with a generalized bias.

    minimize  ½‖P₁f‖² + C Σ w_i (1 − y_i f(x_i))₊      over f = Σ λ_p φ_p + Σ β_i K(x_i, ·),

where the seminorm ‖P₁f‖ does not see the features φ_p.  With the constant as the only feature this
is the standard support vector machine; with none, the one without bias.  How it is solved is in
`kernelbook.solvers.svm`, and the papers' own way in `kernelbook.solvers.svm.reference`.
"""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from kernelbook.certificates import WARN_GAP, Certificate
from kernelbook.estimators._base import FreeFeatureEstimator
from kernelbook.estimators._multiclass import (
    SCHEMES,
    binary_problems,
    class_scores,
    members,
    predicted,
)
from kernelbook.estimators._validation import (
    check_matrix,
    check_parameters,
    check_positive,
    classes_and_penalties,
)
from kernelbook.estimators._warm_start import LastFit
from kernelbook.features import check_order
from kernelbook.solvers.svm.certificate import Tolerance
from kernelbook.solvers.svm.problem import KernelSource, MatrixSource
from kernelbook.solvers.svm.several import solve_several
from kernelbook.solvers.svm.solve import ABILITIES, SOLVERS, solve_binary

__all__ = ["C_from_reg", "SVMGBClassifier", "reg_from_C"]


def C_from_reg(reg: float, m: float) -> float:
    """The C that means the same as the papers' γ on m samples: C = 1/(2γm).

    Examples
    --------
    >>> from kernelbook import C_from_reg
    >>> C_from_reg(0.001, m=200)
    2.5
    """
    check_positive("reg", reg)
    check_positive("m", m)
    return 1.0 / (2.0 * reg * m)


def reg_from_C(C: float, m: float) -> float:
    """The papers' γ that means the same as C on m samples: γ = 1/(2Cm).

    Examples
    --------
    >>> from kernelbook import reg_from_C
    >>> reg_from_C(2.5, m=200)
    0.001
    """
    check_positive("C", C)
    check_positive("m", m)
    return 1.0 / (2.0 * C * m)


TIE = 1e-9
"""Decision values below this are zero, in units of the margin or, if f is smaller, of max |f|."""


class SVMGBClassifier(ClassifierMixin, FreeFeatureEstimator):
    """Support vector machine with free features.

    Parameters
    ----------
    kernel : Kernel, callable, "precomputed" or None
        None is Gaussian(width=√d).  A conditionally positive definite kernel of order q needs
        the polynomials of degree < q in the span of the features.  Matrices and functions, and
        kernels made of functions, are tested for definiteness where Pᵀβ = 0: as a whole up to
        3,000 samples, beyond that 3,000 of them (`kernelbook.solvers.svm.convexity`).
    features : transformer, callable, "constant" or None
        The free features φ_p; see `kernelbook.features`.
    C : float
        Weight of the hinge loss; C = 1/(2·reg·m) in the papers' terms (`C_from_reg`).
    tol : float
        Largest violation of an optimality condition without a `ConvergenceWarning`,
        in units of the margin: LIBSVM's m(α) − M(α), see `kernelbook.solvers.svm.certificate`.
        With up to 1,000 samples the solution is exact up to rounding anyway.  It bounds how far
        y_i f(x_i) is on the wrong side of 1, not the error of f, of β or of λ: `gap_tol` does that.
    gap_tol : float, optional
        Largest relative duality gap, demanded in addition.  A gap of more than a thousandth of
        the objective warns always: with C = 1e300 a small violation proves nothing.
    solver : {"auto", "robust", "cvxopt"}
        "auto" takes the fastest solver that applies to a problem and, where its certificate fails,
        the next one.  "robust" goes directly to the last of them, SMO, active set and interior
        points in turn on the whole Gram matrix.  "cvxopt" is the paper's quadratic and linear
        program, slow and readable; it needs the package cvxopt (pip install
        kernelbook[reference]).  See `kernelbook.solvers.svm`.
    multiclass : {"ovo", "ovr"}
        One-vs-one with votes, as SVC does it, or one-vs-rest.
    class_weight : dict, "balanced" or None
        Multiplies C for the samples of a class.
    max_iter : int
        Largest number of steps for each binary problem; −1 for no limit but common sense.
    verbose : int
        1 prints a line for each stage of each binary problem.
    warm_start : bool
        Whether `fit` starts from what the last `fit` found: for a grid of C, or labels and weights
        that change a little.  Samples are identified by their position; another number of them, or
        other classes, start afresh.  The answer is certified like any other.

    Attributes
    ----------
    classes_ : (k,) array
    support_ : (s,) array
        Indices of the samples with β_i ≠ 0 in at least one binary problem.
    n_support_ : (k,) array
        How many of them are in each class.
    dual_coef_ : (problems, s) array
        β of each binary problem at the support vectors; 1 problem for two classes, k(k−1)/2 for
        one-vs-one in the order (0,1), (0,2), …, (1,2), …, k for one-vs-rest.  Where β_i > 0 the
        sample is on the positive side: the later class of a pair, the class itself in one-vs-rest.
    coef_ : (problems, ℓ) array
        λ.  Where the optimal λ is not unique: the one with least Σ w_i (Pλ)_i² on the samples of
        the problem, w including the class weights (`kernelbook.solvers.svm.multipliers`); where
        even Pλ leaves a choice, that of `kernelbook.numeric.column_space`.  Φ and Φ + an
        element of H₀ in each argument are the same problem, in exact terms: they have the same
        optimal f.  But their λ differ, and so does the λ of least Σ w_i (Pλ)_i²: where the optimal
        f is not unique, the choice, and with it f, depends on the representative of Φ.  This
        concerns conditionally positive definite kernels above all, which are defined only up
        to such terms (r² log r and r² log 2r), and linear ones, where a shift of the data is one.
    intercept_ : (problems,) array
        The constant that f contains: the coefficient of the feature that is constant on the sample,
        times its value.  Absent if there is no such feature, or if P does not have full rank, so
        that other features could replace it.
    origin_ : (d,) array or None
        Where `predict` moves the origin of a linear kernel whose samples are far from it:
        f(x) = Σ β_i K(x, x_i − origin_) + Σ λ_p φ_p(x).
    rank_ : (problems,) array
        Rank of P on the samples of each problem.
    n_iter_ : (problems,) array
    certificate_ : Certificate
        Of f as `predict` computes it, with its rounding errors.  With several problems, one in
        `parts` for each, and their sum; for pairs of classes Φβ is taken from the Gram matrix if
        the rounding of its entries can move f by no more than tol/1000.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook import Gaussian, Polynomials, SVMGBClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = X[:, 0] + np.sin(3 * X[:, 1]) > 0
    >>> model = SVMGBClassifier(Gaussian(width=1.0), features=Polynomials(1), C=10.0).fit(X, y)
    >>> model.coef_.shape  # 1, x₀ and x₁ are free
    (1, 3)
    >>> model.certificate_.relative_gap < 1e-9
    True
    """

    def __init__(
        self,
        kernel: Any = None,
        features: Any = "constant",
        C: float = 1.0,
        tol: float = 1e-3,
        gap_tol: float | None = None,
        solver: str = "auto",
        multiclass: str = "ovo",
        class_weight: Any = None,
        max_iter: int = -1,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.kernel = kernel
        self.features = features
        self.C = C
        self.tol = tol
        self.gap_tol = gap_tol
        self.solver = solver
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start

    # ------------------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None, P: Any = None) -> Self:
        """Fit to labels y.

        Parameters
        ----------
        X : (m, d) array, data frame or sparse matrix; with kernel="precomputed" the (m, m) Gram
        y : (m,) array of labels
        sample_weight : (m,) array, optional
            Multiplies C; a sample of weight 2 is the sample twice, one of weight 0 is absent.
        P : (m, ℓ) array, optional
            The feature matrix, with kernel="precomputed" only.
        """
        self._check_parameters()
        if P is not None:
            check_matrix("P", P)
        with self._fresh():
            sample = self._sample(X, y, sample_weight, P)
            classes, codes, signs, C = classes_and_penalties(self, sample)
            source = self._source(sample)
            support = self._fit(source, sample, classes, codes, C)
            self._question(sample, signs, source.facts)
            self._keep_intercept(sample.P, self.rank_)
            self._remember(sample, support, source.origin)
            self.origin_ = source.origin
        self._warn_unless_converged()
        return self

    def _fit(self, source, sample, classes, codes, C):
        """Solve the binary problems; the rows of the support vectors."""
        what = classes, self.multiclass
        options = {
            "solver": self.solver, "tolerance": Tolerance(self.tol, self.gap_tol),
            "max_iter": self.max_iter, "verbose": self.verbose,
        }  # fmt: skip
        if classes.size == 2:
            problems = [(np.arange(codes.size), np.where(codes == 1, 1.0, -1.0))]
            (start,) = self._starts(sample, C, problems, *what)
            data = sample.P, problems[0][1], C
            solutions = [solve_binary(source, *data, start=start, **options)]
        else:
            problems = list(binary_problems(codes, classes.size, self.multiclass))
            starts = self._starts(sample, C, problems, *what)
            groups = members(codes, classes.size) if self.multiclass == "ovo" else None
            data = sample.P, C, problems
            solutions = solve_several(source, *data, members=groups, starts=starts, **options)
        if self.verbose:
            for i, solution in enumerate(solutions):
                print(f"problem {i + 1}: {solution.certificate}")
        self._last = None
        if self.warm_start:
            self._last = LastFit.of(sample.size, sample.kept, C, problems, solutions, *what)
        return self._keep(sample, classes, codes, problems, solutions)

    def _starts(self, sample, C, problems, classes, scheme):
        """For each problem the β to start from, or None."""
        last = getattr(self, "_last", None) if self.warm_start else None
        if last is None:
            return [None] * len(problems)
        return last.starts(sample.size, sample.kept, C, problems, classes, scheme)

    def _source(self, sample):
        """The kernel on the sample, and what may be assumed of it."""
        if self._pairwise:
            return MatrixSource(sample.X)
        kernel, definiteness = self.kernel_, "unknown"
        if kernel._proven:
            definiteness = "cpd" if kernel.cpd_order > 0 else "pd"
        if kernel.cpd_order > 0:
            check_order(sample.P, sample.X, kernel)
        origin = kernel.far_origin(sample.X, sample.P)
        return KernelSource(kernel, sample.X, definiteness, origin)

    def _keep(self, sample, classes, codes, problems, solutions):
        """The fitted attributes; returns the rows of the support vectors."""
        beta = np.zeros((len(problems), codes.size))
        for row, (rows, _), solution in zip(beta, problems, solutions, strict=True):
            row[rows] = solution.beta
        support = np.flatnonzero(beta.any(axis=0))
        self.support_ = sample.kept[support]
        self.n_support_ = np.bincount(codes[support], minlength=classes.size)
        self.dual_coef_ = beta[:, support]
        self.coef_ = np.array([s.coef for s in solutions])
        self.rank_ = np.array([s.rank for s in solutions])
        self.n_iter_ = np.array([s.n_iter for s in solutions])
        # The margin is one, however large f gets at an outlier.
        self._tie = TIE * np.minimum(
            1.0,
            [
                np.abs(s.kernel_values + sample.P[rows] @ s.coef).max()
                for (rows, _), s in zip(problems, solutions, strict=True)
            ],
        )
        self.classes_ = classes
        # What was learned must not change with the parameters.
        self._scheme = self.multiclass
        self.certificate_ = Certificate.joint([s.certificate for s in solutions])
        return support

    def _warn_unless_converged(self):
        proof, tolerance = self.certificate_, Tolerance(self.tol, self.gap_tol)
        parts = proof.parts or (proof,)
        worst = max(part.relative_gap for part in parts)
        if worst <= WARN_GAP and all(tolerance.accepts(part) for part in parts):
            return
        wanted = f"tol={self.tol:g}, gap_tol={min(tolerance.largest_gap, WARN_GAP):g}"
        warnings.warn(
            f"{type(self).__name__} did not reach {wanted}: the largest violation is "
            f"{proof.kkt:.1e}, the duality gap {proof.gap:.1e} ({worst:.1e} of the objective).  "
            "Scale the data, use a smaller C, or allow more steps (max_iter).  Features that are "
            "tiny at some samples, 1e-9 or 1e-70 of their largest value, ask for a λ as large as "
            "they are small: round them to zero.",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _check_parameters(self):
        check_parameters(
            self,
            positive=("C", "tol") if self.gap_tol is None else ("C", "tol", "gap_tol"),
            counts={"max_iter": -1},
            choices={"solver": SOLVERS, "multiclass": SCHEMES},
        )
        if self.warm_start and self.solver != "auto" and not ABILITIES[self.solver].takes_start:
            raise ValueError(
                f"warm_start={self.warm_start!r} needs solver='auto' or 'robust': "
                f"solver={self.solver!r} cannot start from a given point."
            )

    # --------------------------------------------------------------------------- prediction

    def decision_function(self, X: Any, P: Any = None) -> np.ndarray:
        """f(X) for two classes; otherwise (n, classes): votes plus confidences in (−1/3, 1/3).

        With multiclass="ovr" the columns are the decision values of the binary problems.  A value
        below 1e-9 (or below 1e-9 of the largest on the sample, if that is less than one) is zero,
        a tie, and goes to the first of the two: with features of zeros and ones ties are common,
        and rounding must not decide them.
        """
        check_is_fitted(self, "classes_")
        F = self._evaluate(X, self.dual_coef_.T, self.coef_.T, P)
        F[np.abs(F) <= self._tie] = 0.0
        return class_scores(F, self.classes_.size, self._scheme)

    def predict(self, X: Any, P: Any = None) -> np.ndarray:
        """The class with the largest decision value; for two classes the second where f > 0."""
        codes = predicted(self.decision_function(X, P))
        return self.classes_[codes]

    def score(self, X: Any, y: Any, sample_weight: Any = None, P: Any = None) -> float:
        """The share of right predictions, weighted; P as in `predict`."""
        return accuracy_score(y, self.predict(X, P), sample_weight=sample_weight)

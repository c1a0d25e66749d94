"""`SVMGBClassifier`: the support vector machine with a generalized bias.

    minimize  ½‖P₁f‖² + C Σ w_i (1 − y_i f(x_i))₊      over f = Σ λ_p φ_p + Σ β_i K(x_i, ·),

where the seminorm ‖P₁f‖ does not feel the features φ_p.  With the constant as the only feature this
is the support vector machine that everybody knows; with none, the one without bias.  How it is
solved stands in `kernelbook.solvers.svm.robust`, and the papers' own way in
`kernelbook.solvers.svm.reference`.
"""

import warnings

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from kernelbook.certificates import Certificate
from kernelbook.estimators._base import FreeFeatureEstimator
from kernelbook.estimators._centering import far_origin
from kernelbook.estimators._multiclass import (
    SCHEMES,
    binary_problems,
    class_scores,
    members,
    predicted,
)
from kernelbook.estimators._svm_fitting import Fitting
from kernelbook.estimators._validation import (
    check_choice,
    check_count,
    check_features,
    check_matrix,
    check_positive,
    labels,
    require_same_kernel,
    sample_penalties,
)
from kernelbook.estimators._warm_start import LastFit
from kernelbook.features import check_order
from kernelbook.solvers.svm.certificate import COARSE_GAP, certify
from kernelbook.solvers.svm.robust import SMALL

__all__ = ["C_from_reg", "SVMGBClassifier", "reg_from_C"]

SOLVERS = ("smo", "cvxopt")


def C_from_reg(reg, m):
    """The C that means the same as the papers' γ on m samples: C = 1/(2γm)."""
    return 1.0 / (2.0 * reg * m)


def reg_from_C(C, m):
    """The papers' γ that means the same as C on m samples: γ = 1/(2Cm)."""
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
        Price of a unit of hinge loss; C = 1/(2·reg·m) in the papers' terms (`C_from_reg`).
    tol : float
        Largest violation of an optimality condition that passes without a `ConvergenceWarning`,
        in units of the margin: LIBSVM's m(α) − M(α), see `kernelbook.solvers.svm.certificate`.
        With up to 1,000 samples the solution is exact up to rounding anyway.  It bounds how far
        y_i f(x_i) is on the wrong side of 1, not the error of f, of β or of λ: `gap_tol` does that.
    gap_tol : float, optional
        Largest relative duality gap, demanded in addition.  A gap of more than a tenth of the
        objective warns always: with C = 1e300 a small violation proves nothing.
    solver : {"smo", "cvxopt"}
        "cvxopt" is the paper's quadratic and linear program, slow and readable; it needs the
        package cvxopt (pip install kernelbook[reference]).
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
        that change a little.  Samples are known by their place; another number of them, or other
        classes, start afresh, and so does what the fast solvers leave to `solvers.svm.robust` (with
        `max_iter`, everything).  The answer is proved like any other.

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
    rank_ : (problems,) array
        Rank of P on the samples of each problem.
    n_iter_ : (problems,) array
    certificate_ : Certificate
        Of f as `predict` computes it, with its rounding errors.  With several problems, one in
        `parts` for each, and their sum; Φβ is then taken from the Gram matrix where its entries,
        rounded on another way, can move f by no more than tol/1000.

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
        kernel=None,
        features="constant",
        C=1.0,
        tol=1e-3,
        gap_tol=None,
        solver="smo",
        multiclass="ovo",
        class_weight=None,
        max_iter=-1,
        verbose=0,
        warm_start=False,
    ):
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

    def fit(self, X, y, sample_weight=None, P=None):
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
        check_matrix("P", P)
        with self._fresh():
            self._fit(self._sample(X, y, sample_weight, P))
        self._warn_unless_converged()
        return self

    def _fit(self, sample):
        classes, codes = labels(sample.y)
        check_features(sample.P, sample.w)
        if not self._precomputed:
            check_order(sample.P, sample.X, self.kernel_)
        C = sample_penalties(self.C, self.class_weight, classes, codes, sample.w)
        problems = list(binary_problems(codes, classes.size, self.multiclass))
        by_pairs = self.multiclass == "ovo" and classes.size > 2
        groups = members(codes, classes.size) if by_pairs else None
        what = (classes, self.multiclass)
        starts = self._starts(sample, C, problems, *what)
        done = Fitting(self, sample, C, problems, groups, starts).run()
        solutions, size = done.solutions, done.size
        if self.verbose:
            for i, solution in enumerate(solutions):
                print(f"problem {i + 1}: {solution.certificate}")
        self._keep(sample, done.origin, classes, codes, problems, solutions)
        alike = done.alike and self._same_to_rounding(sample, size, solutions)
        self._certify(sample, C, size, problems, solutions, alike)
        self.classes_ = classes
        self._last = None
        if self.warm_start:
            self._last = LastFit.of(sample.size, sample.kept, C, problems, solutions, *what)

    def _starts(self, sample, C, problems, classes, scheme):
        """For each problem the β to start from, or None."""
        last = getattr(self, "_last", None) if self.warm_start else None
        if last is None:
            return [None] * len(problems)
        return last.starts(sample.size, sample.kept, C, problems, classes, scheme)

    def _centred_gram(self, sample):
        """The Gram matrix, and of a linear kernel far from the origin, where it was put, and g."""
        origin = None if self._precomputed else far_origin(self.kernel_, sample.X, sample.P)
        if origin is None:
            return self._gram(sample.X), None, None
        near = sample.X - origin
        return self._gram(near), origin, self.kernel_(near, origin[None])[:, 0]

    def _kind(self):
        """What the solver may assume of the Gram matrix."""
        if self._precomputed or not self.kernel_._proven:
            return "unknown"
        return "cpd" if self.kernel_.cpd_order > 0 else "pd"

    def _keep(self, sample, origin, classes, codes, problems, solutions):
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
        self._remember(sample, support)
        if origin is not None:
            self._centers -= origin
        # What was learned must not change with the parameters.
        self._scheme = self.multiclass

    def _same_to_rounding(self, sample, size, solutions):
        """Whether Φβ of the Gram matrix, and that of `predict`, differ too little to matter.

        Entries of the two are the same numbers, each rounded on its own way (`numeric.distances`
        says how far).  With two classes we do not rely on it: `solve_large` has asked, and of a
        small sample asking costs little.
        """
        if len(solutions) == 1:
            return solutions[0].beta.size > SMALL
        entry = 32 * (2 * sample.X.shape[1] + 8) * np.finfo(float).eps * size
        worst = max(np.abs(s.beta).sum() for s in solutions)
        return entry * worst <= 1e-3 * self.tol

    def _certify(self, sample, C, size, problems, solutions, alike):
        """The certificate of f as `predict` computes it; the solver's is that of its own Φβ.

        `alike`: the solver's Φβ is as good.
        """
        if alike:
            F = [
                s.h + sample.P[rows] @ s.coef
                for (rows, _), s in zip(problems, solutions, strict=True)
            ]
            self._prove([s.certificate for s in solutions], F)
            return
        if self._precomputed:
            support = np.searchsorted(sample.kept, self.support_)
            H = sample.X[:, support] @ self.dual_coef_.T
        else:
            H = self._kernel_part(sample.X, self.dual_coef_.T)
        proofs, F = [], []
        for h, (rows, sign), s in zip(H.T, problems, solutions, strict=True):
            if self._kind() == "unknown" and not self._precomputed:
                require_same_kernel(self.kernel_, h[rows], s.h, size * np.abs(s.beta).sum())
            proofs.append(certify(h[rows], sample.P[rows], sign, C[rows], s.beta, s.coef, size))
            F.append(h[rows] + sample.P[rows] @ s.coef)
        self._prove(proofs, F)

    def _prove(self, proofs, F):
        self.certificate_ = Certificate.joint(proofs)
        # The margin is one, however large f gets at an outlier.
        self._tie = TIE * np.minimum(1.0, [np.abs(f).max() for f in F])

    def _warn_unless_converged(self):
        proof = self.certificate_
        worst = max(part.relative_gap for part in proof.parts or (proof,))
        if proof.kkt <= self.tol and worst <= (self.gap_tol or COARSE_GAP):
            return
        wanted = f"tol={self.tol:g}, gap_tol={self.gap_tol or COARSE_GAP:g}"
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
        check_positive("C", self.C)
        check_positive("tol", self.tol)
        if self.gap_tol is not None:
            check_positive("gap_tol", self.gap_tol)
        check_count("max_iter", self.max_iter, unlimited=-1)
        check_choice("solver", self.solver, SOLVERS)
        check_choice("multiclass", self.multiclass, SCHEMES)
        if self.warm_start and self.solver != "smo":
            raise ValueError(
                f"warm_start={self.warm_start!r} needs solver='smo': solver={self.solver!r} has no "
                "use for a start."
            )

    # --------------------------------------------------------------------------- prediction

    def decision_function(self, X, P=None):
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

    def predict(self, X, P=None):
        """The class with the largest decision value; for two classes the second where f > 0."""
        codes = predicted(self.decision_function(X, P))
        return self.classes_[codes]

    def score(self, X, y, sample_weight=None, P=None):
        """The share of right predictions, weighted; P as in `predict`."""
        return accuracy_score(y, self.predict(X, P), sample_weight=sample_weight)

"""`PrimalSVMClassifier`: the support vector machine over any basis, beside free features.

    minimize  ½‖Σ_k w_k e_k‖² + C Σ w_i loss(y_i f(x_i)),    f = Σ_k w_k e_k + Σ_p λ_p φ_p,

e an orthonormal basis made of the functions that `basis` names, φ the free features.  In the
coordinates x̂_k = e_k(x) the norm is ‖w‖, so this is a linear machine (paper C), with the bias
replaced by any number of free features (papers A and B).  Orthonormal bases are in
`kernelbook.bases.orthonormal`, the solvers in `kernelbook.solvers.primal.solve`.

Chapter: book/primal/union
"""

import warnings
from typing import Any, Self

import numpy as np
from numpy.linalg import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from kernelbook.bases.orthonormal import METHODS, orthonormalize
from kernelbook.certificates import WARN_GAP, Certificate
from kernelbook.estimators._multiclass import SCHEMES, binary_problems, class_scores, predicted
from kernelbook.estimators._validation import check_parameters, check_rtol
from kernelbook.estimators.in_basis.classifier import BasisClassifier
from kernelbook.estimators.in_basis.conditioning import (
    WARN_DROPPED,
    rounding_bound,
    warn_of_rounding,
)
from kernelbook.solvers.primal.predicted import recertified
from kernelbook.solvers.primal.solve import LOSSES, solve_primal

__all__ = ["PrimalSVMClassifier"]


class PrimalSVMClassifier(BasisClassifier):
    """Support vector machine over basis functions, with free features.

    Parameters
    ----------
    basis : Basis or None
        What the regularized part of f is made of; see `kernelbook.bases`.  None means translates
        of the Gaussian of width √d at the samples: the kernel machine, solved in the primal.
    features : transformer, callable, "constant" or None
        The free features φ_p; see `kernelbook.features`.
    C : float
        The penalty of a unit of loss.
    loss : {"hinge", "squared_hinge"}
        (1 − yf)₊ or its square.
    solver : {"dcd", "newton", "pegasos"}
        Dual coordinate descent, for both losses; finite Newton, for the squared hinge; stochastic
        subgradients, for the hinge and for few digits.  On problems where a Newton step is cheap
        "dcd" ends with some, and its solution is then exact up to rounding, whatever `tol`.
    tol : float
        The largest duality gap, relative to the objective, that passes without a warning.
        By strong convexity ‖w − w*‖² is at most twice the gap.
    orthonormalization : {"cholesky", "gram-schmidt", "eigen"}
        How the basis is orthonormalized.  The classifier is the same.
    rtol : float, optional
        When a basis function counts as dependent on others; see `orthonormalize`.
    multiclass : {"ovo", "ovr"}
        One-vs-one with votes, as SVC does it, or one-vs-rest, as LinearSVC does.
    class_weight : dict, "balanced" or None
        Multiplies C for the samples of a class.
    max_iter : int
        Largest number of sweeps ("dcd"), Newton steps or epochs ("pegasos") for each binary
        problem.
    random_state : int, RandomState instance or None
        For the order in which "dcd" and "pegasos" visit the samples; and for the centres of a
        basis that draws them and has no random_state of its own.
    verbose : int
        1 shows a bar with the remaining time for each binary problem, and the gap at its end.

    Attributes
    ----------
    classes_ : (k,) array
    basis_ : Basis
        The fitted basis.
    orthonormal_ : OrthonormalBasis
        The functions e_k over it, and what was dropped.
    basis_coef_ : (problems, r) array
        w, the coefficients of the e_k; 1 problem for two classes, k(k−1)/2 for one-vs-one in the
        order (0,1), (0,2), …, (1,2), …, k for one-vs-rest.
    expansion_ : (problems, M) array
        The coefficients of the functions of `basis_`: f = Σ_j expansion_j f_j + Σ λ_p φ_p is what
        `predict` evaluates.
    coef_ : (problems, ℓ) array
        λ.  Where the optimal λ is not unique: the one with least Σ w_i (Pλ)_i² on the samples of
        the problem, w including the class weights, as for `SVMGBClassifier`.
    intercept_ : (problems,) array
        The constant that f contains: the coefficient of the feature that is constant on the sample,
        times its value.  Absent if there is no such feature, or if P does not have full rank, so
        that other features could replace it.
    dual_coef_ : (problems, m) array
        A feasible β for each problem, the one that `certificate_` rests on; zero for samples of
        weight zero and of other classes.  At the optimum w = X̂ᵀβ.
    rank_ : (problems,) array
        Rank of P on the samples of each problem.
    n_iter_ : (problems,) array
        Sweeps, Newton steps or epochs.
    certificate_ : Certificate
        With several problems, one in `parts` for each, and their sum.  `kkt` is in units of the
        margin y f.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook import Gaussian, KernelBasis, PrimalSVMClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> few = KernelBasis(Gaussian(1.0), centers="subset", n_centers=20, random_state=0)
    >>> model = PrimalSVMClassifier(few, loss="squared_hinge").fit(X, y)
    >>> model.basis_coef_.shape, model.coef_.shape
    ((1, 20), (1, 1))
    >>> model.certificate_.relative_gap < 1e-6
    True
    """

    def __init__(
        self,
        basis: Any = None,
        features: Any = "constant",
        C: float = 1.0,
        loss: str = "hinge",
        solver: str = "dcd",
        tol: float = 1e-4,
        orthonormalization: str = "cholesky",
        rtol: float | None = None,
        multiclass: str = "ovo",
        class_weight: Any = None,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.basis = basis
        self.features = features
        self.C = C
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.orthonormalization = orthonormalization
        self.rtol = rtol
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labels y; a sample of weight 2 is the sample twice, one of weight 0 is absent."""
        self._check_parameters()
        with self._fresh():
            self._fit(X, y, sample_weight)
        self._warn_unless_converged()
        warn_of_rounding(self._rounding)
        return self

    def _fit(self, X, y, sample_weight):
        self._seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        sample, classes, codes, C = self._penalized_sample(X, y, sample_weight)
        with self._room(codes.size):
            coordinates = self._orthonormal_coordinates(sample.X)

        m = _num_samples(X)
        rng = np.random.default_rng(self._seed)
        solutions, betas = [], []
        problems = list(binary_problems(codes, classes.size, self.multiclass))
        for rows, sign in problems:
            part = coordinates if rows.size == codes.size else coordinates[rows]
            solution = self._solve(part, sample.P[rows], sign, C[rows], rng)
            solutions.append(solution)
            beta = np.zeros(m)
            beta[sample.kept[rows]] = solution.beta
            betas.append(beta)
        self._keep(solutions, np.array(betas), coordinates, sample, C, problems)
        self._rounding = rounding_bound(self.basis_, coordinates, solutions)
        self.classes_, self._scheme = classes, self.multiclass

    def _orthonormal_coordinates(self, X):
        """x̂ at the samples; warns if what orthonormalization dropped is visible there."""
        self.orthonormal_ = orthonormalize(self.basis_, self.orthonormalization, self.rtol)
        B = self.basis_.evaluate(X)
        visible = self.orthonormal_.visible(B)
        if visible > WARN_DROPPED:
            warnings.warn(
                f"{self.orthonormal_.remainder.size} basis functions were dropped as dependent: up "
                "to rtol they are combinations of the others.  Yet at the samples they differ "
                f"from these combinations, by {visible:.1e} of what the others are there: so the "
                "classifier depends on rtol and on the orthonormalization.  Use fewer or narrower "
                "functions, or reading='inner_product' if the basis has it.",
                UserWarning,
                stacklevel=4,
            )
        return self.orthonormal_.coordinates(B)

    def _solve(self, coordinates, P, sign, C, rng):
        return solve_primal(
            coordinates,
            P,
            sign,
            C,
            loss=self.loss,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            rng=rng,
            verbose=self.verbose,
        )

    def _keep(self, solutions, betas, coordinates, sample, C, problems):
        self.basis_coef_ = np.array([s.w for s in solutions])
        self.coef_ = np.array([s.coef for s in solutions])
        self.dual_coef_ = betas
        self.rank_ = np.array([s.rank for s in solutions])
        self.n_iter_ = np.array([s.n_iter for s in solutions])
        self._keep_intercept(sample.P, self.rank_)
        parts, squared = [], self.loss == "squared_hinge"
        expansions = [list(zip(*e, strict=True)) for e in self._expansions(sample, coordinates)]
        for s, (rows, sign), *several in zip(solutions, problems, *expansions, strict=True):
            problem = sample.P[rows], sign, C[rows], squared
            proofs = [recertified(s, h[rows], square, *problem) for _, h, square in several]
            best = int(np.argmin([proof.gap for proof in proofs]))
            parts.append((proofs[best], several[best][0]))
        self.certificate_ = Certificate.joint(proof for proof, _ in parts)
        self.expansion_ = np.array([c for _, c in parts])

    def _expansions(self, sample, coordinates):
        """The coefficients c of f = Σ c_j f_j + …, Σ c_j f_j at the samples, and its square norm.

        They are Tw.  But T is large where basis functions are nearly dependent.  Where samples are
        elements k_i of the space, w = X̂ᵀβ says that Σ β_i k_i is nearly the same function, without
        T.
        """
        w, beta = self.basis_coef_.T, self.dual_coef_[:, sample.kept].T
        c = self.basis_.represent(beta)
        if c is not None and norm(coordinates.T @ beta - w) <= 1e-8 * norm(w):
            values = self.basis_.combine(sample.X, c)
            yield c.T, values.T, np.einsum("ij,ij->j", beta, values)
        c = self.orthonormal_.coefficients(w)
        yield c.T, self.basis_.combine(sample.X, c).T, np.einsum("ij,ij->j", w, w)

    def _warn_unless_converged(self):
        proof = self.certificate_
        worst = np.max([part.relative_gap for part in proof.parts or (proof,)])
        limit = min(self.tol, WARN_GAP)
        if worst <= limit:
            return
        other = "" if self.solver == "dcd" else ", or solver='dcd'"
        asked = f" (tol={self.tol:g} allows more)" if limit < self.tol else ""
        warnings.warn(
            f"{type(self).__name__} did not reach tol={limit:g}{asked}: the duality gap is "
            f"{proof.gap:.1e}, {worst:.1e} of the objective (the worst problem).  Allow more "
            f"iterations (max_iter), scale the data, or use a smaller C{other}.",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _check_parameters(self):
        check_parameters(
            self,
            positive=("C", "tol"),
            counts={"max_iter": None},
            choices={
                "solver": LOSSES,
                "loss": ("hinge", "squared_hinge"),
                "multiclass": SCHEMES,
                "orthonormalization": METHODS,
            },
        )
        check_rtol(self.rtol)
        if self.loss not in LOSSES[self.solver]:
            can = [name for name, losses in LOSSES.items() if self.loss in losses]
            raise ValueError(
                f"solver={self.solver!r} cannot minimize loss={self.loss!r}: use solver "
                f"{' or '.join(map(repr, can))}, or loss={LOSSES[self.solver][0]!r}."
            )

    # --------------------------------------------------------------------------- prediction

    def decision_function(self, X: Any) -> np.ndarray:
        """f(X) for two classes; otherwise (n, classes): votes plus confidences in (−1/3, 1/3).

        With multiclass="ovr" the columns are the decision values of the binary problems.
        """
        check_is_fitted(self, "classes_")
        F = self._evaluate(X, self.expansion_.T, self.coef_.T)
        return class_scores(F, self.classes_.size, self._scheme)

    def _kernel_part(self, X, expansion):
        return self.basis_.combine(X, expansion)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest decision value; for two classes the second where f > 0."""
        codes = predicted(self.decision_function(X))
        return self.classes_[codes]

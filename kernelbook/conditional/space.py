"""The space H_K as an object, and its two kernels as kernels; the theory is in `__init__`.

Chapter: book/free/construction
"""

import warnings
from collections.abc import Mapping
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array

from kernelbook.conditional.expansion import Expansion
from kernelbook.conditional.functionals import (
    Functionals,
    at_points,
    least_squares,
    pick_anchors,
    require_full_rank,
)
from kernelbook.features import (
    Constant,
    FunctionFeatures,
    NoFeatures,
    Polynomials,
    as_features,
    check_order,
    evaluate,
    feature_slopes,
    replaced,
)
from kernelbook.kernels import Kernel, as_kernel

__all__ = ["ConditionalKernel", "SpaceKernel"]

CHOICES = ("sample", "least-squares", "virtual")
FIXED_SPAN = (NoFeatures, Constant, Polynomials, FunctionFeatures)  # whatever they are fitted to
DOUBTFUL = 1e8  # a condition number that costs half of the digits


class ConditionalKernel:
    """The space H_K of a kernel, features and anchors: H, K, cardinal features, inner products.

    `fit(X)` fits the features to a sample and chooses the functionals.  With an array of anchors
    and features whose span does not depend on data (constant, polynomials, functions), `fit` may
    be omitted.

    Parameters
    ----------
    kernel : Kernel, callable or None
        Φ; None is Gaussian(width=√d).
    features : transformer, callable, "constant" or None
        φ_1 … φ_ℓ.
    anchors : {"sample", "least-squares", "virtual"} or (ℓ, d) array
        See `kernelbook.conditional`.

    Attributes
    ----------
    H, K : Kernel
        The conditional kernel and the reproducing kernel.  Both are positive semidefinite, and K
        can be used wherever a kernel can, with features=None.
    anchors_ : (k, d) array or None
        The points of which the functionals are made; None for abstract ones.
    condition_ : float
        The condition number of the choice.
    n_free_ : int
        ℓ.
    kernel_, features_, functionals_ : Kernel, transformer, Functionals

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook import ConditionalKernel, Gaussian, Polynomials
    >>> X = np.linspace(0, 1, 11)[:, None]
    >>> space = ConditionalKernel(Gaussian(width=0.5), Polynomials(1)).fit(X)
    >>> space.anchors_.ravel()
    array([0., 1.])
    >>> bool(np.abs(space.H(X, space.anchors_)).max() < 1e-15)
    True
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        features: Any = "constant",
        anchors: Any = "sample",
    ) -> None:
        known = anchors in CHOICES if isinstance(anchors, str) else np.ndim(anchors) > 0
        if not known:
            raise ValueError(
                f"anchors={anchors!r} is not known; pass one of {', '.join(map(repr, CHOICES))}, "
                "or an array with one point a row, as many points as features."
            )
        self.kernel = kernel
        self.features = features
        self.anchors = anchors

    def __repr__(self):
        anchors = repr(self.anchors) if isinstance(self.anchors, str) else "[given points]"
        text = f"ConditionalKernel({self.kernel!r}, {self.features!r}, {anchors})"
        if hasattr(self, "functionals_"):
            text += f" with {self.n_free_} features, condition number {self.condition_:.2g}"
        return text

    # ------------------------------------------------------------------------------ fitting

    def fit(self, X: Any) -> Self:
        """Fit the features to the rows of X and choose the functionals μ_p."""
        # Copies throughout: what is done later to the arguments must not change the space.
        X = self._rows(X, "X", copy=True)
        self._kernels = None
        self.n_features_in_ = X.shape[1]
        self.kernel_ = as_kernel(self.kernel, X.shape[1]).copy()
        self.features_ = as_features(self.features).fit(X)
        P = evaluate(self.features_, X)
        check_order(P, X, self.kernel_)
        self.n_free_ = P.shape[1]
        self.functionals_ = mu = self._choose(X, P)
        self.anchors_, self.condition_ = mu.points, mu.condition
        if mu.condition > DOUBTFUL:
            warnings.warn(
                f"the anchors are nearly not unisolvent: their condition number is "
                f"{mu.condition:.1e}, and H and K lose digits.  Choose anchors='sample', better "
                "scaled features, or points farther apart.",
                stacklevel=2,
            )
        # M = A⁻¹, which takes coefficients of φ to coefficients of φ'.
        self._M = np.eye(self.n_free_)
        if not mu.abstract:
            self._M = mu.W @ evaluate(self.features_, mu.points)
        self._apply_twice()
        return self

    def _apply_twice(self):
        """B_pq = μ_pμ_qΦ, of the kernel as it is."""
        mu = self.functionals_
        self._B = np.eye(self.n_free_) if mu.abstract else mu.W @ self._moments(mu.points)

    def _choose(self, X, P):
        l = P.shape[1]
        if not isinstance(self.anchors, str):
            points = self._rows(self.anchors, "anchors", copy=True) if l else X[:0]
            if points.shape != (l, X.shape[1]):
                raise ValueError(
                    f"anchors has shape {points.shape}; {l} features on points with {X.shape[1]} "
                    f"columns need exactly {l} anchors, shape {(l, X.shape[1])}."
                )
            return at_points(points, evaluate(self.features_, points))
        definite = self.kernel_.cpd_order == 0
        if self.anchors == "virtual" and definite:
            return Functionals.virtual(l)
        names = getattr(self.features_, "get_feature_names_out", lambda: np.arange(l))()
        remedy = "take anchors='virtual', which need no independence" if definite else "add samples"
        require_full_rank(P, names, f"or {remedy}")
        if self.anchors == "least-squares" and l:
            return least_squares(X, P)
        chosen = pick_anchors(P)
        mu = at_points(X[chosen], P[chosen])
        return mu.in_the_basis_of_the_features() if self.anchors == "virtual" else mu

    def _rows(self, X, name, copy=False):
        accept = "csr" if isinstance(self.kernel, Kernel) and self.kernel.accepts_sparse else False
        try:
            return check_array(
                X,
                dtype=np.float64,
                accept_sparse=accept,
                ensure_min_samples=0,
                input_name=name,
                copy=copy,
            )
        except (TypeError, ValueError) as error:
            what = f"shape {np.shape(X)}" if np.ndim(X) else repr(X)
            raise type(error)(f"{name} must be rows of numbers, not {what}: {error}") from None

    def _ready(self):
        if hasattr(self, "functionals_"):
            return self
        if isinstance(self.anchors, str) or not isinstance(as_features(self.features), FIXED_SPAN):
            raise NotFittedError("this ConditionalKernel has seen no sample; call fit(X) first.")
        anchors = self._rows(self.anchors, "anchors")
        if as_kernel(self.kernel, anchors.shape[1]).cpd_order == 0:
            return self.fit(anchors)
        # More points, to see whether the features contain the polynomials that Φ needs.
        around = np.repeat(anchors, 8, axis=0)
        size = np.abs(anchors - anchors.mean(axis=0)).max(axis=0)
        noise = np.random.default_rng(0).normal(size=around.shape)
        return self.fit(np.vstack([anchors, around + noise * np.where(size > 0, size, 1.0)]))

    # --------------------------------------------------------------------------- evaluation

    @property
    def H(self) -> Kernel:
        """The conditional kernel H, zero at the anchors; A (9) = B (11)."""
        return self._both_kernels()[0]

    @property
    def K(self) -> Kernel:
        """The reproducing kernel K = H + Σ φ'_p φ'_p; A (8) = B (10)."""
        return self._both_kernels()[1]

    def _both_kernels(self):
        """H and K of the space as it is now: a later `fit` makes new ones."""
        self._ready()
        if self._kernels is None:
            now = copy(self)
            self._kernels = SpaceKernel(now, 0.0), SpaceKernel(now, 1.0)
        return self._kernels

    def cardinal(self, X: Any) -> np.ndarray:
        """φ'_p(x_i) as an (m, ℓ) array, A (10) = B (12)."""
        self._ready()
        X = self._rows(X, "X")
        if X.shape[0] == 0:
            return np.empty((0, self.n_free_))
        return evaluate(self.features_, X) @ self.functionals_.A

    def _moments(self, X):
        """μ_pΦ(x_i, ·) as an (m, ℓ) array."""
        mu = self.functionals_
        if mu.abstract or self.n_free_ == 0:
            return np.zeros((X.shape[0], self.n_free_))
        return self.kernel_.matvec(X, mu.points, mu.W.T)

    # ---------------------------------------------------------------------------- functions

    def function(self, a: Any = None, c: Any = None, Z: Any = None) -> Expansion:
        """Σ a_p φ'_p + Σ c_i H(z_i, ·) as a function of the space."""
        self._ready()
        if (c is None) != (Z is None):
            raise ValueError("c and Z belong together: c_i is the coefficient of H(z_i, ·).")
        Z = self._rows(np.empty((0, self.n_features_in_)) if Z is None else Z, "Z")
        a = self._coefficients(a, self.n_free_, "a", "features")
        return Expansion(self, a, self._coefficients(c, Z.shape[0], "c", "rows of Z"), Z)

    @staticmethod
    def _coefficients(values, n, name, of_what):
        values = np.zeros(n) if values is None else np.asarray(values, dtype=np.float64)
        if values.shape != (n,):
            raise ValueError(
                f"{name} has shape {values.shape}; it needs a number for each of the {n} {of_what}."
            )
        return values

    def representer(self, x: Any) -> Expansion:
        """K(x, ·), the function with ⟨f, K_x⟩ = f(x) for every f of the space."""
        x = x if getattr(x, "ndim", 0) == 2 else np.reshape(x, (1, -1))
        return self.function(self.cardinal(x)[0], np.ones(1), x)

    def solution(self, coef: Any, dual_coef: Any, X: Any) -> Expansion:
        """Σ λ_p φ_p + Σ c_i Φ(x_i, ·) with Pᵀc = 0, a learner's result, as a function of the space.

        `coef` is λ and `dual_coef` is c.  If Pᵀc ≠ 0 the sum does not lie in the space, in general,
        and this raises.
        """
        self._ready()
        X = self._rows(X, "X")
        lam = self._coefficients(coef, self.n_free_, "coef", "features")
        c = self._coefficients(dual_coef, X.shape[0], "dual_coef", "rows of X")
        E = self.cardinal(X)
        excess, size = np.abs(E.T @ c), np.abs(E).T @ np.abs(c)
        relative = np.max(excess / np.where(size > 0, size, 1.0), initial=0.0)
        if relative > 1e-6:
            raise ValueError(
                f"Pᵀc is not zero (relative size {relative:.1e}): Σ c_i Φ(x_i, ·) is then no "
                "function of this space.  Pass the c of a learner that has the same free features."
            )
        return self.function(self._M @ lam + self._moments(X).T @ c, c, X)


class SpaceKernel(Kernel):
    """H + weight · Σ φ'_p φ'_p of a `ConditionalKernel`: H for weight 0, K for weight 1.

    With E = φ'(X), S_ip = μ_pΦ(x_i, ·) and V = S − E(B + weight·I)/2 this is Φ − EVᵀ − VEᵀ: the
    base kernel and a correction of rank 2ℓ, so tiles and products cost what those of Φ cost.  E
    does not depend on Φ, and V is linear in it: derivatives are those of Φ, corrected likewise.
    """

    def __init__(self, space: "ConditionalKernel", weight: float) -> None:
        self.space = space
        self.weight = weight

    def __repr__(self):
        name = {0.0: "H", 1.0: "K"}.get(self.weight, f"H + {self.weight:g} Σφ'φ'")
        return f"{name} of {self.space!r}"

    @property
    def strictly_pd(self) -> bool:
        # H vanishes at real anchors; elsewhere, and K everywhere, are as strict as Φ.
        vanishes = self.weight == 0 and self.space.n_free_ and not self.space.functionals_.abstract
        return self.space.kernel_.strictly_pd and not vanishes

    @property
    def _positive_diag(self):
        return self.strictly_pd

    @property
    def accepts_sparse(self) -> bool:
        return self.space.kernel_.accepts_sparse

    @property
    def _thread_safe(self):
        return self.space.kernel_._thread_safe

    @property
    def _proven(self):
        return self.space.kernel_._proven

    def _factors(self, X):
        space, E = self.space, self.space.cardinal(X)
        return E, space._moments(X) - E @ (space._B + self.weight * np.eye(space.n_free_)) / 2

    # -------------------------------------------------------------------------- derivatives

    @property
    def kernel(self) -> Kernel:
        """The base kernel Φ, to which the parameters belong."""
        return self.space.kernel_

    @property
    def _has_gradient(self):
        return self.kernel._has_gradient

    def tunable(self) -> dict[str, float]:
        """See `Differentiable.tunable`: the parameters of the base kernel."""
        return {f"kernel__{name}": value for name, value in self.kernel.tunable().items()}

    def tuned(self, values: Mapping[str, float]) -> Self:
        """See `Differentiable.tuned`: the kernel of a space with the same anchors."""
        space = copy(self.space)
        space.kernel_, space._kernels = self.kernel.copy(), None
        twin: Any = super(SpaceKernel, SpaceKernel(space, self.weight)).tuned(values)
        twin.space._apply_twice()
        return twin

    def _factor_slopes(self, X, E):
        """∂V/∂log θ for each parameter, an (m, ℓ) array; E does not depend on any."""
        mu = self.space.functionals_
        if mu.abstract or not self.space.n_free_:
            return [np.zeros_like(E)] * len(self.kernel.tunable())
        own = self.kernel.gram_gradient(mu.points).values()
        slopes = self.kernel.gram_gradient(X, mu.points).values()
        return [S @ mu.W.T - E @ (mu.W @ B @ mu.W.T) / 2 for S, B in zip(slopes, own, strict=True)]

    def _fill_slopes(self, X, Z):
        fill_base = self.kernel._fill_slopes_seen(X, Z)
        EX, VX, EZ, VZ = self._both(X, Z)
        dVX = self._factor_slopes(X, EX)
        dVZ = dVX if Z is X else self._factor_slopes(Z, EZ)

        def fill(rows, cols, out, slopes):
            fill_base(rows, cols, out, slopes)
            out -= EX[rows] @ VZ[cols].T + VX[rows] @ EZ[cols].T
            for slope, left, right in zip(slopes, dVX, dVZ, strict=True):
                slope -= EX[rows] @ right[cols].T + left[rows] @ EZ[cols].T

        return fill

    def _factors_along(self, X):
        """∂E/∂x_k and ∂V/∂x_k, (d, m, ℓ) each."""
        space, mu = self.space, self.space.functionals_
        dE = np.array(
            [
                feature_slopes(lambda t, k=k: space.cardinal(replaced(X, k, t)), X[:, k])
                for k in range(X.shape[1])
            ]
        )
        dV = -dE @ (space._B + self.weight * np.eye(space.n_free_)) / 2
        if not mu.abstract and space.n_free_:
            dV += self.kernel.gradient_x(X, mu.points) @ mu.W.T
        return dE, dV

    def _gradient_x(self, X, Z):
        EZ, VZ = self._factors(Z)
        dE, dV = self._factors_along(X)
        return self.kernel._gradient_x_seen(X, Z) - dE @ VZ.T - dV @ EZ.T

    def _jet(self, X):
        value, first, mixed = self.kernel._jet_seen(X)
        (E, V), (dE, dV) = self._factors(X), self._factors_along(X)
        return (
            value - 2 * np.einsum("ip,ip->i", E, V),
            first - np.einsum("kip,ip->ki", dE, V) - np.einsum("kip,ip->ki", dV, E),
            mixed - 2 * np.einsum("kip,kip->ki", dE, dV),
        )

    def _both(self, X, Z):
        left = self._factors(X)
        return (*left, *(left if Z is X else self._factors(Z)))

    def _fill(self, X, Z):
        fill_base = self.space.kernel_._fill_seen(X, Z)
        EX, VX, EZ, VZ = self._both(X, Z)

        def fill(rows, cols, out):
            fill_base(rows, cols, out)
            out -= EX[rows] @ VZ[cols].T + VX[rows] @ EZ[cols].T

        return fill

    def _diag(self, X):
        E, V = self._factors(X)
        return self.space.kernel_._diag_seen(X) - 2 * np.einsum("ip,ip->i", E, V)

    def _matvec(self, X, Z, c):
        EX, VX, EZ, VZ = self._both(X, Z)
        return self.space.kernel_._matvec_seen(X, Z, c) - EX @ (VZ.T @ c) - VX @ (EZ.T @ c)

"""What a fitted learner can prove about itself.

Every learner of this library minimizes a convex function p over f = Σ λ_p φ_p + Σ c_i K(x_i, ·).
Its Lagrangian dual is a function d of the kernel coefficients, to be maximized over a set that
contains the equations Pᵀc = 0, one for each free feature.  Weak duality says

    d(c)  ≤  p* ≤  p(f)        for every f and every *feasible* c,

so the gap p(f) − d(c) bounds how far f is from the optimum, whatever algorithm produced it.
The word *feasible* matters: with Pᵀc ≠ 0 the difference can be negative and proves nothing, so
solvers move c into the feasible set first and only then compute `dual`.

Near the optimum p(f) and d(c) agree in most of their digits, and their difference is what rounding
left.  Where a solver knows the gap as a sum of non-negative terms, it says so.

Chapter: book/free/svmgb

References
----------
Boyd & Vandenberghe, *Convex Optimization*, chapter 5.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Real

import numpy as np

__all__ = ["WARN_GAP", "Certificate"]

WARN_GAP = 1e-3
"""A fit whose gap is more than this share of the objective warns, whatever its tolerance."""

ROUNDING = 1e-12
"""What sums over a sample lose, in units of the objective."""


@dataclass(frozen=True)
class Certificate:
    """Objective, duality gap and residuals of one fit.

    Attributes
    ----------
    primal : float
        The objective at the fitted function.
    dual : float
        The dual objective at an exactly feasible point; never above the true minimum.
    constraint : float
        ‖Pᵀc‖ of the kernel coefficients that are kept, relative to Σ|P_ip c_i|.
    kkt : float
        The largest violation of an optimality condition: for support vector machines in units
        of the margin y f, for least squares in units of y.  A statement about the fitted values
        f(x_i) on the sample.  It does not say how far c and λ are from the best ones, nor f at
        other points: where the problem hardly determines them, fitted values that are right to
        ten digits can come from very different c and λ.
    parts : tuple of Certificate
        When several problems were solved (outputs, classes, pairs of classes), one for each, in
        their order.  The fields above then describe the joint problem: sums of `primal` and
        `dual`, the largest `constraint` and `kkt`.
    gap : float
        primal − dual: an upper bound on the distance from the optimal objective.  The solver's own
        figure, where it has a better one than the difference of the two; a difference that is
        negative by rounding alone is 0.
    relative_gap : float
        The gap in units of the objective.

    Notes
    -----
    **Tolerances.**  The certificate decides, whatever the solver: where it shows more than
    `tol`, `fit` ends with a `ConvergenceWarning`.  What is compared is the number that the users
    of such a learner set elsewhere, or that they can read f by.

    - `SVMGBClassifier`: `kkt`, the margins, as for scikit-learn's SVC.
    - `GRLSRegressor`, `GRLSClassifier` and their CV forms: `kkt`, the error of the fitted values.
    - `PrimalSVMClassifier` and `IncrementalSVMClassifier`: `relative_gap`, the objective, and w
      with it; of a path, at every step.

    Of several problems each must pass.  For all learners a `relative_gap` above 10⁻³ warns too,
    however large `tol` is, unless f fits y to rounding.

    Examples
    --------
    >>> from kernelbook import Certificate, Gaussian, GRLSRegressor
    >>> model = GRLSRegressor(Gaussian(1.0), reg=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> model.certificate_.relative_gap < 1e-12
    True
    >>> Certificate(primal=2.0, dual=1.5, constraint=0.0, kkt=0.1).gap
    0.5
    """

    primal: float
    dual: float
    constraint: float
    kkt: float
    parts: tuple["Certificate", ...] = field(default=(), repr=False)
    gap: float = None  # type: ignore[assignment]  # never None after __post_init__
    relative_gap: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("primal", "dual", "constraint", "kkt"):
            if not isinstance(value := getattr(self, name), Real):
                raise TypeError(f"{name}={value!r} must be a number.")
        if self.gap is None:
            gap = self.primal - self.dual
            noise = ROUNDING * max(abs(self.primal), abs(self.dual))
            object.__setattr__(self, "gap", 0.0 if -noise <= gap < 0 else gap)
        scale = max(abs(self.primal), abs(self.dual))
        object.__setattr__(self, "relative_gap", self.gap / scale if scale > 0 else 0.0)

    @classmethod
    def joint(cls, parts: Iterable["Certificate"]) -> "Certificate":
        """The certificate of several independent problems; of one problem, that one itself."""
        parts = tuple(parts)
        if len(parts) == 1:
            return parts[0]
        return cls(
            primal=float(np.sum([p.primal for p in parts])),
            dual=float(np.sum([p.dual for p in parts])),
            constraint=max(p.constraint for p in parts),
            kkt=max(p.kkt for p in parts),
            parts=parts,
            gap=float(np.sum([p.gap for p in parts])),
        )

    def __str__(self) -> str:
        rows = [
            ("primal", f"{self.primal:.10g}"),
            ("dual", f"{self.dual:.10g}"),
            ("gap", f"{self.gap:.1e}  ({self.relative_gap:.1e} relative)"),
            ("constraint", f"{self.constraint:.1e}"),
            ("kkt", f"{self.kkt:.1e}"),
        ]
        head = f"certificate of {len(self.parts)} problems" if self.parts else "certificate"
        return "\n".join([head, *(f"  {name:<11}{value}" for name, value in rows)])

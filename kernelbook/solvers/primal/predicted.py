"""The certificate of f as `predict` computes it, in the functions of the basis.

Solvers work with the coordinates x̂ of an orthonormal basis.  `predict` evaluates f = Σ c_j f_j +
Σ λ_p φ_p, where c = Tw is large if functions are nearly dependent: its rounding, and that of T, is
part of f, and may be all that is left of a small gap.
"""

from dataclasses import replace

import numpy as np

from kernelbook.certificates import Certificate
from kernelbook.solvers.primal.finish import PrimalSolution
from kernelbook.solvers.primal.passes import hinge
from kernelbook.solvers.svm.certificate import violation

__all__ = ["recertified"]


def recertified(
    solution: PrimalSolution,
    h: np.ndarray,
    square: float,
    P: np.ndarray,
    y: np.ndarray,
    C: np.ndarray,
    squared: bool,
) -> Certificate:
    """The certificate of a solution with the values h of Σ c_j f_j and ‖Σ c_j f_j‖²."""
    old, f, beta = solution.certificate, h + P @ solution.coef, solution.beta
    upper = np.full_like(C, np.inf) if squared else C
    lower, upper = np.where(y > 0, 0.0, -upper), np.where(y > 0, upper, 0.0)
    v = y - f - beta / (2.0 * C) if squared else y - f
    proof = Certificate(
        primal=0.5 * float(square) + float(hinge(f, y, C, squared)),
        dual=old.dual,
        constraint=old.constraint,
        kkt=max(old.kkt, float(violation(beta, v, lower, upper))),
    )
    if proof.gap < 0:  # β is feasible: rounding, and as large as this at least
        proof = replace(proof, gap=-proof.gap)
    return proof

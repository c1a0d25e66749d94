"""Basis functions: what the regularized part of a primal learner is made of.

A basis is M functions f_1 … f_M on the sample's domain together with an inner product, and the
learners need two matrices of it:

    B = `evaluate(X)`,  how a sample enters:  B_ij = f_j(x_i)                    (n × M)
    G = `gram()`,       the inner products:   G_jk = ⟨f_j, f_k⟩                  (M × M)

`bases.orthonormal.orthonormalize` turns them into an orthonormal basis e = fT, TᵀGT = I, and
x̂ = BT into the coordinates in which a regularized learner is a linear one.  Nothing ties M to the
number of samples, nor the functions to the samples or to one another.

Four bases: translates of a kernel in its own Hilbert space (`KernelBasis`), Gaussians of any
widths in L₂ (`GaussianBasis`), the coordinates themselves (`LinearBasis`), and any functions whose
inner products you can supply (`FunctionBasis`).

**Two readings of a sample.**  In a reproducing kernel Hilbert space f(x) = ⟨f, k_x⟩, so a sample
may be read as a place to evaluate f or as the element k_x: the same number.  L₂ has no such k_x,
and the two readings part; `GaussianBasis` explains and offers both.

References
----------
Giesen, Laue & Mueller (2012), *Basis expansions for support vector machines* (paper C), sections
2 and 3.  Chapelle (2007), *Training a support vector machine in the primal*.
"""

from typing import Any

from sklearn.base import clone

from kernelbook.bases.base import Basis
from kernelbook.bases.gaussian import GaussianBasis
from kernelbook.bases.kernel import KernelBasis
from kernelbook.bases.plain import FunctionBasis, LinearBasis

__all__ = ["Basis", "FunctionBasis", "GaussianBasis", "KernelBasis", "LinearBasis", "as_basis"]


def as_basis(basis: Any) -> Basis:
    """A fresh, unfitted basis for anything a user may pass as `basis`."""
    if basis is None:
        return KernelBasis()
    if isinstance(basis, type):
        raise TypeError(f"basis must be a basis, and {basis.__name__} is a class: call it.")
    if all(hasattr(basis, name) for name in ("fit", "evaluate", "gram")):
        return clone(basis, safe=False)
    raise TypeError(
        f"basis={basis!r} is neither None nor a basis; use KernelBasis(kernel), GaussianBasis(), "
        "LinearBasis(), FunctionBasis(functions, gram), or an object with fit, evaluate and gram."
    )

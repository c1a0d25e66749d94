"""Compile everything in advance: `kernelbook warm`.

Compiled code is kept on disk (`kernelbook.numeric.jit`), so only the first fit after an
installation or an edit waits for the compiler.  `warm` makes these first fits: each learner, on
problems of the sizes that lead to different solvers.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy import sparse

from kernelbook import (
    Gaussian,
    GaussianBasis,
    GRLSClassifierCV,
    GRLSRegressor,
    IncrementalSVMClassifier,
    KernelBasis,
    Laplacian,
    Linear,
    LinearBasis,
    Matern,
    Multiquadric,
    Polyharmonic,
    Polynomial,
    Polynomials,
    PrimalSVMClassifier,
    SVMGBClassifier,
    ThinPlate,
    svm_path,
)

__all__ = ["run", "steps"]


def steps() -> Iterator[tuple[str, Callable[[], object]]]:
    """(name, function) for each of the fits; calling the function compiles what it needs."""
    rng = np.random.default_rng(0)
    plane, wide = rng.uniform(-1, 1, size=(300, 2)), rng.normal(size=(300, 40))
    many = rng.uniform(-1, 1, size=(1200, 2))
    curve = np.sin(3 * plane[:, 0]) + plane[:, 1]
    side = np.where(curve > 0, 1, -1)
    sides = np.where(np.sin(3 * many[:, 0]) + many[:, 1] + 0.3 * rng.normal(size=1200) > 0, 1, -1)
    thirds = np.digitize(curve, [-0.5, 0.5])
    pixels = rng.integers(0, 16, size=(300, 40)).astype(float)

    for kernel in (
        *(Gaussian(1.0), Laplacian(1.0), Matern(1.0, 1.5), Matern(1.0, 2.5)),
        *(ThinPlate(), Polyharmonic(3), Multiquadric(1.0), Linear(), Polynomial(3)),
    ):
        for X in (plane, wide, pixels):
            yield f"{kernel!r}, {X.shape[1]} columns", partial(kernel, X)
    kernel, line = Gaussian(0.5), Polynomials(1)
    yield "sums of Gaussians", partial(kernel.gram_matvec, plane, curve)
    yield "sums at other points", partial(kernel.matvec, plane, many, sides.astype(float))
    for X, width in ((plane, 0.5), (wide, 0.5), (wide, 20.0)):
        yield "Gram matrix in single precision", partial(Gaussian(width).single, X)
    yield "Gaussian of extreme width", partial(Gaussian(1e-150), plane)

    for solver in ("cholesky", "nullspace", "nystrom", "cg", "fourier"):
        learner = GRLSRegressor(kernel, line, reg=1e-3, solver=solver)
        yield f"GRLSRegressor, {solver}", partial(learner.fit, plane, curve)
        yield f"GRLSRegressor, {solver}, predictions", partial(learner.predict, many)
    yield "GRLSClassifierCV", partial(GRLSClassifierCV(kernel, line).fit, plane, thirds)

    for features in ("constant", line, None):
        for X, y, size in ((plane, side, "small"), (many, sides, "large"), (wide, side, "wide")):
            learner = SVMGBClassifier(Gaussian(), features, C=10.0)
            yield f"SVMGBClassifier, {features}, {size}", partial(learner.fit, X, y)
    for hard in (Gaussian(1.0), Laplacian(1.0)):
        learner = SVMGBClassifier(hard, C=1e3)
        yield f"SVMGBClassifier, {hard!r}, large C", partial(learner.fit, many, sides)
    for features in ("constant", line):
        learner = SVMGBClassifier(kernel, features, C=10.0, warm_start=True)
        for start in ("cold", "warm"):
            name = f"SVMGBClassifier, {features}, several classes, {start}"
            yield name, partial(learner.fit, plane, thirds)
    P = np.c_[np.ones(60), plane[:60]]
    gram, y = kernel(plane[:60]), side[:60].astype(float)
    for features in (P, P[:, :1]):
        yield f"svm_path, {features.shape[1]} features", partial(svm_path, gram, features, y, 10.0)

    ways = (("hinge", "dcd"), ("squared_hinge", "dcd"), ("squared_hinge", "newton"))
    for loss, solver in (*ways, ("hinge", "pegasos")):
        for basis, data in (
            (LinearBasis(), plane),
            (LinearBasis(), sparse.csr_array(plane)),
            (KernelBasis(kernel, "subset", 50), plane),
        ):
            learner = PrimalSVMClassifier(basis, loss=loss, solver=solver)
            name = f"PrimalSVMClassifier, {loss}, {solver}, {type(data).__name__}"
            yield name, partial(learner.fit, data, side)
    for basis in (None, GaussianBasis(widths=0.5)):
        learner = IncrementalSVMClassifier(basis, max_basis=15)
        yield f"IncrementalSVMClassifier, {basis}", partial(learner.fit, plane, side)


def run(step: Callable[[], object]) -> None:
    """One of the fits, in silence: it is made for its compilation, not for its result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step()

"""Compile everything in advance: `kernelbook warm`.

Compiled code is kept on disk (`kernelbook.numeric.jit`), so only the first fit after an
installation or an edit waits for the compiler.  `warm` makes these first fits: each learner, on
problems of the sizes that lead to different solvers.
"""

import warnings
from collections.abc import Callable, Iterator

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
        yield f"kernel {kernel!r}", lambda k=kernel: [k(X) for X in (plane, wide, pixels)]
    kernel, line = Gaussian(0.5), Polynomials(1)
    yield "sums of Gaussians", lambda: kernel.gram_matvec(plane, curve)
    yield "sums at other points", lambda: kernel.matvec(plane, many, sides.astype(float))
    yield "Gram matrix in single precision", lambda: [kernel.single(X) for X in (plane, wide)]

    for solver in ("cholesky", "nullspace", "nystrom", "cg", "fourier"):
        learner = GRLSRegressor(kernel, line, reg=1e-3, solver=solver)
        yield f"GRLSRegressor, {solver}", lambda f=learner: f.fit(plane, curve).predict(many)
    yield "GRLSClassifierCV", lambda: GRLSClassifierCV(kernel, line).fit(plane, thirds)

    for features in ("constant", line, None):
        for X, y, size in ((plane, side, "small"), (many, sides, "large"), (wide, side, "wide")):
            learner = SVMGBClassifier(Gaussian(), features, C=10.0)
            yield f"SVMGBClassifier, {features}, {size}", lambda f=learner, X=X, y=y: f.fit(X, y)
    for features in ("constant", line):
        learner = SVMGBClassifier(kernel, features, C=10.0, warm_start=True)
        yield (
            f"SVMGBClassifier, {features}, several classes, twice",
            lambda f=learner: f.fit(plane, thirds).set_params(C=20.0).fit(plane, thirds),
        )
    P = np.c_[np.ones(60), plane[:60]]
    gram, y = kernel(plane[:60]), side[:60].astype(float)
    for features in (P, P[:, :1]):
        yield (
            f"svm_path, {features.shape[1]} features",
            lambda P=features: svm_path(gram, P, y, C_max=10.0),
        )

    ways = (("hinge", "dcd"), ("squared_hinge", "dcd"), ("squared_hinge", "newton"))
    for loss, solver in (*ways, ("hinge", "pegasos")):
        for basis, data in (
            (LinearBasis(), plane),
            (LinearBasis(), sparse.csr_array(plane)),
            (KernelBasis(kernel, "subset", 50), plane),
        ):
            learner = PrimalSVMClassifier(basis, loss=loss, solver=solver)
            yield (
                f"PrimalSVMClassifier, {loss}, {solver}, {type(data).__name__}",
                lambda f=learner, X=data: f.fit(X, side),
            )
    for basis in (None, GaussianBasis(widths=0.5)):
        learner = IncrementalSVMClassifier(basis, max_basis=15)
        yield f"IncrementalSVMClassifier, {basis}", lambda f=learner: f.fit(plane, side)


def run(step: Callable[[], object]) -> None:
    """One of the fits, in silence: it is made for its compilation, not for its result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step()

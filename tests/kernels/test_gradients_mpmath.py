"""Every kernel's value and derivatives beside mpmath: from the formula, with forty digits."""

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import kernelbook
from kernelbook import Kernel
from kernelbook.kernels import (
    Categorical,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Periodic,
    Polyharmonic,
    Polynomial,
    RationalQuadratic,
    ThinPlate,
)

X = np.array([[0.3, -1.2], [2.5, 0.4]])
Z = np.array(
    [[-0.4, 0.1], [0.3, 1.9]]
)  # the second shares an entry with x_1, and with nothing else


def squares(x, z, width):
    """Σ (x_k − z_k)²/width_k²."""
    return sum(((a - b) / w) ** 2 for a, b, w in zip(x, z, width, strict=True))


def distance(x, z, width):
    return mpmath.sqrt(squares(x, z, width))


def matern(nu):
    if nu == np.inf:
        return lambda x, z, width: mpmath.exp(-squares(x, z, width) / 2)

    def k(x, z, width):
        s = mpmath.sqrt(2 * mpf(nu)) * distance(x, z, width)
        return 2 ** (1 - mpf(nu)) / mpmath.gamma(mpf(nu)) * s ** mpf(nu) * mpmath.besselk(nu, s)

    return k


def mixture(x, z, width, alpha):
    return (1 + squares(x, z, width) / alpha) ** -alpha


def periodic(x, z, period, width):
    return mpmath.exp(
        -sum(
            (2 * mpmath.sin(mpmath.pi * (a - b) / p) / w) ** 2
            for a, b, p, w in zip(x, z, period, width, strict=True)
        )
    )


def dot(x, z):
    return sum(a * b for a, b in zip(x, z, strict=True))


def power(exponent, sign):
    return lambda x, z: sign * distance(x, z, (1, 1)) ** mpf(exponent)


def logarithmic(sign, half):
    """±r^2h log r."""
    return lambda x, z: sign * squares(x, z, (1, 1)) ** half * mpmath.log(distance(x, z, (1, 1)))


def gaussian(x, z, width):
    return mpmath.exp(-squares(x, z, width))


def laplacian(x, z, width):
    return mpmath.exp(-distance(x, z, width))


def multiquadric(x, z, width):
    return -mpmath.sqrt(1 + squares(x, z, width))


FORMULAS = [
    *((Gaussian(1.3), gaussian), (Gaussian([0.7, 2.0]), gaussian)),
    *((Laplacian(0.8), laplacian), (Laplacian([0.7, 2.0]), laplacian)),
    *((Matern([0.7, 2.0], nu), matern(nu)) for nu in (0.3, 0.5, 1, 1.5, 2.2, 2.5, np.inf)),
    *((RationalQuadratic(0.9, 0.6), mixture), (RationalQuadratic([0.9, 2.0], 1.6), mixture)),
    *((Periodic(1.7, 0.6), periodic), (Periodic([1.7, 3.0], [0.6, 1.2]), periodic)),
    *((Multiquadric(0.8), multiquadric), (Multiquadric([0.8, 2.0]), multiquadric)),
    *((Polyharmonic(1), power(1, -1)), (Polyharmonic(2.5), power(2.5, 1))),
    *((Polyharmonic(3), power(3, 1)), (Polyharmonic(4), logarithmic(-1, 2))),
    *((ThinPlate(), logarithmic(1, 1)), (Linear(), dot)),
    *(
        (Polynomial(d, o), lambda x, z, offset, d=d: (dot(x, z) + offset) ** d)
        for d, o in [(3, 0.5)]
    ),
    (Categorical(), lambda x, z: mpf(all(a == b for a, b in zip(x, z, strict=True)))),
]
SMOOTH = [
    (kernel, formula)
    for kernel, formula in FORMULAS
    if not isinstance(kernel, Laplacian | Polyharmonic | Categorical)
    and not (isinstance(kernel, Matern) and kernel.nu <= 2)
]


def parameters(kernel, factors=None):
    """The positive parameters as mpmath's numbers, one for each column where there may be two."""
    found = {}
    for name in kernel._tunable:
        value = getattr(kernel, name)
        each = name in ("width", "period")
        entries = value if isinstance(value, tuple) else (value,) * 2 if each else value
        found[name] = tuple(map(mpf, entries)) if each else mpf(entries)
    for name, factor in (factors or {}).items():
        plain, _, index = name.partition("[")
        old = found[plain]
        if not isinstance(old, tuple):
            found[plain] = old * factor
            continue
        which = {int(index[:-1])} if index else {0, 1}
        found[plain] = tuple(v * factor if k in which else v for k, v in enumerate(old))
    return found


def entries(function):
    """function(x_i, z_j) for all pairs, with forty digits, rounded."""
    with mpmath.workdps(40):
        return np.array([[float(function([*map(mpf, x)], [*map(mpf, z)])) for z in Z] for x in X])


def test_every_kernel_is_here():
    kernels = {getattr(kernelbook, name) for name in kernelbook.__all__}
    kernels = {k for k in kernels if isinstance(k, type) and issubclass(k, Kernel)} - {Kernel}
    assert kernels == {type(kernel) for kernel, _ in FORMULAS}


@pytest.mark.parametrize(
    ("kernel", "formula"), FORMULAS, ids=lambda v: getattr(v, "__qualname__", str(v))[:60]
)
def test_values_and_slopes_in_every_parameter(kernel, formula):
    exact = entries(lambda x, z: formula(x, z, **parameters(kernel)))
    np.testing.assert_allclose(kernel(X, Z), exact, rtol=1e-12, atol=1e-15)
    slopes = kernel.gram_gradient(X, Z)
    assert list(slopes) == list(kernel.tunable())
    for name, slope in slopes.items():

        def moved(x, z, log, name=name):
            return formula(x, z, **parameters(kernel, {name: mpmath.exp(log)}))

        exact = entries(lambda x, z, f=moved: mpmath.diff(lambda t: f(x, z, t), 0))
        np.testing.assert_allclose(slope, exact, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(
    ("kernel", "formula"), FORMULAS, ids=lambda v: getattr(v, "__qualname__", str(v))[:60]
)
def test_gradients_in_x(kernel, formula):
    if isinstance(kernel, Categorical):
        assert (kernel.gradient_x(X, Z) == 0).all()
        return
    gradient = kernel.gradient_x(X, Z)
    for k in range(2):

        def moved(x, z, t, k=k):
            return formula([*x[:k], t, *x[k + 1 :]], z, **parameters(kernel))

        exact = entries(lambda x, z, f=moved, k=k: mpmath.diff(lambda t: f(x, z, t), x[k]))
        np.testing.assert_allclose(gradient[k], exact, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(
    ("kernel", "formula"), SMOOTH, ids=lambda v: getattr(v, "__qualname__", str(v))[:60]
)
def test_the_variance_of_a_derivative_is_the_mixed_derivative(kernel, formula):
    """At z near x, since mpmath meets 0·∞ of Bessel's function at z = x: continuous there."""
    variance = kernel.gradient_variance(X)
    far = mpf(10) ** -12
    for k in range(2):
        for i, x in enumerate(X):
            with mpmath.workdps(60):
                point = [*map(mpf, x)]

                def moved(s, t, k=k, point=point):
                    a, b = list(point), list(point)
                    a[k], b[k] = s, t
                    return formula(a, b, **parameters(kernel))

                exact = float(mpmath.diff(moved, (point[k], point[k] + far), (1, 1)))
            assert variance[k, i] == pytest.approx(exact, rel=1e-6), (k, i)

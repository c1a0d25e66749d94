"""Derivatives of kernels, beside finite differences of the naive formula and mpmath."""

import mpmath
import numpy as np
import pytest

from kernelbook.kernels import (
    Categorical,
    FunctionKernel,
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

SMOOTH = [
    *(Gaussian(1.3), Gaussian([0.7, 2.0]), Matern(1.2, np.inf), Matern(1.1, 2.5)),
    *(Matern([0.7, 2.0], 2.5), Matern(1.2, 3.3), Matern(1.2, 1.2), RationalQuadratic(0.9, 0.6)),
    *(RationalQuadratic([0.9, 2.0], 1.6), Multiquadric(0.8), Multiquadric([0.8, 2.0])),
    *(Periodic(1.7, 0.6), Periodic([1.7, 3.0], [0.6, 1.2]), Periodic(2.0, [0.6, 1.2])),
    *(Linear(), Polynomial(3, 0.5), Polynomial(1, 0.0), Polyharmonic(3), Polyharmonic(4)),
    *(Polyharmonic(2.5), Gaussian(0.8, columns=1), Matern([0.7, 2.0], 1.5, columns=[1, 0])),
    2.0 * Gaussian(1.3, columns=0) + 0.5 * Matern(0.6, 2.5) * Polynomial(2, 1.0),
    0.3 * (Linear(columns=1) * (Gaussian([0.7, 2.0]) + 2.0 * RationalQuadratic(columns=0))),
]
ROUGH = [Laplacian(0.7), Laplacian([0.7, 2.0]), Matern(1.2, 0.3), Matern(1.2, 1), ThinPlate()]
ROUGH += [Polyharmonic(1), Categorical(), Gaussian(0.9) * Categorical(columns=0)]
ALL = SMOOTH + ROUGH


def sample(m=6, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(m, d))


def differences(function, h=3e-4):
    """The central difference of fourth order."""
    return (8 * (function(h) - function(-h)) - (function(2 * h) - function(-2 * h))) / (12 * h)


@pytest.mark.parametrize("kernel", ALL, ids=str)
def test_slopes_are_those_of_finite_differences(kernel):
    X, Z = sample(), sample(5, seed=1)
    Z[0] = X[0]
    values, slopes = kernel.tunable(), kernel.gram_gradient(X, Z)
    assert list(slopes) == list(values)
    for name, value in values.items():
        change = differences(lambda h, n=name, v=value: kernel.tuned({n: v * np.exp(h)})(X, Z))
        np.testing.assert_allclose(slopes[name], change, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kernel", ALL, ids=str)
def test_gradients_in_x_are_those_of_finite_differences(kernel):
    X, Z = sample(), sample(5, seed=1)
    gradient = kernel.gradient_x(X, Z)
    assert gradient.shape == (2, 6, 5)
    for k in range(2):
        step = np.eye(2)[k]
        change = differences(lambda h, e=step: kernel(X + h * e, Z))
        np.testing.assert_allclose(gradient[k], change, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kernel", SMOOTH, ids=str)
def test_the_variance_of_a_derivative_is_the_mixed_derivative_on_the_diagonal(kernel):
    X = sample(3)
    variance = kernel.gradient_variance(X)
    for k in range(2):
        step = np.eye(2)[k]
        mixed = differences(
            lambda h, e=step, k=k: kernel.gradient_x(X, X + h * e)[k].diagonal(), 1e-4
        )
        loose = isinstance(kernel, Polyharmonic) or "nu=1." in repr(kernel)  # not C² at zero
        np.testing.assert_allclose(variance[k], mixed, rtol=1e-6, atol=0.2 if loose else 1e-6)


def test_rough_kernels_have_derivatives_of_infinite_variance():
    X = sample(3)
    for kernel in (Laplacian(), Matern(1.0, 0.3), Matern(1.0, 1.0), ThinPlate(), Polyharmonic(1)):
        assert (kernel.gradient_variance(X) == np.inf).all()
        assert (2.0 * kernel + Gaussian()).gradient_variance(X).min() == np.inf
        assert (kernel.gradient_x(X, X)[:, range(3), range(3)] == 0).all()
    assert (Matern(2.0, 1.5).gradient_variance(X) == 0.75).all()
    assert (Laplacian(columns=0).gradient_variance(X)[1] == 0).all()


def bessel(nu, t):
    """(K, ∂K/∂log width) of Matérn at r/width = t, with fifty digits."""

    def k(t):
        s = mpmath.sqrt(2 * nu) * t
        return 2 ** (1 - nu) / mpmath.gamma(nu) * s**nu * mpmath.besselk(nu, s)

    with mpmath.workdps(50):
        t, nu = mpmath.mpf(t), mpmath.mpf(nu)
        return float(k(t)), float(-t * mpmath.diff(k, t))


@pytest.mark.parametrize("nu", [0.3, 0.5, 0.9, 1, 1.5, 2.2, 2.5, 7.0])
def test_matern_slopes_are_those_of_mpmath(nu):
    for t in (1e-6, 1e-2, 0.7, 5.0, 60.0):
        value, slope = bessel(nu, t)
        kernel = Matern(1.0, nu)
        assert kernel([[0.0]], [[t]])[0, 0] == pytest.approx(value, rel=1e-12)
        ours = kernel.gram_gradient([[0.0]], [[t]])["width"][0, 0]
        assert ours == pytest.approx(slope, rel=1e-9)


@pytest.mark.parametrize("kernel", [k for k in ALL if "width" in k.tunable()], ids=str)
def test_slopes_are_finite_at_both_ends_of_the_range(kernel):
    X = np.array([[0.0, 0.0], [1.0, 2.0], [1e-200, 1e-200], [1e200, -1e200], [0.0, 0.0]])
    for width in (1e-290, 1e-100, 1.0, 1e100, 1e290):
        slopes = kernel.tuned({"width": width}).gram_gradient(X)["width"]
        if isinstance(kernel, Multiquadric):  # grows like r/width, which may leave the range
            assert np.isfinite(slopes[:, :2][:2]).all() or width < 1e-150
            continue
        assert np.isfinite(slopes).all()
        assert (slopes.diagonal() == 0).all()


def test_traces_are_sums_over_the_gradient():
    X = sample(600, 2)
    W = np.random.default_rng(3).normal(size=(600, 600))
    W += W.T
    kernel = 2.0 * Gaussian(1.3, columns=0) + 0.5 * Matern([0.6, 1.0], 2.5)
    traces = kernel.gradient_traces(X, lambda rows, cols: W[rows, cols])
    slopes = kernel.gram_gradient(X)
    assert list(traces) == list(slopes)
    for name, slope in slopes.items():
        assert traces[name] == pytest.approx(np.sum(W * slope), rel=1e-10)
    assert Linear().gradient_traces(X, None) == {}


def test_kernels_of_unknown_formula_have_no_slopes():
    class Twice(Gaussian):
        def _diag(self, X):
            return 2 * super()._diag(X)

    X = sample()
    for kernel in (Twice(), FunctionKernel(lambda X, Z: X @ Z.T)):
        assert kernel.tunable() == {}
        assert kernel.gram_gradient(X) == {}
        assert (2.0 * kernel).gram_gradient(X)["factor"] == pytest.approx(2 * kernel(X, X.copy()))
        with pytest.raises(NotImplementedError, match="has no known derivative: use one of"):
            kernel.gradient_x(X, X)
        with pytest.raises(NotImplementedError, match="has no known derivative"):
            kernel.gradient_variance(X)
    with pytest.raises(ValueError, match=r"'nu' is not a positive parameter .*\['width'\]"):
        Matern().tuned({"nu": 2.0})

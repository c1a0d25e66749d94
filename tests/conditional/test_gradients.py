"""Derivatives of H and K, beside finite differences, and what learners make of them."""

import numpy as np
import pytest

from kernelbook import ConditionalKernel, Gaussian, GRLSRegressor, Matern, Polynomials, ThinPlate
from kernelbook.kernels import FunctionKernel
from tests.kernels.test_gradients import differences

RNG = np.random.default_rng(3)
X, Z = RNG.normal(size=(9, 2)), RNG.normal(size=(5, 2))
BASE = 0.7 * Gaussian([0.9, 2.0]) + Matern(1.3, 2.5, columns=[1])


def waves(A):
    return np.column_stack([np.ones(len(A)), np.sin(A[:, 0]), A[:, 1] ** 2])


SPACES = {
    "anchors": ConditionalKernel(BASE, Polynomials(1), X[:3]),
    "sample": ConditionalKernel(BASE, waves, "sample"),
    "least squares": ConditionalKernel(BASE, waves, "least-squares"),
    "virtual": ConditionalKernel(BASE, waves, "virtual"),
    "no features": ConditionalKernel(BASE, None),
    "thin plate": ConditionalKernel(ThinPlate(), Polynomials(1), "virtual"),
}


@pytest.fixture(params=[(n, w) for n in SPACES for w in "HK"], ids=lambda p: f"{p[1]}, {p[0]}")
def kernel(request):
    name, which = request.param
    return getattr(SPACES[name].fit(X), which)


def test_slopes_are_those_of_finite_differences(kernel):
    values, slopes = kernel.tunable(), kernel.gram_gradient(X, Z)
    base = kernel.space.kernel_.tunable()
    assert values == {f"kernel__{name}": value for name, value in base.items()}
    assert list(slopes) == list(values)
    for name, value in values.items():
        change = differences(lambda h, n=name, v=value: kernel.tuned({n: v * np.exp(h)})(X, Z))
        np.testing.assert_allclose(slopes[name], change, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(
            kernel.gram_gradient(X)[name][:, :2],
            kernel.gram_gradient(X, X[:2].copy())[name],
            atol=1e-12,
        )


def test_gradients_in_x_are_those_of_finite_differences(kernel):
    gradient = kernel.gradient_x(X, Z)
    for k, step in enumerate(np.eye(2)):
        change = differences(lambda h, e=step: kernel(X + h * e, Z))
        np.testing.assert_allclose(gradient[k], change, rtol=1e-6, atol=1e-8)


def test_the_variance_of_a_derivative(kernel):
    variance = kernel.gradient_variance(X)
    if isinstance(kernel.space.kernel_, ThinPlate):
        assert (variance == np.inf).all()
        return
    for k, step in enumerate(np.eye(2)):
        mixed = differences(
            lambda h, e=step, k=k: kernel.gradient_x(X, X + h * e)[k].diagonal(), 1e-3
        )
        np.testing.assert_allclose(variance[k], mixed, rtol=1e-6, atol=1e-6)


def test_a_tuned_kernel_leaves_the_old_one_alone():
    space = SPACES["sample"].fit(X)
    before = space.K(X)
    wide = space.K.tuned({"kernel__left__kernel__width[0]": 5.0})
    np.testing.assert_array_equal(space.K(X), before)
    other = ConditionalKernel(BASE.tuned({"left__kernel__width[0]": 5.0}), waves, "sample").fit(X)
    np.testing.assert_allclose(wide(X, Z), other.K(X, Z), atol=1e-12)
    with pytest.raises(ValueError, match="'width' is not a positive parameter"):
        space.K.tuned({"width": 2.0})


def test_a_learner_with_h_is_one_with_the_base_kernel():
    """Beside the same free features, H and Φ are the same model: chosen, and differentiated."""
    x = np.linspace(0, 3, 30)[:, None]
    y = np.sin(3 * x[:, 0]) + x[:, 0] + 0.1 * np.cos(np.arange(30.0) ** 2)
    H = ConditionalKernel(Matern(1.0, 2.5), Polynomials(1), "virtual").fit(x).H
    ours = GRLSRegressor(H, Polynomials(1), tune="reml").fit(x, y)
    plain = GRLSRegressor(Matern(1.0, 2.5), Polynomials(1), tune="reml").fit(x, y)
    assert ours.tuning_.log_likelihood == pytest.approx(plain.tuning_.log_likelihood, abs=1e-6)
    assert ours.kernel_.kernel.width == pytest.approx(plain.kernel_.width, rel=1e-3)
    H = H.tuned({"kernel__width": plain.kernel_.width})
    ours = GRLSRegressor(H, Polynomials(1), reg=plain.reg_).fit(x, y)
    for a, b in zip(
        ours.predict_gradient(x[3:6], return_std=True),
        plain.predict_gradient(x[3:6], return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_function_has_no_known_derivative():
    K = ConditionalKernel(FunctionKernel(lambda A, B: np.exp(A @ B.T)), anchors="virtual").fit(X).K
    assert K.tunable() == {}
    assert K.gram_gradient(X) == {}
    with pytest.raises(NotImplementedError, match="has no known derivative"):
        K.gradient_x(X, Z)

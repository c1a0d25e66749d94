"""Kernels: values against formulas and other libraries, definiteness, algebra, parameters."""

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import RBFInterpolator
from scipy.linalg import null_space
from scipy.stats.qmc import Halton
from sklearn.gaussian_process.kernels import RBF
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel

import kernelbook.kernels
from kernelbook.kernels import (
    FunctionKernel,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Polyharmonic,
    Polynomial,
    Product,
    Scaled,
    Sum,
    ThinPlate,
)
from tests.naive import kernels as naive

POSITIVE = [
    Gaussian(1.3),
    Laplacian(0.7),
    *(Matern(1.2, nu) for nu in (0.3, 0.5, 1.5, 2, 2.5, 7.2)),
]
CONDITIONAL = [Multiquadric(0.8), ThinPlate(), *map(Polyharmonic, (0.5, 1, 2, 2.5, 3, 4, 5, 6, 7))]
INNER = [Linear(), Polynomial(1, 0.0), Polynomial(2, 1.0), Polynomial(3, 0.5)]
COMPOSITE = [
    Gaussian(2.0) + 0.5 * Linear(),
    Gaussian(2.0) * Polynomial(2, 1.0),
    3 * (ThinPlate() + Multiquadric(2.0)),
    (Gaussian() + Linear()) * (Laplacian() + Polynomial()),
]
ALL = [*POSITIVE, Matern(1.2, np.inf), *CONDITIONAL, *INNER, *COMPOSITE]

PAIRS = [
    (Gaussian(1.3), naive.gaussian(1.3)),
    (Laplacian(0.7), naive.laplacian(0.7)),
    (Matern(1.2, 0.5), naive.matern(1.2, 0.5)),
    (Matern(1.2, 1.5), naive.matern(1.2, 1.5)),
    (Matern(1.2, 2.5), naive.matern(1.2, 2.5)),
    (Matern(1.2, 0.3), naive.matern(1.2, 0.3)),
    (Matern(1.2, 4), naive.matern(1.2, 4)),
    (Matern(1.2, np.inf), naive.gaussian(1.2 * np.longdouble(2) ** 0.5)),
    (Linear(), naive.linear()),
    (Polynomial(2, 0.0), naive.polynomial(2, 0.0)),
    (Polynomial(5, 0.7), naive.polynomial(5, 0.7)),
    (ThinPlate(), naive.polyharmonic(2)),
    (Multiquadric(0.8), naive.multiquadric(0.8)),
    *((Polyharmonic(b), naive.polyharmonic(b)) for b in (0.5, 1, 2, 2.5, 3, 4, 5, 6, 7)),
]


def sample(m, d, seed=0):
    return np.random.default_rng(seed).normal(size=(m, d))


# ----------------------------------------------------------------------------------- values


@pytest.mark.interpreted
@pytest.mark.parametrize("d", [1, 3, 20])
@pytest.mark.parametrize(
    ("kernel", "function"),
    PAIRS,
    ids=lambda p: "" if callable(p) and not hasattr(p, "diag") else str(p)[:30],
)
def test_values_are_those_of_the_formula(kernel, function, d):
    X, Z = sample(6, d), sample(5, d, seed=1)
    Z[:2] = X[:2]
    exact = naive.matrix(function, X, Z)
    scale = np.abs(exact).max()
    np.testing.assert_allclose(kernel(X, Z), exact.astype(float), rtol=1e-13, atol=1e-14 * scale)
    np.testing.assert_allclose(
        kernel.matvec(X, Z, np.ones(5)), exact.sum(axis=1).astype(float), atol=1e-13 * 5 * scale
    )
    np.testing.assert_allclose(
        kernel.diag(X), np.diag(naive.matrix(function, X, X)).astype(float), rtol=1e-14
    )


@pytest.mark.parametrize("nu", [0.1, 0.5, 0.77, 1, 1.5, 2.5, 3.5, 10, 50, np.inf])
def test_matern_is_that_of_scikit_learn(nu):
    X, Z = sample(50, 3), sample(40, 3, seed=1)
    oracle = SklearnMatern(length_scale=1.7, nu=nu)(X, Z)
    np.testing.assert_allclose(Matern(1.7, nu)(X, Z), oracle, rtol=3e-13)


def test_relations_to_scikit_learn_that_the_docstrings_state():
    X, Z = sample(50, 3), sample(40, 3, seed=1)
    np.testing.assert_allclose(Gaussian(1.7)(X, Z), rbf_kernel(X, Z, gamma=1 / 1.7**2), rtol=1e-13)
    np.testing.assert_allclose(Gaussian(1.7)(X, Z), RBF(1.7 / np.sqrt(2))(X, Z), rtol=1e-13)
    np.testing.assert_allclose(
        Laplacian(1.7)(X[:, :1], Z[:, :1]),
        laplacian_kernel(X[:, :1], Z[:, :1], gamma=1 / 1.7),
        rtol=1e-13,
    )
    np.testing.assert_allclose(
        Polynomial(3, 0.5)(X, Z), polynomial_kernel(X, Z, degree=3, gamma=1, coef0=0.5), rtol=1e-11
    )
    np.testing.assert_allclose(
        Matern(1.7, np.inf)(X, Z), Gaussian(1.7 * np.sqrt(2))(X, Z), rtol=1e-14
    )
    # In more than one dimension the two Laplacians differ.
    assert np.abs(Laplacian(1.7)(X, Z) - laplacian_kernel(X, Z, gamma=1 / 1.7)).max() > 0.05


@pytest.mark.parametrize(
    ("kernel", "name", "degree", "epsilon"),
    [
        (Polyharmonic(1), "linear", 0, 1.0),
        (ThinPlate(), "thin_plate_spline", 1, 1.0),
        (Polyharmonic(2), "thin_plate_spline", 1, 1.0),
        (Polyharmonic(3), "cubic", 1, 1.0),
        (Polyharmonic(5), "quintic", 2, 1.0),
        (Multiquadric(0.5), "multiquadric", 0, 2.0),
        (Gaussian(0.5), "gaussian", -1, 2.0),
    ],
)
def test_signs_and_scales_are_those_of_scipy(kernel, name, degree, epsilon):
    """The same sign, or the smoothing term would pull the wrong way."""
    X, Z, y = sample(30, 2), sample(20, 2, seed=1), sample(30, 1, seed=2)[:, 0]
    oracle = RBFInterpolator(X, y, kernel=name, degree=degree, epsilon=epsilon, smoothing=0.1)(Z)
    P, Q = (naive.monomials(A, degree) if degree >= 0 else np.empty((len(A), 0)) for A in (X, Z))
    l = P.shape[1]
    system = np.block([[kernel(X) + 0.1 * np.eye(30), P], [P.T, np.zeros((l, l))]])
    c = np.linalg.solve(system, np.append(y, np.zeros(l)))
    np.testing.assert_allclose(kernel(Z, X) @ c[:30] + Q @ c[30:], oracle, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("nu", [0.01, 0.3, 1, 1.2, 2, 2.2, 3, 20, 50])
def test_matern_meets_its_limits(nu):
    """1 at distance 0, 0 at infinity, decreasing between, without a jump where Bessel overflows."""
    r = np.concatenate([[0.0], np.logspace(-300, 300, 2001)])
    k = Matern(1.0, nu)(r[:, None], np.zeros((1, 1)))[:, 0]
    assert k[0] == 1.0
    assert k[-1] == 0.0
    assert np.all(np.diff(k) <= 1e-13)  # SciPy's kve is good to some 1e-14
    assert k.max() == 1.0
    if nu > 1:  # K = 1 − ν r²/(2(ν−1)) + …
        small = np.logspace(-8, -3, 30)
        drop = 1 - Matern(1.0, nu)(small[:, None], np.zeros((1, 1)))[:, 0]
        if nu > 2:
            np.testing.assert_allclose(drop, nu * small**2 / (2 * nu - 2), rtol=1e-3, atol=1e-13)


# ------------------------------------------------------------------- extreme data and widths


@pytest.mark.interpreted
@pytest.mark.parametrize("d", [1, 3, 18])
@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e-6, 1e6, 1e150, 1e300])
@pytest.mark.parametrize(
    ("kernel", "function"),
    [
        (Gaussian, naive.gaussian),
        (Laplacian, naive.laplacian),
        (lambda w: Matern(w, 1.5), lambda w: naive.matern(w, 1.5)),
        (lambda w: Matern(w, 2.2), lambda w: naive.matern(w, 2.2)),
        (lambda w: Matern(w, np.inf), lambda w: naive.gaussian(w * np.longdouble(2) ** 0.5)),
        (Multiquadric, naive.multiquadric),
    ],
)
def test_the_unit_of_length_may_be_anything(kernel, function, size, d):
    X, Z = sample(4, d), sample(3, d, seed=1)
    exact = naive.matrix(function(1.7), X, Z).astype(float)
    np.testing.assert_allclose(kernel(1.7 * size)(size * X, size * Z), exact, rtol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian, Laplacian, Matern, lambda w: Matern(w, 2.2)])
@pytest.mark.parametrize("width", [3e-308, 1e-200, 1e-6, 1.0, 1e6, 1e200, 1.7e308 / 2])
def test_extreme_ratios_of_distance_and_width_saturate(kernel, width):
    X = np.array([[0.0], [1e-305], [1e300], [-1e300], [1.0]])
    G = kernel(width)(X)
    assert np.all((G >= 0) & (G <= 1))
    r = np.abs(X - X.T)
    with np.errstate(over="ignore"):
        assert np.all(G[r / width > 1e4] == 0)
    # (r/width)^(2ν) below 1e-18 leaves 1.
    assert np.all(G[r < 1e-18 * width] == 1)


def test_overflow_is_an_error_and_not_an_infinity():
    X = np.array([[0.0], [1e150]])
    for kernel in (Polyharmonic(3), Polynomial(4), 1e300 * Linear(), Multiquadric(1e-200)):
        for evaluate in (kernel, lambda A, k=kernel: k.matvec(A, None, np.ones(2))):
            with pytest.raises(ValueError, match="overflows"):
                evaluate(X)
    with pytest.raises(ValueError, match="overflows"):
        Linear()(np.array([[1e200, 1e200], [1e200, -1e200]]))
    with pytest.raises(ValueError, match="overflows"):
        Polynomial(2).diag(X)
    with pytest.raises(ValueError, match=r"X has entries up to 1\.7e\+308"):
        Gaussian(1e308)([[1.7e308], [-1.7e308]])
    # Where the value is a number, it is returned.
    assert Polyharmonic(1)([[0.0], [1e300]])[0, 1] == pytest.approx(-1e300)
    assert Polyharmonic(0.01)([[0.0], [1e-200]])[0, 1] == pytest.approx(-0.01)
    assert ThinPlate()([[0.0], [1e-100]])[0, 1] == pytest.approx(-1e-200 * 100 * np.log(10))


@pytest.mark.interpreted
def test_thin_plate_near_distance_one_and_zero():
    X = np.array([[0.0], [1 + 1e-12], [1.0], [1e-9]])
    exact = naive.matrix(naive.polyharmonic(2), X, X).astype(float)
    # Rounding r moves r² log r by r·u near r = 1, whatever its size.
    np.testing.assert_allclose(ThinPlate()(X), exact, rtol=1e-15, atol=2.0**-52)


# ------------------------------------------------------------------------------ definiteness


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("kernel", [k for k in ALL if k.cpd_order == 0], ids=str)
def test_positive_definite_kernels_are(kernel, d):
    X = sample(60, d)
    G = kernel(X)
    eigenvalues = np.linalg.eigvalsh(G)
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("kernel", CONDITIONAL, ids=str)
def test_conditionally_positive_definite_kernels_have_their_order(kernel, d):
    """cᵀKc > 0 where the polynomials of degree < order vanish; with fewer of them, not always."""
    m = 12 if d == 1 else 30
    X = m ** (1 / d) * Halton(d, seed=0).random(m)
    G, q = kernel(X), kernel.cpd_order
    N = null_space(naive.monomials(X, q - 1).T)
    assert np.linalg.eigvalsh(N.T @ G @ N)[0] > 0
    if q > 1:
        M = null_space(naive.monomials(X, q - 2).T)
        assert np.linalg.eigvalsh(M.T @ G @ M)[0] < 0
    else:
        assert np.linalg.eigvalsh(G)[0] < 0


@pytest.mark.parametrize("kernel", [k for k in ALL if k.strictly_pd and k.cpd_order == 0], ids=str)
def test_strictly_positive_definite_kernels_are(kernel):
    X = np.array([[-2.0], [-1.0], [0.0], [1.5], [3.0]])
    assert np.linalg.eigvalsh(kernel(X))[0] > 1e-8


def test_orders():
    orders = {0.5: 1, 1: 1, 1.9: 1, 2: 2, 2.5: 2, 3: 2, 4: 3, 4.5: 3, 5: 3, 6: 4, 7: 4}
    assert {b: Polyharmonic(b).cpd_order for b in orders} == orders
    assert ThinPlate().cpd_order == 2
    assert Multiquadric().cpd_order == 1
    assert (Gaussian() + Multiquadric()).cpd_order == 1
    assert (ThinPlate() + 2 * (Multiquadric() + Gaussian())).cpd_order == 2
    assert all(isinstance(k.cpd_order, int) for k in ALL)


def test_strictness_of_composites():
    g, l, p = Gaussian(), Linear(), Polynomial(2, 1.0)
    strict = [g, g + l, l + g, g * p, p * g, 2 * g, g * g, ThinPlate() + l, (g + l) * (p + l)]
    not_strict = [l, p, l + p, g * l, 0 * g, 0 * g + l, g * Polynomial(2, 0.0), p * p, g * (0 * g)]
    assert all(k.strictly_pd is True for k in [*strict, np.float64(2) * g])
    assert all(k.strictly_pd is False for k in [*not_strict, np.float64(0) * g])
    assert (g * l)([[0.0], [1.0]])[0, 0] == 0  # why g * l is not


# ----------------------------------------------------------------------------------- algebra


@pytest.mark.interpreted
def test_sums_products_and_multiples_are_those_of_the_matrices():
    X, Z, c = sample(6, 2), sample(5, 2, seed=1), sample(5, 3, seed=2)
    k, l = Gaussian(1.5), Polynomial(2, 0.3)
    K, L = k(X, Z), l(X, Z)
    for kernel, matrix in [
        (k + l, K + L),
        (k * l, K * L),
        (2.5 * k, 2.5 * K),
        (k * 2.5, 2.5 * K),
        (np.float64(2.5) * k, 2.5 * K),
        (0 * k, 0 * K),
        (sum([k, l, k]), K + L + K),
        ((k + l) * k + 3 * l, (K + L) * K + 3 * L),
    ]:
        assert isinstance(kernel, Kernel)
        np.testing.assert_allclose(kernel(X, Z), matrix, rtol=1e-14)
        np.testing.assert_allclose(kernel.matvec(X, Z, c), matrix @ c, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X, X.copy())), rtol=1e-14)


def test_what_is_not_a_kernel_is_refused():
    k, t = Gaussian(), ThinPlate()
    for expression in (lambda: k * t, lambda: t * k, lambda: t * t, lambda: Product(k, 2 * t)):
        with pytest.raises(ValueError, match=r"only conditionally positive definite \(order 2\)"):
            expression()
    for expression in (lambda: -2 * k, lambda: k * float("nan"), lambda: Scaled(np.inf, k)):
        with pytest.raises(ValueError, match="factor must be finite and not negative; got"):
            expression()
    for expression in (lambda: -k, lambda: k - k, lambda: 1 - k):
        with pytest.raises(ValueError, match="not"):
            expression()
    for expression in (lambda: k + 1, lambda: 1 + k, lambda: k + "a", lambda: k + np.eye(2)):
        with pytest.raises(TypeError, match="cannot add"):
            expression()
    for expression in (lambda: k * "a", lambda: np.eye(2) * k, lambda: k * 1j):
        with pytest.raises(TypeError, match="cannot multiply"):
            expression()
    with pytest.raises(TypeError, match="right must be a kernel"):
        Sum(k, Gaussian)
    # An order that changes inside a product is noticed when the product is used.
    product = k * FunctionKernel(rbf_kernel)
    product.set_params(right__cpd_order=1)
    with pytest.raises(ValueError, match="right = FunctionKernel"):
        product([[1.0]])


# ------------------------------------------------------------------------------- at random


numbers = st.integers(-1000, 1000).map(lambda i: i / 64)


@st.composite
def kernels(draw, depth=2):
    width = draw(st.sampled_from([1e-6, 0.1, 1.0, 1e6]))
    leaf = draw(st.sampled_from([Gaussian, Laplacian, Matern, Multiquadric]))(width)
    leaf = draw(st.sampled_from([leaf, Linear(), Polynomial(2), ThinPlate(), Polyharmonic(3)]))
    if depth == 0:
        return leaf
    other = draw(kernels(depth - 1))
    how = draw(st.sampled_from(["leaf", "sum", "product", "scaled"]))
    if how == "product" and max(leaf.cpd_order, other.cpd_order) == 0:
        return leaf * other
    return {"sum": leaf + other, "scaled": 0.5 * other}.get(how, leaf)


@settings(max_examples=80, deadline=None)
@given(kernels(), st.integers(1, 6), st.sampled_from([1, 2, 17]), st.data())
def test_any_kernel_on_any_points(kernel, m, d, data):
    X = np.reshape(data.draw(st.lists(numbers, min_size=m * d, max_size=m * d)), (m, d))
    G = kernel(X)
    assert np.isfinite(G).all()
    assert np.array_equal(G, G.T)
    assert np.array_equal(np.diag(G), kernel.diag(X))
    N = null_space(naive.monomials(X, kernel.cpd_order - 1).T) if kernel.cpd_order else np.eye(m)
    if N.shape[1]:
        eigenvalues = np.linalg.eigvalsh(N.T @ G @ N)
        assert eigenvalues[0] >= -1e-9 * max(np.abs(G).max(), 1e-300)
    scale = np.abs(G).sum() + 1e-300
    np.testing.assert_allclose(kernel.matvec(X, None, np.ones(m)), G.sum(1), atol=1e-13 * scale)
    assert eval(repr(kernel), vars(kernelbook.kernels)) == kernel


def test_the_docstring_tells_the_truth():
    assert doctest.testmod(kernelbook.kernels).failed == 0

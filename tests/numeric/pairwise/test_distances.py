"""Distances against long double loops and SciPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from kernelbook.kernels import Gaussian, Laplacian
from kernelbook.numeric.pairwise import distances as module
from kernelbook.numeric.pairwise.distances import distances
from tests.naive import kernels as naive

U = 2.0**-53


def filled(fill, m, n):
    out = np.full((m, n), np.nan)
    with np.errstate(all="ignore"):  # interpreted, NumPy would warn of the overflows we repair
        fill(slice(0, m), slice(0, n), out)
    return out


def relative_error(K, exact):
    """The largest relative error; where the truth is 0, K must be 0."""
    exact = np.asarray(exact)
    assert np.array_equal(K == 0, exact == 0)
    return float(np.max(np.abs(K - exact) / np.where(exact == 0, 1, np.abs(exact)), initial=0.0))


@pytest.mark.interpreted
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 16, 17, 30])
def test_distances_agree_with_the_formula(d):
    rng = np.random.default_rng(d)
    X, Z = rng.normal(size=(7, d)), rng.normal(size=(5, d))
    exact = naive.matrix(naive.distance, X, Z)
    assert relative_error(filled(distances(X, Z), 7, 5), exact) < 20 * U
    assert relative_error(filled(distances(X, Z, squared=True), 7, 5), exact**2) < 40 * U


@pytest.mark.interpreted
@pytest.mark.parametrize("d", [2, 40])
def test_far_from_the_origin_nothing_cancels(d):
    rng = np.random.default_rng(0)
    X = 1e8 + rng.normal(size=(6, d))
    Z = 1e8 + rng.normal(size=(4, d))
    exact = naive.matrix(naive.distance, X, Z)
    assert relative_error(filled(distances(X, Z), 6, 4), exact) < 1e-14
    # The textbook formula has no correct digit left.
    textbook = (X**2).sum(1)[:, None] + (Z**2).sum(1) - 2 * X @ Z.T
    assert np.max(np.abs(textbook - exact**2) / exact**2) > 0.01


@pytest.mark.interpreted
@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("gap", [1e-3, 1e-8, 1e-12, 1e-15])
def test_near_coincidence_keeps_its_digits(d, gap):
    """Two tight clusters, far apart: the mean is of no help, the differences are."""
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(1, d)) + gap * rng.normal(size=(4, d)) for _ in range(2)])
    exact = naive.matrix(naive.distance, X, X)
    assert relative_error(filled(distances(X, X), 8, 8), exact) < 64 * (2 * d + 8) * U


@pytest.mark.parametrize("d", [1, 3, 17, 200])
def test_duplicates_are_at_distance_zero(d):
    X = np.repeat(np.random.default_rng(2).normal(size=(30, d)) + 1e3, 2, axis=0)
    D = filled(distances(X, X.copy()), 60, 60)
    assert np.array_equal(D == 0, np.kron(np.eye(30), np.ones((2, 2))) == 1)


def test_the_product_is_within_its_proven_error():
    """Correlated columns of very different size, in 300 dimensions, some rows nearly equal."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 300)) * 10.0 ** rng.uniform(-6, 6, size=300)
    X[60:] = X[:60] * (1 + 10.0 ** rng.uniform(-14, 0, size=(60, 1)))
    exact = cdist(X.astype(np.longdouble), X.astype(np.longdouble))
    assert relative_error(filled(distances(X, X), 120, 120), exact) < 64 * 608 * U


@pytest.mark.interpreted
@pytest.mark.parametrize("d", [1, 3, 18])
@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-160, 1e160, 1e300])
def test_squares_that_overflow_or_underflow_do_not_spoil_distances(d, size):
    rng = np.random.default_rng(4)
    X, Z = size * rng.uniform(1, 2, size=(4, d)), size * rng.uniform(-2, 2, size=(5, d))
    exact = naive.matrix(naive.distance, X, Z)  # long double has the range
    assert relative_error(filled(distances(X, Z), 4, 5), exact) < 1e-14


@pytest.mark.interpreted
@pytest.mark.parametrize("d", [1, 18])
def test_all_sizes_at_once(d):
    X = np.zeros((7, d))
    X[1:, 0] = [1e-320, 1e-200, 1e-20, 1.0, 1e200, -1e300]
    exact = naive.matrix(naive.distance, X, X)
    assert relative_error(filled(distances(X, X), 7, 7), exact) < 1e-14


@pytest.mark.parametrize("size", [1e154, 1e300])
def test_many_dimensions_and_means_that_overflow(size):
    X = size * np.random.default_rng(9).uniform(-1, 1, size=(300, 40))
    exact = cdist(X / size, X / size)
    np.testing.assert_allclose(Laplacian(size)(X), np.exp(-exact), rtol=1e-13)
    np.testing.assert_allclose(Gaussian(size)(X), np.exp(-(exact**2)), rtol=1e-12)


@st.composite
def point_sets(draw):
    d = draw(st.sampled_from([1, 2, 5, 17, 20]))
    m = draw(st.integers(1, 6))
    scale = 2.0 ** draw(st.integers(-900, 900))
    centre = 2.0 ** draw(st.integers(-20, 40))
    numbers = st.integers(-(2**20), 2**20).map(float)
    values = draw(st.lists(numbers, min_size=m * d, max_size=m * d))
    return scale * (centre + np.reshape(values, (m, d)))


@settings(max_examples=60, deadline=None)
@given(point_sets())
def test_distances_at_every_scale(X):
    m, d = X.shape
    exact = naive.matrix(naive.distance, X, X)
    assert relative_error(filled(distances(X, X), m, m), exact) < 64 * (2 * d + 8) * U


# ------------------------------------------------------------------- the kernels, one by one


@pytest.mark.interpreted
@pytest.mark.parametrize("d", [1, 4, 7])
def test_each_kernel_is_its_formula(d):
    rng = np.random.default_rng(d)
    A, B = rng.normal(size=(3, d)), rng.normal(size=(130, d))
    B[5] = A[1] + 1e-9  # the product loses all digits here
    exact = naive.matrix(naive.distance, A, B)
    out = np.empty((3, 130))
    module.square_differences(A, np.ascontiguousarray(B.T), out)
    assert relative_error(out, exact**2) < 40 * U
    module.roots(A, B, out)
    assert relative_error(out, exact) < 40 * U
    out[...] = A @ B.T
    module.product_to_squares(A, B, (A**2).sum(axis=1), (B**2).sum(axis=1), out)
    assert relative_error(out, exact**2) < 64 * (2 * d + 8) * U
    assert module.squared_distance(A[1], B[5]) == pytest.approx(float(exact[1, 5] ** 2), rel=1e-14)


@pytest.mark.interpreted
@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_a_scaled_distance_neither_overflows_nor_underflows(size):
    x, z = size * np.array([1.0, -2.0, 0.5]), size * np.array([-1.0, 0.0, 0.25])
    exact = naive.distance(x.astype(naive.LD), z.astype(naive.LD))
    assert module.scaled_distance(x, z) == pytest.approx(float(exact), rel=1e-15)
    assert module.scaled_distance(x, x) == 0.0

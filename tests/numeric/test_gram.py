"""Distances, exponentials and tiles, against long double loops and SciPy; the memory they use."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from kernelbook.kernels import Gaussian, Laplacian, Linear, ThinPlate, profiles
from kernelbook.numeric import gram
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


# ------------------------------------------------------------------------------- distances


@pytest.mark.interpreted
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 16, 17, 30])
def test_distances_agree_with_the_formula(d):
    rng = np.random.default_rng(d)
    X, Z = rng.normal(size=(7, d)), rng.normal(size=(5, d))
    exact = naive.matrix(naive.distance, X, Z)
    assert relative_error(filled(gram.distances(X, Z), 7, 5), exact) < 20 * U
    assert relative_error(filled(gram.distances(X, Z, squared=True), 7, 5), exact**2) < 40 * U


@pytest.mark.interpreted
@pytest.mark.parametrize("d", [2, 40])
def test_far_from_the_origin_nothing_cancels(d):
    rng = np.random.default_rng(0)
    X = 1e8 + rng.normal(size=(6, d))
    Z = 1e8 + rng.normal(size=(4, d))
    exact = naive.matrix(naive.distance, X, Z)
    assert relative_error(filled(gram.distances(X, Z), 6, 4), exact) < 1e-14
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
    assert relative_error(filled(gram.distances(X, X), 8, 8), exact) < 64 * (2 * d + 8) * U


@pytest.mark.parametrize("d", [1, 3, 17, 200])
def test_duplicates_are_at_distance_zero(d):
    X = np.repeat(np.random.default_rng(2).normal(size=(30, d)) + 1e3, 2, axis=0)
    D = filled(gram.distances(X, X.copy()), 60, 60)
    assert np.array_equal(D == 0, np.kron(np.eye(30), np.ones((2, 2))) == 1)


def test_the_product_is_within_its_proven_error():
    """Correlated columns of very different size, in 300 dimensions, some rows nearly equal."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 300)) * 10.0 ** rng.uniform(-6, 6, size=300)
    X[60:] = X[:60] * (1 + 10.0 ** rng.uniform(-14, 0, size=(60, 1)))
    exact = cdist(X.astype(np.longdouble), X.astype(np.longdouble))
    assert relative_error(filled(gram.distances(X, X), 120, 120), exact) < 64 * 608 * U


@pytest.mark.interpreted
@pytest.mark.parametrize("d", [1, 3, 18])
@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-160, 1e160, 1e300])
def test_squares_that_overflow_or_underflow_do_not_spoil_distances(d, size):
    rng = np.random.default_rng(4)
    X, Z = size * rng.uniform(1, 2, size=(4, d)), size * rng.uniform(-2, 2, size=(5, d))
    exact = naive.matrix(naive.distance, X, Z)  # long double has the range
    assert relative_error(filled(gram.distances(X, Z), 4, 5), exact) < 1e-14


@pytest.mark.interpreted
@pytest.mark.parametrize("d", [1, 18])
def test_all_sizes_at_once(d):
    X = np.zeros((7, d))
    X[1:, 0] = [1e-320, 1e-200, 1e-20, 1.0, 1e200, -1e300]
    exact = naive.matrix(naive.distance, X, X)
    assert relative_error(filled(gram.distances(X, X), 7, 7), exact) < 1e-14


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
    assert relative_error(filled(gram.distances(X, X), m, m), exact) < 64 * (2 * d + 8) * U


# ------------------------------------------------------------------------------ exponential


@pytest.mark.interpreted
def test_exp2_is_accurate_to_the_last_digits():
    y = -np.concatenate([np.linspace(0, 2, 201), np.linspace(2, 1022, 301), [1e-300, 0.5, 1.5]])
    exact = np.exp2(y.astype(np.longdouble))
    ours = np.array([profiles.exp2(v) for v in y])
    assert np.max(np.abs(ours - exact) / exact) < 4 * U


@pytest.mark.interpreted
def test_exp2_at_its_ends():
    assert profiles.exp2(0.0) == profiles.exp2(-0.0) == profiles.exp2(-1e-20) == 1.0
    assert profiles.exp2(-1022.0) == np.finfo(float).tiny
    assert profiles.exp2(-1022.0001) == profiles.exp2(-1e300) == profiles.exp2(-np.inf) == 0.0


@pytest.mark.interpreted
def test_a_nan_is_never_hidden():
    for profile, arguments in (
        (profiles.exponential, (1.0,)),
        (profiles.gaussian, (1.0,)),
        (profiles.matern, (1.0, 1.0, 1.0)),
        (profiles.multiquadric, (1.0,)),
        (profiles.polyharmonic, (2, 1.0, True)),
        (profiles.polyharmonic, (1, -1.0, False)),
        (profiles.shifted_power, (1.0, 3)),
    ):
        tile = np.array([[0.5, np.nan, 2.0, 1.0, 0.0]])
        with np.errstate(all="ignore"):
            profile(tile, *arguments)
        assert np.array_equal(np.isnan(tile), [[False, True, False, False, False]])
        assert not np.any(np.signbit(tile) & (tile == 0))


@pytest.mark.interpreted
def test_exp2_is_monotone_across_the_seams():
    y = np.sort(-np.abs(np.add.outer(np.arange(1, 6) / 2, np.arange(-40, 41) * 1e-3)).ravel())
    values = np.array([profiles.exp2(v) for v in y])
    assert np.all(np.diff(values[np.append(True, np.diff(y) > 1e-9)]) > 0)


@pytest.mark.interpreted
def test_power_is_the_power():
    for n in (1, 2, 3, 7, 100):
        assert profiles.power(1.01, n) == pytest.approx(1.01**n, rel=1e-13)
        assert profiles.power(-0.5, n) == (-0.5) ** n


@pytest.mark.interpreted
def test_all_finite_finds_what_is_not():
    block = np.full((3, 9), 1e308)
    assert gram.all_finite(block)
    for bad in (np.nan, np.inf, -np.inf):
        block[2, 4] = bad
        with np.errstate(invalid="ignore"):
            assert not gram.all_finite(block)


# ------------------------------------------------------------------------------------ tiles


@pytest.mark.interpreted
@pytest.mark.parametrize("shape", [(1, 1), (3, 8), (5, 7), (9, 17), (16, 24)])
def test_a_tile_and_its_mirror_image(shape):
    tile = np.random.default_rng(0).normal(size=shape)
    out = np.full((shape[1] + 1, shape[0] + 1), np.nan)
    gram.transpose(tile, out[1:, 1:])
    assert np.array_equal(out[1:, 1:], tile.T)
    assert np.isnan(out[0]).all()
    assert np.isnan(out[:, 0]).all()
    n = sum(shape) + 1
    square = np.zeros((n, n), dtype=np.float32)
    gram.place(tile.astype(np.float32), square, 1, shape[0] + 1)
    expected = np.zeros_like(square)
    expected[1 : shape[0] + 1, shape[0] + 1 :] = tile
    assert np.array_equal(square, expected + expected.T)


@pytest.mark.parametrize("m", [0, 1, 2, 255, 256, 257, 513, 700])
@pytest.mark.parametrize("n", [0, 1, 256, 700])
def test_tiles_cover_the_matrix(m, n):
    rng = np.random.default_rng(m + n)
    X, Z = rng.normal(size=(m, 3)), rng.normal(size=(n, 3))
    t = cdist(X, Z, "sqeuclidean")
    exact = np.exp(-t)
    k = Gaussian()
    # A relative error of a few u in t is an absolute one in the exponent.
    assert np.all(np.abs(k(X, Z) - exact) <= 10 * U * (1 + t) * exact)
    C = rng.normal(size=(n, 2))
    np.testing.assert_allclose(k.matvec(X, Z, C), exact @ C, rtol=0, atol=1e-12)
    assert k(X).shape == (m, m)


@pytest.mark.interpreted
@pytest.mark.parametrize(("m", "n", "d"), [(5, 3, 1), (3, 131, 6), (4, 0, 2), (0, 4, 2)])
def test_gaussian_sums_are_those_of_the_formula(m, n, d):
    """Every remainder of the strips of 128 points and of the columns by four."""
    rng = np.random.default_rng(m + n)
    X, Z, c = rng.normal(size=(m, d)), rng.normal(size=(n, d)), rng.normal(size=n)
    exact = naive.matrix(naive.gaussian(1.5), X, Z) @ c
    k = Gaussian(1.5)
    np.testing.assert_allclose(k.matvec(X, Z, c), exact.astype(float), atol=1e-13)
    np.testing.assert_allclose(k.gram_matvec(Z, c), k(Z) @ c, atol=1e-13)


@pytest.mark.parametrize("d", [3, 16, 40])
@pytest.mark.parametrize("kernel", [Gaussian(3.0), Laplacian(2.0), ThinPlate(), Linear()], ids=str)
def test_a_product_with_the_gram_matrix_is_that_of_the_matrix(kernel, d):
    rng = np.random.default_rng(d)
    X, C = rng.normal(size=(700, d)), rng.normal(size=(700, 2))
    expected = kernel(X) @ C
    size = np.abs(expected).max()
    np.testing.assert_allclose(kernel.gram_matvec(X, C), expected, atol=1e-12 * size)
    np.testing.assert_allclose(kernel.gram_matvec(X, C[:, 0]), expected[:, 0], atol=1e-12 * size)
    np.testing.assert_allclose(
        kernel.matvec(X, X.copy(), C[:, 0]), expected[:, 0], atol=1e-12 * size
    )


def test_gaussian_sums_at_absurd_scales():
    X = np.random.default_rng(0).normal(size=(200, 3))
    c = np.ones(200)
    for width in (1e-200, 1e-3, 1e3, 1e200):
        k = Gaussian(width)
        np.testing.assert_allclose(k.gram_matvec(width * X, c), Gaussian()(X) @ c, rtol=1e-12)
        np.testing.assert_allclose(k.matvec(1e100 * X, 1e100 * X, c), k(1e100 * X) @ c, rtol=1e-12)
    with pytest.raises(ValueError, match="Scale"):
        Gaussian().gram_matvec(np.full((2, 1), 1e305), np.ones(2))


def test_a_kernel_derived_from_a_gaussian_has_no_gaussian_sums():
    class Twice(Gaussian):
        def _fill(self, X, Z):
            fill = super()._fill(X, Z)

            def doubled(rows, cols, out):
                fill(rows, cols, out)
                out *= 2.0

            return doubled

    X, c = np.random.default_rng(0).normal(size=(50, 2)), np.ones(50)
    np.testing.assert_allclose(Twice().gram_matvec(X, c), 2 * Gaussian()(X) @ c, rtol=1e-13)
    np.testing.assert_allclose(Twice().matvec(X, X[:9], c[:9]), 2 * Gaussian()(X, X[:9]) @ c[:9])


@pytest.mark.parametrize("d", [2, 50, 300])
@pytest.mark.parametrize("kernel", [Gaussian(3.0), Laplacian(2.0), ThinPlate(), Linear()], ids=str)
def test_the_gram_matrix_is_exactly_symmetric(kernel, d):
    X = np.random.default_rng(d).normal(size=(600, d))
    G = kernel(X)
    assert np.array_equal(G, G.T)
    assert np.array_equal(np.diag(G), kernel.diag(X))
    # Computing the other half instead changes nothing but roundings.
    np.testing.assert_allclose(G, kernel(X, X.copy()), rtol=1e-12, atol=1e-12)


def test_the_number_of_threads_hardly_matters(monkeypatch):
    X = np.random.default_rng(5).normal(size=(900, 30))
    c = np.random.default_rng(6).normal(size=900)
    k = Gaussian(5.0)
    G, v = k(X), k.matvec(X, None, c)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    # BLAS chooses other kernels with other thread counts, so Gram products agree to rounding.
    np.testing.assert_allclose(k(X), G, rtol=1e-13)
    np.testing.assert_allclose(k.matvec(X, None, c), v, rtol=1e-12, atol=1e-12)
    low = X[:, :3].copy()
    one = k(low)
    monkeypatch.delenv("NUMBA_NUM_THREADS")
    assert np.array_equal(k(low), one)


def test_several_threads_may_evaluate_at_once():
    X = np.random.default_rng(7).normal(size=(600, 4))
    k = Gaussian(2.0)
    expected = k(X)
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(G, expected) for G in pool.map(lambda _: k(X), range(8)))


def peak_of(function):
    tracemalloc.start()
    try:
        result = function()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("d", [3, 40])
def test_no_second_matrix_in_memory(d):
    X = np.random.default_rng(8).normal(size=(2000, d))
    k = 2.0 * Gaussian(2.0) + Laplacian(1.0)
    k(X[:300])  # compile
    peak, G = peak_of(lambda: k(X))
    assert peak < 1.3 * G.nbytes
    peak, _ = peak_of(lambda: k.matvec(X, X[::-1].copy(), X[:, 0]))
    assert peak < 0.4 * G.nbytes

"""Gram matrices by tiles, and products without them: the numbers, threads, memory."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kernelbook.kernels import Gaussian, Laplacian, Linear, ThinPlate
from kernelbook.numeric import tiles

U = 2.0**-53


@pytest.mark.interpreted
def test_all_finite_finds_what_is_not():
    block = np.full((3, 9), 1e308)
    assert tiles.all_finite(block)
    for bad in (np.nan, np.inf, -np.inf):
        block[2, 4] = bad
        with np.errstate(invalid="ignore"):
            assert not tiles.all_finite(block)


@pytest.mark.interpreted
@pytest.mark.parametrize("shape", [(1, 1), (3, 8), (5, 7), (9, 17), (16, 24)])
def test_a_tile_and_its_mirror_image(shape):
    tile = np.random.default_rng(0).normal(size=shape)
    out = np.full((shape[1] + 1, shape[0] + 1), np.nan)
    tiles.transpose(tile, out[1:, 1:])
    assert np.array_equal(out[1:, 1:], tile.T)
    assert np.isnan(out[0]).all()
    assert np.isnan(out[:, 0]).all()
    n = sum(shape) + 1
    square = np.zeros((n, n), dtype=np.float32)
    tiles.scatter(tile.astype(np.float32), square, 1, shape[0] + 1)
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


@pytest.mark.interpreted
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 20])
def test_a_mirrored_block_is_its_upper_half_twice(n):
    block = np.random.default_rng(n).normal(size=(n, n))
    upper = np.triu(block)
    tiles.mirror(block)
    assert np.array_equal(block, upper + np.triu(upper, 1).T)

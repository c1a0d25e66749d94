"""From any basis to an orthonormal one: three ways, ranks, what is dropped, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from kernelbook.bases import FunctionBasis, GaussianBasis, KernelBasis
from kernelbook.bases.orthonormal import orthonormalize
from kernelbook.kernels import Gaussian
from tests.naive.primal import gram_schmidt

METHODS = ["cholesky", "gram-schmidt", "eigen"]


def points(seed=0, n=30, d=2):
    return np.random.default_rng(seed).normal(size=(n, d))


def functions(G):
    """A basis with Gram matrix G whose values nobody asks for."""
    return FunctionBasis(lambda X: np.ones((len(X), len(G))), G)


def random_gram(seed, M, rank=None, scales=0.0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(M, rank or M + 5)) * 10.0 ** rng.uniform(-scales, scales, size=(M, 1))
    return A @ A.T


@pytest.mark.parametrize("method", METHODS)
@given(seed=st.integers(0, 10**6), M=st.integers(1, 15))
@settings(max_examples=25, deadline=None)
def test_orthonormal(method, seed, M):
    G = random_gram(seed, M)
    e = orthonormalize(functions(G), method)
    assert e.rank == M
    assert np.abs(e.T.T @ G @ e.T - np.eye(M)).max() < 1e-9
    assert e.dropped.size == e.remainder.size == 0


@pytest.mark.parametrize("method", METHODS)
@given(seed=st.integers(0, 10**6), M=st.integers(3, 15), rank=st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_the_rank_is_found_whatever_the_units(method, seed, M, rank):
    G = random_gram(seed, M, rank, scales=5.0)
    e = orthonormalize(functions(G), method, rtol=1e-10)
    assert e.rank == rank
    assert e.remainder.size == M - rank
    assert e.remainder.max(initial=0.0) < 1e-10
    assert f"rank {rank}" in repr(e)
    if method != "eigen":
        assert sorted([*e.kept, *e.dropped]) == list(range(M))
    # Every function, dropped or not, is in the span: G = G T Tᵀ G.
    rebuilt = G @ e.T @ e.T.T @ G
    size = np.sqrt(np.outer(G.diagonal(), G.diagonal()))
    assert np.abs((rebuilt - G) / size).max() < 1e-8


def test_gram_schmidt_is_the_papers_in_the_order_of_the_pivots():
    G = rbf_kernel(points(n=12), gamma=0.5)
    for method in ("cholesky", "gram-schmidt"):
        e = orthonormalize(functions(G), method)
        T = gram_schmidt(G[np.ix_(e.kept, e.kept)])
        assert np.abs(e.T[e.kept] - T).max() < 1e-6 * np.abs(T).max()


def test_at_the_data_the_coordinates_are_a_cholesky_factor():
    X = points()
    basis = KernelBasis(Gaussian(0.5)).fit(X)
    e = orthonormalize(basis)
    L = e.evaluate(X)[e.kept]
    assert np.abs(np.triu(L, 1)).max() < 1e-9
    assert np.abs(L @ L.T - basis.gram()[np.ix_(e.kept, e.kept)]).max() < 1e-13


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("width", [0.1, 1.0, 20.0])
def test_primal_coordinates_reproduce_the_kernel_matrix(method, width):
    X = np.vstack([points(n=60), points(n=5)])  # the last five are duplicates
    basis = KernelBasis(Gaussian(width)).fit(X)
    e = orthonormalize(basis, method)
    x = e.evaluate(X)
    assert e.rank <= 60
    assert np.abs(x @ x.T - basis.gram()).max() < 1e-12
    assert e.visible(basis.evaluate(X)) < 1e-5


def test_stopping_early_is_nystroem():
    X = points(n=80)
    basis = KernelBasis(Gaussian(1.0)).fit(X)
    e = orthonormalize(basis, rtol=1e-2)
    K, Z = basis.gram(), X[e.kept]
    nystroem = Gaussian(1.0)(X, Z) @ np.linalg.solve(Gaussian(1.0)(Z), Gaussian(1.0)(Z, X))
    x = e.evaluate(X)
    assert e.rank < 80
    assert np.abs(x @ x.T - nystroem).max() < 1e-10
    assert abs((K - x @ x.T).diagonal().max() - e.remainder.max()) < 1e-12
    assert e.remainder.max() <= 1e-2


def test_what_is_dropped_can_still_be_seen_when_samples_enter_by_values():
    X = points(n=60)
    wide = GaussianBasis(widths=3.0).fit(X)
    e = orthonormalize(wide)
    assert e.rank < 60
    assert e.visible(wide.evaluate(X)) > 1e-2
    inner = GaussianBasis(widths=3.0, reading="inner_product").fit(X)
    assert orthonormalize(inner).visible(inner.evaluate(X)) < 1e-5
    twice = GaussianBasis(np.vstack([X[:20], X[:20]]), 0.1)  # duplicates hide nothing
    assert orthonormalize(twice).rank == 20
    assert orthonormalize(twice).visible(twice.evaluate(X)) < 1e-5


@pytest.mark.parametrize("method", METHODS)
def test_coefficients_and_combinations(method):
    X, Z = points(), points(1, 9)
    basis = KernelBasis(Gaussian(1.0)).fit(X)
    e = orthonormalize(basis, method, rtol=1e-6)
    W = np.random.default_rng(0).normal(size=(e.rank, 3))
    for w in (W, W[:, 0]):
        assert np.abs(e.combine(Z, w) - e.evaluate(Z) @ w).max() < 1e-8
        assert e.coefficients(w).shape == (30, *w.shape[1:])
    assert np.array_equal(e.gram(), np.eye(e.rank))


@pytest.mark.parametrize("method", METHODS)
def test_a_matrix_of_no_inner_product_is_refused(method):
    for G in ([[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.0], [0.0, -1.0]], np.zeros((2, 2))):
        with pytest.raises(ValueError, match="Gram matrix"):
            orthonormalize(functions(np.array(G)), method)
    zero = orthonormalize(functions(np.diag([1.0, 0.0, 4.0])), method)
    assert zero.rank == 2


def test_arguments_of_orthonormalize():
    with pytest.raises(ValueError, match="'qr'"):
        orthonormalize(functions(np.eye(2)), "qr")
    for rtol in (-1.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="rtol"):
            orthonormalize(functions(np.eye(2)), rtol=rtol)

"""What the solver for large samples keeps of the Gram matrix, in single precision."""

import numpy as np
import pytest

from kernelbook import Gaussian, Matern
from kernelbook.numeric.pairwise import profiles
from kernelbook.solvers.svm.large.lanes import compute_rows
from kernelbook.solvers.svm.large.state import state_at_zero
from kernelbook.solvers.svm.problem import KernelSource, pose


@pytest.mark.interpreted
def test_exponential_in_single_precision():
    t = -np.concatenate([np.linspace(0, 126, 1001), [126.5, 200.0, 1e6, np.inf]])[None]
    out = np.empty(t.shape, dtype=np.float32)
    profiles.exp2_single(t, out)
    normal = t > -126
    np.testing.assert_allclose(out[normal], 2.0 ** t[normal], rtol=1.3e-7)
    assert np.all(out[t < -126] == 0)
    assert out[0, 0] == 1


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Gaussian(1e-3), Gaussian(1e-6), Matern(1.0)])
def test_gram_in_single_precision(kernel):
    X = np.random.default_rng(0).normal(size=(530, 5))
    out = np.full((530, 600), np.nan, dtype=np.float32)
    kernel.single(X, out)
    np.testing.assert_allclose(out[:, :530], kernel(X), rtol=1.3e-7, atol=1e-37)
    np.testing.assert_array_equal(out[:, :530], out[:, :530].T)
    assert np.all(out[:, 530:] == 0)
    np.testing.assert_array_equal(kernel.single(X), out[:, :530])


@pytest.mark.parametrize("d", [3, 30])
@pytest.mark.parametrize("known", [False, True])
def test_a_shrunk_problem_has_its_part_of_the_matrix(d, known):
    """Rows are computed again in few dimensions; in more they are copied, if all are there."""
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(200, d)), np.array([3, 7, 40, 150, 199])
    P, y = np.column_stack([np.ones(200), X[:, 0]]), np.where(X[:, 1] > 0, 1.0, -1.0)
    kernel, dual = Gaussian(d**0.5), pose(P, y, np.full(200, 2.0), 1.0)
    state, Q = state_at_zero(KernelSource(kernel, X), dual), dual.Q
    if known:
        state.fill()
    G = state.part(rows)
    assert (G.count[0] == 0) == (d == 3)
    compute_rows(G, np.arange(5))
    expected = kernel(X[rows]) + state.rho * np.outer(Q[rows, 1], Q[rows, 1])
    np.testing.assert_allclose(G.rows[G.slot][:, :5], expected, atol=1e-5)
    np.testing.assert_allclose(G.diag[0, :5], expected.diagonal(), atol=1e-5)


@pytest.mark.interpreted
def test_exponential_of_singles():
    t = -np.concatenate([np.linspace(0, 126, 1001), [126.5, 200.0, 1e6]]).astype(np.float32)[None]
    exact, out = 2.0 ** t.astype(np.float64), t.copy()
    profiles.exp2_of_singles(out)
    normal = t > -126
    np.testing.assert_allclose(out[normal], exact[normal], rtol=1.3e-7)
    assert np.all(out[t < -126] == 0)


@pytest.mark.parametrize(("d", "width", "rtol"), [(32, 6.0, 1.3e-7), (100, 10.0, 1e-5)])
def test_in_many_dimensions_the_matrix_to_search_with_is_coarser(d, width, rtol):
    X, kernel = np.random.default_rng(1).normal(size=(300, d)), Gaussian(width)
    single = kernel.single(X)
    np.testing.assert_array_equal(single, single.T)
    error = np.abs(single / kernel(X) - 1.0).max()
    assert error < rtol
    assert (error > 1.3e-7) == (d > 32)


def test_where_single_precision_would_lose_digits_it_is_not_used():
    """Far apart for the width, exponents are large: a float32 would have no fraction of them."""
    X, kernel = np.random.default_rng(2).normal(size=(300, 100)), Gaussian(1.0)
    exact = kernel(X)
    seen = exact > 1e-30
    np.testing.assert_allclose(kernel.single(X)[seen], exact[seen], rtol=1.3e-7)

"""The kernel matrix of a pair of classes: its rows are those of the matrix that was cut."""

import numpy as np
import pytest

from kernelbook.solvers.svm.pairs.blocks import assembled, diagonal, fetch, pair_matrix, times
from tests.samples.svm import cut, problem

CUTS = [0, 1, 11, 29, 30, None]
"""Of 30 samples, how many are of the first class; None: all in one piece."""


def lopsided(n, seed=0):
    """A symmetric matrix no two of whose entries are alike, so that none can stand for another."""
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A + A.T


@pytest.mark.interpreted
@pytest.mark.parametrize("p", CUTS)
def test_products_with_a_matrix_in_blocks(p):
    K, _, y, _ = problem(30, 1, 0)
    memory = np.full(1000, np.nan)
    some = cut(K, p, memory)
    for count in (0, 3, 4, 30):
        x, out = np.where(np.arange(30) < count, y, 0.0), np.empty(30)
        times(some, x, out)
        np.testing.assert_allclose(out, K @ x, atol=1e-13)
        if p is not None:
            np.testing.assert_array_equal(some.slot >= 0, x != 0)  # no row that was not needed
    np.testing.assert_array_equal(some.rows[some.slot[7]], K[7])
    assert np.shares_memory(some.rows, K if p is None else memory)


@pytest.mark.interpreted
@pytest.mark.parametrize("scattered", [[], [29], [3, 8, 8, 21, 3], [28, 0, 11, 10, 12, 29, 1]])
@pytest.mark.parametrize("p", CUTS)
def test_products_where_few_are_not_zero(p, scattered):
    """Every remainder of four, on both sides of the cut."""
    K, x = lopsided(30), np.zeros(30)
    x[scattered] = np.random.default_rng(1).normal(size=len(scattered))
    out = np.full(30, np.nan)
    times(cut(K, p), x, out)
    np.testing.assert_allclose(out, K @ x, atol=1e-13)


@pytest.mark.interpreted
@pytest.mark.parametrize("p", CUTS[:-1])
def test_rows_are_put_together_once_in_the_order_in_which_they_are_asked_for(p):
    K, memory = lopsided(30), np.full(900, np.nan)
    some = cut(K, p, memory)
    fetch(some, np.empty(0, dtype=np.int64))
    assert some.count[0] == 0
    assert np.all(some.slot == -1)
    fetch(some, np.array([28, 2, 28]))
    fetch(some, np.array([2, 11]))
    np.testing.assert_array_equal(some.slot[[28, 2, 11]], [0, 1, 2])
    assert some.count[0] == np.count_nonzero(some.slot >= 0) == 3
    np.testing.assert_array_equal(memory[:90].reshape(3, 30), K[[28, 2, 11]])
    assert np.isnan(memory[90:]).all()  # nothing was written that nobody asked for
    some.rows[1] = 7.0
    fetch(some, np.arange(30))  # who is there is left alone
    assert np.all(some.rows[1] == 7.0)
    rest = np.arange(30) != 2
    np.testing.assert_array_equal(some.rows[some.slot[rest]], K[rest])


def test_memory_is_passed_on_from_problem_to_problem():
    """A larger one, a smaller one and again a larger one: each sees its own rows only."""
    memory = np.full(40**2, np.nan)
    for seed, (n, p) in enumerate([(40, 15), (9, 4), (31, 30)]):
        K = lopsided(n, seed)
        some = cut(K, p, memory)
        assert np.shares_memory(some.rows, memory)
        assert some.rows.shape == (n, n)
        assert some.count[0] == 0
        fetch(some, np.arange(n)[::-1].copy())
        np.testing.assert_array_equal(some.rows[some.slot], K)
    fresh = cut(K, 30)
    assert not np.shares_memory(fresh.rows, memory)


def test_the_classes_change_places():
    K = lopsided(12)
    A, B, D = K[:5, :5].copy(), K[:5, 5:].copy(), K[5:, 5:].copy()
    backwards = pair_matrix(D, B.T.copy(), A)
    order = np.roll(np.arange(12), -5)
    fetch(backwards, np.arange(12))
    np.testing.assert_array_equal(backwards.rows, K[np.ix_(order, order)])


@pytest.mark.interpreted
@pytest.mark.parametrize("p", CUTS)
def test_the_diagonal_and_the_whole(p):
    K = lopsided(30)
    some = cut(K, p)
    assert [diagonal(some, i) for i in range(30)] == K.diagonal().tolist()
    np.testing.assert_array_equal(assembled(some), K)
    assert p is None or some.count[0] == 0  # neither needs a row


def test_a_matrix_in_one_piece_is_not_copied():
    K = lopsided(30)
    whole = pair_matrix(K)
    assert whole.A is K
    assert whole.rows is K
    fetch(whole, np.arange(30)[::-1].copy())
    np.testing.assert_array_equal(whole.slot, np.arange(30))
    assert whole.count[0] == 30
    assert whole.B.shape == (30, 0)
    assert whole.D.shape == (0, 0)


def test_blocks_are_not_copied():
    A, B, D = np.eye(3), np.ones((3, 2)), np.eye(2)
    some = pair_matrix(A, B, D)
    assert some.A is A
    assert some.B is B
    assert some.D is D


def test_what_the_compiled_code_does_not_take_is_copied():
    """Read-only, or column by column: a second version would be compiled for each."""
    K = lopsided(10)
    kept = K.copy()
    kept.flags.writeable = False
    for other in (kept, np.asfortranarray(K + np.triu(K, 1))):
        whole = pair_matrix(other)
        np.testing.assert_array_equal(whole.rows, other)
        assert whole.rows.flags.c_contiguous
        assert whole.rows.flags.writeable
        assert not np.shares_memory(whole.rows, other)

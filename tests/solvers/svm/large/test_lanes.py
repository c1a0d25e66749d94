"""Rows in lanes: each compiled loop beside the plain expression that it computes."""

import numpy as np
import pytest

from kernelbook.solvers.svm.large import lanes
from kernelbook.solvers.svm.large.lanes import LANES, padded, unknown_matrix
from tests.naive import svm as naive
from tests.samples.svm import cut, problem


def points(m, d, l, seed=0):
    rng = np.random.default_rng(seed)
    Z, A = rng.normal(size=(m, d)), rng.normal(size=(m, l))
    return Z, A, unknown_matrix(1.0 + (A * A).sum(axis=1), m, Z, A)


@pytest.mark.interpreted
@pytest.mark.parametrize("p", [0, 17, 50])
def test_a_row_is_copied_from_blocks_in_double_precision(p):
    K, *_ = problem(50, 1, 0)
    row = np.full((padded(50) // LANES, LANES), np.nan, np.float32)
    for i in (0, 16, 17, 49):
        lanes._copy_row(cut(K, p) if p else cut(K, 50), i, row)
        np.testing.assert_array_equal(row.ravel()[:50], K[i].astype(np.float32))
        assert not row.ravel()[50:].any()


@pytest.mark.interpreted
@pytest.mark.parametrize("d", [1, 4, 7])
def test_a_row_of_a_gaussian_is_that_of_its_naive_twin(d):
    Z, A, G = points(150, d, 0)
    row, work = np.empty((2, LANES), np.float32), np.empty(LANES, np.float32)
    for i in (0, 149):
        lanes._gaussian_row(G.Z, i, work, row)
        np.testing.assert_allclose(row.ravel()[:150], naive.gaussian_row(Z, A, i), atol=3e-7)
        assert not row.ravel()[150:].any()


@pytest.mark.interpreted
def test_an_assembled_row_has_its_penalty_and_the_next_slot():
    Z, A, G = points(150, 3, 2)
    for place, i in enumerate((149, 0)):
        lanes.assemble_row(G, i, np.empty(LANES, np.float32))
        assert G.slot[i] == place
        np.testing.assert_allclose(
            G.rows[place][:150], naive.gaussian_row(Z, A, i), atol=1e-6, rtol=1e-6
        )
        assert G.rows[place][i] == np.float32(1.0 + A[i] @ A[i])
    np.testing.assert_array_equal(G.count, [2, 148])


@pytest.mark.interpreted
def test_rows_of_a_subset_are_gathered_and_padded():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(9, padded(9))).astype(np.float32)
    rows, chosen = np.array([4, 0, 7], np.uint64), np.array([1, 8, 3], np.uint64)
    out = np.full((3, padded(3)), np.nan, np.float32)
    lanes._gather_rows(K, rows, chosen, 0, 2, out)
    np.testing.assert_array_equal(out[:2, :3], K[np.ix_([4, 0], [1, 8, 3])])
    assert not out[:2, 3:].any()
    assert np.isnan(out[2]).all()  # another thread's row


@pytest.mark.interpreted
@pytest.mark.parametrize("n", [0, 1, 4, 7])
def test_weighted_rows_are_subtracted(n):
    rng = np.random.default_rng(n)
    K, v, d = rng.normal(size=(9, 40)).astype(np.float32), rng.normal(size=40), rng.normal(size=n)
    rows = rng.choice(9, n, replace=False).astype(np.uint64)
    expected = v - d @ K[rows]
    lanes._subtract_rows(K, rows, d, v)
    np.testing.assert_allclose(v, expected, atol=1e-12)

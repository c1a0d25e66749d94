"""Rows of dense and sparse matrices, against NumPy."""

import numpy as np
import pytest
from scipy import sparse

from kernelbook.numeric import rows as module


@pytest.mark.interpreted
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_each_kernel_is_its_formula(kind):
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(6, 5)) * (rng.uniform(size=(6, 5)) < 0.5)
    rows, v = module.as_rows(kind(dense)), rng.normal(size=5)
    for i in range(6):
        assert module.dot_row(rows, i, v) == pytest.approx(dense[i] @ v, rel=1e-13, abs=1e-15)
        w = v.copy()
        module.add_row(rows, i, 2.0, w)
        np.testing.assert_allclose(w, v + 2.0 * dense[i], rtol=1e-14)
    np.testing.assert_allclose(module.row_squares(kind(dense)), (dense**2).sum(axis=1), rtol=1e-14)


@pytest.mark.interpreted
def test_sums_of_squares_of_sparse_rows():
    dense = np.array([[0.0, 3.0, 4.0], [0.0, 0.0, 0.0], [1.0, 0.0, -1.0]])
    out = np.full(3, np.nan)
    module.sum_squares(module.as_rows(sparse.csr_array(dense)), out)
    assert out.tolist() == [25.0, 0.0, 2.0]

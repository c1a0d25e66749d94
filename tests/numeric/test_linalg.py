"""Columns, units, and factors that survive rounding."""

import numpy as np
import pytest

from kernelbook.numeric import linalg

RNG = np.random.default_rng(0)


def test_norms_are_those_of_the_columns():
    A = RNG.normal(size=(7, 3))
    np.testing.assert_allclose(linalg.norms(A), np.linalg.norm(A, axis=0))
    np.testing.assert_allclose(linalg.squared_norms(A), np.sum(A * A, axis=0))


def test_powers_of_two():
    x = np.array([0.0, 1.0, 1.5, 2.0, 3e-320, 1.7e308])
    unit = linalg.power_of_two(x)
    assert unit[0] == 1.0
    assert np.all((unit[1:] <= x[1:]) & (x[1:] / 2.0 < unit[1:]))
    assert np.all(np.frexp(unit)[0] == 0.5)


def test_what_is_projected_out_is_gone_to_rounding():
    Q = np.linalg.qr(RNG.normal(size=(30, 4)))[0]
    Y = Q @ RNG.normal(size=(4, 2)) * 1e8 + RNG.normal(size=(30, 2))
    left = linalg.project_out(Q, Y)
    assert np.abs(Q.T @ left).max() < 1e-15 * linalg.norms(left).max() * 10
    assert not linalg.project_out(np.eye(3), np.ones((3, 1))).any()


def test_a_factor_is_shifted_no_more_than_rounding_asks():
    A = RNG.normal(size=(6, 6))
    A = A @ A.T
    factor, lower = linalg.cholesky_shifted(A, 0.5, 1e-16)
    L = np.tril(factor)
    assert lower
    np.testing.assert_allclose(L @ L.T, A + 0.5 * np.eye(6))
    singular = np.ones((4, 4)) - 1e-14 * np.eye(4)
    L = np.tril(linalg.cholesky_shifted(singular, 0.0, 1e-14)[0])
    np.testing.assert_allclose(L @ L.T, singular, atol=1.1e-11)
    with pytest.raises(ValueError, match="not positive definite"):
        linalg.cholesky_shifted(-np.eye(3), 0.0, 1e-16)


def test_a_symmetric_copy_is_symmetric_or_refused():
    A = RNG.normal(size=(1100, 1100))
    A = A + A.T
    copy = linalg.symmetric_copy(A + 1e-9 * RNG.normal(size=A.shape))
    np.testing.assert_array_equal(copy, copy.T)
    np.testing.assert_allclose(copy, A, atol=1e-8)
    with pytest.raises(ValueError, match="not symmetric"):
        linalg.symmetric_copy(A + np.triu(np.ones_like(A), 1))


def test_single_precision_is_recognized():
    A = RNG.normal(size=(20, 20))
    assert linalg.rounding_of(A) < 1e-13
    assert 1e-8 < linalg.rounding_of(A.astype(np.float32).astype(float)) < 1e-6

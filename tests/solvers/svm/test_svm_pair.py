"""A pair of classes with a bias, in one compiled call: its pieces, and what it proves."""

import numpy as np
import pytest

from kernelbook.solvers.svm.certificate import certify, violation
from kernelbook.solvers.svm.pair import (
    START,
    by_pairs,
    extremes,
    one_number,
    solve_with_constant,
)
from kernelbook.solvers.svm.robust import solve_robust
from kernelbook.solvers.svm.small import _span
from kernelbook.solvers.svm.smo import move_pair
from tests.naive import svm as naive
from tests.samples.svm import box, cut, problem


@pytest.mark.interpreted
@pytest.mark.parametrize("l", [1, 3])
@pytest.mark.parametrize("p", [0, 25, 60, None])
def test_descent_by_pairs_comes_down_to_its_start(l, p):
    """Against the naive twin where there is one feature, against the definition where not."""
    K, P, y, C = problem(60, l, 2, C=2.0)
    Q, T, has_constant = _span(P)
    assert has_constant
    lo, hi = box(y, C)
    rho = 0.0 if l == 1 else 60 / (l - 1)
    beta, nu, steps, reached = by_pairs(cut(K, p), Q, rho, y, lo, hi)
    assert reached
    assert abs(beta.sum()) < 1e-12
    assert violation(beta, y - K @ beta - Q @ nu, lo, hi) < (1.01 if l == 1 else 3) * START
    np.testing.assert_allclose(P @ (T @ nu), Q @ nu, atol=1e-12)
    if l == 1:
        single = K.astype(np.float32).astype(float)
        twin, _, used, _ = naive.smo_pairs(single, lo, hi, np.zeros(60), y, START, 1000)
        assert steps == used
        np.testing.assert_allclose(beta, twin, atol=1e-5)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("t", "expected"),
    [(0.25, (0.25, -0.25)), (2.0, (1.0, -1.0)), (0.75, (0.75, -0.75)), (1.0, (1.0, -1.0))],
)
def test_a_pair_moves_as_far_as_the_box_allows(t, expected):
    lo, hi, beta = np.array([0.0, -1.0]), np.array([1.0, 0.0]), np.zeros(2)
    assert move_pair(lo, hi, beta, 0, 1, t) == expected[0]
    np.testing.assert_array_equal(beta, expected)


@pytest.mark.interpreted
def test_extremes_and_constants():
    K = np.diag([2.0, 5.0, 3.0])
    for p in (0, 1, 2, 3, None):
        assert extremes(cut(K, p), np.array([3.0, 1.0, 2.0])) == (5.0, 1.0, 3.0)
    assert [one_number(np.array(x)) for x in ([2.0, 2.0], [2.0, 3.0], [0.0, 0.0])] == [1, 0, 0]


@pytest.mark.parametrize("value", [1.0, -0.3])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("p", [0, 1, 35, None])
def test_one_call_from_zero_to_proof_proves_what_certify_does(value, C, p):
    """The only feature is a constant; the steps in between are tested one by one above."""
    K, _, y, C = problem(90, 1, 5, C=C)
    P = np.full((90, 1), value)
    args = P, y, C, 1e-3, None
    ours = solve_with_constant(cut(K, p, np.full(90**2 + 7, np.nan)), *args)
    proof = certify(K @ ours.beta, P, y, C, ours.beta, ours.coef, 1.0)
    assert ours.certificate.primal == pytest.approx(proof.primal, rel=1e-12)
    assert ours.certificate.gap == pytest.approx(proof.gap, abs=1e-9 * proof.primal)
    assert ours.certificate.kkt == pytest.approx(proof.kkt, abs=1e-11)
    assert max(ours.certificate.constraint, proof.constraint) < 1e-14
    exact = solve_robust(K, P, y, C)
    np.testing.assert_allclose(ours.coef, exact.coef, atol=1e-9)
    np.testing.assert_allclose(ours.beta, exact.beta, atol=1e-8 * C[0])
    # Without memory of its own; and what it leaves to others.
    np.testing.assert_array_equal(solve_with_constant(cut(K, p), *args).beta, ours.beta)
    slope = P + np.linspace(0.0, 1.0, 90)[:, None]
    none_free = np.full(90, 1e-4)  # then the mean of the biases is that of no sample
    y_even = np.where(np.arange(90) % 2, 1.0, -1.0)
    for unit, *other in (
        (1e20, *args),
        (1.0, slope, *args[1:]),
        (1.0, P, y_even, none_free, *args[3:]),
    ):
        assert solve_with_constant(cut(unit * K, p), *other) is None
    # A gap that rounding allows only by chance: there is a solution, or none, but no false one.
    strict = solve_with_constant(cut(K, p), *args[:-1], 1e-30)
    assert strict is None or strict.certificate.relative_gap <= 1e-30

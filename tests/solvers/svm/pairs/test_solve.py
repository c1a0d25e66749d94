"""The compiled solver for pairs of classes, as a whole, against others.

What it accepts is proved by `certify`, in double precision, as everywhere; so the tests ask whether
the answer is the right one, and whether it refuses what it must not accept.  Its pieces are tested
in test_blocks, test_active_set and tests/solvers/svm/test_certificate.
"""

import tracemalloc

import numpy as np
import pytest

from kernelbook.solvers.svm.certificate import Tolerance, violation
from kernelbook.solvers.svm.pairs.active_set import newton_small
from kernelbook.solvers.svm.pairs.blocks import pair_matrix
from kernelbook.solvers.svm.pairs.solve import (
    NEWTON_HANDOVER,
    _smo_and_newton,
    newton_and_product,
    smo_from_zero,
    solve_pair,
)
from kernelbook.solvers.svm.problem import pose, prepare
from kernelbook.solvers.svm.smo import augmented_smo, move_pair
from kernelbook.solvers.svm.solve import Relay, solve_robust
from tests.naive import svm as naive
from tests.samples.svm import box, cut, problem


@pytest.mark.interpreted
@pytest.mark.parametrize("l", [1, 3])
@pytest.mark.parametrize("p", [0, 25, 60, None])
def test_smo_from_zero_reaches_its_target(l, p):
    """Against the naive twin where there is one feature, against the definition where not."""
    K, P, y, C = problem(60, l, 2, C=2.0)
    dual = pose(P, y, C, 1.0)
    assert dual.has_constant
    lo, hi = box(y, C)
    rho = 0.0 if l == 1 else 60 / (l - 1)
    beta, nu, steps, reached = smo_from_zero(cut(K, p), dual.Q, rho, y, lo, hi, NEWTON_HANDOVER)
    assert reached
    assert abs(beta.sum()) < 1e-12
    left = violation(beta, y - K @ beta - dual.Q @ nu, lo, hi)
    assert left < (1.01 if l == 1 else 3) * NEWTON_HANDOVER
    np.testing.assert_allclose(P @ (dual.basis.T @ nu), dual.Q @ nu, atol=1e-12)
    if l == 1:
        single = K.astype(np.float32).astype(float)
        start = np.zeros(60)
        twin, _, used, _ = naive.smo_pairs(single, lo, hi, start, y, NEWTON_HANDOVER, 1000)
        assert steps == used
        np.testing.assert_allclose(beta, twin, atol=1e-5)


@pytest.mark.interpreted
@pytest.mark.parametrize(("l", "p"), [(1, 30), (3, 12)])
def test_both_searches_in_one_call_are_the_two_in_turn(l, p):
    K, P, y, C = problem(40, l, 0, C=2.0)
    dual = pose(P, y, C, 1.0)
    box = y, dual.lower, dual.upper
    beta, nu, steps, reached = smo_from_zero(cut(K, p), dual.Q, 0.7, *box, NEWTON_HANDOVER)
    assert reached
    steps += newton_small(cut(K, p), dual.Q, *box, beta, nu, 1e-2, 80)
    both = _smo_and_newton(cut(K, p), dual.Q, 0.7, *box, NEWTON_HANDOVER, 1e-2)
    np.testing.assert_array_equal(both[0], beta)
    np.testing.assert_array_equal(both[1], nu)
    assert both[2] == steps
    np.testing.assert_allclose(both[3], K @ beta, atol=1e-12)
    h = np.empty(40)
    newton_and_product(cut(K, p), dual.Q, *box, beta, nu, 1e-2, h)
    np.testing.assert_allclose(h, K @ beta, atol=1e-12)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("t", "expected"),
    [(0.25, (0.25, -0.25)), (2.0, (1.0, -1.0)), (0.75, (0.75, -0.75)), (1.0, (1.0, -1.0))],
)
def test_a_pair_moves_as_far_as_the_box_allows(t, expected):
    lo, hi, beta = np.array([0.0, -1.0]), np.array([1.0, 0.0]), np.zeros(2)
    assert move_pair(lo, hi, beta, 0, 1, t) == expected[0]
    np.testing.assert_array_equal(beta, expected)


def test_augmented_smo_in_the_box_reaches_its_target():
    K, P, y, C = problem(60, 3, 2, C=2.0, constant=False)
    p = prepare(K, P, y, C)
    assert not p.has_constant
    levels = (1.0, 0.3, NEWTON_HANDOVER)
    beta, nu, steps, reached = augmented_smo(p, np.zeros(60), np.zeros(3), levels, 1200)
    assert reached
    assert steps > 0
    assert violation(beta, y - K @ beta - p.Q @ nu, *box(y, C)) < 3 * NEWTON_HANDOVER


@pytest.mark.parametrize("p", [0, 1, 40, None])
@pytest.mark.parametrize("l", [0, 1, 3, 10])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_the_answer_is_that_of_the_relay(l, C, kernel, p):
    """Where it answers at all; which it must, unless the problem is a hard one."""
    K, P, y, C = problem(90, l, 5, C=C, kernel=kernel)
    ours, exact = solve_pair(cut(K, p), P, y, C), solve_robust(K, P, y, C)
    if ours is None:
        assert kernel == "linear" or (l > 1 and C[0] < 1)
        return
    assert ours.rank == exact.rank
    assert ours.certificate.kkt < 1e-8
    assert ours.certificate.relative_gap < 1e-9
    assert ours.certificate.constraint < 1e-13
    np.testing.assert_allclose(ours.kernel_values, K @ ours.beta, atol=1e-10 * C[0])
    np.testing.assert_allclose(
        ours.kernel_values + P @ ours.coef,
        exact.kernel_values + P @ exact.coef,
        atol=1e-7 * max(1.0, C[0]),
    )
    if kernel == "gaussian":
        np.testing.assert_allclose(ours.beta, exact.beta, atol=1e-7 * C[0])


@pytest.mark.parametrize("constant", [True, False])
def test_nothing_is_claimed_where_the_features_separate(constant):
    """T3: β = 0, and λ by another rule; the relay's business."""
    K, P, y, C = problem(80, 4, 0, constant=constant)
    y = np.where(P @ [0.1, 1.0, -1.0, 0.5] > 0, 1.0, -1.0)
    assert solve_pair(pair_matrix(K), P, y, C) is None
    assert not solve_robust(K, P, y, C).beta.any()


def test_where_it_does_not_apply_it_says_so():
    K, P, y, C = problem(60, 2, 0)
    assert solve_pair(pair_matrix(K), P, y, C) is not None
    for size, price in ((0.0, 1.0), (1e-20, 1.0), (1e20, 1.0), (1.0, 1e12), (1.0, 1e-12)):
        assert solve_pair(pair_matrix(size * K), P, y, price * C) is None
    assert solve_pair(pair_matrix(K), P, y, C, tolerance=Tolerance(gap=1e-30)) is None


def test_where_no_support_vector_is_free_lambda_is_chosen_by_the_rule():
    K, P, y, _ = problem(40, 1, 0)
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    C = np.full(40, 1e-4)
    ours, exact = solve_pair(pair_matrix(K), P, y, C), solve_robust(K, P, y, C)
    assert np.all(np.abs(ours.beta) == 1e-4)
    np.testing.assert_allclose(ours.coef, exact.coef, atol=1e-12)


def test_what_was_tried_in_vain_is_not_tried_again():
    """A tiny problem whose features nearly separate goes straight to interior points."""
    K, P, y, C = problem(90, 8, 3, C=1e-3)
    p, first = prepare(K, P, y, C), []
    for skip_smo in (False, True):
        first.append(next(Relay(p, max_iter=10_000).attempts(None, skip_smo)).method)
    assert first == ["SMO+Newton", "interior"]
    one, other = solve_robust(K, P, y, C), solve_robust(K, P, y, C, skip_smo=True)
    assert other.certificate.kkt < 1e-8
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-9)
    np.testing.assert_allclose(
        one.kernel_values + P @ one.coef, other.kernel_values + P @ other.coef, atol=1e-6
    )


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_memory_passed_on_between_pairs_changes_nothing(C):
    K, _, y, C = problem(90, 1, 5, C=C)
    P = np.full((90, 1), -0.3)
    fresh = solve_pair(cut(K, 35), P, y, C)
    used = solve_pair(cut(K, 35, np.full(90**2 + 7, np.nan)), P, y, C)
    np.testing.assert_array_equal(used.beta, fresh.beta)
    np.testing.assert_array_equal(used.coef, fresh.coef)


def test_a_small_fit_adds_half_a_matrix_at_most():
    """Rows in single precision, of which only those are touched that are used."""
    K, P, y, C = problem(900, 1, 4, C=0.1)
    solve_pair(pair_matrix(K[:50, :50].copy()), P[:50], y[:50], C[:50])
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        solve_pair(pair_matrix(K), P, y, C)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < 0.6 * K.nbytes

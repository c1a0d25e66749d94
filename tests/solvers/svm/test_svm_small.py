"""The compiled solver for small samples, as a whole, against others.

What it accepts is proved by `certify`, in double precision, as everywhere; so the tests ask whether
the answer is the right one, and whether it refuses what it must not accept.  Its pieces are tested
in test_pair_matrix, test_face_small, test_svm_pair and test_svm_certificate.
"""

import tracemalloc

import numpy as np
import pytest

from kernelbook.numeric.column_space import column_space
from kernelbook.solvers.svm import robust
from kernelbook.solvers.svm.certificate import violation
from kernelbook.solvers.svm.pair import START
from kernelbook.solvers.svm.pair_matrix import pair_matrix
from kernelbook.solvers.svm.problem import prepare
from kernelbook.solvers.svm.robust import solve_robust
from kernelbook.solvers.svm.small import _in_the_box, _span, solve_small
from tests.samples.svm import box, cut, problem


def test_descent_in_the_box_comes_down_to_its_start():
    K, P, y, C = problem(60, 3, 2, C=2.0, constant=False)
    Q, _, has_constant = _span(P)
    assert not has_constant
    lo, hi = box(y, C)
    beta, nu, steps, reached = _in_the_box(K, Q, 20.0, y, lo, hi)
    assert reached
    assert steps > 0
    assert violation(beta, y - K @ beta - Q @ nu, lo, hi) < 3 * START


@pytest.mark.parametrize("p", [0, 1, 40, None])
@pytest.mark.parametrize("l", [0, 1, 3, 10])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_the_answer_is_that_of_the_relay(l, C, kernel, p):
    """Where it answers at all; which it must, unless the problem is a hard one."""
    K, P, y, C = problem(90, l, 5, C=C, kernel=kernel)
    ours, exact = solve_small(cut(K, p), P, y, C), solve_robust(K, P, y, C)
    if ours is None:
        assert kernel == "linear" or (l > 1 and C[0] < 1)
        return
    assert ours.rank == exact.rank
    assert ours.certificate.kkt < 1e-8
    assert ours.certificate.relative_gap < 1e-9
    assert ours.certificate.constraint < 1e-13
    np.testing.assert_allclose(ours.h, K @ ours.beta, atol=1e-10 * C[0])
    np.testing.assert_allclose(
        ours.h + P @ ours.coef, exact.h + P @ exact.coef, atol=1e-7 * max(1.0, C[0])
    )
    if kernel == "gaussian":
        np.testing.assert_allclose(ours.beta, exact.beta, atol=1e-7 * C[0])


@pytest.mark.parametrize("constant", [True, False])
def test_nothing_is_claimed_where_the_features_separate(constant):
    """T3: β = 0, and λ by another rule; the relay's business."""
    K, P, y, C = problem(80, 4, 0, constant=constant)
    y = np.where(P @ [0.1, 1.0, -1.0, 0.5] > 0, 1.0, -1.0)
    assert solve_small(pair_matrix(K), P, y, C) is None
    assert not solve_robust(K, P, y, C).beta.any()


def test_where_it_does_not_apply_it_says_so():
    K, P, y, C = problem(60, 2, 0)
    assert solve_small(pair_matrix(K), P, y, C) is not None
    for size, price in ((0.0, 1.0), (1e-20, 1.0), (1e20, 1.0), (1.0, 1e12), (1.0, 1e-12)):
        assert solve_small(pair_matrix(size * K), P, y, price * C) is None
    assert solve_small(pair_matrix(K), P, y, C, gap_tol=1e-30) is None


def test_where_no_support_vector_is_free_lambda_is_chosen_by_the_rule():
    K, P, y, _ = problem(40, 1, 0)
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    C = np.full(40, 1e-4)
    ours, exact = solve_small(pair_matrix(K), P, y, C), solve_robust(K, P, y, C)
    assert np.all(np.abs(ours.beta) == 1e-4)
    np.testing.assert_allclose(ours.coef, exact.coef, atol=1e-12)


def test_what_was_tried_in_vain_is_not_tried_again():
    """A tiny problem whose features nearly separate goes straight to interior points."""
    K, P, y, C = problem(90, 8, 3, C=1e-3)
    first = [next(robust._candidates(*args)) for args in candidates(K, P, y, C)]
    assert [method for *_, method in first] == ["SMO+Newton", "interior"]
    one, other = solve_robust(K, P, y, C), solve_robust(K, P, y, C, tried=True)
    assert other.certificate.kkt < 1e-8
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-9)
    np.testing.assert_allclose(one.h + P @ one.coef, other.h + P @ other.coef, atol=1e-6)


def candidates(K, P, y, C):
    span = column_space(P)
    problem = prepare(K, span.Q, y, C, kind="pd", overwrite=False)
    return [(problem, P, span, -1, tried) for tried in (False, True)]


def test_a_small_fit_adds_half_a_matrix_at_most():
    """Rows in single precision, of which only those are touched that are used."""
    K, P, y, C = problem(900, 1, 4, C=0.1)
    solve_small(pair_matrix(K[:50, :50].copy()), P[:50], y[:50], C[:50])
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        solve_small(pair_matrix(K), P, y, C)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < 0.6 * K.nbytes

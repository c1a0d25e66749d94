"""Newton's method on a small active set, compiled: each piece against a plain one."""

import numpy as np
import pytest

from kernelbook.numeric.column_space import column_space
from kernelbook.solvers.svm import active_set
from kernelbook.solvers.svm.certificate import violation
from kernelbook.solvers.svm.pairs import active_set as active_set_small
from kernelbook.solvers.svm.pairs.blocks import pair_matrix
from kernelbook.solvers.svm.solve import solve_robust
from tests.naive import svm as naive
from tests.samples.svm import box, cut, problem


@pytest.mark.interpreted
@pytest.mark.parametrize(("l", "eps"), [(0, 1e-2), (1, 1e-1), (3, 0.1), (3, 1.0)])
@pytest.mark.parametrize("p", [0, 13, 40, None])
def test_step_on_the_face_is_that_of_its_naive_twin(l, eps, p):
    K, P, y, C = problem(40, l, 3, C=1.0)
    Q, (lo, hi) = column_space(P).Q, box(y, C)
    s = solve_robust(K, P, y, C)
    beta = s.beta.copy()
    beta[np.flatnonzero(np.abs(beta) == 1.0)[:3]] *= 0.98  # they will want to go back
    beta[(beta > lo) & (beta < hi)] *= 0.99
    v = y - K @ beta - P @ s.coef
    F, target, mu = naive.face_step(K, Q, v, Q.T @ beta, lo, hi, beta, eps)
    assert np.any((target == lo[F]) | (target == hi[F]))  # some were held
    residual, none = Q.T @ beta, np.empty(0)
    work = active_set_small.Work(none, v, residual, none, none, np.array(F))
    small_box = active_set_small.Box(Q, y, lo, hi)
    args = (cut(K, p), small_box, work, beta, np.array(F), eps)
    found, ours, mu_ours = active_set_small._face_minimizer(*args)
    assert found
    np.testing.assert_allclose(ours, target, atol=1e-8)
    np.testing.assert_allclose(mu_ours, mu, atol=1e-7)
    theirs, mu_theirs = active_set.face_minimizer(
        K[np.ix_(F, F)], Q, v, Q.T @ beta, lo, hi, beta, np.array(F), eps
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
    np.testing.assert_allclose(mu_ours, mu_theirs, atol=1e-7)


@pytest.mark.interpreted
@pytest.mark.parametrize("l", [0, 1, 4])
@pytest.mark.parametrize("p", [0, 20, 50, None])
def test_newton_ends_where_the_plain_one_does(l, p):
    K, P, y, C = problem(50, l, 1, C=3.0)
    Q, (lo, hi) = column_space(P).Q, box(y, C)
    beta, nu = np.zeros(50), np.zeros(Q.shape[1])
    steps = active_set_small.newton_small(cut(K, p), Q, y, lo, hi, beta, nu, 1.0, 80)
    assert 2 < steps < 80
    assert violation(beta, y - K @ beta - Q @ nu, lo, hi) < 1e-12
    plain, nu_plain, _ = active_set.active_set_newton(
        K, Q, y, lo, hi, np.zeros(50), 0 * nu, damping=1.0
    )
    np.testing.assert_allclose(beta, plain, atol=1e-9)
    np.testing.assert_allclose(nu, nu_plain, atol=1e-9)


def test_newton_leaves_a_large_face_to_others():
    m = active_set_small.MAX_FACE + 50
    K, P, y, C = problem(m, 1, 0)
    Q, (lo, hi) = column_space(P).Q, box(y, C)
    beta, nu = np.zeros(m), np.zeros(1)
    assert active_set_small.newton_small(pair_matrix(K), Q, y, lo, hi, beta, nu, 1.0, 80) == 0
    assert not beta.any()


@pytest.mark.interpreted
@pytest.mark.parametrize("p", [0, 20, None])
def test_the_measures_and_the_move_of_a_step_are_those_of_their_naive_twins(p):
    K, P, y, C = problem(50, 3, 1, C=3.0)
    Q, (lo, hi) = column_space(P).Q, box(y, C)
    rng = np.random.default_rng(0)
    beta, nu = y * np.clip(C * rng.normal(0.5, 1.0, 50), 0.0, C), rng.normal(size=3)
    names = Q, y, lo, hi
    work = active_set_small.Work(*(np.empty(n) for n in (50, 50, 3, 50, 50)), np.empty(50, int))
    error, value, rounding, size = active_set_small._measure(
        cut(K, p), active_set_small.Box(*names), beta, nu, 1.0, work
    )
    expected, objective, face = naive.measure(K, *names, beta, nu)
    assert error == pytest.approx(expected, rel=1e-12)
    assert value == pytest.approx(objective, rel=1e-12)
    assert 0 < rounding < 1e-12
    np.testing.assert_array_equal(work.face[:size], face)

    F = work.face[:size].copy()
    target = np.clip(beta[F] + rng.normal(size=size), lo[F], hi[F])
    s = np.zeros(50)
    s[F] = target - beta[F]
    slope = (y - K @ beta - Q @ (nu + 0.1)) @ s
    expected = active_set.exact_step(slope, s @ K @ s)
    moved = beta.copy()
    t, inside = active_set_small._move(
        cut(K, p), active_set_small.Box(*names), work, moved, F, target, np.full(3, 0.1)
    )
    assert t == pytest.approx(expected, rel=1e-9)
    assert inside == np.all((target > lo[F]) & (target < hi[F]))
    np.testing.assert_allclose(moved, np.clip(beta + t * s, lo, hi), atol=1e-12)

"""Sides and solution: the active set that ends a step of the incremental path exactly."""

import numpy as np
import pytest

from kernelbook import Gaussian, IncrementalSVMClassifier, KernelBasis
from kernelbook.solvers.primal.growing import hinge
from kernelbook.solvers.primal.growing.active_set import active_set_solve
from tests.naive import primal as naive
from tests.naive.primal import objective, quadratic_program


def problem(seed=0, m=60, k=8, l=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, k)) / np.sqrt(k)
    P = np.column_stack([np.ones(m), rng.normal(size=(m, max(l - 1, 0)))])[:, :l]
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=m) > 0.1, 1.0, -1.0)
    return X, P, y, rng.uniform(0.5, 2.0, m)


def reference(X, P, y, u):
    """cvxopt's solution, with α sent to the bound that it almost reached."""
    w, lam, beta, value = quadratic_program(X, P, y, u)
    alpha = np.clip(y * beta, 0.0, u)
    alpha[alpha < 1e-6] = 0.0
    near = alpha > u - 1e-6
    alpha[near] = u[near]
    return w, lam, alpha, value


@pytest.mark.parametrize("l", [0, 1, 3])
@pytest.mark.parametrize("wrong", [0, 1])
def test_nearly_right_sides_end_at_the_exact_solution(l, wrong):
    X, P, y, u = problem(seed=l, l=l)
    w, lam, alpha, value = reference(X, P, y, u)
    # The one on the margin whose α is nearest to a bound is said to be there.
    depth = np.where((alpha > 0) & (alpha < u), np.minimum(alpha, u - alpha), np.inf)
    nearest = np.argsort(depth)[:wrong]
    guess = alpha.copy()
    guess[nearest] = np.where(alpha < 0.5 * u, 0.0, u)[nearest]
    before = guess.copy()
    found = active_set_solve(X, P, y, u, lam + 0.01, guess)
    assert np.array_equal(guess, before)
    w_found, lam_found, alpha_found = found
    assert np.abs(w_found - w).max() < 1e-6
    assert np.abs(alpha_found - alpha).max() < 1e-5
    # What is beyond the reference's digits: the conditions of optimality, to rounding.
    beta, f = y * alpha_found, X @ w_found + P @ lam_found
    assert np.abs(X.T @ beta - w_found).max() < 1e-13
    assert np.abs(P.T @ beta).max(initial=0.0) < 1e-12
    free = (alpha_found > 0) & (alpha_found < u)
    assert 0 < free.sum() <= X.shape[1] + l
    assert np.abs(y * f - 1)[free].max() < 1e-12
    assert (y * f)[alpha_found == 0].min() > 1
    assert (y * f)[alpha_found == u].max() < 1
    assert objective(X, P, y, u, w_found, lam_found) == pytest.approx(value, rel=1e-9)


def test_a_bad_guess_is_given_up():
    X, P, y, u = problem()
    assert active_set_solve(X, P, y, u, np.zeros(2), 0.5 * u) is None  # 60 equations, 10 unknowns
    half = np.where(np.arange(60) % 2, u, 0.0)
    half[:8] = 0.5 * u[:8]
    assert active_set_solve(X, P, y, u, np.zeros(2), half) is None  # it runs away


def test_samples_that_coincide_on_the_margin_do_no_harm():
    X, P, y, u = problem(1)
    w, lam, alpha, _ = reference(X, P, y, u)
    free = np.flatnonzero((alpha > 0) & (alpha < u))[:2]
    twice = np.append(np.arange(60), free)
    X, P, y, u = X[twice], P[twice], y[twice], np.append(u, u[free])
    u[free], u[-2:] = 0.5 * u[free] + 0.5 * alpha[free], 0.5 * u[free]
    alpha = np.append(alpha, 0.25 * alpha[free])
    alpha[free] *= 0.75
    w_found, _, alpha_found = active_set_solve(X, P, y, u, lam, alpha)
    assert np.abs(w_found - w).max() < 1e-6
    assert np.abs(X.T @ (y * alpha_found) - w_found).max() < 1e-13


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_steps_of_a_path_end_by_their_sides_and_to_rounding(C, monkeypatch):
    """Every step: its gap is rounding, and the method of multipliers did not have to finish."""
    ends, real = [], hinge.active_set_solve

    def watched(X, *args):
        found = real(X, *args)
        ends.append((X.shape[1], found is not None))
        return found

    monkeypatch.setattr(hinge, "active_set_solve", watched)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=150) > 0
    model = IncrementalSVMClassifier(KernelBasis(Gaussian(1.5)), C=C, max_basis=60).fit(X, y)
    assert {k for k, found in ends if found} == set(range(1, 61))
    for step in model.path_:
        assert step.certificate.relative_gap < 1e-13
        assert step.certificate.kkt < 1e-9


def test_equal_margins_are_a_tie_whatever_the_rounding():
    """At first only the constant speaks, and half of the samples have the same margin."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(41, 2))
    y = np.where(np.arange(41) % 2, 1, -1)  # 20 against 21: f = −1, and all of +1 are wrong alike
    for order in (np.arange(41), np.arange(41)[::-1]):
        model = IncrementalSVMClassifier(max_basis=1).fit(X[order], y[order])
        assert model.selected_[0] == np.flatnonzero(y[order] > 0)[0]


@pytest.mark.parametrize("l", [0, 1, 2])
def test_sides_are_those_of_the_naive_active_set(l):
    agreed = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, P = rng.normal(size=(30, 6)), rng.normal(size=(30, l))
        y = np.where(X[:, 0] + 0.5 * rng.normal(size=30) > 0, 1.0, -1.0)
        u = rng.uniform(0.5, 2.0, 30)
        _, lam, beta, _ = quadratic_program(X, P, y, u)
        alpha = np.clip(y * beta, 0.0, u)
        alpha[alpha < 1e-6] = 0.0
        alpha = np.where(alpha > u - 1e-6, u, alpha)
        guess = np.where(np.arange(30) < seed % 3, 0.5 * u, alpha)  # some are put on the margin
        expected = naive.active_set_solve(X, P, y, u, guess, 12)
        found = active_set_solve(X, P, y, u, lam, guess)
        if (guess > 0)[guess < u].sum() > 6 + l:
            assert found is None
        elif expected is not None:
            assert found is not None
            assert np.abs(found[0] - expected[0]).max() < 1e-8
            assert np.abs(found[2] - expected[2]).max() < 1e-7
            agreed += 1
    assert agreed >= 2

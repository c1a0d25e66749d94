"""The parts of the SVM-GB solver, each against something slower or written by somebody else."""

import tracemalloc

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.span_basis import constant_first
from kernelbook.solvers.svm import solve
from kernelbook.solvers.svm.active_set import active_set_newton
from kernelbook.solvers.svm.certificate import Tolerance, certify, constraint_residual, violation
from kernelbook.solvers.svm.convexity import is_definite
from kernelbook.solvers.svm.feasibility import make_feasible
from kernelbook.solvers.svm.interior import interior_point
from kernelbook.solvers.svm.problem import prepare
from kernelbook.solvers.svm.reference import conditional_gram, solve_reference
from kernelbook.solvers.svm.smo import (
    MIN_CURVATURE,
    _best_in_rectangle,
    _least_curvature,
    smo_box,
    smo_pairs,
)
from kernelbook.solvers.svm.solve import solve_robust
from tests.naive import svm as naive
from tests.samples.svm import gaussian, problem

cvxopt = pytest.importorskip("cvxopt")


def box(y, C):
    return np.minimum(0.0, y * C), np.maximum(0.0, y * C)


def oracle(K, P, y, C):
    """The optimal value of ½βᵀKβ − yᵀβ, by cvxopt on the semiparametric dual itself."""
    matrix, m = cvxopt.matrix, y.size
    G = np.vstack([-np.eye(m), np.eye(m)])
    solution = cvxopt.solvers.qp(
        matrix(y[:, None] * K * y), matrix(-np.ones(m)), matrix(G),
        matrix(np.concatenate([np.zeros(m), C])), matrix(P.T * y), matrix(np.zeros(P.shape[1])),
        options={"show_progress": False, "abstol": 1e-11, "reltol": 1e-11, "feastol": 1e-11},
    )  # fmt: skip
    return solution["primal objective"]


# ------------------------------------------------------------------------------------- SMO


@pytest.mark.interpreted
def test_the_least_curvature_is_relative_to_the_diagonal():
    assert _least_curvature(np.array([0.5, 2.0, 1.0])) == 2.0 * MIN_CURVATURE
    assert _least_curvature(np.zeros(3)) == MIN_CURVATURE


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", range(3))
def test_smo_pairs_takes_the_steps_of_its_naive_twin(seed):
    K, _, y, C = problem(25, 0, seed, C=2.0)
    lo, hi = box(y, C)
    for steps in (1, 7, 500):
        beta, v = np.zeros(25), y.copy()
        used, left = smo_pairs(K, K.diagonal().copy(), lo, hi, beta, v, 1e-4, steps)
        beta_n, v_n, used_n, left_n = naive.smo_pairs(K, lo, hi, np.zeros(25), y, 1e-4, steps)
        assert used == used_n
        np.testing.assert_allclose(beta, beta_n, atol=1e-12)
        np.testing.assert_allclose(v, v_n, atol=1e-11)
        assert left == pytest.approx(left_n, abs=1e-11)
    assert left <= 1e-4
    assert abs(beta.sum()) < 1e-14


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", range(3))
def test_smo_box_takes_the_steps_of_its_naive_twin(seed):
    K, _, y, C = problem(25, 0, seed, C=2.0)
    lo, hi = box(y, C)
    for steps in (1, 7, 500):
        beta, v = np.zeros(25), y.copy()
        used, left = smo_box(K, K.diagonal().copy(), lo, hi, beta, v, 1e-4, steps)
        beta_n, v_n, used_n, left_n = naive.smo_box(K, lo, hi, np.zeros(25), y, 1e-4, steps)
        assert used == used_n
        np.testing.assert_allclose(beta, beta_n, atol=1e-10)
        np.testing.assert_allclose(v, v_n, atol=1e-10)
        assert left == pytest.approx(left_n, abs=1e-10)
    assert left <= 1e-4


@pytest.mark.interpreted
def test_best_in_rectangle_is_the_best():
    rng = np.random.default_rng(0)
    for trial in range(300):
        B = rng.normal(size=(2, 2 if trial % 3 else 1))
        A = B @ B.T
        v, lo = rng.normal(size=2), -rng.exponential(size=2)
        hi = rng.exponential(size=2) * (rng.random(2) < 0.8)
        x = np.array(_best_in_rectangle(*A.flat[[0, 1, 3]], *v, lo[0], hi[0], lo[1], hi[1]))
        best = naive.rectangle(A, v, lo, hi)
        assert np.all((x >= lo) & (x <= hi))
        value = v @ x - 0.5 * x @ A @ x
        assert value == pytest.approx(v @ best - 0.5 * best @ A @ best, rel=1e-9, abs=1e-12)


@pytest.mark.interpreted
def test_smo_box_solves_the_problem_without_an_equation():
    for kernel in ("gaussian", "linear"):
        K, P, y, C = problem(20, 0, 1, C=3.0, kernel=kernel)
        lo, hi = box(y, C)
        beta, v = np.zeros(20), y.copy()
        _, left = smo_box(K, K.diagonal().copy(), lo, hi, beta, v, 1e-6, 10_000)
        np.testing.assert_allclose(v, y - K @ beta, atol=1e-12)
        assert left == pytest.approx(violation(beta, v, lo, hi), abs=1e-12)
        assert left <= 1e-6
        assert 0.5 * beta @ K @ beta - y @ beta == pytest.approx(oracle(K, P, y, C), abs=1e-5)


@pytest.mark.interpreted
@pytest.mark.parametrize("smo", [smo_pairs, smo_box])
def test_smo_copes_with_a_zero_kernel_and_with_duplicates(smo):
    y = np.array([1.0, -1.0, 1.0, -1.0])
    lo, hi = box(y, np.full(4, 2.0))
    for K in (np.zeros((4, 4)), np.ones((4, 4))):
        beta, v = np.zeros(4), y.copy()
        steps, left = smo(K, K.diagonal().copy(), lo, hi, beta, v, 1e-6, 1000)
        assert steps < 1000
        assert left <= 1e-6
        np.testing.assert_array_equal(np.abs(beta), 2.0)


# --------------------------------------------------------------- the whole, by exhaustion


@pytest.mark.interpreted
@pytest.mark.parametrize("l", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_solution_is_the_best_of_all_faces(l, seed):
    rng = np.random.default_rng(seed)
    m = 7
    X, y = rng.normal(size=(m, 2)), np.array([1, -1, 1, -1, 1, 1, -1.0])
    P = rng.normal(size=(m, l)) if seed % 2 else np.hstack([np.ones((m, 1)), X, X**2])[:, :l]
    C = rng.uniform(0.5, 5, size=m)
    K = gaussian(X) if seed < 3 else X @ X.T
    value, _ = naive.every_face(K, P, y, C)
    s = solve_robust(K, P, y, C)
    assert -s.certificate.dual == pytest.approx(value, abs=1e-8)
    assert s.certificate.kkt < 1e-9
    assert 0 <= s.certificate.gap <= 1e-9 * max(1, s.certificate.primal)


@pytest.mark.parametrize("l", [0, 1, 3, 10, 20])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("constant", [True, False])
def test_value_agrees_with_a_general_solver(l, C, constant):
    K, P, y, C = problem(90, l, 5, C=C, constant=constant)
    s = solve_robust(K, P, y, C)
    assert s.certificate.kkt < 1e-9
    assert s.certificate.constraint < 1e-14
    assert -s.certificate.dual == pytest.approx(oracle(K, P, y, C), rel=2e-7)


def test_interior_points_and_newton_agree_from_very_different_starts():
    K, P, y, C = problem(80, 4, 2, C=10.0)
    Q, (lo, hi) = column_space(P).Q, box(y, C)
    beta, nu, steps = interior_point(K, Q, y, lo, hi)
    assert steps < 30
    one, nu_1, _ = active_set_newton(K, Q, y, lo, hi, beta, nu)
    two, nu_2, _ = active_set_newton(K, Q, y, lo, hi, np.zeros(80), np.zeros(4), damping=1.0)
    np.testing.assert_allclose(one, two, atol=1e-10)
    np.testing.assert_allclose(nu_1, nu_2, atol=1e-10)
    assert violation(one, y - K @ one - Q @ nu_1, lo, hi) < 1e-12


def test_large_problem_takes_the_same_road_to_the_same_place():
    K, P, y, C = problem(1500, 5, 3, C=1.0)
    s = solve_robust(K, P, y, C, tolerance=Tolerance(gap=1e-10))
    assert s.certificate.relative_gap <= 1e-10
    assert s.certificate.constraint < 1e-13


@pytest.mark.parametrize("l", [0, 1, 4])
@pytest.mark.parametrize("constant", [True, False])
def test_smo_and_multipliers_get_there_alone(l, constant, monkeypatch):
    """The road of problems too large for a factor: no Newton, no interior points."""
    monkeypatch.setattr(solve, "EXACT_UP_TO", 0)
    monkeypatch.setattr(solve, "INTERIOR_UP_TO", 0)
    monkeypatch.setattr(solve, "active_set_newton", lambda *args, **options: (args[5], args[6], 0))
    K, P, y, C = problem(150, l, 6, C=1.0, constant=constant)
    s = solve_robust(K, P, y, C, tolerance=Tolerance(1e-5))
    assert s.certificate.kkt <= 1e-5
    assert s.certificate.constraint < 1e-13
    assert -s.certificate.dual == pytest.approx(oracle(K, P, y, C), rel=1e-5)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e6])
def test_interior_points_get_there_without_smo(C, monkeypatch):
    monkeypatch.setattr(solve.Relay, "attempts", lambda self, *start: self.restarts())
    K, P, y, C = problem(100, 4, 7, C=C)
    s = solve_robust(K, P, y, C)
    assert s.certificate.kkt <= 1e-8
    assert -s.certificate.dual == pytest.approx(oracle(K, P, y, C), rel=1e-6)


def test_max_iter_is_obeyed_and_the_certificate_stays_honest():
    K, P, y, C = problem(200, 3, 0, C=10.0)
    exact = solve_robust(K, P, y, C).certificate
    gaps = []
    for max_iter in (1, 10, 100, 1000):
        s = solve_robust(K, P, y, C, max_iter=max_iter)
        assert s.n_iter <= max_iter
        assert s.certificate.dual <= exact.primal * (1 + 1e-12) <= s.certificate.primal * (1 + 1e-9)
        assert s.certificate.constraint < 1e-8
        gaps.append(s.certificate.gap)
    assert gaps[0] > 1


def test_gram_is_not_touched_unless_allowed():
    K, P, y, C = problem(60, 4, 0)
    before = K.copy()
    K.flags.writeable = False
    s = solve_robust(K, P, y, C)
    np.testing.assert_array_equal(K, before)
    again = solve_robust(before, P, y, C, overwrite=True)
    np.testing.assert_allclose(s.beta, again.beta, atol=1e-10)
    assert not np.array_equal(K, before)


@pytest.mark.parametrize(
    ("kind", "l", "overwrite", "matrices"),
    [("pd", 0, True, 0.3), ("pd", 4, True, 0.3), ("pd", 4, False, 1.3), ("unknown", 1, False, 1.4)],
)
def test_memory_is_no_more_than_needed(kind, l, overwrite, matrices, monkeypatch):
    """In Gram matrices, beside the given one; Newton and interior points have their own limits."""
    monkeypatch.setattr(solve, "EXACT_UP_TO", 0)
    monkeypatch.setattr(solve, "INTERIOR_UP_TO", 0)
    monkeypatch.setattr(solve, "active_set_newton", lambda *args, **options: (args[5], args[6], 0))
    solve_robust(*problem(20, l, 4), definiteness=kind)  # what compiling takes is not ours
    K, P, y, C = problem(900, l, 4, C=0.1)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        solve_robust(K, P, y, C, tolerance=Tolerance(0.5), definiteness=kind, overwrite=overwrite)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < matrices * K.nbytes


def test_verbose_reports_each_stage(capsys):
    solve_robust(*problem(50, 2, 0), verbose=1)
    assert "violation" in capsys.readouterr().out


# ------------------------------------------------------------------------------ preparation


def test_the_constant_is_found_in_the_span_or_not():
    rng = np.random.default_rng(0)
    P = rng.normal(size=(30, 4))
    assert not constant_first(column_space(P).Q)[1]
    proportions = P**2 / np.sum(P**2, axis=1, keepdims=True)  # like P(z|d), they sum to one
    Q = column_space(proportions).Q
    turned, found = constant_first(Q)
    assert found
    np.testing.assert_allclose(turned[:, 0], 30**-0.5, rtol=1e-15)
    np.testing.assert_allclose(turned.T @ turned, np.eye(4), atol=1e-13)
    np.testing.assert_allclose(turned @ turned.T, Q @ Q.T, atol=1e-13)


@pytest.mark.parametrize("kind", ["pd", "cpd"])
@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200])
def test_prepare_keeps_objective_and_values_on_the_feasible_set(kind, size):
    K, P, y, C = problem(40, 3, 1)
    K, C = K * size, C / size
    p = prepare(K, P, y, C, definiteness=kind)
    rng = np.random.default_rng(0)
    b = rng.normal(size=40) / size * p.unit
    b -= p.Q @ (p.Q.T @ b)
    beta = b / p.unit
    assert 0.5 * b @ p.K @ b / p.unit == pytest.approx(0.5 * beta @ K @ beta, rel=1e-9)
    np.testing.assert_allclose(p.kernel_values(b), K @ beta, atol=1e-11)
    np.testing.assert_allclose(p.upper / p.unit, np.maximum(0, y * C), rtol=1e-12)


def test_thin_plates_are_indefinite_until_projected():
    X = np.random.default_rng(0).normal(size=(50, 2))
    r = cdist(X, X)
    K = r**2 * np.log(np.where(r > 0, r, 1.0))
    assert not is_definite(K)
    P = np.column_stack([np.ones(50), X])
    Q = column_space(P).Q
    E, H = conditional_gram(K, Q)
    assert is_definite(H)
    np.testing.assert_allclose(E @ Q @ np.linalg.pinv(E @ Q), np.eye(3), atol=1e-10)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    p = prepare(K, P, y, np.ones(50), definiteness="unknown")
    assert np.linalg.eigvalsh(p.K).min() > -1e-10
    with pytest.raises(ValueError, match="not convex"):
        prepare(K, P[:, :1], y, np.ones(50), definiteness="unknown")
    with pytest.raises(ValueError, match="not convex"):
        solve_reference(-gaussian(X), np.ones((50, 1)), y, np.ones(50), definiteness="unknown")


# ------------------------------------------------------------------- repair and certificate


def test_repair_ends_in_the_box_with_every_equation_satisfied():
    rng = np.random.default_rng(0)
    for trial in range(600):
        m = rng.integers(3, 50)
        l = rng.integers(1, min(m, 6))
        P = rng.normal(size=(m, l)) if trial % 2 else rng.integers(0, 2, size=(m, l)).astype(float)
        Q = column_space(P).Q
        y = rng.choice([-1.0, 1.0], size=m)
        C = rng.uniform(0.1, 3, size=m) * 10.0 ** rng.integers(-6, 7)
        lo, hi = box(y, C)
        kind = rng.choice([0.1, 1.0, 10.0, 1e4])  # mostly inside, or nearly all at bounds
        beta = make_feasible(Q, y * C * np.clip(kind * rng.normal(size=m), 0, 1), lo, hi)
        assert np.all((beta >= lo) & (beta <= hi))
        assert np.abs(Q.T @ beta).max(initial=0) <= 1e-9 * np.linalg.norm(beta)


def test_repair_leaves_bounds_alone_when_the_free_coordinates_can_pay():
    K, P, y, C = problem(100, 3, 0, C=1.0)
    s = solve_robust(K, P, y, C)
    Q, (lo, hi) = column_space(P).Q, box(y, C)
    free = (s.beta > lo) & (s.beta < hi)
    off = s.beta + np.where(free, 1e-5 * np.random.default_rng(0).normal(size=100), 0.0)
    fixed = make_feasible(Q, np.clip(off, lo, hi), lo, hi)
    np.testing.assert_array_equal(fixed[~free], s.beta[~free])
    assert np.linalg.norm(Q.T @ fixed) < 1e-15 * np.linalg.norm(fixed) * 10


@pytest.mark.parametrize("seed", range(5))
def test_certificate_never_claims_more_than_the_optimum(seed):
    rng = np.random.default_rng(seed)
    K, P, y, C = problem(60, 3, seed, C=2.0)
    Q, (lo, hi) = column_space(P).Q, box(y, C)
    value = -oracle(K, P, y, C)
    for _ in range(50):
        beta = make_feasible(Q, y * C * np.clip(rng.normal(size=60), 0, 1), lo, hi)
        lam = rng.normal(size=3)
        proof = certify(K @ beta, P, y, C, beta, lam)
        assert proof.dual == pytest.approx(
            y @ beta - 0.5 * beta @ K @ beta, abs=1e-9 * proof.primal
        )
        assert proof.primal == pytest.approx(naive.primal(K @ beta, P, y, C, beta, lam))
        assert proof.dual <= value + 1e-7 <= proof.primal + 2e-7
        assert proof.gap >= 0


def test_naive_gap_without_repair_can_be_negative():
    """Why the repair is there: an infeasible β 'proves' an objective above the optimum."""
    K, P, y, C = problem(60, 3, 0, C=2.0)
    s = solve_robust(K, P, y, C)
    lo, hi = box(y, C)
    # The dual's gradient is v = Pλ at the solution: climbing it leaves Pᵀβ = 0.
    beta = np.clip(s.beta + 1e-3 * (y - K @ s.beta), lo, hi)
    assert y @ beta - 0.5 * beta @ K @ beta > s.certificate.primal
    repaired = make_feasible(column_space(P).Q, beta, lo, hi)
    assert y @ repaired - 0.5 * repaired @ K @ repaired <= s.certificate.primal


def test_violation_is_libsvms_when_the_bias_is_free():
    K, P, y, C = problem(50, 1, 0)
    lo, hi = box(y, C)
    s = solve_robust(K, P, y, C, max_iter=20)
    v = y - K @ s.beta
    m_alpha, M_alpha = np.max(v[s.beta < hi]), np.min(v[s.beta > lo])
    assert s.certificate.kkt == pytest.approx(m_alpha - M_alpha, rel=1e-12)


def test_constraint_residual_is_relative_to_what_cancels():
    P = np.array([[1e8], [1e8], [1.0]])
    assert constraint_residual(P, np.array([1.0, -1.0, 1e-3])) == pytest.approx(1e-3 / 2e8)
    assert constraint_residual(np.empty((3, 0)), np.ones(3)) == 0


def test_reference_follows_the_paper_and_ends_where_we_do():
    for kernel in ("gaussian", "linear"):
        K, P, y, C = problem(70, 4, 8, C=1.0, kernel=kernel)
        ours, theirs = solve_robust(K, P, y, C), solve_reference(K, P, y, C)
        np.testing.assert_allclose(K @ ours.beta, K @ theirs.beta, atol=1e-6)
        np.testing.assert_allclose(ours.coef, theirs.coef, atol=1e-6)
        assert theirs.certificate.relative_gap < 1e-6

"""The solver for large samples, as a whole, against others.

Its pieces are tested in test_smo_lanes and test_svm_large_state.
"""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from sklearn.svm import SVC

from kernelbook import Gaussian, Linear, Polynomial, Polynomials, SVMGBClassifier
from kernelbook.numeric.column_space import column_space
from kernelbook.solvers.svm import several
from kernelbook.solvers.svm import solve as binary
from kernelbook.solvers.svm.certificate import Tolerance
from kernelbook.solvers.svm.large import search, solve, state
from kernelbook.solvers.svm.large.solve import solve_large
from kernelbook.solvers.svm.multipliers import evenly_spaced, hard_margin_multipliers
from kernelbook.solvers.svm.problem import KernelSource
from kernelbook.solvers.svm.solve import solve_robust
from tests.samples.svm import kernel_problem
from tests.samples.xor import xor as noisy_xor


@pytest.mark.parametrize("l", [1, 4])
@pytest.mark.parametrize("C", [0.1, 3.0, 100.0])
def test_the_answer_is_that_of_the_solver_in_double_precision(l, C):
    kernel, X, P, y, C = kernel_problem(700, l, 3, C=C)
    s = solve_large(KernelSource(kernel, X), P, y, C, tolerance=Tolerance(1e-3))
    exact = solve_robust(kernel(X), P, y, C)
    assert s.certificate.kkt <= 1e-3
    assert s.certificate.constraint < 1e-13
    assert s.certificate.dual <= exact.certificate.primal * (1 + 1e-12)
    assert s.certificate.primal >= exact.certificate.dual * (1 - 1e-12)
    assert s.certificate.primal == pytest.approx(exact.certificate.primal, rel=2e-3)
    np.testing.assert_allclose(s.kernel_values, kernel(X) @ s.beta, atol=1e-9)
    np.testing.assert_allclose(
        s.kernel_values + P @ s.coef, exact.kernel_values + P @ exact.coef, atol=0.02
    )


@pytest.mark.parametrize("l", [1, 4])
@pytest.mark.parametrize("C", [0.1, 100.0])
def test_single_precision_is_no_limit_to_the_gap(l, C):
    kernel, X, P, y, C = kernel_problem(600, l, 4, C=C)
    s = solve_large(KernelSource(kernel, X), P, y, C, tolerance=Tolerance(gap=1e-11))
    exact = solve_robust(kernel(X), P, y, C)
    assert s.certificate.relative_gap <= 1e-11
    np.testing.assert_allclose(s.beta, exact.beta, atol=1e-5 * C[0])
    np.testing.assert_allclose(s.coef, exact.coef, atol=1e-5)


@pytest.mark.parametrize("road", ["SMO", "Newton"])
@pytest.mark.parametrize("rows", ["on demand", "some, then all", "at once"])
@pytest.mark.parametrize("l", [1, 3])
def test_every_road_leads_there(road, rows, l, monkeypatch):
    monkeypatch.setattr(search, "_worth_a_factor", lambda *args: road == "Newton")
    kernel, X, P, y, C = kernel_problem(500, l, 5, C=10.0)
    source = KernelSource(kernel, X)
    fills = []
    monkeypatch.setattr(source, "single", spied(source.single, fills))
    if rows == "at once":
        source.exponents = lambda: None
    else:
        monkeypatch.setattr(state, "_row_budget", lambda m, d: m if rows == "on demand" else 50)
    s = solve_large(source, P, y, C, tolerance=Tolerance(1e-4))
    assert s.certificate.kkt <= 1e-4
    assert (500 in fills) == (rows != "on demand")
    exact = solve_robust(kernel(X), P, y, C).certificate
    assert s.certificate.primal == pytest.approx(exact.primal, rel=1e-4)


def spied(single, sizes):
    """`GramSource.single` that notes how many rows it was asked for."""

    def call(out, rows=None):
        sizes.append(len(out))
        single(out, rows)

    return call


def test_points_far_from_each_other_have_all_rows_in_double_precision_first():
    """‖z‖ beyond MAX_NORM: single rows would be too coarse, and tiles compute them."""
    kernel, X, P, y, C = kernel_problem(400, 1, 6, width=0.05)
    source, fills = KernelSource(kernel, X), []
    source.single = spied(source.single, fills)
    assert np.sqrt(-kernel.exponents(X)[1].min()) > state.MAX_NORM
    s = solve_large(source, P, y, C)
    assert fills[0] == 400
    assert s.certificate.kkt <= 1e-3


def test_where_it_does_not_apply_it_says_so():
    kernel, X, P, y, C = kernel_problem(200, 3, 0)
    source = KernelSource(kernel, X)
    assert solve_large(source, P[:, 1:], y, C) is None  # no constant in the span
    assert solve_large(source, P, y, 1e12 * C) is None
    separable = np.where(P @ [0.1, 1.0, -1.0] > 0, 1.0, -1.0)
    assert not solve_large(source, P, separable, C).beta.any()


xor = partial(noisy_xor, d=6)


@pytest.mark.parametrize("C", [0.5, 50.0])
def test_large_samples_agree_with_svc(C, monkeypatch):
    X, y = xor(1100)
    model = SVMGBClassifier(Gaussian(2.5), C=C).fit(X, y)
    svc = SVC(C=C, gamma=2.5**-2, cache_size=1000, tol=1e-4).fit(X, y)
    assert model.certificate_.kkt <= 1e-3
    np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=0.01)
    # and with the relay in double precision, which is there when the fast solver gives up
    monkeypatch.setattr(binary, "solve_large", lambda *args, **options: None)
    slow = SVMGBClassifier(Gaussian(2.5), C=C).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), slow.decision_function(X), atol=0.01)


def test_certificate_of_a_large_fit_is_that_of_what_predict_computes():
    X, y = xor(1200)
    model = SVMGBClassifier(Gaussian(2.5), features=Polynomials(1), C=2.0).fit(X, y)
    f, sign = model.decision_function(X), np.where(y == 1, 1.0, -1.0)
    beta = np.zeros(1200)
    beta[model.support_] = model.dual_coef_[0]
    energy = beta @ Gaussian(2.5)(X) @ beta
    primal = 0.5 * energy + 2 * np.maximum(0, 1 - sign * f).sum()
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-10)
    assert model.certificate_.dual == pytest.approx(sign @ beta - 0.5 * energy, rel=1e-9)
    P = np.column_stack([np.ones(1200), X])
    assert np.abs(P.T @ beta).max() < 1e-10


def test_weights_of_a_large_sample_are_copies():
    X, y = xor(1050)
    w = np.ones(1050)
    w[:40], w[40:60] = 2.0, 0.0
    one = SVMGBClassifier(Gaussian(2.5), gap_tol=1e-9).fit(X, y, sample_weight=w)
    rows = np.repeat(np.arange(1050), w.astype(int))
    two = SVMGBClassifier(Gaussian(2.5), gap_tol=1e-9).fit(X[rows], y[rows])
    assert one.certificate_.primal == pytest.approx(two.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_many_large_classes_agree_with_the_relay(scheme, monkeypatch):
    """Three classes, one of them small: pairs of every size in one fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = np.digitize(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=1500), [0.0, 1.0])
    calls = []

    def spy(*args, **options):
        calls.append(args[2].size)
        return solve_large(*args, **options)

    monkeypatch.setattr(several, "solve_large", spy)
    fast = SVMGBClassifier(Gaussian(1.5), C=3.0, multiclass=scheme).fit(X, y)
    pairs = [(y == a) | (y == b) for a, b in ((0, 1), (0, 2), (1, 2))]
    large = [n for n in map(np.count_nonzero, pairs) if n > 1000]
    assert calls == (large if scheme == "ovo" else [1500] * 3)
    assert fast.certificate_.kkt <= 1e-3
    monkeypatch.setattr(several, "solve_large", lambda *args, **options: None)
    slow = SVMGBClassifier(Gaussian(1.5), C=3.0, multiclass=scheme).fit(X, y)
    for one, other in zip(fast.certificate_.parts, slow.certificate_.parts, strict=True):
        assert one.primal == pytest.approx(other.primal, rel=1e-4)
        assert one.dual <= other.primal * (1 + 1e-12)
        assert one.primal >= other.dual * (1 - 1e-12)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)])
def test_the_proof_needs_no_strictly_definite_kernel(kernel, monkeypatch):
    """β is not unique, f is; what `predict` computes is what the certificate is about."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, 5))
    y = X[:, 0] + 0.5 * rng.normal(size=1100) > 0.2
    fast = SVMGBClassifier(kernel, gap_tol=1e-8).fit(X, y)
    monkeypatch.setattr(binary, "solve_large", lambda *args, **options: None)
    slow = SVMGBClassifier(kernel, gap_tol=1e-8).fit(X, y)
    assert not kernel.strictly_pd
    assert fast.n_iter_ != slow.n_iter_
    np.testing.assert_allclose(fast.decision_function(X), slow.decision_function(X), atol=1e-3)
    assert fast.certificate_.primal == pytest.approx(slow.certificate_.primal, rel=1e-7)
    far = SVMGBClassifier(kernel).fit(X + 100.0, y)  # the relay moves the origin there
    assert far.certificate_.kkt <= 1e-3


def test_features_that_separate_need_no_kernel_matrix(monkeypatch):
    """T3 before anything of size m² is computed: β = 0, certified."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, 3))
    y = X @ [1.0, -1.0, 0.5] > 0.2
    evaluate = Gaussian.__call__

    def some_rows(kernel, A, B):
        assert len(A) * len(B) < 0.05 * len(X) ** 2
        return evaluate(kernel, A, B)

    monkeypatch.setattr(Gaussian, "__call__", some_rows)
    monkeypatch.setattr(solve, "search", lambda *args: pytest.fail("a search"))
    model = SVMGBClassifier(Gaussian(1.0), Polynomials(1)).fit(X, y)
    assert model.support_.size == 0
    assert model.certificate_.primal == 0.0
    assert np.all(model.predict(X) == y)


def test_separation_is_refused_by_a_part_or_proved_by_all():
    rng = np.random.default_rng(0)
    Q = column_space(np.column_stack([np.ones(3000), rng.normal(size=(3000, 3))])).Q
    w, y = np.ones(3000), np.where(Q @ [1.0, 2.0, -1.0, 0.5] > 0, 1.0, -1.0)
    nu = hard_margin_multipliers(Q, y, w)
    assert np.min(y * (Q @ nu)) >= 1 - 1e-12
    one = np.argmax(np.abs(Q @ [1.0, 2.0, -1.0, 0.5]))
    assert one not in evenly_spaced(3000, 4)
    y[one] *= -1  # a single sample that the part does not contain
    assert hard_margin_multipliers(Q, y, w) is None
    assert hard_margin_multipliers(Q, rng.choice([-1.0, 1.0], size=3000), w) is None


@pytest.mark.parametrize(("l", "C"), [(1, 100.0), (4, 1.0)])
def test_memory_is_one_matrix_in_double_precision_and_a_fifth(l, C):
    kernel, X, P, y, C = kernel_problem(1500, l, 6, C=C)
    solve_large(KernelSource(kernel, X[:200]), P[:200], y[:200], C[:200])  # compiling is not ours
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        assert solve_large(KernelSource(kernel, X), P, y, C) is not None
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < 1.2 * 8 * y.size**2

"""The solver for large samples: each piece against the plain one, the whole against others."""

import tracemalloc

import numpy as np
import pytest
from naive import svm as naive
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from kernelbook import Gaussian, Linear, Matern, Polynomial, Polynomials, SVMGBClassifier
from kernelbook.estimators import svmgb
from kernelbook.estimators._kernel_gram import KernelGram
from kernelbook.features import feature_range
from kernelbook.kernels import _profiles
from kernelbook.solvers import svm_large_search, svm_large_state
from kernelbook.solvers.smo_lanes import (
    ends,
    gather,
    know,
    known_matrix,
    lanes,
    masks,
    padded,
    smo_lanes,
    subtract_rows,
    unknown_matrix,
)
from kernelbook.solvers.svm_dual import solve_svm
from kernelbook.solvers.svm_large import solve_large
from kernelbook.solvers.svm_multipliers import _spread, separate
from kernelbook.solvers.svm_problem import constant_first


def problem(m, l, seed, C=1.0, width=1.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=m) > 0, 1.0, -1.0)
    P = np.column_stack([np.ones(m), rng.normal(size=(m, l - 1))])
    return Gaussian(width), X, P, y, np.full(m, float(C))


def in_lanes(K):
    """A square matrix as `Lanes`, in single precision."""
    n = len(K)
    K32 = np.zeros((n, padded(n)), dtype=np.float32)
    K32[:, :n] = K
    return known_matrix(K32, K.diagonal())


def box(y, C):
    return np.minimum(0.0, y * C), np.maximum(0.0, y * C)


# ------------------------------------------------------------------------------------ pieces


@pytest.mark.interpreted
@pytest.mark.parametrize("m", [20, 150])
def test_smo_in_lanes_takes_the_steps_of_its_naive_twin(m):
    """Equal pairs, so equal steps; v differs by what single precision does to K."""
    kernel, X, _, y, C = problem(m, 1, 0, C=2.0)
    K = kernel(X).astype(np.float32).astype(float)
    lo, hi = box(y, C)
    for steps in (1, 7, 60):
        beta, v = np.zeros(m), lanes(y, 0.0, np.float64)
        G = in_lanes(K)
        used, left, spent = smo_lanes(G, lo, hi, beta, v, *masks(beta, lo, hi), 1e-3, steps)
        beta_n, v_n, used_n, left_n = naive.smo_pairs(K, lo, hi, np.zeros(m), y, 1e-3, steps)
        assert not spent
        assert used == used_n
        np.testing.assert_allclose(beta, beta_n, atol=1e-5)
        np.testing.assert_allclose(v.ravel()[:m], v_n, atol=1e-5)
        assert left == pytest.approx(left_n, abs=1e-5)
        assert abs(beta.sum()) < 1e-13


def test_smo_in_lanes_arrives():
    kernel, X, P, y, C = problem(300, 1, 1, C=5.0)
    K, (lo, hi) = kernel(X), box(y, C)
    beta, v = np.zeros(300), lanes(y, 0.0, np.float64)
    _, left, _ = smo_lanes(in_lanes(K), lo, hi, beta, v, *masks(beta, lo, hi), 1e-4, 100_000)
    assert left <= 1e-4
    assert np.all((beta >= lo) & (beta <= hi))
    np.testing.assert_allclose(v.ravel()[:300], y - K @ beta, atol=1e-5)
    exact = solve_svm(K, P, y, C).certificate.primal
    assert y @ beta - 0.5 * beta @ K @ beta == pytest.approx(exact, rel=1e-5)


def test_a_large_bias_costs_smo_no_digits():
    """Single precision compares v with its top: 10⁶ for all, beside which 10⁻³ would be nothing."""
    kernel, X, _, y, C = problem(300, 1, 1, C=5.0)
    G, (lo, hi) = in_lanes(kernel(X)), box(y, C)
    ends = []
    for level in (0.0, 1e6):
        beta, v = np.zeros(300), lanes(y + level, level, np.float64)
        steps, left, _ = smo_lanes(G, lo, hi, beta, v, *masks(beta, lo, hi), 1e-3, 100_000)
        assert left <= 1e-3
        ends.append((steps, beta))
    assert ends[1][0] < 2 * ends[0][0]
    np.testing.assert_allclose(ends[1][1], ends[0][1], atol=0.05)


@pytest.mark.interpreted
def test_smo_in_lanes_copes_with_a_zero_kernel_and_with_duplicates():
    y = np.array([1.0, -1.0, 1.0, -1.0])
    lo, hi = box(y, np.full(4, 2.0))
    for K in (np.zeros((4, 4)), np.ones((4, 4))):
        beta, v = np.zeros(4), lanes(y, 0.0, np.float64)
        G = in_lanes(K)
        G.diag[0, 4:] = 1.0
        steps, left, _ = smo_lanes(G, lo, hi, beta, v, *masks(beta, lo, hi), 1e-6, 1000)
        assert steps < 1000
        assert left <= 1e-6
        np.testing.assert_array_equal(np.abs(beta), 2.0)


def lazy(X, A, budget, width=1.3):
    """(Z, G) with K_ij = 2^(−‖z_i − z_j‖²) + a_i·a_j, no row of it known."""
    Z = np.sqrt(0.5) * Gaussian(width).exponents(X)[0]
    return Z, unknown_matrix(1.0 + (A * A).sum(axis=1), budget, Z, A)


@pytest.mark.interpreted
@pytest.mark.parametrize(("m", "d", "l"), [(40, 3, 0), (200, 6, 2)])
def test_rows_on_demand_are_those_of_the_kernel(m, d, l):
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(m, d)), rng.normal(size=(m, l))
    Z, G = lazy(X, A, 10)
    rows = np.array([3, m - 1, 3])
    know(G, rows)
    np.testing.assert_array_equal(np.flatnonzero(G.slot >= 0), [3, m - 1])
    np.testing.assert_array_equal(G.slot[rows], [0, 1, 0])  # one after the other
    np.testing.assert_array_equal(G.count, [2, 8])
    for i in rows:
        row = G.rows[G.slot[i]]
        np.testing.assert_allclose(row[:m], naive.gaussian_row(Z, A, i), atol=3e-7)
        expected = np.exp(-cdist(X[[i]], X, "sqeuclidean")[0] / 1.3**2) + A @ A[i]
        np.testing.assert_allclose(row[:m], expected, atol=1e-6)
        assert np.all(row[m:] == 0)


def test_rows_on_demand_are_good_as_far_out_as_they_are_trusted():
    """At ‖z‖ = NEAR, the farthest that the solver trusts them, an entry is off by a few 1e-6."""
    rng = np.random.default_rng(0)
    centre = rng.normal(size=5)
    Z = svm_large_state.NEAR * centre / np.linalg.norm(centre) + 0.5 * rng.normal(size=(300, 5))
    G = unknown_matrix(np.ones(300), 300, Z, np.empty((300, 0)))
    know(G, np.arange(300))
    exact = 2.0 ** -cdist(Z, Z, "sqeuclidean")
    assert np.abs(G.rows[:, :300] - exact).max() < 1e-7 * svm_large_state.NEAR


def test_smo_stops_when_the_budget_of_rows_is_spent_and_goes_on_afterwards():
    _, X, _, y, C = problem(300, 1, 2)
    lo, hi = box(y, C)
    none = np.empty((300, 0))
    _, whole = lazy(X, none, 300)
    beta, v = np.zeros(300), lanes(y, 0.0, np.float64)
    steps, *_ = smo_lanes(whole, lo, hi, beta, v, *masks(beta, lo, hi), 1e-3, 10_000)
    _, G = lazy(X, none, 20)
    other, w, total = np.zeros(300), lanes(y, 0.0, np.float64), 0
    spent, interruptions = True, 0
    while spent:
        used, _, spent = smo_lanes(G, lo, hi, other, w, *masks(other, lo, hi), 1e-3, 10_000)
        total, interruptions = total + used, interruptions + spent
        G.count[1] = 20
    assert interruptions > 2
    assert total == steps
    np.testing.assert_array_equal(beta, other)


@pytest.mark.interpreted
@pytest.mark.parametrize("n", [1, 128, 150])
def test_where_coordinates_may_go_and_who_is_undecided(n):
    rng = np.random.default_rng(n)
    lo, hi = np.zeros(n), np.ones(n)
    beta, v = np.clip(rng.normal(0.5, 1.0, n), 0.0, 1.0), rng.normal(size=n)
    up, down = masks(beta, lo, hi)
    grows, falls = beta < hi, beta > lo
    np.testing.assert_array_equal(up.ravel()[:n] == 0, grows)
    np.testing.assert_array_equal(down.ravel()[:n] == 0, falls)
    assert np.all(up.ravel()[n:] < -1e29)
    assert np.all(down.ravel()[n:] > 1e29)
    top, bottom = ends(v, beta, lo, hi)
    assert top == np.max(v[grows], initial=-np.inf)
    assert bottom == np.min(v[falls], initial=np.inf)
    near = (grows & falls) | (grows & (v > bottom - 0.05)) | (falls & (v < top + 0.05))
    chosen = svm_large_search._undecided(v, beta, lo, hi, 0.5)
    np.testing.assert_array_equal(chosen, np.flatnonzero(near))


@pytest.mark.parametrize("d", [3, 30])
@pytest.mark.parametrize("known", [False, True])
def test_a_shrunk_problem_has_its_part_of_the_matrix(d, known):
    """Rows are computed again in few dimensions; in more they are copied, if all are there."""
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(200, d)), np.array([3, 7, 40, 150, 199])
    Q, _ = constant_first(feature_range(np.column_stack([np.ones(200), X[:, 0]])).Q)
    y, kernel = np.where(X[:, 1] > 0, 1.0, -1.0), Gaussian(d**0.5)
    state = svm_large_state.state_at_zero(KernelGram(kernel, X), Q, y, np.full(200, 2.0))
    if known:
        state.fill()
    G = state.part(rows)
    assert (G.count[0] == 0) == (d == 3)
    know(G, np.arange(5))
    expected = kernel(X[rows]) + state.rho * np.outer(Q[rows, 1], Q[rows, 1])
    np.testing.assert_allclose(G.rows[G.slot][:, :5], expected, atol=1e-5)
    np.testing.assert_allclose(G.diag[0, :5], expected.diagonal(), atol=1e-5)


@pytest.mark.interpreted
def test_gather_and_subtract_rows():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(150, 150))
    K += K.T
    G = in_lanes(K)
    rows = np.array([149, 3, 77, 20, 9, 10, 0])
    part = gather(G, rows)
    np.testing.assert_array_equal(part[:, :7], K[np.ix_(rows, rows)].astype(np.float32))
    assert not part[:, 7:].any()
    d, v = rng.normal(size=7), lanes(rng.normal(size=150), 0.0, np.float64)
    expected = v.ravel()[:150] - K.astype(np.float32).astype(float)[:, rows] @ d
    subtract_rows(G, rows, d, v)
    np.testing.assert_allclose(v.ravel()[:150], expected, atol=1e-13)


@pytest.mark.interpreted
def test_gather_and_subtract_rows_that_lie_in_another_order():
    rng = np.random.default_rng(0)
    _, G = lazy(rng.normal(size=(140, 3)), rng.normal(size=(140, 2)), 140)
    rows = np.array([130, 3, 77, 20, 9])
    know(G, np.append(rows, 5))
    K = np.array([G.rows[G.slot[i], :140] for i in rows])
    part = gather(G, rows[::-1])
    np.testing.assert_array_equal(part[:, :5], K[::-1, rows[::-1]])
    assert not part[:, 5:].any()
    d, v = rng.normal(size=5), lanes(rng.normal(size=140), 0.0, np.float64)
    expected = v.ravel()[:140] - d @ K.astype(float)
    subtract_rows(G, rows, d, v)
    np.testing.assert_allclose(v.ravel()[:140], expected, atol=1e-13)


@pytest.mark.interpreted
def test_exponential_in_single_precision():
    t = -np.concatenate([np.linspace(0, 126, 1001), [126.5, 200.0, 1e6, np.inf]])[None]
    out = np.empty(t.shape, dtype=np.float32)
    _profiles.exp2_single(t, out)
    normal = t > -126
    np.testing.assert_allclose(out[normal], 2.0 ** t[normal], rtol=1.3e-7)
    assert np.all(out[t < -126] == 0)
    assert out[0, 0] == 1


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Gaussian(1e-3), Gaussian(1e-6), Matern(1.0)])
def test_gram_in_single_precision(kernel):
    X = np.random.default_rng(0).normal(size=(530, 5))
    out = np.full((530, 600), np.nan, dtype=np.float32)
    kernel.single(X, out)
    np.testing.assert_allclose(out[:, :530], kernel(X), rtol=1.3e-7, atol=1e-37)
    np.testing.assert_array_equal(out[:, :530], out[:, :530].T)
    assert np.all(out[:, 530:] == 0)
    np.testing.assert_array_equal(kernel.single(X), out[:, :530])


# --------------------------------------------------------------------------------- the whole


@pytest.mark.parametrize("l", [1, 4])
@pytest.mark.parametrize("C", [0.1, 3.0, 100.0])
def test_the_answer_is_that_of_the_solver_in_double_precision(l, C):
    kernel, X, P, y, C = problem(700, l, 3, C=C)
    s = solve_large(KernelGram(kernel, X), P, y, C, tol=1e-3)
    exact = solve_svm(kernel(X), P, y, C)
    assert s.certificate.kkt <= 1e-3
    assert s.certificate.constraint < 1e-13
    assert s.certificate.dual <= exact.certificate.primal * (1 + 1e-12)
    assert s.certificate.primal >= exact.certificate.dual * (1 - 1e-12)
    assert s.certificate.primal == pytest.approx(exact.certificate.primal, rel=2e-3)
    np.testing.assert_allclose(s.h, kernel(X) @ s.beta, atol=1e-9)
    np.testing.assert_allclose(s.h + P @ s.coef, exact.h + P @ exact.coef, atol=0.02)


@pytest.mark.parametrize("l", [1, 4])
@pytest.mark.parametrize("C", [0.1, 100.0])
def test_single_precision_is_no_limit_to_the_gap(l, C):
    kernel, X, P, y, C = problem(600, l, 4, C=C)
    s = solve_large(KernelGram(kernel, X), P, y, C, gap_tol=1e-11)
    exact = solve_svm(kernel(X), P, y, C)
    assert s.certificate.relative_gap <= 1e-11
    np.testing.assert_allclose(s.beta, exact.beta, atol=1e-5 * C[0])
    np.testing.assert_allclose(s.coef, exact.coef, atol=1e-5)


@pytest.mark.parametrize("road", ["SMO", "Newton"])
@pytest.mark.parametrize("rows", ["on demand", "some, then all", "at once"])
@pytest.mark.parametrize("l", [1, 3])
def test_every_road_leads_there(road, rows, l, monkeypatch):
    monkeypatch.setattr(svm_large_search, "_worth_a_factor", lambda *args: road == "Newton")
    kernel, X, P, y, C = problem(500, l, 5, C=10.0)
    source = KernelGram(kernel, X)
    fills = []
    monkeypatch.setattr(source, "single", spied(source.single, fills))
    if rows == "at once":
        source.exponents = lambda: None
    else:
        monkeypatch.setattr(
            svm_large_state, "_budget", lambda m, d: m if rows == "on demand" else 50
        )
    s = solve_large(source, P, y, C, tol=1e-4)
    assert s.certificate.kkt <= 1e-4
    assert (500 in fills) == (rows != "on demand")
    exact = solve_svm(kernel(X), P, y, C).certificate
    assert s.certificate.primal == pytest.approx(exact.primal, rel=1e-4)


def spied(single, sizes):
    """`GramSource.single` that notes how many rows it was asked for."""

    def call(out, rows=None):
        sizes.append(len(out))
        single(out, rows)

    return call


def test_points_far_from_each_other_have_all_rows_in_double_precision_first():
    """‖z‖ beyond NEAR: rows alone would be too coarse, and tiles compute them."""
    kernel, X, P, y, C = problem(400, 1, 6, width=0.05)
    source, fills = KernelGram(kernel, X), []
    source.single = spied(source.single, fills)
    assert np.sqrt(-kernel.exponents(X)[1].min()) > svm_large_state.NEAR
    s = solve_large(source, P, y, C)
    assert fills[0] == 400
    assert s.certificate.kkt <= 1e-3


def test_where_it_does_not_apply_it_says_so():
    kernel, X, P, y, C = problem(200, 3, 0)
    source = KernelGram(kernel, X)
    assert solve_large(source, P[:, 1:], y, C) is None  # no constant in the span
    assert solve_large(source, P, y, 1e12 * C) is None
    separable = np.where(P @ [0.1, 1.0, -1.0] > 0, 1.0, -1.0)
    assert solve_large(source, P, separable, C) is None  # β = 0


def xor(m, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=m) > 0, 1, 0)


@pytest.mark.parametrize("C", [0.5, 50.0])
def test_large_samples_agree_with_svc(C, monkeypatch):
    X, y = xor(1100)
    model = SVMGBClassifier(Gaussian(2.5), C=C).fit(X, y)
    svc = SVC(C=C, gamma=2.5**-2, cache_size=1000, tol=1e-4).fit(X, y)
    assert model.certificate_.kkt <= 1e-3
    np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=0.01)
    # and with the relay in double precision, which is there when the fast solver gives up
    monkeypatch.setattr(svmgb, "solve_large", lambda *args, **options: None)
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

    monkeypatch.setattr(svmgb, "solve_large", spy)
    fast = SVMGBClassifier(Gaussian(1.5), C=3.0, multiclass=scheme).fit(X, y)
    pairs = [(y == a) | (y == b) for a, b in ((0, 1), (0, 2), (1, 2))]
    large = [n for n in map(np.count_nonzero, pairs) if n > 1000]
    assert calls == (large if scheme == "ovo" else [1500] * 3)
    assert fast.certificate_.kkt <= 1e-3
    monkeypatch.setattr(svmgb, "solve_large", lambda *args, **options: None)
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
    monkeypatch.setattr(svmgb, "solve_large", lambda *args, **options: None)
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
    monkeypatch.setattr(Gaussian, "__call__", lambda *args: pytest.fail("a Gram matrix"))
    monkeypatch.setattr(svmgb, "solve_large", lambda *args, **options: pytest.fail("a search"))
    model = SVMGBClassifier(Gaussian(1.0), Polynomials(1)).fit(X, y)
    assert model.support_.size == 0
    assert model.certificate_.primal == 0.0
    assert np.all(model.predict(X) == y)


def test_separation_is_refused_by_a_part_or_proved_by_all():
    rng = np.random.default_rng(0)
    Q = feature_range(np.column_stack([np.ones(3000), rng.normal(size=(3000, 3))])).Q
    w, y = np.ones(3000), np.where(Q @ [1.0, 2.0, -1.0, 0.5] > 0, 1.0, -1.0)
    nu = separate(Q, y, w)
    assert np.min(y * (Q @ nu)) >= 1 - 1e-12
    one = np.argmax(np.abs(Q @ [1.0, 2.0, -1.0, 0.5]))
    assert one not in _spread(3000, 4)
    y[one] *= -1  # a single sample that the part does not contain
    assert separate(Q, y, w) is None
    assert separate(Q, rng.choice([-1.0, 1.0], size=3000), w) is None


@pytest.mark.parametrize(("l", "C"), [(1, 100.0), (4, 1.0)])
def test_memory_is_one_matrix_in_double_precision_and_a_fifth(l, C):
    kernel, X, P, y, C = problem(1500, l, 6, C=C)
    solve_large(KernelGram(kernel, X[:200]), P[:200], y[:200], C[:200])  # compiling is not ours
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        assert solve_large(KernelGram(kernel, X), P, y, C) is not None
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < 1.2 * 8 * y.size**2

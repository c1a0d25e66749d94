"""SVMGBClassifier: against SVC, against the paper's programs, and against its own theory."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from kernelbook import (
    C_from_reg,
    ConditionalKernel,
    Constant,
    Gaussian,
    Linear,
    Multiquadric,
    Polynomials,
    SVMGBClassifier,
    ThinPlate,
    reg_from_C,
)
from kernelbook.estimators._multiclass import binary_problems, class_scores, predicted
from kernelbook.solvers.svm.solve import solve_robust
from tests.naive import svm as naive
from tests.samples.xor import xor


def waves(l, d=3, seed=0):
    """A feature map with l features, the first of them the constant."""
    if l == 0:
        return None
    directions = np.random.default_rng(seed).normal(size=(d, l - 1))
    return lambda X: np.column_stack([np.ones(len(X)), np.sin(X @ directions)])


def objective(model, X, y, C=None):
    """½βᵀKβ + CΣ(1 − yf)₊ of a fitted binary model, from its public attributes."""
    beta = np.zeros(len(X))
    beta[model.support_] = model.dual_coef_[0]
    h = model.kernel_(X) @ beta
    f = model.decision_function(X)
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    C = np.full(len(X), model.C) if C is None else C
    return 0.5 * beta @ h + C @ np.maximum(1 - sign * f, 0)


# -------------------------------------------------------------------------------------- SVC


@pytest.mark.interpreted
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_with_a_constant_feature_it_is_svc(C):
    X, y = xor(60)
    ours = SVMGBClassifier(Gaussian(1.5), C=C).fit(X, y)
    svc = SVC(C=C, gamma=1 / 1.5**2, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(ours.support_, np.sort(svc.support_))
    np.testing.assert_array_equal(ours.n_support_, svc.n_support_)
    np.testing.assert_allclose(ours.coef_[0], svc.intercept_, atol=1e-4)
    assert objective(ours, X, y) <= -svc_dual(svc, X, y) + 1e-9


def svc_dual(svc, X, y):
    beta = svc.dual_coef_[0]
    S = X[svc.support_]
    K = Gaussian(1.5)(S)
    sign = np.where(y[svc.support_] == svc.classes_[1], 1.0, -1.0)
    return 0.5 * beta @ K @ beta - sign @ beta


def test_coarse_tolerance_on_a_large_problem_is_svcs():
    X, y = xor(1200)
    ours = SVMGBClassifier(Gaussian(2.0), tol=1e-3).fit(X, y)
    svc = SVC(gamma=0.25, tol=1e-3, cache_size=1000).fit(X, y)
    assert ours.certificate_.kkt <= 1e-3
    np.testing.assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=5e-3)


@pytest.mark.parametrize("weights", ["sample", "class", "balanced"])
def test_weights_are_svcs(weights):
    X, y = xor(80)
    w = np.random.default_rng(0).uniform(0.1, 3, size=80) if weights == "sample" else None
    class_weight = {"sample": None, "class": {0: 0.3, 1: 2.0}, "balanced": "balanced"}[weights]
    ours = SVMGBClassifier(Gaussian(1.5), class_weight=class_weight).fit(X, y, w)
    svc = SVC(gamma=1 / 1.5**2, tol=1e-8, class_weight=class_weight).fit(X, y, w)
    np.testing.assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_many_classes_vote_as_svc_does(seed):
    X, y = make_blobs(150, 2, centers=5, cluster_std=3.0, random_state=seed)
    ours = SVMGBClassifier(Gaussian(4.0)).fit(X, y)
    svc = SVC(gamma=1 / 16, tol=1e-8, break_ties=True).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), svc.predict(X))
    np.testing.assert_array_equal(ours.support_, np.sort(svc.support_))
    assert ours.dual_coef_.shape == (10, len(ours.support_))
    assert ours.coef_.shape == (10, 1)
    assert len(ours.certificate_.parts) == 10
    assert ours.certificate_.primal == pytest.approx(sum(p.primal for p in ours.certificate_.parts))


def test_one_against_rest_is_scikit_learns():
    X, y = load_iris(return_X_y=True)
    ours = SVMGBClassifier(Gaussian(2.0), multiclass="ovr").fit(X, y)
    peer = OneVsRestClassifier(SVC(gamma=0.25, tol=1e-8)).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    assert ours.coef_.shape == (3, 1)


def test_votes_one_sample_at_a_time():
    F = np.random.default_rng(0).normal(size=(40, 6)) * 10.0 ** np.arange(-3, 3)
    F[0] = 0
    scores = class_scores(F, 4, "ovo")
    np.testing.assert_allclose(scores, naive.votes(F, 4), rtol=1e-14)
    assert np.all(np.abs(scores - np.round(scores)) < 1 / 3 + 1e-12)
    codes = np.array([2, 0, 1, 0, 2])
    assert [(list(rows), list(sign)) for rows, sign in binary_problems(codes, 3, "ovo")] == [
        ([1, 3, 2], [-1, -1, 1]), ([1, 3, 0, 4], [-1, -1, 1, 1]), ([2, 0, 4], [-1, 1, 1]),
    ]  # fmt: skip
    np.testing.assert_array_equal(predicted(np.array([0.0, 1e-300, -1.0])), [0, 1, 0])


# ----------------------------------------------------------- several features; both solvers


@pytest.mark.parametrize("l", [0, 1, 3, 10, 20])
@pytest.mark.parametrize("kernel", [Gaussian(1.5), Linear()])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_both_solvers_agree(l, kernel, C):
    pytest.importorskip("cvxopt")
    X, y = xor(100)
    smo = SVMGBClassifier(kernel, waves(l), C=C).fit(X, y)
    paper = SVMGBClassifier(kernel, waves(l), C=C, solver="cvxopt").fit(X, y)
    fresh, _ = xor(200, seed=9)
    np.testing.assert_allclose(
        smo.decision_function(fresh), paper.decision_function(fresh), atol=2e-6
    )
    np.testing.assert_allclose(smo.coef_, paper.coef_, atol=2e-6)
    assert smo.certificate_.primal <= paper.certificate_.primal * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("flips", [0, 1, 3])
def test_both_solvers_choose_the_same_lambda_where_many_are_optimal(flips):
    """Indicators of six groups, each of one class but for a few flips, one of them doubled."""
    pytest.importorskip("cvxopt")
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(6), 10)
    P = np.eye(6)[group] @ rng.normal(size=(6, 6))
    P = np.column_stack([P, P[:, 0] - 2 * P[:, 1]])
    y = (group < 3).astype(int)
    y[rng.choice(60, flips, replace=False)] ^= 1
    K = Gaussian(1.0)(rng.normal(size=(60, 2)))
    smo, paper = (
        SVMGBClassifier("precomputed", C=2.0, solver=solver).fit(K, y, P=P)
        for solver in ("auto", "cvxopt")
    )
    assert smo.rank_ == paper.rank_ == [6]
    assert (smo.support_.size == 0) == (flips == 0)
    np.testing.assert_allclose(smo.coef_, paper.coef_, atol=1e-6)
    np.testing.assert_allclose(
        smo.decision_function(K, P=P), paper.decision_function(K, P=P), atol=1e-6
    )


@pytest.mark.parametrize("l", [1, 3, 10, 20])
@pytest.mark.parametrize("m", [150, 1500])
def test_equations_hold(l, m):
    X, y = xor(m)
    model = SVMGBClassifier(Gaussian(1.5), waves(l), tol=1e-6).fit(X, y)
    P = model.features_.transform(X)[model.support_]
    residual = np.abs(model.dual_coef_ @ P) / (np.abs(model.dual_coef_) @ np.abs(P))
    assert residual.max() < 1e-8
    assert model.certificate_.constraint < 1e-8
    assert model.certificate_.kkt <= 1e-6


@pytest.mark.parametrize("kernel", [ThinPlate(), Multiquadric(1.0)])
def test_conditionally_positive_definite_kernels(kernel):
    pytest.importorskip("cvxopt")
    X, y = xor(90, d=2)
    features = Polynomials(1) if kernel.cpd_order == 2 else Constant()
    ours = SVMGBClassifier(kernel, features, C=5.0).fit(X, y)
    paper = SVMGBClassifier(kernel, features, C=5.0, solver="cvxopt").fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), paper.decision_function(X), atol=1e-5)
    assert ours.certificate_.kkt < 1e-9
    assert ours.certificate_.primal == pytest.approx(objective(ours, X, y), rel=1e-9)
    # precomputed, nobody says that the matrix is only conditionally definite
    P = ours.features_.transform(X)
    same = SVMGBClassifier("precomputed", C=5.0).fit(kernel(X), y, P=P)
    np.testing.assert_allclose(
        same.decision_function(kernel(X), P=P), ours.decision_function(X), atol=1e-9
    )


def test_order_of_the_kernel_is_enforced():
    X, y = xor(40, d=2)
    with pytest.raises(ValueError, match="Polynomials"):
        SVMGBClassifier(ThinPlate(), "constant").fit(X, y)
    with pytest.raises(ValueError, match="free features"):
        SVMGBClassifier(Multiquadric(), None).fit(X, y)


# ----------------------------------------------------------------------------------- theory


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e5])
def test_reproduction_t3(seed, C):
    """The kernel part vanishes iff the features strictly separate; then for every kernel and C."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    F = Polynomials(1)
    P = F.fit_transform(X)
    y = np.where(P @ rng.normal(size=4) > 0, 1.0, -1.0)
    if seed % 2:
        y[np.argmax(np.abs(X[:, 0]))] *= -1
    lp = linprog(np.zeros(4), -y[:, None] * P, -np.ones(60), bounds=(None, None))
    for kernel in (Gaussian(0.5), Linear()):
        model = SVMGBClassifier(kernel, F, C=C).fit(X, y)
        if lp.status == 0:
            assert model.support_.size == 0
            assert model.certificate_.primal == 0
            assert model.certificate_.gap == 0
            assert np.min(y * model.decision_function(X)) >= 1
        else:
            assert model.support_.size > 0
            assert model.certificate_.primal > 0


def test_flat_prior_limit_t7_and_its_rate():
    """p* ≤ p(f_κ) ≤ p* + ‖λ*‖²/2κ for the kernel Φ + κPPᵀ without free features."""
    X, y = xor(120)
    P, K, sign = waves(4)(X), Gaussian(1.5)(X), np.where(y == 1, 1.0, -1.0)
    C = np.ones(120)
    exact = solve_robust(K, P, sign, C)
    excess = []
    for kappa in (1.0, 10.0, 1e2, 1e3):
        s = solve_robust(K + kappa * P @ P.T, np.empty((120, 0)), sign, C)
        assert s.certificate.kkt < 1e-9
        lam = kappa * P.T @ s.beta
        p = naive.primal(K @ s.beta, P, sign, C, s.beta, lam)
        excess.append(p - exact.certificate.primal)
        assert -1e-9 <= excess[-1] <= exact.coef @ exact.coef / (2 * kappa)
    # the kernel's own objective, ½|f|² + ‖λ‖²/2κ, bounds it; what f_κ really misses falls as 1/κ²
    rates = np.log10(np.array(excess[:-1]) / excess[1:])
    assert rates[0] > 0.5
    assert rates[-1] == pytest.approx(2, abs=0.2)


def test_honest_baseline_svc_on_an_augmented_kernel():
    """What people do today: κPPᵀ in the kernel.  It converges in κ, but SMO pays for it."""
    X, y = xor(150)
    P, K, sign = waves(4)(X), Gaussian(1.5)(X), np.where(y == 1, 1.0, -1.0)
    exact = solve_robust(K, P, sign, np.ones(150))
    missed, steps = [], []
    for kappa in (1.0, 1e2, 1e4, 1e6):
        svc = SVC(kernel="precomputed", tol=1e-6, max_iter=200_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            svc.fit(K + kappa * P[:, 1:] @ P[:, 1:].T, y)
        beta = np.zeros(150)
        beta[svc.support_] = svc.dual_coef_[0]
        lam = np.append(svc.intercept_, kappa * P[:, 1:].T @ beta)
        p = naive.primal(K @ beta, P, sign, np.ones(150), beta, lam)
        missed.append(p - exact.certificate.primal)
        steps.append(svc.n_iter_[0])
    assert exact.certificate.relative_gap < 1e-12
    assert min(missed) > 1e-5  # ours is exact where no κ is
    assert missed[0] > 100 * missed[1]  # κ = 100 is closer than κ = 1 …
    assert steps[1] > 20 * steps[0]  # … and far more expensive …
    assert steps[2] == steps[3] == 200_000
    assert missed[3] > missed[2] > 1000 * missed[1]  # … and beyond that SMO does not get there


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([0.1, 1.0, 30.0]))
def test_invariances(seed, l, C):
    """Basis of the features, order of the samples, weights for duplicates: the same function."""
    rng = np.random.default_rng(seed)
    m = 24
    X = rng.normal(size=(m, 2))
    y = rng.integers(0, 2, size=m)
    y[:2] = 0, 1
    groups = rng.integers(0, l, size=m)
    P = np.eye(l)[groups] if seed % 2 else np.column_stack([np.ones(m), X, X**2])[:, :l]
    K, w = Gaussian(1.0)(X), rng.integers(1, 4, size=m)
    base = SVMGBClassifier("precomputed", C=C).fit(K, y, sample_weight=w, P=P)
    f = base.decision_function(K, P=P)

    A = rng.normal(size=(l, l)) + 3 * np.eye(l)
    changed = SVMGBClassifier("precomputed", C=C).fit(K, y, sample_weight=w, P=P @ A)
    np.testing.assert_allclose(changed.decision_function(K, P=P @ A), f, atol=1e-7)

    order = rng.permutation(m)
    Ko = K[np.ix_(order, order)]
    turned = SVMGBClassifier("precomputed", C=C).fit(
        Ko, y[order], sample_weight=w[order], P=P[order]
    )
    np.testing.assert_allclose(turned.decision_function(Ko, P=P[order]), f[order], atol=1e-7)

    twice = np.repeat(np.arange(m), w)
    Kt = K[np.ix_(twice, twice)]
    repeated = SVMGBClassifier("precomputed", C=C).fit(Kt, y[twice], P=P[twice])
    np.testing.assert_allclose(repeated.decision_function(Kt, P=P[twice]), f[twice], atol=1e-7)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["sample", "least-squares", "virtual", "given"]))
def test_anchors_change_neither_solution_nor_seminorm_t2(seed, anchors):
    """The conditional kernel H of any anchors instead of Φ: the same β, objective and, if λ is
    determined, the same f."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(24, 2)), rng.integers(0, 2, size=24)
    y[:2] = 0, 1
    points = rng.normal(size=(3, 2)) if anchors == "given" else anchors
    H = ConditionalKernel(Gaussian(1.0), Polynomials(1), points).fit(X).H
    base = SVMGBClassifier(Gaussian(1.0), Polynomials(1)).fit(X, y)
    other = SVMGBClassifier(H, Polynomials(1)).fit(X, y)
    np.testing.assert_array_equal(other.support_, base.support_)
    np.testing.assert_allclose(other.dual_coef_, base.dual_coef_, atol=1e-7)
    assert other.certificate_.primal == pytest.approx(base.certificate_.primal, abs=1e-7)
    free = base.support_[np.abs(base.dual_coef_[0]) < 1 - 1e-9]
    if np.linalg.matrix_rank(np.column_stack([np.ones(24), X])[free], tol=1e-3) == 3:
        np.testing.assert_allclose(other.decision_function(X), base.decision_function(X), atol=1e-5)


def test_rank_deficient_features_and_features_that_never_fire():
    X, y = xor(80)
    plain = SVMGBClassifier(Gaussian(1.5), Polynomials(1)).fit(X, y)
    padded = SVMGBClassifier(
        Gaussian(1.5),
        lambda X: np.column_stack([np.ones(len(X)), X, X[:, :1] - X[:, 1:2], X[:, 0] > 50, 2 * X]),
    ).fit(X, y)
    assert padded.rank_ == [4]
    np.testing.assert_allclose(padded.decision_function(X), plain.decision_function(X), atol=1e-9)
    assert padded.coef_[0, 5] == 0


def test_constant_that_hides_in_the_span():
    """pLSA-like features sum to one: adding the constant changes nothing (A's text experiment)."""
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.ones(4), size=80)
    y = (X[:, 0] + 0.3 * rng.normal(size=80) > X[:, 1]).astype(int)
    one = SVMGBClassifier(Gaussian(0.5), lambda X: X).fit(X, y)
    two = SVMGBClassifier(Gaussian(0.5), lambda X: np.column_stack([np.ones(len(X)), X])).fit(X, y)
    assert one.rank_ == two.rank_ == [4]
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-9)


def test_C_and_reg():
    X, y = xor(50)
    assert C_from_reg(reg_from_C(3.0, 50), 50) == pytest.approx(3.0)
    model = SVMGBClassifier(Gaussian(1.5), C=C_from_reg(0.01, 50)).fit(X, y)
    f, sign = model.decision_function(X), np.where(y == 1, 1, -1)
    loss = np.mean(np.maximum(1 - sign * f, 0))
    beta = np.zeros(50)
    beta[model.support_] = model.dual_coef_[0]
    papers = loss + 0.01 * beta @ Gaussian(1.5)(X) @ beta
    assert papers == pytest.approx(model.certificate_.primal / (C_from_reg(0.01, 50) * 50))


def test_certificate_and_warning(capsys):
    X, y = xor(300)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        model = SVMGBClassifier(Gaussian(1.5), waves(3), C=100.0, max_iter=20).fit(X, y)
    assert model.n_iter_ <= 20
    exact = SVMGBClassifier(Gaussian(1.5), waves(3), C=100.0, verbose=1).fit(X, y)
    assert "certificate" in capsys.readouterr().out
    assert model.certificate_.dual <= exact.certificate_.primal <= model.certificate_.primal
    assert exact.certificate_.relative_gap < 1e-10
    assert exact.certificate_.primal == pytest.approx(objective(exact, X, y), rel=1e-9)
    with pytest.warns(ConvergenceWarning, match="gap_tol"):
        SVMGBClassifier(Gaussian(1.5), C=100.0, gap_tol=1e-300).fit(X, y)


def test_gap_on_demand_for_large_problems():
    X, y = xor(1300)
    model = SVMGBClassifier(Gaussian(1.0), waves(3), C=3.0, gap_tol=1e-9).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-9


def test_a_tie_is_not_decided_by_rounding():
    """Features of zeros and ones: f = 0 at a sample that fires for both classes, or for none."""
    y = np.repeat([0, 1, 2], 6)
    P = np.eye(3)[y]
    G = np.eye(18)
    for C in (0.01, 1.0, 100.0):
        model = SVMGBClassifier(kernel="precomputed", C=C).fit(G, y, P=P)
        new = np.array([[1, 1, 0], [0, 0, 0], [0, 1, 1], [1, 1, 1]], dtype=float)
        scores = model.decision_function(np.zeros((4, 18)), P=new)
        votes = np.round(scores)
        # 0 against 1 is a tie and goes to 0; 2 loses to both.
        assert votes[0].tolist() == [2, 1, 0]
        assert votes[1].tolist() == [2, 1, 0]
        assert votes[2].tolist() == [0, 2, 1]
        assert model.predict(np.zeros((4, 18)), P=new).tolist() == [0, 0, 1, 0]


def test_an_outlier_makes_no_ties():
    """f(x) = x, and 1e6 at one sample: near the boundary a sign is still a sign."""
    X = np.array([[-1.0], [1.0], [1e6]])
    model = SVMGBClassifier(Gaussian(1.0), Polynomials(1, scaled=False)).fit(X, [0, 1, 1])
    near = np.array([[-1e-4], [1e-4], [1e6]])
    np.testing.assert_allclose(model.decision_function(near), near[:, 0], rtol=1e-6)
    np.testing.assert_array_equal(model.predict(near), [0, 1, 1])

"""Every mistake that we say paper C contains: the printed statement fails, ours passes.

Oracles: quadrature for C's integrals, scikit-learn's SVC and liblinear, and the interior-point
method of `naive.conditional` on the primal problem; none of them knows C's algebra.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, linalg, stats
from sklearn.svm import SVC, LinearSVC

from kernelbook import KernelBasis, PrimalSVMClassifier, kernels, papers
from kernelbook.datasets import load_ionosphere
from tests.naive import conditional as naive
from tests.naive.conditional import gaussian
from tests.paths import BOOK

COVERED = set()


def erratum(*where):
    """Say which entries of `papers.ERRATA` a test proves."""
    COVERED.update(where)
    return lambda test: test


def blobs(n, seed, gap=1.0):
    """Two Gaussian clouds in the plane, 2·gap apart."""
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X + gap * y[:, None] * [1.0, 0.0], y


def discs(n, seed):
    """Two discs of radius one, well apart."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    radius, angle = np.sqrt(rng.random(n)), 2 * np.pi * rng.random(n)
    return np.column_stack([radius * np.cos(angle) + 1.2 * y, radius * np.sin(angle)]), y


def coordinates(B_list, G):
    """x̂ for several sets of evaluations, in an orthonormal basis of the span; G may be singular."""
    values, U = np.linalg.eigh(G)
    kept = values > 1e-12 * values[-1]
    return [B @ (U[:, kept] / np.sqrt(values[kept])) for B in B_list]


def machine(x_hat, y, c=1.0):
    """C's problem by SVC on the kernel x̂·x̂', which leaves b free."""
    return SVC(kernel="precomputed", C=c, tol=1e-9).fit(x_hat @ x_hat.T, y)


# ------------------------------------------------------------------------------------- section 2


@erratum("C 2, eigenbasis")
def test_the_eigenbasis_needs_the_columns_of_U():
    X, _ = blobs(30, 0)
    K = gaussian(X, X)
    for T in (papers.c2_eigen_repaired(K), papers.c2_gram_schmidt(K)):
        np.testing.assert_allclose(T.T @ K @ T, np.eye(30), atol=1e-4)
    printed = papers.c2_eigen_printed(K)
    assert np.abs(printed.T @ K @ printed - np.eye(30)).max() > 1.0


def test_what_section_2_says_of_samples_is_right():
    # x̂_ij = ⟨k_i, e_j⟩ = e_j(x_i), and the primal machine is the kernel machine.
    X, y = blobs(30, 1, gap=0.5)
    K = gaussian(X, X, 0.7)
    T = papers.c2_gram_schmidt(K)
    x_hat = K @ T
    np.testing.assert_allclose(x_hat @ x_hat.T, K, atol=1e-7)
    np.testing.assert_allclose(x_hat, np.linalg.cholesky(K), atol=1e-6)  # Gram–Schmidt = Cholesky
    f = naive.hinge_loss(x_hat, np.ones((30, 1)), y, 1 / (2 * 30))[0]
    svc = SVC(kernel="precomputed", C=1.0, tol=1e-9).fit(K, y)
    np.testing.assert_allclose(f, svc.decision_function(K), atol=1e-4)


@erratum("C 2, basis")
def test_equal_samples_leave_no_basis():
    X, y = blobs(12, 2)
    X = np.vstack([X, X[:1]])
    K = gaussian(X, X)
    assert np.linalg.matrix_rank(K, tol=1e-10) == 12
    with np.errstate(invalid="ignore", divide="ignore"):
        last = papers.c2_gram_schmidt(K)[:, -1]
    assert not np.isfinite(last).all() or np.abs(last).max() > 1e6
    # The library drops the double and finds the same machine as SVC.
    y = np.r_[y, y[0]]
    ours = PrimalSVMClassifier(KernelBasis(kernels.Gaussian(1.0))).fit(X, y)
    svc = SVC(gamma=1.0, C=1.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=1e-5)


@pytest.mark.skipif(
    not (Path(os.environ.get("KERNELBOOK_DATA", "absent")) / "ionosphere").exists(),
    reason="KERNELBOOK_DATA does not name the real data",
)
def test_ionosphere_has_a_double():
    data = load_ionosphere()
    assert len(np.unique(data.data, axis=0)) < len(data.data) == 351


@erratum("C 2, norm")
def test_the_squared_norm_is_the_squared_norm_of_the_coefficients():
    X, _ = blobs(20, 3)
    K = gaussian(X, X)
    w = np.random.default_rng(0).normal(size=20)
    coefficients = papers.c2_gram_schmidt(K) @ w
    norm = np.sqrt(coefficients @ K @ coefficients)
    assert norm**2 == pytest.approx(w @ w, rel=1e-6)
    assert abs(norm - w @ w) > 0.1


@erratum("C 2, solvers")
def test_liblinear_punishes_the_bias():
    X, y = blobs(60, 4, gap=0.7)
    X += np.array([5.0, 3.0])  # far from the origin, so that a bias is needed
    right = SVC(kernel="linear", C=0.1, tol=1e-9).fit(X, y).decision_function(X)
    basis = kernels.Linear()
    ours = PrimalSVMClassifier(KernelBasis(basis), C=0.1).fit(X, y).decision_function(X)
    np.testing.assert_allclose(ours, right, atol=1e-5)
    liblinear = LinearSVC(loss="hinge", C=0.1, tol=1e-10, max_iter=10**6, random_state=0)
    assert np.abs(liblinear.fit(X, y).decision_function(X) - right).max() > 0.1


@erratum("C 2, squared slacks")
def test_the_machine_with_squared_slacks_is_another_one():
    X, y = blobs(60, 5, gap=0.7)
    f = {}
    for loss in ("hinge", "squared_hinge"):
        model = LinearSVC(loss=loss, C=1.0, fit_intercept=False, tol=1e-10, max_iter=10**6)
        f[loss] = model.set_params(random_state=0).fit(X, y).decision_function(X)
    assert np.abs(f["hinge"] - f["squared_hinge"]).max() > 0.1
    hinge = naive.hinge_loss(X, np.zeros((60, 0)), y, 1 / (2 * 60))[0]
    np.testing.assert_allclose(f["hinge"], hinge, atol=1e-4)


# ------------------------------------------------------------------------------------- section 3


@erratum("C 3, space")
def test_a_space_spanned_by_one_function_is_not_finite():
    X, _ = blobs(5, 6)
    e = gaussian(X, X[:1])[:, 0]
    functions = {tuple(t * e) for t in np.linspace(0, 1, 1000)}
    assert len(functions) == 1000  # as many as we care to draw
    assert np.linalg.matrix_rank(np.array(sorted(functions))) == 1


@erratum("C 3, classifier")
@pytest.mark.parametrize("m", [6, 40])
def test_the_classifier_has_no_labels_in_it(m):
    X, y = blobs(40, 7)
    centers = X[:m]
    x_hat = coordinates([gaussian(X, centers)], gaussian(centers, centers))[0]
    f = naive.hinge_loss(x_hat, np.ones((40, 1)), y, 1 / (2 * 40))
    w, b = f[3], f[4][0]
    np.testing.assert_allclose(papers.c3_decision_repaired(w, b, x_hat), f[0], atol=1e-9)
    assert np.mean(np.sign(f[0]) == y) > 0.75
    if len(w) != len(y):
        with pytest.raises(ValueError, match="broadcast"):
            papers.c3_decision_printed(w, b, y, x_hat)
    else:
        printed = papers.c3_decision_printed(w, b, y, x_hat)
        assert np.mean(np.sign(printed) == y) < 0.65


@erratum("C 3, C 4.2, dual")
@pytest.mark.parametrize("m", [4, 90])
def test_fewer_or_more_functions_than_samples_in_the_dual(m):
    X, y = blobs(40, 8, gap=0.5)
    centers = np.random.default_rng(1).uniform(-4, 4, (m, 2))
    x_hat = coordinates([gaussian(X, centers)], gaussian(centers, centers))[0]
    best = naive.hinge_loss(x_hat, np.ones((40, 1)), y, 1 / (2 * 40))[1] * 40
    dual = machine(x_hat, y)
    w = dual.dual_coef_[0] @ x_hat[dual.support_]
    slacks = np.maximum(1 - y * dual.decision_function(x_hat @ x_hat.T), 0)
    assert 0.5 * w @ w + slacks.sum() == pytest.approx(best, rel=1e-6)


# ----------------------------------------------------------------------------------- section 3.1


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.5, 4.0)])
def test_the_inner_products_of_gaussians_are_right(d, a, b):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(2, d))

    def f(i, gamma, *x):
        return papers.c31_values(np.array([x]), X[i : i + 1], gamma)[0, 0]

    def product(*x):
        return f(0, a, *x) * f(1, b, *x)

    quadrature = integrate.nquad(product, [(-12, 12)] * d, opts={"epsabs": 1e-9, "points": [0]})[0]
    assert papers.c31_gram(X[:1], a, X[1:], b)[0, 0] == pytest.approx(quadrature, abs=1e-7)
    assert papers.c31_gram(X, a)[0, 0] == 1.0


@erratum("C 3.1, covariance")
def test_the_covariance_is_not_the_unit_matrix():
    for gamma in (0.5, 1.0, 8.0):

        def moment(k, gamma=gamma):
            return integrate.quad(lambda t: t**k * np.exp(-gamma * t**2), -np.inf, np.inf)[0]

        variance = moment(2) / moment(0)
        assert variance == pytest.approx(papers.c31_covariance(gamma, 1)[0, 0])
        assert (abs(variance - 1) > 0.1) == (gamma != 0.5)


@erratum("C 3.1, equal widths")
@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_equal_widths_give_the_gaussian_machine_in_one_reading_only(gamma):
    X, y = blobs(40, 9, gap=0.7)
    G, B = papers.c31_gram(X, gamma), papers.c31_values(X, X, gamma)
    k = papers.c31_kernel(X, X, gamma)
    np.testing.assert_allclose(G, k, atol=1e-14)  # ⟨f_i, f_j⟩ is that kernel …
    inner, values = coordinates([G, B], G)
    np.testing.assert_allclose(inner @ inner.T, k, atol=1e-8)
    # … but not what comes out if x̂_ij = e_j(x_i), not even up to a constant factor.
    literal = values @ values.T
    scale = np.sum(literal * k) / np.sum(k * k)
    assert linalg.norm(literal - scale * k) > 0.2 * linalg.norm(literal)
    # Nor does the machine, whatever the regularization.
    f = SVC(kernel="precomputed", C=1.0).fit(k, y).decision_function(k)
    others = [machine(values, y, c).decision_function(literal) for c in np.logspace(-4, 3, 22)]
    assert min(np.abs(f - g).max() for g in others) > 0.1


@erratum("C 3.1, hyper-parameter")
def test_equal_widths_halve_the_hyper_parameter():
    X, _ = blobs(10, 10)
    G = papers.c31_gram(X, 2.0)
    np.testing.assert_allclose(G, gaussian(X, X, width=1.0), atol=1e-14)  # γ/2 = 1
    assert np.abs(G - gaussian(X, X, width=np.sqrt(0.5))).max() > 0.05  # γ = 2


@erratum("C 3.1, values")
def test_point_values_are_unbounded_in_L2():
    # ‖x̂‖² = sup {f(x)² : ‖f‖ ≤ 1} over the span; in an RKHS it never exceeds k(x, x).
    origin = np.zeros((1, 1))
    literal, kernel = [], []
    for n in (2, 4, 8, 16):
        centers = np.linspace(-3, 3, n)[:, None]
        x = coordinates([papers.c31_values(origin, centers, 1.0)], papers.c31_gram(centers, 1.0))
        literal.append((x[0] ** 2).sum())
        x = coordinates([gaussian(origin, centers)], gaussian(centers, centers))
        kernel.append((x[0] ** 2).sum())
    assert max(kernel) <= 1 + 1e-9
    assert (np.diff(literal) > 0).all()
    assert literal[-1] > 1.5 * papers.c31_values(origin, origin, 1.0)[0, 0] ** 2
    for gamma in (1e2, 1e4, 1e6):  # one function of norm one is as large as we like
        assert papers.c31_values(origin, origin, gamma)[0, 0] == (2 * gamma / np.pi) ** 0.25


@erratum("C 3.1, uniform")
@pytest.mark.parametrize("d", [1, 3])
def test_the_inner_product_of_c_is_a_kernel_with_any_width_at_any_place(d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(60, d))
    gamma = np.exp(rng.uniform(-3, 3, 60))
    K = papers.c31_gram(X, gamma)
    assert linalg.eigvalsh(K)[0] > -1e-12
    np.testing.assert_allclose(np.diag(K), 1.0)
    # How fast a translate falls depends on the place: as different as the γ are.
    step = np.zeros((2, d))
    step[1, 0] = 0.3
    fall = [papers.c31_gram(step, np.full(2, g))[0, 1] for g in (gamma.min(), gamma.max())]
    assert fall[0] > 0.95
    assert fall[1] < 0.6


@erratum("C 3.1, weights")
def test_two_gaussians_a_sample_have_tied_weights_too():
    n = 15
    X, _ = blobs(n, 11, gap=0.0)
    centers, gamma = np.vstack([X, X]), np.repeat([0.5, 4.0], n)
    G = papers.c31_gram(centers, gamma)
    x_hat = coordinates([papers.c31_values(X, centers, gamma)], G)[0]
    assert x_hat.shape[1] > 1.5 * n
    rng = np.random.default_rng(0)
    solutions = []
    for _ in range(3 * n):
        y = rng.permutation(np.where(np.arange(n) < n // 2, 1.0, -1.0))
        svc = machine(x_hat, y, 0.3)
        solutions.append(svc.dual_coef_[0] @ x_hat[svc.support_])
    # 2n functions, but the solutions for all labels span n dimensions, like those of any kernel.
    assert np.linalg.matrix_rank(np.array(solutions), tol=1e-8) <= n


# ----------------------------------------------------------------------------------- section 3.2


@erratum("C 3.2, sparseness")
@pytest.mark.parametrize("start", [[3, 2], [5, 6], [3, 0], [5, 8]])
def test_functions_added_one_by_one_are_more_than_needed(start):
    X = np.arange(-4.0, 5.0)[:, None]
    y = np.where(np.abs(X[:, 0]) < 1.5, 1.0, -1.0)

    def margins(chosen):
        (x,) = coordinates([gaussian(X, X[chosen])], gaussian(X[chosen], X[chosen]))
        return y * machine(x, y, 100.0).decision_function(x @ x.T)

    assert margins([4]).min() > 0.5  # one function is enough
    chosen = list(start)  # two samples of opposite labels, then the most misclassified
    assert y[chosen].sum() == 0
    while (yf := margins(chosen)).min() <= 0:
        yf[chosen] = np.inf
        chosen.append(int(yf.argmin()))
    assert len(chosen) == 3


@pytest.fixture(scope="module")
def nested():
    """Training objective and errors on new samples for nested spaces of Gaussians."""
    X, y = blobs(60, 12, gap=0.6)
    Z, t = blobs(1000, 13, gap=0.6)
    objectives, errors = {}, {}
    for m in (2, 4, 8, 16, 30, 60):
        x, z = coordinates(
            [gaussian(X, X[:m], 0.3), gaussian(Z, X[:m], 0.3)], gaussian(X[:m], X[:m], 0.3)
        )
        svc = machine(x, y, 100.0)
        f = svc.decision_function(x @ x.T)
        w = svc.dual_coef_[0] @ x[svc.support_]
        objectives[m] = 0.5 * w @ w + 100.0 * np.maximum(1 - y * f, 0).sum()
        errors[m] = np.mean(svc.predict(z @ x.T) != t)
    return objectives, errors


@erratum("C 3.2, C 4.2, monotone")
def test_only_the_training_objective_falls_with_every_function(nested):
    objectives, errors = (np.array(list(part.values())) for part in nested)
    assert (np.diff(objectives) <= 1e-6 * objectives[:-1]).all()
    assert np.diff(errors).max() > 0.01


@erratum("C 3.2, indices")
def test_the_construction_starts_with_two_functions(nested):
    m = max(nested[0])
    assert len(range(2, m + 1)) == m - 1  # C's own count of values; i = 1, …, m would make m


@erratum("C 3.2, parameter")
def test_for_c_zero_every_bias_is_optimal():
    def objective(w, b, c):
        X, y = blobs(10, 14)
        return 0.5 * w @ w + c * np.maximum(1 - y * (X @ w + b), 0).sum()

    biases = np.array([-5.0, 0.0, 0.1, 7.0])
    assert [objective(np.zeros(2), b, 0.0) for b in biases] == [0.0] * 4
    assert len({objective(np.zeros(2), b, 1e-6) for b in biases}) > 1


# ------------------------------------------------------------------------------- sections 4 and 5


@erratum("C 4.1, spirals")
@pytest.mark.parametrize("c", [0.01, 1.0, 100.0])
def test_a_spike_at_each_sample_turns_the_predictions_around(c):
    n, wide, narrow = 40, 0.5, 2.0**19
    X, y = discs(n, 15)
    Z, t = discs(500, 16)
    one = coordinates([papers.c31_values(V, X, wide) for V in (X, Z)], papers.c31_gram(X, wide))
    assert machine(one[0], y, c).score(one[1] @ one[0].T, t) > 0.98
    centers, gamma = np.vstack([X, X]), np.repeat([wide, narrow], n)
    x, z = coordinates(
        [papers.c31_values(V, centers, gamma) for V in (X, Z)], papers.c31_gram(centers, gamma)
    )
    assert machine(x, y, c).score(x @ x.T, y) == 1.0  # the training samples are right, each alone
    assert machine(x, y, c).score(z @ x.T, t) < 0.05  # and the rest of the plane is upside down


@erratum("C 4.1, Ionosphere")
def test_21_percent_are_three_samples():
    before, after = 0.04 * 350, 0.0314 * 350
    assert before == pytest.approx(14)
    assert round(after) == 11
    assert (before - round(after)) / before == pytest.approx(0.21, abs=0.005)
    # Sign test for 14 against 11: k samples repaired, k − 3 spoiled; k = 3 is the clearest case.
    p = [stats.binomtest(k, 2 * k - 3, 0.5).pvalue for k in range(3, 15)]
    assert min(p) == p[0] == pytest.approx(0.25)
    # 351 samples, as the data set has, do not give "exactly 4 %".
    assert min(abs(k / 351 - 0.04) for k in range(352)) > 1e-4


@erratum("C 4.1, grids")
def test_the_minimum_over_a_larger_grid_is_smaller_by_chance():
    # Labels that nothing can predict: every candidate errs with probability one half.
    rng = np.random.default_rng(0)
    errors = rng.binomial(200, 0.5, size=(500, 15, 15)) / 200
    line, square = errors[:, 0].min(axis=1), errors.min(axis=(1, 2))
    assert line.mean() < 0.45
    assert square.mean() < line.mean() - 0.02
    assert errors[:, 0, 0].mean() == pytest.approx(0.5, abs=0.01)


@erratum("C 5")
def test_the_support_vectors_alone_make_it_quadratic():
    sizes = np.array([250, 500, 1000, 2000])
    rows, steps = [], []
    for n in sizes:
        X, y = blobs(n, 17, gap=0.5)
        svc = SVC(gamma=1.0, C=1.0).fit(X, y)
        rows.append(svc.n_support_.sum())
        steps.append(svc.n_iter_[0])
    # Each support vector's row of n entries is needed at least once; each step touches n entries.
    for counts in (rows, steps):
        slope = np.polyfit(np.log(sizes), np.log(counts * sizes), 1)[0]
        assert slope > 1.8


@erratum("C, references")
def test_the_references_against_our_bibliography():
    bib = (BOOK / "references.bib").read_text()
    entry = re.search(r"@article\{KimeldorfWahba1970.*?\n\}", bib, re.S).group()
    first, last = map(int, re.search(r"pages\s*=\s*\{(\d+)--(\d+)\}", entry).groups())
    assert first == 495 < last == 502 < 595
    entry = re.search(r"@\w+\{ShalevShwartz.*?\n\}", bib, re.S).group()
    authors = re.search(r"author\s*=\s*\{(.*?)\},\n", entry, re.S).group(1)
    assert authors.startswith("Shalev-Shwartz")
    for key, year, pages in (
        ("FreundSchapire1999", 1999, "277--296"),
        ("ZhuHastie2005", 2005, "185--205"),
    ):
        entry = re.search(rf"@article\{{{key}.*?\n\}}", bib, re.S).group()
        assert re.search(rf"year\s*=\s*\{{{year}\}}", entry)
        assert re.search(rf"pages\s*=\s*\{{{pages}\}}", entry)


def test_every_erratum_of_C_has_a_test():
    assert COVERED == {e.where for e in papers.ERRATA if e.where[0] == "C"}

"""G-RLS against independent oracles: SciPy, scikit-learn, OpenTURNS, and the plain formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import RBFInterpolator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import SplineTransformer

from kernelbook import (
    Gaussian,
    GRLSRegressor,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Polyharmonic,
    Polynomials,
    ThinPlate,
)
from kernelbook.solvers.grls import dense
from kernelbook.solvers.grls.dense import System
from tests.naive import grls as naive

SOLVERS = ["cholesky", "nullspace"]


def data(m=60, d=2, seed=0, outputs=None):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(m, d))
    y = np.sin(3 * X[:, 0]) + X.sum(axis=1) ** 2 + 0.3 * rng.normal(size=m)
    if outputs:
        y = y[:, None] * rng.normal(size=outputs) + 0.2 * rng.normal(size=(m, outputs))
    return X, y, rng.uniform(-1.2, 1.2, size=(40, d))


def waves(X):
    return np.c_[np.ones(len(X)), np.sin(3 * X[:, 0]), np.exp(X[:, 1])]


# ------------------------------------------------------------------------------- SciPy

SCIPY = [
    ("gaussian", Gaussian(0.7), 1 / 0.7, [-1, 0, 1, 2]),
    ("multiquadric", Multiquadric(0.5), 2.0, [0, 1, 2]),
    ("linear", Polyharmonic(1), 1.0, [0, 1]),
    ("thin_plate_spline", ThinPlate(), 1.0, [1, 2, 3]),
    ("cubic", Polyharmonic(3), 1.0, [1, 2]),
    ("quintic", Polyharmonic(5), 1.0, [2, 3]),
]
CASES = [(name, k, e, d) for name, k, e, degrees in SCIPY for d in degrees]


@pytest.mark.parametrize("reg", [1e-8, 1e-3, 1.0])
@pytest.mark.parametrize(("name", "kernel", "epsilon", "degree"), CASES)
def test_equals_rbf_interpolator(name, kernel, epsilon, degree, reg):
    X, y, Z = data()
    features = Polynomials(degree) if degree >= 0 else None
    ours = GRLSRegressor(kernel, features, reg=reg).fit(X, y)
    scipy = RBFInterpolator(
        X, y, kernel=name, epsilon=epsilon, degree=degree, smoothing=len(X) * reg
    )
    np.testing.assert_allclose(ours.predict(Z), scipy(Z), atol=1e-8)


@pytest.mark.parametrize(("name", "kernel", "epsilon", "degree"), CASES)
def test_weights_equal_per_sample_smoothing(name, kernel, epsilon, degree):
    X, Y, Z = data(outputs=3)
    w = np.random.default_rng(1).uniform(0.1, 3, size=len(X))
    features = Polynomials(degree) if degree >= 0 else None
    ours = GRLSRegressor(kernel, features, reg=1e-3).fit(X, Y, sample_weight=w)
    scipy = RBFInterpolator(
        X, Y, kernel=name, epsilon=epsilon, degree=degree, smoothing=1e-3 * w.sum() / w
    )
    np.testing.assert_allclose(ours.predict(Z), scipy(Z), atol=1e-8)


@pytest.mark.parametrize(("name", "kernel", "epsilon", "degree"), CASES)
def test_reg_zero_interpolates_like_scipy(name, kernel, epsilon, degree):
    """T10: the limit of no regularization is the interpolant of least seminorm."""
    X, y, Z = data(m=25)
    features = Polynomials(degree) if degree >= 0 else None
    ours = GRLSRegressor(kernel, features, reg=0.0).fit(X, y)
    scipy = RBFInterpolator(X, y, kernel=name, epsilon=epsilon, degree=degree)
    np.testing.assert_allclose(ours.predict(X), y, atol=1e-9)
    np.testing.assert_allclose(ours.predict(Z), scipy(Z), atol=1e-8)
    assert ours.certificate_.gap < 1e-18


# ------------------------------------------------------- scikit-learn, OpenTURNS, formulas


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_without_features_equals_kernel_ridge(solver, weighted):
    X, Y, Z = data(outputs=2)
    w = np.random.default_rng(2).uniform(0.5, 2, size=len(X)) if weighted else None
    ours = GRLSRegressor(Gaussian(0.5), None, reg=1e-3, solver=solver).fit(X, Y, w)
    alpha = 1e-3 * (len(X) if w is None else w.sum())
    ridge = KernelRidge(alpha=alpha, kernel="rbf", gamma=4.0).fit(X, Y, w)
    np.testing.assert_allclose(ours.predict(Z), ridge.predict(Z), atol=1e-10)
    np.testing.assert_allclose(ours.dual_coef_.T, ridge.dual_coef_, atol=1e-8)
    assert ours.coef_.shape == (2, 0)


@pytest.mark.parametrize("reg", [1e-4, 1e-2])
def test_universal_kriging_of_openturns(reg):
    ot = pytest.importorskip("openturns")
    X, y, Z = data(m=40)
    terms = ["1", "sin(3*a)", "exp(b)"]
    basis = ot.Basis([ot.SymbolicFunction(["a", "b"], [term]) for term in terms])
    covariance = ot.SquaredExponential([0.7 / np.sqrt(2)] * 2, [1.0])
    fitter = ot.GaussianProcessFitter(ot.Sample(X), ot.Sample(y[:, None]), covariance, basis)
    fitter.setOptimizeParameters(False)
    fitter.setNoise([len(X) * reg] * len(X))
    fitter.run()
    regression = ot.GaussianProcessRegression(fitter.getResult())
    regression.run()
    result = regression.getResult()
    points = ot.Sample(Z)
    variance = ot.GaussianProcessConditionalCovariance(result).getConditionalMarginalVariance(
        points
    )

    for solver in SOLVERS:
        ours = GRLSRegressor(Gaussian(0.7), waves, reg=reg, solver=solver).fit(X, y)
        mean, std = ours.predict(Z, return_std=True)
        np.testing.assert_allclose(ours.coef_, np.array(result.getTrendCoefficients()), rtol=1e-8)
        np.testing.assert_allclose(mean, np.ravel(result.getMetaModel()(points)), atol=1e-9)
        np.testing.assert_allclose(std**2 / ours.scale_, np.ravel(variance), rtol=1e-7, atol=1e-10)


SADDLE = [
    (Gaussian(0.6), waves, "cholesky"),
    (Gaussian(0.6), waves, "nullspace"),
    (Matern(0.8, 2.5), SplineTransformer(4, degree=2, include_bias=False), "cholesky"),
    (Laplacian(1.0) + 0.5 * Linear(), Polynomials(3), "auto"),
    (ThinPlate(), lambda X: np.c_[X, waves(X)], "auto"),
    (Multiquadric(0.3), waves, "nullspace"),
]


@pytest.mark.interpreted
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("kernel", "features", "solver"), SADDLE)
def test_equals_the_saddle_system(kernel, features, solver, weighted):
    X, Y, Z = data(outputs=2)
    w = np.random.default_rng(3).uniform(0.2, 2, size=len(X)) if weighted else None
    reg = 2e-3
    ours = GRLSRegressor(kernel, features, reg=reg, solver=solver).fit(X, Y, w)
    Phi, P, p = kernel(X), ours._features_at(X), ours._features_at(Z)
    c, lam = naive.saddle(Phi, P, Y, reg, w)
    np.testing.assert_allclose(ours.dual_coef_.T, c, atol=1e-9 * np.abs(c).max())
    np.testing.assert_allclose(ours.coef_.T, lam, atol=1e-8 * np.abs(lam).max())
    mean, std = ours.predict(Z, return_std=True)
    np.testing.assert_allclose(mean, kernel(Z, X) @ c + p @ lam, atol=1e-9)

    count = len(X) if w is None else w.sum()
    scale = np.einsum("ik,ik->k", Y, c) / (count - P.shape[1])
    np.testing.assert_allclose(ours.scale_, scale, rtol=1e-9)
    for i in range(5):
        v = naive.variance(Phi, P, reg, kernel.diag(Z)[i], kernel(Z, X)[i], p[i], w)
        np.testing.assert_allclose(std[i], np.sqrt(v * scale), rtol=1e-7)
    for j, part in enumerate(ours.certificate_.parts):
        best = naive.objective(Phi, P, Y[:, j], reg, c[:, j], lam[:, j], w)
        assert part.dual <= best * (1 + 1e-12)
        np.testing.assert_allclose([part.primal, part.dual], best, rtol=1e-10)
        assert part.constraint < 1e-12
        assert part.kkt < 1e-12


@pytest.mark.parametrize("solver", SOLVERS)
def test_std_equals_gaussian_process(solver):
    X, y, Z = data()
    reg = 1e-3
    ours = GRLSRegressor(Gaussian(0.5), None, reg=reg, solver=solver).fit(X, y)
    process = GaussianProcessRegressor(
        RBF(0.5 / np.sqrt(2)), alpha=len(X) * reg, optimizer=None
    ).fit(X, y)
    mean, std = process.predict(Z, return_std=True)
    our_mean, our_std = ours.predict(Z, return_std=True)
    np.testing.assert_allclose(our_mean, mean, atol=1e-10)
    np.testing.assert_allclose(our_std / np.sqrt(ours.scale_), std, atol=1e-8)


def test_t8_gls_and_blup():
    """λ is generalized least squares, Φc the best linear prediction; y matters modulo range P."""
    X, y, _ = data()
    reg, kernel = 1e-2, Gaussian(0.5)
    ours = GRLSRegressor(kernel, waves, reg=reg).fit(X, y)
    Phi, P = kernel(X), waves(X)
    A = Phi + len(X) * reg * np.eye(len(X))
    information = P.T @ np.linalg.solve(A, P)
    gls = np.linalg.solve(information, P.T @ np.linalg.solve(A, y))
    np.testing.assert_allclose(ours.coef_, gls, atol=1e-10)
    np.testing.assert_allclose(Phi @ ours.dual_coef_, Phi @ np.linalg.solve(A, y - P @ gls))
    scale = (y - P @ gls) @ np.linalg.solve(A, y - P @ gls) / (len(X) - 3)
    np.testing.assert_allclose(ours.scale_, scale)
    np.testing.assert_allclose(ours.coef_cov_, scale * np.linalg.inv(information), rtol=1e-9)

    mu = np.array([3.0, -1.0, 2.0])
    moved = GRLSRegressor(kernel, waves, reg=reg).fit(X, y + P @ mu)
    np.testing.assert_allclose(moved.dual_coef_, ours.dual_coef_, atol=1e-10)
    np.testing.assert_allclose(moved.coef_, ours.coef_ + mu, atol=1e-10)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), ThinPlate()])
def test_t9_the_smoother(kernel):
    """S = I − mγG from the outside: fit the identity matrix and predict."""
    X, _, _ = data(m=30)
    reg, m = 1e-3, len(X)
    ours = GRLSRegressor(kernel, Polynomials(1), reg=reg).fit(X, np.eye(m))
    S, G, P = ours.predict(X), ours.dual_coef_, Polynomials(1).fit_transform(X)
    np.testing.assert_allclose(S, S.T, atol=1e-10)
    np.testing.assert_allclose(S, np.eye(m) - m * reg * G, atol=1e-10)
    values = np.linalg.eigvalsh((S + S.T) / 2)
    assert values[0] > -1e-10
    assert values[-1] < 1 + 1e-10
    assert np.sum(values > 1 - 1e-9) == 3
    np.testing.assert_allclose(S @ P, P, atol=1e-10)
    leverage = np.diag(P @ np.linalg.pinv(P))
    assert np.all(np.diag(G) <= (1 - leverage) / (m * reg) + 1e-9)


def test_t10_strong_regularization_is_least_squares():
    X, y, Z = data()
    ours = GRLSRegressor(Gaussian(0.5), waves, reg=1e6).fit(X, y)
    lam = np.linalg.lstsq(waves(X), y, rcond=None)[0]
    np.testing.assert_allclose(ours.predict(Z), waves(Z) @ lam, atol=1e-5)
    farther = GRLSRegressor(Gaussian(0.5), waves, reg=1e12).fit(X, y)
    np.testing.assert_allclose(farther.predict(Z), waves(Z) @ lam, atol=1e-11)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(-4, 0))
def test_t7_the_flat_prior_limit_and_its_rate(seed, log_reg):
    """Ridge on Φ + κPPᵀ: p* ≤ p(f_κ) ≤ p* + γ‖λ*‖²/κ, and f_κ → f like 1/κ."""
    X, y, Z = data(m=25, seed=seed)
    reg, kernel = 10.0**log_reg, Gaussian(0.5)
    Phi, P, p = kernel(X), waves(X), waves(Z)
    exact = GRLSRegressor(kernel, waves, reg=reg).fit(X, y)
    best, prior = exact.certificate_.primal, reg * np.sum(exact.coef_**2)
    errors = []
    for kappa in (1.0, 1e2, 1e4):
        ridge = KernelRidge(alpha=25 * reg, kernel="precomputed").fit(Phi + kappa * P @ P.T, y)
        c = ridge.dual_coef_
        value = np.mean((25 * reg * c) ** 2) + reg * c @ Phi @ c  # y − f = mγc; an upper bound of p
        assert best * (1 - 1e-6) <= value <= (best + prior / kappa) * (1 + 1e-6)
        at_new = (kernel(Z, X) + kappa * p @ P.T) @ c
        errors.append(np.abs(at_new - exact.predict(Z)).max())
    # λ_κ − λ = −(κS + I)⁻¹λ with S = Pᵀ(Φ + mγI)⁻¹P: κ times the error has a limit.
    np.testing.assert_allclose(1e4 * errors[2], 1e2 * errors[1], rtol=0.5)
    assert errors[2] < 0.05 * errors[1]


def test_t12_price_of_a_perturbed_kernel():
    X, y, _ = data(m=30)
    P, reg = waves(X), 1e-3
    Phi = Gaussian(0.5)(X)
    other = Phi + 0.01 * Laplacian(1.0)(X)
    exact = GRLSRegressor("precomputed", reg=reg).fit(Phi, y, P=P)
    near = GRLSRegressor("precomputed", reg=reg).fit(other, y, P=P)
    G = naive.G_matrix(Phi, P, reg)
    change = G @ (other - Phi) @ near.dual_coef_
    np.testing.assert_allclose(exact.dual_coef_ - near.dual_coef_, change, atol=1e-9)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Linear(), ThinPlate()])
@pytest.mark.parametrize("reg", [1e-8, 1e-3, 1e3])
def test_t3_reproduction(kernel, reg):
    """The kernel part vanishes iff the features explain y."""
    X, y, Z = data()
    features = Polynomials(2)
    P = features.fit_transform(X)
    lam = np.arange(1.0, 7.0)
    ours = GRLSRegressor(kernel, features, reg=reg).fit(X, P @ lam)
    assert np.abs(ours.dual_coef_).max() * reg <= 1e-12
    np.testing.assert_allclose(ours.coef_, lam, atol=1e-9)
    np.testing.assert_allclose(ours.predict(Z), features.transform(Z) @ lam, atol=1e-9)
    assert np.abs(GRLSRegressor(kernel, features, reg=reg).fit(X, y).dual_coef_).max() > 0


# ------------------------------------------------------------------------- certificates


@pytest.mark.parametrize("kernel", [Gaussian(0.5), ThinPlate()])
def test_the_gap_is_the_mean_square_of_the_residual(kernel):
    """p − d = (1/W) Σ w δ² at any λ and any c with Pᵀc = 0, good or bad."""
    X, y, _ = data(m=30)
    rng = np.random.default_rng(5)
    w, reg = rng.uniform(0.5, 2, size=30), 1e-2
    Phi, P = kernel(X), Polynomials(1).fit_transform(X)
    c = rng.normal(size=30)
    c -= P @ np.linalg.lstsq(P, c, rcond=None)[0]
    lam = rng.normal(size=3)
    delta = y - Phi @ c - P @ lam - w.sum() * reg * c / w
    gap = naive.objective(Phi, P, y, reg, c, lam, w) - naive.dual(Phi, y, reg, c, w)
    np.testing.assert_allclose(gap, np.sum(w * delta**2) / w.sum())


def test_certificate_of_a_poor_solution_tells(monkeypatch):
    """With the factor of a wrong system, one step is poor and says so; more steps repair it."""
    X, y, _ = data(m=40)
    Phi, P, reg = Gaussian(0.5)(X), waves(X), 1e-6
    *_, exact, best = naive.exact_saddle(Phi, P, y, reg)
    system = System(Phi.copy(), P, reg)
    system.factor = System(Phi.copy(), P, 1.5 * reg).factor
    gaps = []
    for steps in (1, 10):
        monkeypatch.setattr(dense, "MAX_REFINEMENTS", steps)
        solution = system.solve(y[:, None])
        (certificate,) = solution.certificates
        gaps.append(certificate.gap)
        # cᵀΦc, with |c| in the thousands, is good to eleven digits.
        assert certificate.dual <= best * (1 + 1e-11)
        assert best * (1 - 1e-11) <= certificate.primal
        f = Phi @ solution.c[:, 0] + P @ solution.lam[:, 0]
        assert np.mean((f - exact) ** 2) <= certificate.gap
        ours = naive.objective(Phi, P, y, reg, solution.c[:, 0], solution.lam[:, 0])
        np.testing.assert_allclose(certificate.primal, ours, rtol=1e-9)
        dual = naive.dual(Phi, y, reg, solution.c[:, 0])
        np.testing.assert_allclose(certificate.dual, dual, rtol=1e-9)
    assert gaps[0] > 1e-6
    assert gaps[1] < 1e-6 * gaps[0]


# --------------------------------------------------------------------------- invariance


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([Gaussian(0.5), ThinPlate(), Linear()]))
def test_weights_are_duplicates(seed, kernel):
    rng = np.random.default_rng(seed)
    X, Y, Z = data(m=20, seed=seed, outputs=2)
    counts = rng.integers(0, 4, size=20)
    counts[:5] += 1
    weighted = GRLSRegressor(kernel, Polynomials(1), reg=1e-2).fit(X, Y, sample_weight=counts)
    again = np.repeat(np.arange(20), counts)
    repeated = GRLSRegressor(kernel, Polynomials(1), reg=1e-2).fit(X[again], Y[again])
    for a, b in zip(
        weighted.predict(Z, return_std=True), repeated.predict(Z, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-8)
    np.testing.assert_allclose(weighted.scale_, repeated.scale_, rtol=1e-8)
    np.testing.assert_allclose(
        weighted.certificate_.primal, repeated.certificate_.primal, rtol=1e-9
    )
    assert np.all(weighted.dual_coef_[:, counts == 0] == 0)
    # The features scale themselves to the rows that are there, so λ is comparable.
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([Gaussian(0.5), Multiquadric(1.0), ThinPlate()]))
def test_order_of_samples_and_basis_of_features_do_not_matter(seed, kernel):
    rng = np.random.default_rng(seed)
    X, y, Z = data(m=25, seed=seed)
    w = rng.uniform(0.5, 2, size=25)
    A = rng.normal(size=(6, 6)) + 3 * np.eye(6)
    features = Polynomials(2, scaled=False)
    plain = GRLSRegressor(kernel, features, reg=1e-2).fit(X, y, w)
    order = rng.permutation(25)
    permuted = GRLSRegressor(kernel, features, reg=1e-2).fit(X[order], y[order], w[order])
    mixed = GRLSRegressor(
        kernel, lambda X: Polynomials(2, scaled=False).fit_transform(X) @ A, reg=1e-2
    ).fit(X, y, w)
    np.testing.assert_allclose(permuted.predict(Z), plain.predict(Z), atol=1e-8)
    np.testing.assert_allclose(permuted.dual_coef_, plain.dual_coef_[order], atol=1e-8)
    np.testing.assert_allclose(mixed.predict(Z), plain.predict(Z), atol=1e-7)
    np.testing.assert_allclose(A @ mixed.coef_, plain.coef_, atol=1e-6)


def test_only_the_ratios_of_the_weights_matter_for_f():
    X, y, Z = data()
    w = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    a = GRLSRegressor().fit(X, y, w)
    b = GRLSRegressor().fit(X, y, 1e-5 * w)
    np.testing.assert_allclose(a.predict(Z), b.predict(Z), rtol=1e-10)
    assert np.isnan(b.scale_)  # fewer observations than features
    with pytest.raises(ValueError, match="sum of the weights"):
        b.predict(Z, return_std=True)


def test_both_solvers_agree_to_rounding():
    X, y, Z = data(m=80)
    for reg in (1e-6, 1e-3, 1e2):
        a, b = (GRLSRegressor(Gaussian(0.5), waves, reg=reg, solver=s).fit(X, y) for s in SOLVERS)
        np.testing.assert_allclose(a.predict(Z), b.predict(Z), atol=1e-9)
        np.testing.assert_allclose(a.coef_cov_, b.coef_cov_, rtol=1e-6)

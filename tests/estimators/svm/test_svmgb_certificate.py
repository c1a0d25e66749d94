"""What `certificate_` says of an SVM-GB: true of f as `predict` computes it, or an error."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from kernelbook import (
    ConditionalKernel,
    Gaussian,
    Linear,
    Multiquadric,
    Polynomial,
    Polynomials,
    SVMGBClassifier,
    ThinPlate,
)
from kernelbook.certificates import Certificate
from kernelbook.kernels import FunctionKernel, inner
from kernelbook.solvers.svm import convexity
from kernelbook.solvers.svm.certificate import certify
from kernelbook.solvers.svm.convexity import definiteness_of
from kernelbook.solvers.svm.problem import prepare
from kernelbook.solvers.svm.solve import solve_robust
from tests.samples.xor import xor


def noisy_line(m, d=2):
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(m, d)), 2)
    return X, (X[:, 0] + 0.5 * rng.normal(size=m) > 0).astype(int)


def negative(X, Z):
    return -np.exp(-cdist(X, Z, "sqeuclidean"))


def plates(X, Z):
    r = cdist(X, Z)
    return r**2 * np.log(np.where(r > 0, r, 1.0))


def breach(model, X, y):
    """The largest violation, from what a user can see: decision values, β, C."""
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    alpha = np.zeros(len(X))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    v = sign * (1 - sign * model.decision_function(X))
    may_grow = np.where(sign > 0, alpha < model.C, alpha > 0)
    may_fall = np.where(sign > 0, alpha > 0, alpha < model.C)
    return np.max(v[may_grow], initial=0.0) + np.max(-v[may_fall], initial=0.0)


# ------------------------------------------------------------------------------- the object


def test_gap_is_stored_where_it_is_known_and_never_negative_by_rounding():
    assert Certificate(3.0, 2.0, 0.0, 0.1).gap == 1.0
    assert Certificate(1.0, 1.0 + 1e-15, 0.0, 0.0).gap == 0.0
    assert Certificate(1.0, 1.1, 0.0, 0.0).gap == pytest.approx(-0.1)  # that is not rounding
    known = Certificate(1e10, 1e10 - 1e-12, 0.0, 0.0, gap=1e-12)
    assert known.gap == 1e-12
    assert known.relative_gap == pytest.approx(1e-22)
    joint = Certificate.joint([known, Certificate(1.0, 0.5, 0.0, 0.0)])
    assert joint.gap == 0.5 + 1e-12
    assert joint.parts[0] is known
    X, y = xor(60)
    proof = SVMGBClassifier(C=1e4).fit(X, y).certificate_
    assert 0 <= proof.gap < 1e-10 * proof.primal


# ------------------------------------------------------------------- f as `predict` has it


@pytest.mark.parametrize("solver", ["auto", "cvxopt"])
@pytest.mark.parametrize("offset", [1e2, 1e6])
@pytest.mark.parametrize("kernel", [Linear(), 0.25 * (2.0 * Linear())])
def test_a_linear_kernel_far_from_the_origin(offset, kernel, solver):
    """f is that of the same points at the origin, and the certificate is what f deserves."""
    pytest.importorskip("cvxopt")
    X, y = noisy_line(50)
    here = SVMGBClassifier(kernel).fit(X, y).decision_function(X)
    model = SVMGBClassifier(kernel, solver=solver).fit(X + offset, y)
    np.testing.assert_allclose(model.decision_function(X + offset), here, atol=1e-14 * offset**1.5)
    assert model.certificate_.kkt == pytest.approx(breach(model, X + offset, y), rel=1e-12)
    assert model.certificate_.kkt < 1e-7
    # β and λ are still those of Σ λ_p φ_p + Σ β_i K(x_i, ·)
    Z = X[model.support_] + offset
    f = model.kernel_(X + offset, Z) @ model.dual_coef_[0] + model.coef_[0]
    np.testing.assert_allclose(f, here, atol=1e-14 * offset**2)


@pytest.mark.parametrize(
    ("kernel", "features"),
    [
        (Linear(), None),
        (Linear(), Polynomials(1)),
        (Polynomial(2), "constant"),
        (Multiquadric(1e-3), "constant"),
        (Linear() + Gaussian(1.0), "constant"),
    ],
)
def test_claimed_violation_is_that_of_the_decision_values(kernel, features):
    X, y = noisy_line(50)
    for offset in (0.0, 3e4):
        model = SVMGBClassifier(kernel, features)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X + offset, y)
        true = breach(model, X + offset, y)
        assert model.certificate_.kkt == pytest.approx(true, rel=1e-9, abs=1e-14)


def test_centring_does_not_change_which_lambda_is_chosen(monkeypatch):
    """All α at C: the bias is free in an interval, and the rule is that of the kernel x·z."""
    X, y = noisy_line(40)
    y = np.arange(40) % 2
    X = X + 100.0
    centred = SVMGBClassifier(Linear(), C=1e-6).fit(X, y)
    monkeypatch.setattr(inner, "CENTERING_RATIO", np.inf)
    plain = SVMGBClassifier(Linear(), C=1e-6).fit(X, y)
    assert np.all(np.abs(plain.dual_coef_) == 1e-6)
    np.testing.assert_allclose(centred.coef_, plain.coef_, atol=1e-9)
    # by hand: of all biases with y_i f_i ≤ 1 the one nearest to zero, that is, zero
    np.testing.assert_allclose(centred.coef_, 0.0, atol=1e-9)


def test_the_choice_of_lambda_depends_on_the_representative_of_the_kernel():
    """Φ and Φ + a(x) + a(z) are the same problem; where f is not unique they choose differently."""
    X, _ = noisy_line(8)
    y = np.arange(8) % 2
    K = Gaussian(1.0)(X)
    a = 1e3 * X[:, :1]
    models = [SVMGBClassifier("precomputed", C=1e-2).fit(G, y) for G in (K, K + a + a.T)]
    values = [m.decision_function(G) for m, G in zip(models, (K, K + a + a.T), strict=True)]
    np.testing.assert_allclose(*(m.dual_coef_ for m in models))  # β is the same …
    np.testing.assert_allclose(*(v - v.mean() for v in values), atol=1e-9)  # … and f but for a bias
    assert abs(np.mean(values[0] - values[1])) > 0.1  # … that differs
    sign = np.where(y == 1, 1.0, -1.0)
    for model, v in zip(models, values, strict=True):  # … and both are optimal
        assert model.certificate_.kkt < 1e-9

        def loss(bias, v=v):
            return np.sum(np.maximum(1 - sign * (v + bias), 0))

        assert loss(0.0) <= minimize_scalar(loss, bounds=(-5, 5), method="bounded").fun + 1e-9


# -------------------------------------------------------------------------------- convexity


@pytest.mark.parametrize("solver", ["auto", "cvxopt"])
@pytest.mark.parametrize(
    "build",
    [
        lambda X: negative,
        lambda X: FunctionKernel(negative, cpd_order=1),
        lambda X: 2.0 * FunctionKernel(negative),
        lambda X: 1e-3 * Gaussian(1.0) + FunctionKernel(negative, cpd_order=1),
        lambda X: Gaussian(3.0) * FunctionKernel(negative),
        lambda X: ConditionalKernel(FunctionKernel(negative)).fit(X).H,
        lambda X: FunctionKernel(plates, cpd_order=1),  # it is of order 2
    ],
)
def test_no_wrapping_hides_that_a_function_is_no_kernel(build, solver):
    pytest.importorskip("cvxopt")
    X, y = xor(40, d=2)
    with pytest.raises(ValueError, match="not convex"):
        SVMGBClassifier(build(X), solver=solver).fit(X, y)


def test_a_function_that_is_a_kernel_is_as_good_as_ours():
    X, y = xor(40, d=2)
    for function, order, kernel, features in (
        (plates, 2, ThinPlate(), Polynomials(1)),
        (lambda X, Z: -negative(X, Z), 0, Gaussian(1.0), "constant"),
        (lambda X, Z: -negative(X, Z), 0, Gaussian(1.0), None),
    ):
        ours = SVMGBClassifier(kernel, features).fit(X, y)
        theirs = SVMGBClassifier(FunctionKernel(function, order), features).fit(X, y)
        np.testing.assert_allclose(
            theirs.decision_function(X), ours.decision_function(X), atol=1e-8
        )


@pytest.mark.filterwarnings("ignore:.* is practically (the identity|constant)")
def test_every_row_of_a_large_matrix_is_looked_at():
    K = np.eye(1200)
    y = np.arange(1200) % 2
    K[600, 602] = K[602, 600] = -5.0  # neighbours of the same class
    with pytest.raises(ValueError, match="not convex"):
        SVMGBClassifier("precomputed").fit(K, y)


@pytest.mark.filterwarnings("ignore:.* is practically (the identity|constant)")
def test_a_constant_hides_nothing():
    """1000 − Gaussian passes for nearly definite, but not where Σβ = 0."""
    X, y = xor(40)
    K = 1000.0 - 1e-2 * Gaussian(1.0)(X)
    with pytest.raises(ValueError, match="not convex"):
        SVMGBClassifier("precomputed").fit(K, y)
    with pytest.raises(ValueError, match="not convex"):
        # even where the features separate the classes and no kernel is needed
        SVMGBClassifier("precomputed").fit(K, X[:, 0] > 0, P=np.column_stack([np.ones(40), X]))


def test_rounding_is_no_reason_to_refuse():
    X, y = xor(60, d=2)
    wide = Multiquadric(1e6)(X)  # −1 up to 1e-12: its projection is mostly rounding error
    assert definiteness_of(wide, np.full((60, 1), 60**-0.5)) == "cpd"
    single = Gaussian(30.0)(X).astype(np.float32).astype(float)  # negative eigenvalues: 1e-7
    assert np.linalg.eigvalsh(single).min() < 0
    assert SVMGBClassifier("precomputed", C=100.0).fit(single, y).certificate_.kkt < 1e-3
    for size in (1e-300, 1e300):
        assert definiteness_of(size * single, np.full((60, 1), 60**-0.5)) == "pd"


def test_beyond_the_documented_size_the_solution_tells(monkeypatch):
    monkeypatch.setattr(convexity, "MAX_TESTED", 10)
    y = np.where(np.arange(60) < 30, 1.0, -1.0)
    K = np.eye(60)
    rows = convexity.evenly_spaced(60)
    a, b = np.setdiff1d(np.arange(30), rows)[:2]
    K[a, b] = K[b, a] = -50.0
    for P in (np.empty((60, 0)), np.ones((60, 1))):
        assert definiteness_of(K, P / np.sqrt(60)) == "pd"
        with pytest.raises(ValueError, match=r"not convex.*βᵀΦβ = -"):
            solve_robust(K, P, y, np.full(60, 5.0), definiteness="unknown")


def test_certify_refuses_negative_energy_but_not_rounding():
    y, beta, C = np.array([1.0, -1.0]), np.array([1.0, -1.0]), np.ones(2)
    P = np.ones((2, 1))
    with pytest.raises(ValueError, match="not convex"):
        certify(-np.eye(2) @ beta, P, y, C, beta, np.zeros(1), 1.0)
    proof = certify(np.array([-1e-5, 1e-5]), P, y, C, beta, np.zeros(1), 1e12)
    assert proof.primal == pytest.approx(2.0, abs=1e-4)


def test_a_function_whose_values_depend_on_their_neighbours():
    """Symmetric tile by tile, but another function in every call."""
    X, y = xor(300, d=2)

    def crowded(X, Z):
        return Gaussian(1.0)(X, Z) * (1 + 1 / len(X)) * (1 + 1 / len(Z))

    with pytest.raises(ValueError, match=r"other rows|own two rows|symmetric"):
        SVMGBClassifier(crowded).fit(X, y)


def test_a_function_that_is_asymmetric_across_tiles():
    X, y = xor(300, d=2)
    X = X[np.argsort(X[:, 0])]

    def lopsided(X, Z):
        return Gaussian(1.0)(X, Z) * (1 + 0.5 * ((X[:, :1] > 1.0) & (Z[:, 0] < 1.0)))

    half = SVMGBClassifier(lambda X, Z: Gaussian(1.0)(X, Z)).fit(X, y)  # the honest one passes
    assert half.certificate_.kkt < 1e-9
    with pytest.raises(ValueError, match=r"K\(z, x\)"):
        SVMGBClassifier(lopsided).fit(X, y)


# ---------------------------------------------------------------------------- giving up well


@pytest.mark.parametrize("size", [100.0, 1000.0])
def test_hopeless_scaling_ends_soon_and_says_so(size, capsys):
    """Entries near 1e13 and prices near 1: f has no digits.  A few attempts, and a warning."""
    X, y = xor(120)
    with pytest.warns(ConvergenceWarning, match="Scale the data"):
        SVMGBClassifier(Polynomial(3), verbose=1).fit(size * X, y)
    assert 1 <= capsys.readouterr().out.count("SMO+Newton") <= 6


def test_interior_points_that_fail_leave_it_to_the_others(monkeypatch):
    from kernelbook.solvers.svm import interior

    def fails(*args, **options):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(interior.linalg, "lstsq", fails)
    rng = np.random.default_rng(0)
    X, y = xor(80)
    P = rng.normal(size=(80, 3))
    sign = np.where(y == 1, 1.0, -1.0)
    problem = prepare(Gaussian(1.5)(X), P, sign, np.ones(80), overwrite=True)
    args = (problem.K, problem.Q, problem.y, problem.lower, problem.upper)
    beta, nu, steps = interior.interior_point(*args)
    assert steps < 80
    assert np.isfinite(beta).all()
    assert np.isfinite(nu).all()

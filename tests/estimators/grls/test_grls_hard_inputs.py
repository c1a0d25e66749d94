"""G-RLS where it hurts: right, or a warning with the certificate, or a clear error."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from kernelbook import (
    Gaussian,
    GRLSRegressor,
    GRLSRegressorCV,
    Laplacian,
    Linear,
    Multiquadric,
    Polyharmonic,
    Polynomial,
    Polynomials,
    ThinPlate,
)
from tests.naive import grls as naive

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 2))
Y = np.sin(X[:, 0]) + X[:, 1]
Z = RNG.normal(size=(7, 2))

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def quiet(estimator, *args, **kwargs):
    """Fit; return the estimator and whether it warned that it had not converged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(*args, **kwargs)
    caught = [w for w in caught if "is practically" not in str(w.message)]  # extreme widths
    assert all(issubclass(w.category, ConvergenceWarning) for w in caught)
    return estimator, bool(caught)


# ------------------------------------------------------------------ ill-conditioned systems

KERNELS = [
    Gaussian(1e-6),
    Gaussian(1e-2),
    Gaussian(1.0),
    Gaussian(1e2),
    Gaussian(1e6),
    Laplacian(1e6),
    Linear(),
    1e6 * Linear(),
    Polynomial(3, 1.0),
    Multiquadric(1.0),
    ThinPlate(),
    Polyharmonic(5),
]
TARGETS = {
    "smooth": Y,
    "noise": np.random.default_rng(1).normal(size=20),
    "offset": 1e6 + np.sin(2 * X[:, 0]),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_right_or_warned_against_exact_arithmetic(kernel, target):
    """Fitted values and objective against eighty digits, for reg from 1e-14 to 1e6."""
    y = TARGETS[target]
    features = Polynomials(max(kernel.cpd_order - 1, 0))
    Phi, P = kernel(X), features.fit_transform(X)
    Q2 = np.linalg.svd(P)[0][:, P.shape[1] :]
    smallest = np.linalg.eigvalsh(Q2.T @ Phi @ Q2)[0]
    unexplained = y - P @ np.linalg.lstsq(P, y, rcond=None)[0]
    size = np.sqrt(np.mean(unexplained**2)) + 1e-4 * np.sqrt(np.mean(y**2))
    for reg in (1e-14, 1e-11, 1e-7, 1e-3, 1.0, 1e6):
        ours, warned = quiet(GRLSRegressor(kernel, features, reg=reg), X, y)
        if smallest + len(X) * reg < np.finfo(float).eps * np.linalg.norm(Phi):
            # Rounding has made Φ indefinite: what is stored is another problem.
            assert warned
            continue
        _, _, f, minimum = naive.exact_saddle(Phi, P, y, reg)
        error = np.sqrt(np.mean((ours.predict(X) - f) ** 2))
        certificate = ours.certificate_
        assert warned == (certificate.kkt > 1e-8)
        assert warned or error <= 2e-8 * size
        assert certificate.constraint < 1e-12
        # The certificate knows the size of the error, warned or not.  What it cannot see is the
        # rounding of f itself, in the values it is given.
        terms = np.abs(Phi * ours.dual_coef_).sum(axis=1) + np.abs(P * ours.coef_).sum(axis=1)
        rounding = 4 * np.finfo(float).eps * np.max(terms + np.abs(y))
        assert error <= certificate.kkt * size + rounding
        if not warned:
            assert certificate.primal >= minimum - 1e-7 * size**2
            assert certificate.dual <= minimum + 1e-7 * size**2


@pytest.mark.filterwarnings("ignore:.* is practically (the identity|constant)")
def test_the_warning_says_the_gap():
    with pytest.warns(ConvergenceWarning, match=r"kkt=.*duality gap .*reg") as caught:
        GRLSRegressor(Gaussian(1e6), reg=1e-14).fit(X, TARGETS["noise"])
    assert caught[0].filename == __file__
    tiny = pytest.warns(UserWarning, match="1 of 1 values of regs")
    with pytest.warns(ConvergenceWarning, match="ill-conditioned") as caught, tiny:
        GRLSRegressorCV(Gaussian(1e6), regs=[1e-14]).fit(X, TARGETS["noise"])
    assert caught[0].filename == __file__
    with pytest.warns(ConvergenceWarning, match="tol=0"):
        GRLSRegressor(tol=0.0).fit(X, Y)


@pytest.mark.parametrize("reg", 10.0 ** np.arange(-14, -5))
def test_regularization_lost_in_rounding_still_gives_a_sensible_function(reg):
    """Φ = 10⁶XXᵀ: below reg ≈ 1e-9 the noise of Φ exceeds ρ; least squares is what remains."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(100, 2))
    y = A[:, 0] + rng.normal(size=100)
    ours, warned = quiet(GRLSRegressor(1e6 * Linear(), reg=reg), A, y)
    assert warned
    expected = LinearRegression().fit(A, y).predict(A)
    np.testing.assert_allclose(ours.predict(A), expected, atol=0.2)


# --------------------------------------------------------------------------- tiny samples


@pytest.mark.parametrize("solver", ["auto", "cholesky", "nullspace"])
def test_one_sample(solver):
    ours = GRLSRegressor(solver=solver).fit(X[:1], Y[:1])
    np.testing.assert_allclose(ours.predict(Z), Y[0])
    assert ours.rank_ == 1
    assert np.isnan(ours.scale_)
    with pytest.raises(ValueError, match="rank P = 1"):
        ours.predict(Z, return_std=True)
    ours = GRLSRegressor(Gaussian(1.0), None, reg=0.5, solver=solver).fit(X[:1], Y[:1])
    np.testing.assert_allclose(ours.predict(X[:1]), Y[0] / 1.5)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), ThinPlate(), Linear()])
@pytest.mark.parametrize("reg", [0.0, 1e-3, 1e3])
def test_as_many_features_as_samples(kernel, reg):
    """ℓ = m: the features interpolate, and c = 0."""
    ours = GRLSRegressor(kernel, Polynomials(1), reg=reg).fit(X[:3], Y[:3])
    np.testing.assert_allclose(ours.predict(X[:3]), Y[:3], atol=1e-12)
    np.testing.assert_array_equal(ours.dual_coef_, 0)
    assert ours.certificate_.constraint == 0


@pytest.mark.parametrize("learner", [GRLSRegressor, GRLSRegressorCV])
def test_more_features_than_samples(learner):
    with pytest.raises(ValueError, match="3 free features on 2 samples"):
        learner(features=Polynomials(1)).fit(X[:2], Y[:2])
    with pytest.raises(ValueError, match="3 free features on 2 samples"):
        learner(features=Polynomials(1)).fit(X, Y, np.eye(20)[:2].sum(axis=0))


# ------------------------------------------------------------ features and points that repeat


def redundant(X):
    one = np.ones((len(X), 1))
    return np.hstack([one, 2 * one, X, np.zeros((len(X), 2)), X @ [[1.0], [-1.0]], 1e-9 * one])


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), ThinPlate()])
@pytest.mark.parametrize("weighted", [False, True])
def test_rank_deficient_features(kernel, weighted):
    w = np.random.default_rng(2).uniform(0.1, 2, size=20) if weighted else None
    plain = GRLSRegressor(kernel, Polynomials(1)).fit(X, Y, w)
    ours = GRLSRegressor(kernel, redundant).fit(X, Y, w)
    assert ours.rank_ == 3
    assert ours.coef_.shape == (8,)
    for a, b in zip(
        ours.predict(Z, return_std=True), plain.predict(Z, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-9)
    assert ours.coef_[4] == ours.coef_[5] == 0
    path = GRLSRegressorCV(kernel, redundant, regs=[1e-2, 1.0]).fit(X, Y, w)
    same = GRLSRegressorCV(kernel, Polynomials(1), regs=[1e-2, 1.0]).fit(X, Y, w)
    np.testing.assert_allclose(path.loo_errors_, same.loo_errors_, atol=1e-9)


def test_lambda_does_not_depend_on_units_or_order_of_dependent_features():
    order, units = RNG.permutation(8), 10.0 ** RNG.integers(-5, 5, size=8)
    plain = GRLSRegressor(features=redundant).fit(X, Y)
    other = GRLSRegressor(features=lambda X: (redundant(X) * units)[:, order]).fit(X, Y)
    np.testing.assert_allclose(other.coef_ * units[order], plain.coef_[order], atol=1e-10)


def test_features_that_are_all_zero():
    ours = GRLSRegressor(features=lambda X: np.zeros((len(X), 2))).fit(X, Y)
    none = GRLSRegressor(features=None).fit(X, Y)
    np.testing.assert_array_equal(ours.predict(Z), none.predict(Z))
    assert ours.rank_ == 0
    assert np.all(ours.coef_ == 0)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), ThinPlate(), Multiquadric(1.0)])
def test_duplicate_points_with_other_values_average(kernel):
    twice = GRLSRegressor(kernel, Polynomials(1)).fit(np.r_[X, X], np.r_[Y, Y + 1])
    mean = GRLSRegressor(kernel, Polynomials(1)).fit(X, Y + 0.5)
    np.testing.assert_allclose(twice.predict(Z), mean.predict(Z), atol=1e-10)
    with pytest.raises(ValueError, match="reg=0 asks for interpolation"):
        GRLSRegressor(kernel, Polynomials(1), reg=0.0).fit(np.r_[X, X], np.r_[Y, Y + 1])


@pytest.mark.parametrize("kernel", [Gaussian(0.5), ThinPlate()])
def test_interpolation_does_not_depend_on_weights(kernel):
    w = 10.0 ** np.random.default_rng(0).uniform(-20, 20, size=20)
    plain = GRLSRegressor(kernel, Polynomials(1), reg=0.0).fit(X, Y)
    ours = GRLSRegressor(kernel, Polynomials(1), reg=0.0).fit(X, Y, w)
    np.testing.assert_allclose(ours.predict(Z), plain.predict(Z), atol=1e-12)
    np.testing.assert_allclose(ours.predict(X), Y, atol=1e-10)


def test_a_constant_column_and_constant_points():
    flat = np.c_[X[:, 0], np.full(20, 3.0)]
    a = GRLSRegressor(Gaussian(1.0), Polynomials(1)).fit(flat, Y)
    b = GRLSRegressor(Gaussian(1.0), Polynomials(1)).fit(X[:, :1], Y)
    np.testing.assert_allclose(
        a.predict(np.c_[Z[:, 0], np.full(7, 3.0)]), b.predict(Z[:, :1]), atol=1e-10
    )
    for kernel in (Gaussian(1.0), Linear(), ThinPlate()):
        for learner in (GRLSRegressor, GRLSRegressorCV):
            ours, zero = learner(kernel, Polynomials(1)), np.zeros((20, 2))
            if kernel(zero).any():
                ours.fit(zero, Y)
            else:
                with pytest.warns(UserWarning, match="the kernel is zero at every pair"):
                    ours.fit(zero, Y)
            np.testing.assert_allclose(ours.predict(zero[:3]), Y.mean(), atol=1e-12)


# -------------------------------------------------------------------- enormous and minute


@pytest.mark.parametrize("s", [1e300, 1e160, 1e-160, 1e-300])
def test_units_of_y(s):
    plain = GRLSRegressor(Gaussian(1.0)).fit(X, Y)
    ours = GRLSRegressor(Gaussian(1.0)).fit(X, s * Y)
    for a, b in zip(
        ours.predict(Z, return_std=True), plain.predict(Z, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a / s, b, rtol=1e-10)
    assert ours.certificate_.kkt < 1e-12
    assert ours.certificate_.gap >= 0
    # Outputs in different units do not disturb each other.
    both = GRLSRegressor(Gaussian(1.0)).fit(X, np.c_[Y, s * Y])
    np.testing.assert_allclose(both.predict(Z)[:, 0], plain.predict(Z), rtol=1e-10)
    np.testing.assert_allclose(both.predict(Z)[:, 1] / s, plain.predict(Z), rtol=1e-10)
    for scoring in ("loo", "gcv"):
        a = GRLSRegressorCV(Gaussian(1.0), scoring=scoring).fit(X, s * Y)
        b = GRLSRegressorCV(Gaussian(1.0), scoring=scoring).fit(X, Y)
        assert a.reg_ == b.reg_
        np.testing.assert_allclose(a.loo_errors_ / s, b.loo_errors_, rtol=1e-9)


@pytest.mark.parametrize("s", [1e300, 1e160, 1e-160, 1e-300])
def test_units_of_points_features_kernel_and_weights(s):
    plain = GRLSRegressor(Gaussian(1.0), Polynomials(1)).fit(X, Y)
    expected = plain.predict(Z)
    points = GRLSRegressor(Gaussian(s), Polynomials(1)).fit(s * X, Y)
    np.testing.assert_allclose(points.predict(s * Z), expected, rtol=1e-10)
    features = GRLSRegressor(Gaussian(1.0), lambda X: np.c_[np.full(len(X), s), X / s]).fit(X, Y)
    np.testing.assert_allclose(features.predict(Z), expected, rtol=1e-10)
    weights = GRLSRegressor(Gaussian(1.0), Polynomials(1)).fit(X, Y, np.full(20, s))
    np.testing.assert_allclose(weights.predict(Z), expected, rtol=1e-12)
    G, P, Pz = Gaussian(1.0)(X), plain.features_.transform(X), plain.features_.transform(Z)
    gram = GRLSRegressor("precomputed", reg=1e-3 * s).fit(s * G, Y, P=P)
    np.testing.assert_allclose(gram.predict(s * Gaussian(1.0)(Z, X), P=Pz), expected, rtol=1e-10)
    a = GRLSRegressorCV("precomputed").fit(s * G, Y, P=P)
    b = GRLSRegressorCV("precomputed").fit(G, Y, P=P)
    np.testing.assert_allclose(a.reg_, s * b.reg_, rtol=1e-9)


def test_one_weight_of_another_order():
    w = np.ones(20)
    w[3] = 1e300
    heavy = GRLSRegressor(Gaussian(1.0)).fit(X, Y, w)
    np.testing.assert_allclose(heavy.predict(X[[3]]), Y[3], rtol=1e-12)
    w[3] = 1e-300
    light = GRLSRegressor(Gaussian(1.0)).fit(X, Y, w)
    w[3] = 0
    # 1/W differs by one part in twenty: the same ρ = W·reg makes them equal.
    absent = GRLSRegressor(Gaussian(1.0)).fit(X, Y, w)
    np.testing.assert_allclose(light.predict(Z), absent.predict(Z), rtol=1e-9)


@pytest.mark.parametrize("kernel", [ThinPlate(), Linear()])
def test_kernels_that_overflow_say_so(kernel):
    with pytest.raises(ValueError, match="overflows"):
        GRLSRegressor(kernel, Polynomials(1)).fit(1e300 * X, Y)


@pytest.mark.parametrize("size", [1e-150, 1e-153, 1e-160, 1e-200])
def test_a_kernel_that_underflows_is_no_indefinite_one(size):
    """Subnormal numbers have few digits: as a kernel they are zero, and the fit says so."""
    plain = GRLSRegressorCV(Linear(), regs=np.geomspace(1e-3, 1.0, 5)).fit(X, Y)
    if size**2 > 1e-307:
        tiny = GRLSRegressorCV(Linear(), regs=plain.path_.reg * size**2).fit(X * size, Y)
        np.testing.assert_allclose(tiny.predict(Z * size), plain.predict(Z), atol=1e-8)
        return
    with pytest.warns(UserWarning, match="zero at every pair of samples.*scale X"):
        tiny = GRLSRegressorCV(Linear()).fit(X * size, Y)
    np.testing.assert_allclose(tiny.predict(Z * size), Y.mean(), atol=1e-8)


def test_far_from_the_origin():
    near = GRLSRegressor(Gaussian(1.0), Polynomials(1)).fit(X, Y)
    far = GRLSRegressor(Gaussian(1.0), Polynomials(1)).fit(X + 2.0**20, Y)
    np.testing.assert_allclose(far.predict(Z + 2.0**20), near.predict(Z), atol=1e-8)


# --------------------------------------------------------------------------- random trials


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    m=st.integers(1, 15),
    l=st.integers(0, 4),
    reg=st.floats(-14, 6),
    width=st.floats(-6, 6),
    weighted=st.booleans(),
)
def test_never_wrong_in_silence(seed, m, l, reg, width, weighted):
    """Random sizes, regularization and widths: the duality gap is real, or there is an error."""
    rng = np.random.default_rng(seed)
    A, y = rng.normal(size=(m, 2)), rng.normal(size=m)
    w = rng.integers(1, 5, size=m).astype(float) if weighted else np.ones(m)
    B = rng.normal(size=(2, l))
    reg, kernel = 10.0**reg, Gaussian(10.0**width)

    def features(X):
        return np.cos(X @ B)

    estimator = GRLSRegressor(kernel, features, reg=reg)
    if l > max(m, w.sum()):
        with pytest.raises(ValueError, match="free features"):
            estimator.fit(A, y, w)
        return
    ours, warned = quiet(estimator, A, y, w)
    Phi, P = kernel(A), features(A)
    c, lam = ours.dual_coef_, ours.coef_
    if warned:
        assert ours.certificate_.kkt > 1e-8
        return
    residual = y - Phi @ c - P @ lam
    gap = np.sum(w * (residual - w.sum() * reg * c / w) ** 2) / w.sum()
    assert gap <= 4e-16 * max(np.mean(y**2), 1.0)
    assert np.abs(P.T @ c).max(initial=0) <= 1e-12 * np.abs(c).sum()
    np.testing.assert_allclose(ours.predict(A), Phi @ c + P @ lam, atol=1e-7)


def test_no_kernel_at_all():
    """The zero kernel leaves least squares on the features."""
    expected = LinearRegression().fit(X, Y).predict(Z)
    with pytest.warns(UserWarning, match="zero at every pair of samples"):
        ours = GRLSRegressor(0.0 * Gaussian(1.0), Polynomials(1)).fit(X, Y)
    np.testing.assert_allclose(ours.predict(Z), expected, atol=1e-10)
    for learner in (GRLSRegressor, GRLSRegressorCV):
        with pytest.warns(UserWarning, match="underflow, scale X"):
            ours = learner(ThinPlate(), Polynomials(1)).fit(1e-300 * X, Y)
        np.testing.assert_allclose(ours.predict(1e-300 * Z), expected, atol=1e-9)


def test_numbers_at_the_edge():
    """y near the largest number: an error in words, and no RuntimeWarning of ours before it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "invalid value encountered in reduce")  # scikit-learn's
        with pytest.raises(ValueError, match="overflow: rescale y"):
            GRLSRegressor(Gaussian(1.0)).fit(X, np.where(Y > 0, 1.7e308, -1.7e308))
    with pytest.raises(ValueError, match=r"features\(X\) is .*inf at sample 0, feature 3"):
        GRLSRegressor(Gaussian(1e200), Polynomials(3, scaled=False)).fit(1e200 * X, Y)

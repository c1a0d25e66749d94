"""Where rounding ends what G-RLS can know: found by the learner, said by it, never passed over."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernelbook import (
    Gaussian,
    GRLSClassifierCV,
    GRLSRegressor,
    GRLSRegressorCV,
    Linear,
    Multiquadric,
    Polynomial,
    Polynomials,
    ThinPlate,
)
from tests.naive import grls as naive

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9, 2))
Y = np.sin(X[:, 0]) + X[:, 1]
Z = np.vstack([X[:2], RNG.normal(size=(2, 2)), [[8.0, 8.0]]])
KERNELS = [Gaussian(0.3), Gaussian(3.0), Gaussian(1e3), Linear(), Multiquadric(1.0), ThinPlate()]
REGS = (1e-20, 1e-15, 1e-12, 1e-8, 1.0)


def recorded(call, *args, **kwargs):
    """The result, and the messages of the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call(*args, **kwargs)
    return result, [str(w.message) for w in caught]


def degree(kernel):
    return max(kernel.cpd_order - 1, 0)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_standard_deviation_is_right_or_a_bound_with_a_warning(kernel):
    """Against eighty digits: within 5 %, or warned of and not too small."""
    features = Polynomials(degree(kernel)).fit(X)
    Phi, P, p = kernel(X), features.transform(X), features.transform(Z)
    seen = set()
    for reg in REGS:
        ours, _ = recorded(GRLSRegressor(kernel, Polynomials(degree(kernel)), reg=reg).fit, X, Y)
        for i in range(len(Z)):
            exact = naive.exact_variance(Phi, P, reg, kernel.diag(Z)[i], kernel(Z, X)[i], p[i])
            (_, std), said = recorded(ours.predict, Z[[i]], return_std=True)
            variance = std[0] ** 2 / ours.scale_
            seen.add(bool(said))
            if said:
                assert "below rounding" in said[0]
                assert variance >= max(exact, 0.0)
                assert variance <= 1e-10 * (1 + np.abs(Phi).max())
            else:
                np.testing.assert_allclose(variance, exact, rtol=0.1)
    assert seen == {True, False}


@pytest.mark.parametrize("kernel", [*KERNELS, Polynomial(3)], ids=repr)
def test_leave_one_out_is_right_or_nan_with_a_warning(kernel):
    features = Polynomials(degree(kernel))
    Phi, P = kernel(X), features.fit_transform(X)
    for reg in REGS:
        ours, said = recorded(GRLSRegressorCV(kernel, features, regs=[reg]).fit, X, Y)
        if np.isnan(ours.loo_errors_).any():
            assert "leave-one-out, GCV and df are noise" in said[0]
            assert np.isnan([ours.path_.loo, ours.path_.gcv, ours.path_.df]).all()
            assert reg < 1e-10
            continue
        exact = naive.exact_leave_one_out(Phi, P, Y, reg)
        np.testing.assert_allclose(ours.loo_errors_, exact, atol=1e-3 * np.abs(exact).max())
        np.testing.assert_allclose(ours.path_.loo, np.mean(exact**2), rtol=1e-3)


def test_gcv_without_cancellation():
    """W − df, where df is within 1e-20 of W: GCV tends to a limit as reg vanishes."""
    ours = GRLSRegressorCV(Gaussian(0.3), regs=[1e-20, 1e-10, 1e-8]).fit(X, Y)
    G = naive.G_matrix(Gaussian(0.3)(X), np.ones((9, 1)), 1e-10)
    limit = 9 * np.sum((G @ Y) ** 2) / np.trace(G) ** 2
    np.testing.assert_allclose(ours.path_.gcv[1:], limit, rtol=1e-8)


def test_noise_is_not_chosen():
    regs = [1e-2, 1e-4, 1e-18, 1e-19]
    labels = Y > 0
    for learner, y in ((GRLSRegressorCV, Y), (GRLSClassifierCV, labels)):
        with pytest.warns(UserWarning, match="2 of 4 values of regs, from 1.0e-18 down") as caught:
            ours = learner(Gaussian(1e3), regs=regs).fit(X, y)
        assert caught[0].filename == __file__
        assert np.isnan(ours.path_.loo).tolist() == [False, False, True, True]
        assert ours.reg_ in (1e-2, 1e-4)
        assert np.isfinite(ours.loo_errors_).all()


# ------------------------------------------------------------------------- free features


def test_features_that_rounding_drops():
    """Powers of x near 10⁴, unscaled: six independent functions, four of them left."""
    x = np.linspace(1e4, 1.001e4, 30)[:, None]
    y = np.sin(x[:, 0])
    ours = GRLSRegressor(Gaussian(1.0), Polynomials(5, scaled=False))
    ill = pytest.warns(ConvergenceWarning, match="ill-conditioned")
    gap = pytest.warns(UserWarning, match=r"without a gap.*Polynomials\(scaled=True\)")
    with ill, gap as caught:
        ours.fit(x, y)
    assert caught[0].filename == __file__
    assert ours.rank_ < 6
    scaled, said = recorded(GRLSRegressor(Gaussian(1.0), Polynomials(5)).fit, x, y)
    assert scaled.rank_ == 6
    assert not said
    # Truly dependent features have a gap, and are the normal case.
    for features in (
        lambda X: np.c_[np.ones(len(X)), X, X @ [[1.0], [2.0]], np.zeros(len(X))],
        lambda X: np.c_[np.ones(len(X)), X + 1e5, np.full(len(X), 7.0)],
    ):
        ours, said = recorded(GRLSRegressor(Gaussian(1.0), features).fit, X, Y)
        assert ours.rank_ == 3
        assert not said


def test_weights_that_hide_features():
    w = np.ones(9)
    w[3] = 1e300
    with pytest.warns(UserWarning, match=r"only 1 directions of the 3 free features"):
        GRLSRegressor(Gaussian(1.0), Polynomials(1)).fit(X, Y, w)
    _, said = recorded(GRLSRegressor(Gaussian(1.0)).fit, X, Y, w)
    assert not said


# -------------------------------------------------------------------------- certificates


def two_faced(A, B):
    """A Gaussian that is larger by one part in 10⁶ when it is asked for anything but a Gram."""
    return Gaussian(1.0)(A, B) * (1.0 if np.shares_memory(A, B) else 1 + 1e-6)


@pytest.mark.parametrize("shift", [0.0, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Multiquadric(1.0), ThinPlate()])
def test_the_certificate_is_that_of_the_prediction(kernel, shift):
    """Far from the origin x·z loses its digits, in the Gram matrix and in `predict` differently."""
    ours, said = recorded(GRLSRegressor(kernel, Polynomials(1), reg=1e-3).fit, X + shift, Y)
    near = GRLSRegressor(kernel, Polynomials(1), reg=1e-3).fit(X, Y)
    f = ours.predict(X + shift)
    gap = np.mean((Y - f - 9e-3 * ours.dual_coef_) ** 2)
    left = Y - naive_fit(Y)
    size = np.sqrt(np.mean(left**2)) + 1e-4 * np.sqrt(np.mean(Y**2))
    np.testing.assert_allclose(ours.certificate_.kkt, np.sqrt(gap) / size, rtol=0.05, atol=1e-14)
    if not said and isinstance(kernel, (Multiquadric, ThinPlate, Linear)):
        np.testing.assert_allclose(f, near.predict(X), atol=1e-6)
    assert bool(said) == (ours.certificate_.kkt > 1e-8)


def naive_fit(y):
    P = np.c_[np.ones(len(X)), X]
    return P @ np.linalg.lstsq(P, y, rcond=None)[0]


def test_a_kernel_that_predicts_otherwise_than_it_learns():
    with pytest.warns(ConvergenceWarning, match="kkt"):
        GRLSRegressor(two_faced, reg=1e-3).fit(X, Y)


def test_coefficients_that_underflow_are_not_zero_in_silence():
    G = 1e300 * Gaussian(1.0)(X)
    with pytest.warns(ConvergenceWarning, match="kkt"):
        GRLSRegressor("precomputed", None, reg=1e297).fit(G, 1e-300 * Y)


@pytest.mark.parametrize("width", [0.3, 3.0, 30.0])
def test_matrices_in_single_precision(width):
    """Their eigenvalues are off by 1e-8 and more: the grid stays above that, and so do choices."""
    points = np.random.default_rng(2).normal(size=(120, 3))
    values = np.sin(points[:, 0]) + points[:, 1]
    G = Gaussian(width)(points)
    ours, said = recorded(GRLSRegressorCV("precomputed").fit, G.astype(np.float32), values)
    assert not said
    assert np.isfinite(ours.path_.loo).all()
    single = G.astype(np.float32).astype(float)
    exact = naive.leave_one_out(single, np.ones((120, 1)), values, ours.reg_)
    np.testing.assert_allclose(ours.loo_errors_, exact, atol=1e-2 * np.abs(exact).max())
    # What single precision costs at all: against the matrix as it was.
    f = GRLSRegressor("precomputed", reg=ours.reg_).fit(G, values).predict(G)
    np.testing.assert_allclose(ours.predict(G), f, atol=1e-3)

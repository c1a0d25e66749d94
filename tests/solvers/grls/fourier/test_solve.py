"""The Fourier solver, as functions of arrays: kernel error, statistics, equations, certificate."""

import numpy as np
import pytest
from scipy import integrate, special
from sklearn.kernel_ridge import KernelRidge

from kernelbook import Gaussian, GRLSRegressor, Laplacian, Linear, Matern, Polynomials, ThinPlate
from kernelbook.numeric.tiles import slices
from kernelbook.solvers.grls.fourier import operator
from kernelbook.solvers.grls.fourier import solve as fourier
from kernelbook.solvers.grls.fourier.grid import NoSpectrum, TooManyModes, design, spectrum
from kernelbook.solvers.grls.fourier.operator import NormalOperator, to_complex, to_real
from kernelbook.solvers.grls.fourier.sums import Statistics, make_frame, statistics
from tests.naive import fourier as naive

RNG = np.random.default_rng(0)
KERNELS = [
    Gaussian(1.0),
    Matern(0.8, 1.5),
    Matern(1.0, 2.5),
    Matern(0.7, float("inf")),
    Laplacian(2.0),
    0.5 * Gaussian(0.6) + 2.0 * Matern(1.0, 3.2),
]


def problem(d, m=400, k=1, l=None, seed=0):
    """An anisotropic box, weights, polynomial features; targets with an offset and a trend."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (m, d)) * [2.0, 0.7, 0.3][:d] + [5.0, 0.0, -3.0][:d]
    w = rng.uniform(0.3, 2.0, m)
    P = Polynomials(1).fit(X).transform(X) if l is None else rng.normal(size=(m, l))
    Y = np.sin(3 * X[:, :1] * np.arange(1, k + 1)) + 7 + X[:, :1] + 0.1 * rng.normal(size=(m, k))
    return X, Y, w, P


def fitted(kernel, X, Y, w, P, reg=1e-3, tol=1e-8, modes=2**20, chunks=1):
    eps = fourier.accuracy(tol, reg, kernel.diag(X[:1])[0])
    grid = design(kernel, X.min(axis=0), X.max(axis=0), eps, modes)
    start = make_frame(grid, P, Y, w, eps)
    parts = (
        statistics(start, X[rows], Y[rows], w[rows], P[rows])
        for rows in slices(0, len(X), -(-len(X) // chunks))
    )
    return fourier.System(start, sum(parts), reg)


# ------------------------------------------------------------------------------ the kernel


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_spectra_are_fourier_transforms(kernel):
    r = np.linspace(0, 60.0, 60_001)
    kappa = kernel(np.zeros((1, 1)), r[:, None])[0]
    for xi in (0.0, 0.3, 1.1):
        waves = np.cos(2 * np.pi * xi * r), special.j0(2 * np.pi * xi * r), np.sinc(2 * xi * r)
        measures = 2.0, 2 * np.pi * r, 4 * np.pi * r**2
        for d, wave, measure in zip((1, 2, 3), waves, measures, strict=True):
            by_hand = integrate.simpson(kappa * measure * wave, x=r)
            np.testing.assert_allclose(spectrum(kernel, d)(xi**2), by_hand, rtol=1e-6, atol=1e-7)


CASES = [(kernel, d) for d in (1, 2) for kernel in KERNELS if (kernel, d) != (Laplacian(2.0), 2)]
CASES += [(Gaussian(1.5), 3), (Matern(9.0, 3.5), 3)]


@pytest.mark.parametrize(("kernel", "d"), CASES, ids=repr)
def test_the_bound_on_the_kernel_holds_everywhere(kernel, d):
    low, high = np.array([0.0, -1.0, 4.0])[:d], np.array([3.0, 1.0, 4.0])[:d]  # a constant column
    eps = 1e-6 if isinstance(kernel, Gaussian) else 1e-3
    grid = design(kernel, low, high, eps, modes=2**14)
    inside = np.concatenate([RNG.uniform(low, high, (20, d)), [low], [high]])
    beyond = RNG.uniform(low - grid.support_radius, high + grid.support_radius, (30, d))
    beyond = np.concatenate([beyond, [low - grid.support_radius], [high + grid.support_radius]])
    error = np.abs(naive.kernel(grid, inside, inside) - kernel(inside)).max()
    assert 0.9 * grid.error < error < grid.error * (1 + 1e-9)  # reached where x = z
    away = np.abs(naive.kernel(grid, inside, beyond) - kernel(inside, beyond)).max()
    assert away < grid.error_anywhere
    assert grid.near(beyond).all()
    far = high[None] + grid.support_radius * np.eye(d)[:1]
    assert kernel(inside, far).max() < grid.error_anywhere
    assert grid.error_anywhere <= eps * grid.peak or np.prod(grid.box) > 2**13  # all it may take


def test_what_the_grid_refuses():
    with pytest.raises(NoSpectrum, match=r"ThinPlate.*use Gaussian, Laplacian, Matern"):
        design(ThinPlate(), [0.0], [1.0], 1e-6)
    with pytest.raises(NoSpectrum, match="Linear"):
        design(Gaussian(1.0) + Linear(), [0.0], [1.0], 1e-6)
    with pytest.raises(NoSpectrum, match="zero everywhere"):
        design(0.0 * Gaussian(1.0), [0.0], [1.0], 1e-6)
    with pytest.raises(TooManyModes, match=r"wider or smoother kernel.*another solver"):
        design(Gaussian(1e-4), np.zeros(2), np.ones(2), 1e-6)


# -------------------------------------------------------------------------- the statistics


@pytest.mark.parametrize("d", [1, 2, 3])
def test_statistics_are_the_sums_they_claim_to_be(d):
    X, Y, w, P = problem(d, m=150, k=2)
    system = fitted(Gaussian(1.0), X, Y, w, P, modes=2**12, tol=1e-3)
    s, grid = system.statistics, system.frame.grid
    F = np.exp(1j * grid.angles(X).T @ grid.frequencies.T)
    P2, Y2 = P @ system.frame.basis, Y - P @ system.frame.offset
    eps = 20 * system.frame.eps * w.sum()
    np.testing.assert_allclose(s.FY.T, F.conj().T @ (w[:, None] * Y2), atol=eps)
    np.testing.assert_allclose(s.FP.T, F.conj().T @ (w[:, None] * P2), atol=10 * eps)
    np.testing.assert_allclose(s.PP, P2.T @ (w[:, None] * P2), atol=1e-10)
    assert np.linalg.cond(s.PP) < 2
    center = (*(2 * grid.max_frequency[:-1]), 0)
    np.testing.assert_allclose(s.symbol[center], w.sum(), rtol=1e-8)


@pytest.mark.parametrize("l", [0, 1, 4])
def test_chunks_order_duplicates_and_absent_rows(l):
    X, Y, w, P = problem(2, m=300, k=2, l=l)
    w = RNG.integers(0, 4, len(w)).astype(float)
    whole = fitted(Gaussian(0.5), X, Y, w, P)
    start, expected = whole.frame, whole.solve(1e-8)
    again = np.repeat(np.arange(len(X)), w.astype(int))
    RNG.shuffle(again)
    one = np.ones(len(again))
    parts = [
        statistics(start, X[i], Y[i], one[: len(i)], P[i])
        for i in (again[:7], again[7:7], again[7:200], again[200:])
    ]
    np.testing.assert_allclose(sum(parts).total, w.sum())
    assert sum(parts).m == len(again)
    for order in (parts, parts[::-1]):
        got = fourier.System(start, sum(order), 1e-3).solve(1e-8)
        np.testing.assert_allclose(got.c, expected.c, atol=1e-9)
        np.testing.assert_allclose(got.lam, expected.lam, atol=1e-8)
        np.testing.assert_allclose(
            [c.primal for c in got.certificates], [c.primal for c in expected.certificates]
        )
    with pytest.raises(TypeError):
        parts[0] + 1.0


def test_overflowing_sums_are_an_error():
    X, Y, w, P = problem(1)
    late = np.linspace(0.0, 1e200, len(Y))[:, None]  # what the first samples do not announce
    grid = design(Gaussian(1.0), X.min(axis=0), X.max(axis=0), 1e-6)
    start = make_frame(grid, P[:9], Y[:9], w[:9], 1e-6)
    with pytest.raises(ValueError, match="overflow: scale y"):
        fourier.System(start, statistics(start, X, late * Y, w, P), 1e-2)


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e200, 1e300])
def test_units_of_y_and_of_the_weights(factor):
    X, Y, w, P = problem(1)
    ours = fitted(Gaussian(1.0), X, Y, w, P).solve(1e-6)
    for a, b in ((factor, 1.0), (1.0, factor)):
        theirs = fitted(Gaussian(1.0), X, a * Y, b * w, P).solve(1e-6)
        np.testing.assert_allclose(theirs.lam / a, ours.lam, rtol=1e-9)
        np.testing.assert_allclose(theirs.c / a, ours.c, atol=1e-9)
        assert max(c.kkt for c in theirs.certificates) < 1e-6


# --------------------------------------------------------------------------- the equations


@pytest.mark.parametrize("d", [1, 2, 3])
def test_products_and_preconditioner_are_those_of_the_matrix(d):
    X, Y, w, P = problem(d, m=120)
    system = fitted(Gaussian(1.5 if d < 3 else 8.0), X, Y, w, P, tol=1e-2, modes=2000)
    grid, A = system.frame.grid, system.A
    Psi = naive.basis(grid, X)
    root = np.sqrt(w / w.sum())[:, None]
    S, R = root * Psi, root * P
    M = S - R @ np.linalg.lstsq(R, S, rcond=None)[0]
    matrix = M.T @ M + 1e-3 * np.eye(Psi.shape[1])
    Z = RNG.normal(size=(3, Psi.shape[1]))
    atol = 100 * system.frame.eps
    np.testing.assert_allclose(A(Z), Z @ matrix, atol=atol)
    np.testing.assert_allclose(to_real(to_complex(Z)), Z, atol=1e-14)
    np.testing.assert_allclose(A.dense(len(grid.sqrt_weights)), S.T @ S, atol=atol)
    inside = A._block
    exact = np.linalg.solve(matrix[np.ix_(inside, inside)], Z[:, inside].T).T
    np.testing.assert_allclose(A.precondition(Z)[:, inside], exact, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_basis_expansion_is_solved(d):
    """Against one dense least-squares problem in the basis: no Gram matrix, no FFT."""
    X, Y, w, P = problem(d, m=200, k=3)
    system = fitted(Gaussian(2.5 if d < 3 else 8.0), X, Y, w, P, tol=1e-6, modes=2000)
    solution = system.solve(1e-6)
    grid = system.frame.grid
    Psi = naive.basis(grid, X)
    z, lam, objective = naive.solve(Psi, P, Y, w, 1e-3)
    ours = solution.predictor(X) + P @ solution.lam
    for k, certificate in enumerate(solution.certificates):
        error = np.sqrt(np.average((ours - Psi @ z - P @ lam)[:, k] ** 2, weights=w))
        assert error <= np.sqrt(certificate.gap) + 1e-7
        assert certificate.dual <= objective[k] * (1 + 1e-7)
        assert objective[k] <= certificate.primal * (1 + 1e-7)
        size = np.sqrt(np.average(Y[:, k] ** 2, weights=w))
        assert np.sqrt(certificate.gap) < 1e-6 * size  # the part of kkt that is not the kernel's


@pytest.mark.parametrize(
    ("kernel", "d", "reg", "tol"),
    [
        (Gaussian(0.5), 1, 1e-3, 1e-8),
        (Gaussian(0.5), 2, 1e-3, 1e-8),
        (Gaussian(1.2), 3, 1e-2, 1e-5),
        (Gaussian(0.5), 1, 1e-8, 1e-6),
        (Gaussian(0.5), 2, 1e4, 1e-8),
        (Matern(0.5, 1.5), 1, 1e-3, 1e-4),
        (Laplacian(2.0), 1, 1e-1, 1e-2),
        (Matern(1.0, 2.5), 2, 1e-2, 1e-3),
        (0.5 * Gaussian(0.4) + 2.0 * Matern(1.0, 3.5), 2, 1e-2, 1e-4),
    ],
    ids=repr,
)
def test_agrees_with_the_exact_solver_as_certified(kernel, d, reg, tol):
    X, Y, w, P = problem(d, k=2)
    system = fitted(kernel, X, Y, w, P, reg, tol)
    solution = system.solve(tol)
    exact = GRLSRegressor(kernel, Polynomials(1), reg).fit(X, Y, w)
    ours = solution.predictor(X)
    ours = ours + P @ solution.lam
    size = np.sqrt(np.average((Y - np.average(Y, axis=0)) ** 2, weights=w, axis=0))
    error = np.sqrt(np.average((ours - exact.predict(X)) ** 2, weights=w, axis=0)) / size
    kkt = [certificate.kkt for certificate in solution.certificates]
    assert max(kkt) <= tol
    assert (error <= kkt).all()
    np.testing.assert_allclose(
        solution.energy / (w.sum() - system.rank), exact.scale_, rtol=10 * tol
    )
    # Off the box, beyond its support radius, and where the first periodic image is.
    grid = system.frame.grid
    Z = X[:60] + RNG.normal(size=(60, d)) * RNG.choice([0.1, 1.0, 10.0, 100.0], (60, 1))
    Z = np.concatenate([Z, X[:3] + grid.period, X[:3] - 7 * grid.period])
    at = Polynomials(1).fit(X).transform(Z) @ solution.lam
    ours = solution.predictor(Z) + at
    scale = np.maximum(np.abs(exact.predict(Z)), 1.0)
    assert (np.abs(ours - exact.predict(Z)) / scale).max() < 30 * tol


def test_agrees_with_kernel_ridge_where_no_feature_is_free():
    X, Y, w, _ = problem(2)
    P = np.empty((len(X), 0))
    system = fitted(Gaussian(0.7), X, Y, w, P)
    ours = system.solve(1e-8).predictor(X)
    ridge = KernelRidge(alpha=1e-3 * w.sum(), kernel="rbf", gamma=1 / 0.49).fit(X, Y, w)
    np.testing.assert_allclose(ours, ridge.predict(X), atol=1e-6)


def test_dependent_features_get_the_documented_coefficients():
    X, Y, w, P = problem(2)
    P = np.c_[P, 2 * P[:, 1] - P[:, 0], np.zeros(len(P)), 1e6 * P[:, 2]]
    system = fitted(Gaussian(0.5), X, Y, w, P)
    assert system.rank == 3
    exact = GRLSRegressor(Gaussian(0.5), lambda A: P, 1e-3).fit(X, Y, w)
    np.testing.assert_allclose(system.solve(1e-8).lam, exact.coef_.T, atol=1e-6)
    assert system.solve(1e-8).lam[4] == 0


def test_a_clumsy_basis_of_features_costs_nothing():
    """1, x, x², x³ at x near 1000: PᵀWP itself would have no digit left."""
    X, Y, w, _ = problem(1)
    X = X + 1000.0
    P = X ** np.arange(4)
    system = fitted(Gaussian(0.5), X, Y, w, P)
    solution = system.solve(1e-8)
    exact = GRLSRegressor(Gaussian(0.5), Polynomials(3), 1e-3).fit(X, Y, w)
    ours = fourier.FourierSum(system.frame.grid, solution.c, 1e-12)(X) + P @ solution.lam
    np.testing.assert_allclose(ours, exact.predict(X), atol=1e-6)
    assert system.rank == 4


# -------------------------------------------------------------------------- the certificate


def test_stopped_early_the_certificate_says_so(monkeypatch):
    X, Y, w, P = problem(2)
    monkeypatch.setattr(operator, "BLOCK", 3)
    system = fitted(Gaussian(0.3), X, Y, w, P, modes=700)
    grid, start = system.frame.grid, system.frame
    *_, best = naive.solve(naive.basis(grid, X), P, Y, w, 1e-3)
    gaps = []
    for steps in (1, 5, 20, 1000):
        certificate = system.solve(1e-8, max_iter=steps).certificates[0]
        assert certificate.dual <= best[0] * (1 + 1e-9)
        assert best[0] <= certificate.primal * (1 + 1e-9)
        gaps.append(certificate.gap)
    assert gaps[0] > gaps[1] > gaps[2] > gaps[3]
    assert np.sqrt(certificate.gap) < 1e-8
    assert start == system.frame


def test_extreme_regularization_is_certified_or_confessed():
    X, Y, w, P = problem(1)
    tiny = fitted(Gaussian(0.5), X, Y, w, P, reg=1e-15, tol=1e-8).solve(1e-8)
    assert tiny.certificates[0].kkt > 1e-8  # ε/γ cannot be small: said, not hidden
    huge = fitted(Gaussian(0.5), X, Y, w, P, reg=1e12, tol=1e-8).solve(1e-8)
    root = np.sqrt(w)[:, None]
    np.testing.assert_allclose(huge.lam, np.linalg.lstsq(root * P, root * Y)[0], rtol=1e-8)
    assert huge.certificates[0].kkt < 1e-8
    for reg in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match=r"solver='fourier' does not interpolate"):
            fourier.System(None, None, reg)


def test_variance_and_covariance_agree_with_the_exact_ones():
    X, Y, w, P = problem(2, m=250)
    reg, kernel = 1e-3, Gaussian(0.5)
    system = fitted(kernel, X, Y, w, P, reg, tol=1e-7)
    exact = GRLSRegressor(kernel, Polynomials(1), reg).fit(X, Y[:, 0], w)
    Z = np.concatenate([X[:10], X[:10] + RNG.normal(size=(10, 2)), X[:2] + 50.0])
    variance, error = system.variance(Z, Polynomials(1).fit(X).transform(Z), tol=1e-9)
    expected = exact.predict(Z, return_std=True)[1] ** 2 / exact.scale_
    assert error.max() <= 1e-9
    np.testing.assert_allclose(variance, expected, atol=1e-8)
    covariance = system.coef_covariance() * exact.scale_
    np.testing.assert_allclose(covariance, exact.coef_cov_, rtol=1e-5, atol=1e-9)


def test_the_operator_is_symmetric_and_bounded_below():
    X, Y, w, P = problem(3, m=60)
    A = fitted(Gaussian(8.0), X, Y, w, P, tol=1e-2, modes=2000).A
    assert isinstance(A, NormalOperator)
    U, V = RNG.normal(size=(2, 1, 2 * len(A.grid.sqrt_weights) - 1))
    np.testing.assert_allclose(np.sum(A(U) * V), np.sum(U * A(V)), rtol=1e-8)
    assert np.sum(A(U) * U) >= 1e-3 * np.sum(U * U) * (1 - 1e-6)


def test_statistics_hold_no_sample():
    small, large = (fitted(Gaussian(1.0), *problem(1, m=m)).statistics for m in (100, 3000))
    assert isinstance(small, Statistics)
    for name, value in vars(large).items():
        if isinstance(value, np.ndarray):
            assert abs(value.size - getattr(small, name).size) < 200

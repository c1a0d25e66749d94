"""Nyström and conjugate gradients as functions of arrays, against the exact solver and formulas."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from kernelbook import Gaussian, GRLSRegressor, Laplacian, Linear, Polynomials, ThinPlate
from kernelbook.solvers.grls import cg
from kernelbook.solvers.grls.nystrom import solve as nystrom
from kernelbook.solvers.grls.nystrom import sums
from kernelbook.solvers.grls.nystrom.basis import CenterBasis
from tests.naive import grls as naive
from tests.samples.nystrom import predicted, sample

KERNELS = [Gaussian(0.7), Gaussian(3.0), Laplacian(1.0), ThinPlate(), Linear()]


# -------------------------------------------------------------------- centres = data: exact


@pytest.mark.parametrize("reg", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_all_samples_as_centres_are_the_exact_problem(kernel, reg):
    X, Y, P, w, Z = sample()
    exact = GRLSRegressor(kernel, Polynomials(1, scaled=False), reg=reg).fit(X, Y, w)
    basis = CenterBasis(kernel, X, P)
    ours = nystrom.solve(basis, X, P, Y, reg, w)
    scale = np.abs(Y).max()
    np.testing.assert_allclose(predicted(kernel, ours, X, Z), exact.predict(Z), atol=1e-8 * scale)
    np.testing.assert_allclose(ours.lam, exact.coef_.T, atol=1e-8 * scale)
    for mine, theirs in zip(ours.certificates, exact.certificate_.parts, strict=True):
        assert mine.primal == pytest.approx(theirs.primal, rel=1e-8)
        assert mine.kkt < 1e-8
        assert mine.gap >= 0
    deviation = np.sqrt(ours.energy / (w.sum() - 3) / ours.unit) * ours.y_unit
    np.testing.assert_allclose(deviation**2, exact.scale_, rtol=1e-7)


@pytest.mark.parametrize("reg", [1e-5, 1e-2])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_conjugate_gradients_on_the_full_kernel_are_exact(kernel, reg):
    X, Y, P, w, Z = sample()
    exact = GRLSRegressor(kernel, Polynomials(1, scaled=False), reg=reg).fit(X, Y, w)
    ours = cg.solve(kernel, X, P, Y, reg, w, CenterBasis(kernel, X[:40], P[:40]), tol=1e-10)
    np.testing.assert_allclose(predicted(kernel, ours, X, Z), exact.predict(Z), atol=1e-7)
    assert np.abs(P.T @ ours.c).max() < 1e-10 * np.abs(ours.c).sum()
    for mine, theirs in zip(ours.certificates, exact.certificate_.parts, strict=True):
        assert mine.primal == pytest.approx(theirs.primal, rel=1e-9)
        assert mine.kkt < 1e-10
        assert mine.constraint < 1e-10
    deviation = np.sqrt(ours.energy / (w.sum() - 3) / ours.unit) * ours.y_unit
    np.testing.assert_allclose(deviation**2, exact.scale_, rtol=1e-7)


def test_a_preconditioner_saves_steps():
    X, Y, P, w, _ = sample()
    kernel = Gaussian(1.0)
    basis = CenterBasis(kernel, X[:60])
    with_, without = (cg.solve(kernel, X, P, Y, 1e-4, w, b) for b in (basis, None))
    assert with_.n_iter < without.n_iter / 3
    np.testing.assert_allclose(with_.lam, without.lam, atol=1e-6)


# --------------------------------------------------------------------------- few centres


def _dense(kernel, X, Y, P, w, reg, centers):
    """The same problem as a least-squares problem, by rows √w(K, P) and √(Wγ)(Lᵀ, 0)."""
    K, G = kernel(X, centers), kernel(centers)
    values, V = np.linalg.eigh(G)
    kept = values > 1e-13 * values[-1]
    T = V[:, kept] / np.sqrt(values[kept])
    root = np.sqrt(w)[:, None]
    A = np.vstack(
        [
            np.hstack([root * (K @ T), root * P]),
            np.hstack(
                [np.sqrt(w.sum() * reg) * np.eye(T.shape[1]), np.zeros((T.shape[1], P.shape[1]))]
            ),
        ]
    )
    b = np.vstack([root * Y, np.zeros((T.shape[1], Y.shape[1]))])
    solution = np.linalg.lstsq(A, b, rcond=None)[0]
    value = np.sum((A @ solution - b) ** 2, axis=0) / w.sum()
    return K @ (T @ solution[: T.shape[1]]) + P @ solution[T.shape[1] :], value


@pytest.mark.parametrize("sketch", [None, 150])
@pytest.mark.parametrize("reg", [1e-6, 1e-3])
def test_the_optimum_in_the_span(reg, sketch):
    X, Y, P, w, _ = sample(m=500)
    kernel, centers = Laplacian(0.8), X[::20] + 0.01
    fitted, value = _dense(kernel, X, Y, P, w, reg, centers)
    ours = nystrom.solve(CenterBasis(kernel, centers), X, P, Y, reg, w, sketch=sketch)
    np.testing.assert_allclose(predicted(kernel, ours, centers, X), fitted, atol=1e-7)
    for c, v in zip(ours.certificates, value, strict=True):
        assert c.primal == pytest.approx(v, rel=1e-9)
        assert c.kkt < 1e-8
    assert (ours.n_iter > 0) == (sketch is not None)


def test_the_certificate_bounds_what_is_missing():
    """Stopped early, the gap bounds the distance from the optimum, in value and fitted values."""
    X, Y, P, w, _ = sample(m=600, k=1)
    kernel, centers = Laplacian(0.8), X[::6]
    fitted, value = _dense(kernel, X, Y, P, w, 1e-4, centers)
    basis = CenterBasis(kernel, centers)
    for steps in (1, 3, 6):
        ours = nystrom.solve(basis, X, P, Y, 1e-4, w, sketch=150, max_iter=steps)
        (c,) = ours.certificates
        off = predicted(kernel, ours, centers, X) - fitted
        assert c.kkt > 1e-8
        assert ours.n_iter == steps
        assert 0 < c.primal - value[0] <= c.gap * (1 + 1e-6)
        assert np.sum(w * off[:, 0] ** 2) / w.sum() <= c.gap


def test_the_gap_of_the_full_problem():
    X, Y, P, w, _ = sample(m=200)
    kernel, centers, reg = Gaussian(0.5), X[::4], 1e-4
    ours = nystrom.solve(CenterBasis(kernel, centers), X, P, Y, reg, w)
    best = GRLSRegressor(kernel, Polynomials(1), reg=reg).fit(X, Y, w).certificate_.parts
    for j in range(2):
        e = Y[:, j] - predicted(kernel, ours, centers, X)[:, j]
        dual = naive.dual(kernel(X), Y[:, j], reg, w * e / (w.sum() * reg), w)
        gap = ours.certificates[j].primal - dual
        assert ours.full_gap[j] == pytest.approx(gap, rel=1e-6)
        assert ours.certificates[j].primal - best[j].primal <= gap
        assert ours.certificates[j].gap < 1e-6 * gap


def test_the_full_gap_is_left_out_where_it_costs_more_than_the_fit():
    X, Y, P, w, _ = sample(m=5000, d=3)
    P = P[:, :1]
    assert nystrom.solve(CenterBasis(Gaussian(1.0), X[:5]), X, P, Y, 1e-3, w).full_gap is None


def test_equals_ridge_on_nystroem_features():
    """scikit-learn's features with its ridge, whose intercept is free: the same function."""
    from sklearn.kernel_approximation import Nystroem

    X, Y, P, _, Z = sample(m=400)
    theirs = Nystroem(gamma=1.0, n_components=30, random_state=0).fit(X)
    ridge = Ridge(alpha=400 * 1e-3).fit(theirs.transform(X), Y)
    centers = theirs.components_
    ours = nystrom.solve(CenterBasis(Gaussian(1.0), centers), X, P[:, :1], Y, 1e-3)
    f = Gaussian(1.0)(Z, centers) @ ours.c + ours.lam
    np.testing.assert_allclose(f, ridge.predict(theirs.transform(Z)), atol=1e-7)


# ----------------------------------------------------------------------------- properties


def test_features_are_reproduced_exactly():
    X, _, P, w, _ = sample()
    Y = P @ np.array([[1.0, 0.0], [2.0, -1.0], [-3.0, 4.0]])
    basis = CenterBasis(Gaussian(0.7), X[:50])
    for ours in (
        nystrom.solve(basis, X, P, Y, 1e-9, w),
        nystrom.solve(basis, X, P, Y, 1e-9, w, sketch=100),
        cg.solve(Gaussian(0.7), X, P, Y, 1e-9, w, basis),
    ):
        assert not ours.c.any()
        np.testing.assert_allclose(ours.lam, [[1, 0], [2, -1], [-3, 4]], atol=1e-12)
        assert max(c.kkt for c in ours.certificates) < 1e-9
    mixed = np.c_[Y[:, 0], np.sin(5 * X[:, 0])]
    for ours in (
        nystrom.solve(basis, X, P, mixed, 1e-3, w),
        nystrom.solve(basis, X, P, mixed, 1e-3, w, sketch=100),
        cg.solve(Gaussian(0.7), X, P, mixed, 1e-3, w, basis),
    ):
        assert not ours.c[:, 0].any()
        assert ours.c[:, 1].any()


def _both(X, P, Y, reg, w, basis, **options):
    return (
        nystrom.solve(basis, X, P, Y, reg, w, **options),
        cg.solve(basis.kernel, X, P, Y, reg, w, basis, tol=1e-11),
    )


def test_weights_are_duplicates():
    X, Y, P, _, Z = sample(m=120)
    times = np.arange(120) % 3 + 1
    basis = CenterBasis(Gaussian(0.7), X[:30])
    rows = np.repeat(np.arange(120), times)
    once = _both(X, P, Y, 1e-3, times.astype(float), basis)
    again = _both(X[rows], P[rows], Y[rows], 1e-3, np.ones(len(rows)), basis)
    for i, centers in enumerate((X[:30], None)):
        a, b = (
            predicted(Gaussian(0.7), s[i], X if s is once and i else X[rows] if i else centers, Z)
            for s in (once, again)
        )
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_order_does_not_matter():
    X, Y, P, w, Z = sample()
    order = np.random.default_rng(5).permutation(300)
    a = nystrom.solve(CenterBasis(Gaussian(0.7), X[:40]), X, P, Y, 1e-4, w)
    b = nystrom.solve(
        CenterBasis(Gaussian(0.7), X[:40][::-1]), X[order], P[order], Y[order], 1e-4, w[order]
    )
    np.testing.assert_allclose(
        predicted(Gaussian(0.7), a, X[:40], Z),
        predicted(Gaussian(0.7), b, X[:40][::-1], Z),
        atol=1e-9,
    )


def test_duplicated_and_dependent_centres():
    X, Y, P, w, Z = sample()
    kernel = Gaussian(0.7)
    once = nystrom.solve(CenterBasis(kernel, X[:40]), X, P, Y, 1e-4, w)
    many = np.vstack([X[:40], X[:40], X[:40] + 1e-12])
    basis = CenterBasis(kernel, many)
    assert basis.rank <= 40
    assert basis.n == 120
    again = nystrom.solve(basis, X, P, Y, 1e-4, w)
    assert np.count_nonzero(again.c[:, 0]) <= 40
    np.testing.assert_allclose(
        predicted(kernel, once, X[:40], Z), predicted(kernel, again, many, Z), atol=1e-8
    )


@pytest.mark.parametrize("few", [False, True], ids=["all samples", "some"])
@pytest.mark.parametrize("rtol", [None, 1e-9])
def test_certificates_count_the_centres_that_were_dropped(few, rtol, monkeypatch):
    """Against the exact solver: the objective by `gap`, the fitted values by `kkt`."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 1))
    Y = np.sin(6 * X) + (X > 0.5) + 0.1 * rng.normal(size=(400, 1))
    P, kernel = np.ones((400, 1)), Gaussian(0.5)
    monkeypatch.setattr(
        nystrom, "FULL_GAP_ROWS", 400 if few else 399
    )  # with and without the full pass
    basis = CenterBasis(kernel, X[:200] if few else X, None, rtol)
    assert basis.rank + basis.dropped == basis.n
    for reg in (1e-4, 1e-8):
        exact = GRLSRegressor(kernel, reg=reg).fit(X, Y)
        ours = nystrom.solve(basis, X, P, Y, reg)
        (certificate,) = ours.certificates
        rounding = 1e-10
        excess = certificate.primal - exact.certificate_.primal
        assert excess <= certificate.gap + rounding
        f = kernel(X, basis.centers) @ ours.c + ours.lam
        off = np.sqrt(np.mean((f - exact.predict(X)) ** 2)) / (np.std(Y) + 1e-4)
        assert off <= certificate.kkt + rounding
        if rtol is None:
            assert off < 1e-8  # as few are dropped as rounding allows
        elif reg == 1e-8:
            assert off > 1e-6
            assert certificate.gap < 300 * excess  # a bound, but not a useless one


def test_duplicates_are_dropped_for_nothing():
    X, Y, P, w, _ = sample(d=10)
    kernel = Gaussian(0.7)
    twice = np.vstack([X[:40], X[:40]])
    assert CenterBasis(kernel, twice).dropped == 0
    basis = CenterBasis(Linear(), sparse.csr_array(np.vstack([twice[35:45], np.zeros((2, 10))])))
    assert (basis.rank, basis.dropped) == (10, 0)
    near = np.vstack([X[:40], X[:40] + 1e-9])
    for basis, count in (
        (CenterBasis(kernel, near), 40),
        (CenterBasis(ThinPlate(), near, np.c_[np.ones(80), near]), 40),
    ):
        assert basis.dropped == count
        assert 0 < basis.dropped_bound < 1e-13 * np.abs(basis.kernel(near)).max()
        certificates = nystrom.solve(basis, X, P, Y, 1e-4, w).certificates
        assert 0 < max(c.kkt for c in certificates) < 1e-8


def test_what_no_centre_knows_is_not_counted_as_dropped():
    """Few centres for many samples: `certificate_` speaks of the best function of the centres."""
    X, Y, P, w, _ = sample(m=500)
    kernel, reg = Gaussian(0.8), 1e-4
    basis = CenterBasis(kernel, X[:150])
    assert 0 < basis.dropped < 100
    ours = nystrom.solve(basis, X, P, Y, reg, w)
    assert max(c.kkt for c in ours.certificates) < 1e-8
    assert min(ours.full_gap) > 100 * max(c.gap for c in ours.certificates)


def test_conjugate_gradients_leave_dependent_centres_to_the_direct_solution():
    rng = np.random.default_rng(0)
    apart, close = rng.uniform(size=(500, 20)), rng.uniform(size=(500, 1))
    assert not nystrom.direct_pays(500, 1)
    options = {"P": None, "reg": 1e-4, "tol": 1e-8}
    assert nystrom.suitable_basis(Gaussian(0.3), apart, **options).dropped == 0
    basis = nystrom.suitable_basis(Gaussian(0.3), close, **options)
    assert basis.dropped > 0
    Y = np.sin(9 * close)
    assert nystrom.solve(basis, close, np.ones((500, 1)), Y, 1e-4).n_iter == 0


def test_dependent_features_get_the_lambda_of_the_exact_solver():
    X, Y, P, w, _ = sample()
    P = np.c_[P, 2 * P[:, 0] - 3 * P[:, 1], np.zeros(300)]
    exact = GRLSRegressor(
        Gaussian(0.7),
        lambda X: np.c_[np.ones(len(X)), X, 2 - 3 * X[:, 0], np.zeros(len(X))],
        reg=1e-3,
    ).fit(X, Y, w)
    for ours in _both(X, P, Y, 1e-3, w, CenterBasis(Gaussian(0.7), X)):
        np.testing.assert_allclose(ours.lam, exact.coef_.T, atol=1e-8)
        assert ours.rank == 3
    solution = sums.solve(
        sums.statistics(CenterBasis(Gaussian(0.7), X), X, P, Y, w),
        CenterBasis(Gaussian(0.7), X),
        1e-3,
    )
    np.testing.assert_allclose(solution.lam, exact.coef_.T, atol=1e-8)
    assert solution.rank == 3


def test_no_features():
    X, Y, _, w, _ = sample()
    P = np.empty((300, 0))
    exact = GRLSRegressor(Gaussian(0.7), None, reg=1e-3).fit(X, Y, w)
    for ours in _both(X, P, Y, 1e-3, w, CenterBasis(Gaussian(0.7), X)):
        np.testing.assert_allclose(Gaussian(0.7)(X) @ ours.c, exact.predict(X), atol=1e-8)


def test_large_reg_leaves_least_squares_on_the_features():
    X, Y, P, w, _ = sample()
    root = np.sqrt(w)[:, None]
    best = np.linalg.lstsq(root * P, root * Y, rcond=None)[0]
    for ours in _both(X, P, Y, 1e12, w, CenterBasis(Gaussian(0.7), X[:30])):
        np.testing.assert_allclose(ours.lam, best, atol=1e-9)


def test_small_reg_leaves_least_squares_on_all():
    X, Y, P, w, _ = sample()
    kernel, centers = Laplacian(1.0), X[:20]
    root = np.sqrt(w)[:, None]
    A = np.hstack([kernel(X, centers), P])
    best = A @ np.linalg.lstsq(root * A, root * Y, rcond=None)[0]
    ours = nystrom.solve(CenterBasis(kernel, centers), X, P, Y, 1e-13, w)
    np.testing.assert_allclose(predicted(kernel, ours, centers, X), best, atol=1e-6)


@pytest.mark.parametrize("factor", [1e-300, 1e-150, 1e150, 1e300])
def test_units_of_y_and_of_the_kernel(factor):
    X, Y, P, w, _ = sample(m=100)
    basis = CenterBasis(Gaussian(0.7), X[:30])
    for a, b in zip(
        _both(X, P, Y, 1e-3, w, basis), _both(X, P, Y * factor, 1e-3, w, basis), strict=True
    ):
        np.testing.assert_allclose(b.lam, a.lam * factor, rtol=1e-7)
        assert max(c.kkt for c in b.certificates) < 1e-8
    scaled = CenterBasis(factor * Gaussian(0.7), X[:30])
    a = nystrom.solve(basis, X, P, Y, 1e-3, w)
    b = nystrom.solve(scaled, X, P, Y, 1e-3 * factor, w)
    np.testing.assert_allclose(b.lam, a.lam, rtol=1e-7)
    np.testing.assert_allclose(b.energy / b.unit * factor, a.energy / a.unit, rtol=1e-6)


def test_a_kernel_that_is_zero_at_the_centres():
    X, Y, P, w, _ = sample(m=50)
    basis = CenterBasis(Linear(), np.zeros((3, 2)))
    assert basis.rank == 0
    ours = nystrom.solve(basis, X, P, Y, 1e-3, w)
    root = np.sqrt(w)[:, None]
    np.testing.assert_allclose(ours.lam, np.linalg.lstsq(root * P, root * Y, rcond=None)[0])
    assert not ours.c.any()
    assert max(c.kkt for c in ours.certificates) == 0


def test_indefinite_kernels_are_refused():
    from kernelbook.kernels import FunctionKernel

    X, Y, P, w, _ = sample(m=80)
    wrong = FunctionKernel(lambda A, B: np.tanh(3 * A @ B.T - 1.0))
    with pytest.raises(ValueError, match="not positive semidefinite"):
        CenterBasis(wrong, X)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        cg.solve(wrong, X, P, Y, 1e-6, w)


@pytest.mark.parametrize("reg", [0.0, np.inf])
def test_reg_must_be_positive(reg):
    X, Y, P, w, _ = sample(m=30)
    basis = CenterBasis(Gaussian(0.7), X)
    with pytest.raises(ValueError, match="reg="):
        nystrom.solve(basis, X, P, Y, reg, w)
    with pytest.raises(ValueError, match="reg="):
        cg.solve(Gaussian(0.7), X, P, Y, reg, w)

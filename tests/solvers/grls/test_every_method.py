"""Every row of the table of methods: the right f, an honest certificate, and its refusals.

A new method gets these tests with its row.
"""

import numpy as np
import pytest

from kernelbook import Gaussian, GRLSClassifier, GRLSRegressor, Polynomials, ThinPlate
from kernelbook.solvers.grls.methods import DENSE, METHODS, Facts, alternatives, choose
from tests.naive import grls as naive

RNG = np.random.default_rng(0)
M, REG = 60, 1e-2
KERNEL = Gaussian(0.7)

rows = pytest.mark.parametrize("method", METHODS.values(), ids=lambda row: row.name)


def problem(d=2, k=2):
    X = RNG.uniform(-1, 1, size=(M, d))
    Y = np.c_[np.sin(3 * X[:, 0]), X.sum(axis=1) ** 2][:, :k] + 0.1 * RNG.normal(size=(M, k))
    return X, Y, RNG.uniform(0.3, 2, size=M)


def learner(method, kernel=KERNEL, **changes):
    """With all samples as centres Nyström, too, solves the problem of the full kernel."""
    arguments = {"features": Polynomials(1, scaled=False), "reg": REG, "n_centers": M}
    return GRLSRegressor(kernel, solver=method.name, **arguments | changes)


@rows
def test_the_certificate_encloses_the_exact_minimum(method):
    X, Y, w = problem()
    Phi, P = KERNEL(X), np.c_[np.ones(M), X]
    model = learner(method).fit(X, Y, w)
    assert model.solver_ == method.name
    for j, proof in enumerate(model.certificate_.parts):
        c, lam = naive.saddle(Phi, P, Y[:, j], REG, w)
        best = naive.objective(Phi, P, Y[:, j], REG, c, lam, w)
        assert proof.kkt <= 1e-8
        # Fourier's bounds are those of its own kernel, which kkt counts.
        assert proof.dual <= best * (1 + 1e-8)
        assert best * (1 - 1e-8) <= proof.primal
        size = np.sqrt(np.average(Y[:, j] ** 2, weights=w))
        error = np.sqrt(np.average((model.predict(X)[:, j] - Phi @ c - P @ lam) ** 2, weights=w))
        assert error <= (proof.kkt + 1e-12) * size
        np.testing.assert_allclose(model.coef_[j], lam, atol=1e-6)


@rows
def test_outputs_come_first(method):
    X, Y, _ = problem()
    several, one = learner(method).fit(X, Y), learner(method).fit(X, Y[:, 0])
    assert several.coef_.shape == (2, 3)
    assert one.coef_.shape == (3,)
    np.testing.assert_allclose(several.coef_[0], one.coef_, atol=1e-6)
    np.testing.assert_allclose(several.intercept_, several.coef_[:, 0])
    assert np.ndim(one.intercept_) == 0
    if hasattr(one, "dual_coef_"):
        assert several.dual_coef_.shape == (2, M)
        assert one.dual_coef_.shape == (M,)
    labels = GRLSClassifier(KERNEL, reg=REG, solver=method.name).fit(X, Y[:, 0] > 0)
    assert labels.coef_.shape == (1, 1)
    assert labels.decision_function(X).shape == (M,)


@rows
def test_no_intercept_where_the_constant_is_not_determined(method):
    X, Y, _ = problem(k=1)
    groups = lambda X: np.c_[X[:, 0] > 0, X[:, 0] <= 0].astype(float)  # noqa: E731
    assert not hasattr(learner(method, features=groups).fit(X, Y[:, 0]), "intercept_")
    both = lambda X: np.c_[np.ones(len(X)), groups(X)]  # noqa: E731
    assert not hasattr(learner(method, features=both).fit(X, Y[:, 0]), "intercept_")
    assert not hasattr(learner(method, features=None).fit(X, Y[:, 0]), "intercept_")


@rows
def test_deviations_where_the_row_says_so(method):
    X, Y, w = problem()
    model = learner(method).fit(X, Y, w)
    Z = RNG.uniform(-1, 1, size=(7, 2))
    if not method.std:
        with pytest.raises(ValueError, match=f"not available.*{alternatives('std')[:20]}"):
            model.predict(Z, return_std=True)
        with pytest.raises(AttributeError, match="coef_cov_ is not available"):
            model.coef_cov_  # noqa: B018
        return
    _, deviation = model.predict(Z, return_std=True)
    P, p, k = np.c_[np.ones(M), X], np.c_[np.ones(7), Z], KERNEL(Z, X)
    variance = [naive.variance(KERNEL(X), P, REG, 1.0, k[i], p[i], w) for i in range(7)]
    expected = np.sqrt(np.multiply.outer(variance, model.scale_))
    np.testing.assert_allclose(deviation, expected, rtol=1e-5)
    assert model.coef_cov_.shape == (2, 3, 3)


REFUSALS = [
    ("gram", {"kernel": None}, ValueError, "precomputed"),
    ("sums", {"collection": True}, TypeError, "in memory"),
    ("sparse", {"sparse": True}, TypeError, "dense rows"),
    ("reg_zero", {"reg": 0.0}, ValueError, "reg > 0"),
    ("cpd", {"kernel": ThinPlate()}, ValueError, "positive definite|Fourier transform"),
]


@pytest.mark.parametrize(("capability", "facts", "error", "message"), REFUSALS)
@rows
def test_each_refusal_follows_from_the_row(method, capability, facts, error, message):
    facts = Facts(**{"kernel": KERNEL, "d": 2, "reg": REG, "tol": 1e-8} | facts)
    if getattr(method, capability):
        assert choose(method.name, facts) == (method, None)
        return
    with pytest.raises(error, match=message) as refused:
        choose(method.name, facts)
    assert f"solver={method.name!r}" in str(refused.value)


@rows
def test_columns_that_are_too_many(method):
    facts = Facts(KERNEL, 4, REG, 1e-8)
    if method.columns >= 4:
        assert choose(method.name, facts)[0] is method
        return
    with pytest.raises(ValueError, match="columns, and X has 4"):
        choose(method.name, facts)


def test_an_unknown_solver_is_refused_with_the_known_ones():
    facts = Facts(KERNEL, 2, REG, 1e-8)
    with pytest.raises(ValueError, match=r"solver='svd' is not known.*'auto', 'cholesky'"):
        choose("svd", facts)
    with pytest.raises(ValueError, match="'cg' is not known"):
        choose("cg", facts, DENSE)


def test_auto_takes_the_null_space_where_the_kernel_needs_it():
    assert choose("auto", Facts(KERNEL, 2, REG, 1e-8))[0].name == "auto"
    assert choose("auto", Facts(ThinPlate(), 2, REG, 1e-8))[0].name == "nullspace"
    assert choose("auto", Facts(KERNEL, 2, REG, 1e-8, collection=True))[0].name == "fourier"
    box = np.zeros(2), np.ones(2)
    method, grid = choose("auto", Facts(KERNEL, 2, REG, 1e-8, m=20_000, box=box))
    assert method.name == "fourier"
    assert grid.error <= 1e-9
    assert choose("auto", Facts(KERNEL, 2, REG, 1e-8, m=20_000, box=box), DENSE)[1] is None


def test_a_failed_fit_leaves_no_state():
    X, Y, _ = problem()
    model = GRLSRegressor(KERNEL).fit(X, Y)
    before = set(vars(model))
    with pytest.raises(ValueError, match="one to three columns"):
        model.set_params(solver="fourier").fit(np.c_[X, X], Y)
    assert set(vars(model)) == before & set(model.get_params())


def test_chunks_for_given_centres():
    X, Y, w = problem()
    whole = GRLSRegressor(KERNEL, solver="nystrom", centers=X[:20], reg=REG).fit(X, Y, w)
    parts = GRLSRegressor(KERNEL, solver="nystrom", centers=X[:20], reg=REG)
    for block in (slice(0, 10), slice(10, 60)):
        parts.partial_fit(X[block], Y[block], w[block])
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-9)
    np.testing.assert_allclose(parts.scale_, whole.scale_, rtol=1e-8)
    parts.fit_chunks([(X[i::3], Y[i::3], w[i::3]) for i in range(3)])
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-9)
    with pytest.raises(AttributeError, match="array of centers"):
        GRLSRegressor(KERNEL, solver="nystrom").partial_fit  # noqa: B018


def test_certificates_see_the_entries_that_predict_computes():
    """Products with the sample itself and with a copy of it: the same numbers, but for sums."""
    X, _, _ = problem()
    c = RNG.normal(size=M)
    twice = KERNEL.gram_matvec(X, c), KERNEL.matvec(X, X.copy(), c)
    np.testing.assert_allclose(*twice, atol=1e-13 * np.abs(c).sum())

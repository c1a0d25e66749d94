"""What the G-RLS learners refuse, and that they say what to do instead."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

from kernelbook import (
    ConditionalKernel,
    Gaussian,
    GRLSClassifier,
    GRLSClassifierCV,
    GRLSRegressor,
    GRLSRegressorCV,
    Laplacian,
    Linear,
    Multiquadric,
    Polyharmonic,
    Polynomials,
    SVMGBClassifier,
    ThinPlate,
)
from kernelbook.kernels import FunctionKernel
from tests.naive import grls as naive

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 2))
Y = np.sin(X[:, 0]) + X[:, 1]
Z = RNG.normal(size=(7, 2))


@pytest.mark.parametrize("learner", [GRLSRegressor, GRLSRegressorCV])
@pytest.mark.parametrize(
    ("kernel", "features", "remedy"),
    [
        (ThinPlate(), None, r"features=Polynomials\(1\)"),
        (ThinPlate(), "constant", r"features=Polynomials\(1\)"),
        (ThinPlate(), lambda X: np.c_[np.ones(len(X)), np.sin(X)], r"features=Polynomials\(1\)"),
        (ThinPlate(), lambda X: np.c_[np.ones(len(X)), X[:, 0]], r"features=Polynomials\(1\)"),
        (Multiquadric(1.0), None, "features='constant'"),
        (Gaussian(1.0) + Polyharmonic(5), Polynomials(1), r"features=Polynomials\(2\)"),
        (Polyharmonic(60), "constant", r"features=Polynomials\(30\)"),
    ],
)
def test_missing_polynomials(learner, kernel, features, remedy):
    with pytest.raises(ValueError, match=remedy):
        learner(kernel, features).fit(X, Y)


def test_polynomials_may_hide_in_other_features():
    def mixed(X):
        return np.c_[1 + X[:, 0], X[:, 0] - X[:, 1], 2 + X[:, 1], np.sin(X)]

    ours = GRLSRegressor(ThinPlate(), mixed).fit(X, Y**2)
    assert ours.certificate_.kkt < 1e-12


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"reg": -1.0}, ValueError, "reg=-1.0"),
        ({"reg": np.nan}, ValueError, "reg=nan"),
        ({"reg": np.inf}, ValueError, "reg=inf"),
        ({"reg": 1e308}, ValueError, r"reg=1e\+308 times the 20 samples"),
        ({"reg": "1"}, TypeError, "reg must be a number"),
        ({"reg": True}, TypeError, "reg must be a number"),
        ({"reg": None}, TypeError, "reg must be a number"),
        ({"tol": -1.0}, ValueError, "tol=-1.0"),
        ({"solver": "fourrier"}, ValueError, "solver='fourrier'"),
        ({"solver": None}, ValueError, "solver=None"),
        ({"kernel": "rbf"}, TypeError, r"'precomputed'.*'rbf', which is Gaussian\(width=1/√gamma"),
        ({"kernel": Gaussian}, TypeError, "Gaussian is a class"),
        ({"features": Polynomials}, TypeError, r"features=Polynomials\(…\)"),
        ({"features": Gaussian(1.0)}, TypeError, "is a kernel; pass it as kernel"),
        ({"features": lambda X: X * 1e200 * X * 1e200}, ValueError, "features.X. is .*scale"),
        ({"features": "linear"}, ValueError, "features='linear'"),
        (
            {"kernel": ThinPlate(), "features": Polynomials(1), "solver": "cholesky"},
            ValueError,
            "nullspace",
        ),
    ],
)
def test_parameters_that_are_refused(change, error, message):
    with pytest.raises(error, match=message):
        GRLSRegressor(**change).fit(X, Y)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(bad):
    worse_X, worse_y, w = X.copy(), Y.copy(), np.ones(20)
    worse_X[2, 1] = worse_y[3] = w[4] = bad
    for args in ((worse_X, Y), (X, worse_y), (X, Y, w)):
        with pytest.raises(ValueError, match=r"NaN|infinity|Negative"):
            GRLSRegressor().fit(*args)
    with pytest.raises(ValueError, match="sample 2"):
        GRLSRegressor(features=lambda X: worse_X).fit(X, Y)
    ours = GRLSRegressor().fit(X, Y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        ours.predict(worse_X)


def test_precomputed_matrices_that_are_no_kernels():
    G = Gaussian(1.0)(X)
    R = GRLSRegressor("precomputed")
    with pytest.raises(ValueError, match="not symmetric"):
        R.fit(np.triu(G), Y)
    with pytest.raises(ValueError, match="square"):
        R.fit(G[:, :7], Y)
    for reg in (1e-3, 10.0):
        with pytest.raises(ValueError, match="not positive semidefinite"):
            GRLSRegressor("precomputed", reg=reg).fit(-G, Y)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        GRLSRegressor("precomputed").fit(ThinPlate()(X), Y)
    with pytest.raises(ValueError, match="P="):
        GRLSRegressor("precomputed", Polynomials(1)).fit(G, Y)
    ours = R.fit(G, Y, P=X)
    with pytest.raises(ValueError, match="needs P"):
        ours.predict(G)
    with pytest.raises(ValueError, match="diag"):
        ours.predict(G, P=X, return_std=True)
    with pytest.raises(ValueError, match="diag"):
        ours.predict(G, P=X, return_std=True, diag=np.ones(3))
    with pytest.raises(ValueError, match="diag"):
        GRLSRegressor().fit(X, Y).predict(X, return_std=True, diag=np.ones(20))


def sigmoid(A, B):
    return np.tanh(3 * A @ B.T - 1)


@pytest.mark.parametrize("learner", [GRLSRegressor, GRLSRegressorCV])
@pytest.mark.parametrize(
    "kernel",
    [
        sigmoid,
        FunctionKernel(sigmoid, cpd_order=1),
        Gaussian(1.0) + 3.0 * FunctionKernel(sigmoid),
        FunctionKernel(sigmoid) * Gaussian(3.0),
        ConditionalKernel(sigmoid, anchors="virtual").fit(X).K,
    ],
    ids=["function", "of order 1", "sum", "product", "conditional"],
)
def test_functions_that_are_no_kernels_however_large_reg(learner, kernel):
    """Φ + ρI is definite, Φ is not: the system has a solution that minimizes nothing."""
    for reg in (1e-3, 1e3):
        options = {"regs": [reg]} if learner is GRLSRegressorCV else {"reg": reg}
        with pytest.raises(ValueError, match="not positive semidefinite on the null space"):
            learner(kernel, **options).fit(X, Y)


class Lowered(Laplacian):
    """Somebody's own kernel, which inherits a theorem that does not hold for it."""

    _at_zero = 0.5

    def _profile(self, r):
        super()._profile(r)
        r -= 0.5


def test_a_subclass_inherits_no_proof():
    assert Gaussian()._proven
    assert (2 * Gaussian() + Gaussian() * Gaussian())._proven
    assert not Lowered()._proven
    assert not (2 * Lowered() + Gaussian())._proven
    with pytest.raises(ValueError, match="not positive semidefinite"):
        GRLSRegressor(Lowered(1.0), None).fit(X, Y)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        SVMGBClassifier(Lowered(1.0), None).fit(X, Y > 0)
    GRLSRegressor(Lowered(1.0)).fit(X, Y)  # minus a constant: definite where Σc_i = 0


@pytest.mark.filterwarnings("ignore:.* is practically (the identity|constant)")
def test_matrices_that_are_no_kernels_however_large_reg():
    G = Gaussian(1.0)(X)
    _, V = np.linalg.eigh(G)
    bad = G - 0.5 * np.outer(V[:, 3], V[:, 3])
    far = bad + 1e9  # the constant feature does not see this shift, and neither must the check
    w = np.random.default_rng(1).uniform(0.5, 2.0, 20)
    for matrix in (bad, far):
        for weights in (None, w):
            for ours in (GRLSRegressor("precomputed", reg=1e3), GRLSRegressorCV("precomputed")):
                with pytest.raises(ValueError, match="not positive semidefinite on the null space"):
                    ours.fit(matrix, Y, weights)
    # Indefinite only where Pᵀc ≠ 0 is fine, and so are rounding and single precision.
    for matrix in (G - 5.0, G.astype(np.float32), Gaussian(30.0)(X).astype(np.float32)):
        GRLSRegressor("precomputed", reg=1e-2).fit(matrix, Y)
        GRLSRegressorCV("precomputed", regs=[1e-2]).fit(matrix, Y)
    for ours in (
        GRLSRegressor("precomputed", reg=1e-2),
        GRLSRegressorCV("precomputed", regs=[1e-2]),
    ):
        with pytest.warns(ConvergenceWarning, match="ill-conditioned"):  # seven digits are left
            ours.fit(G + 1e9, Y)
    with pytest.warns(UserWarning, match="the kernel is zero at every pair"):
        GRLSRegressor("precomputed").fit(np.zeros((20, 20)), Y)


def test_the_constant_is_not_necessary_for_the_distance():
    """−|x−z| is definite where Σc_i(1 + |x_i|) = 0; we ask for the constant, or for the matrix."""
    x, k = X[:, :1], Polyharmonic(1)
    P = 1 + np.abs(x)
    with pytest.raises(ValueError, match=r"features='constant'.*kernel='precomputed'"):
        GRLSRegressor(k, lambda A: 1 + np.abs(A)).fit(x, Y)
    c, lam = naive.saddle(k(x), P, Y, 1e-2)
    for reg in (1e-2, 1e2):
        ours = GRLSRegressor("precomputed", reg=reg).fit(k(x), Y, P=P)
        assert ours.certificate_.kkt < 1e-12
        if reg == 1e-2:
            np.testing.assert_allclose(ours.dual_coef_, c, atol=1e-9)
            np.testing.assert_allclose(ours.coef_, lam, atol=1e-9)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        GRLSRegressor("precomputed", reg=1e2).fit(k(x), Y, P=1 - np.abs(x) / 2)


def test_a_covariance_that_is_not_defined():
    distance = FunctionKernel(lambda A, B: Multiquadric(1.0)(A, B))  # says that it is of order 0
    ours = GRLSRegressor(distance).fit(X, Y)
    with pytest.raises(AttributeError, match="not positive semidefinite"):
        _ = ours.coef_cov_
    right = GRLSRegressor(Multiquadric(1.0)).fit(X, Y)
    np.testing.assert_allclose(ours.predict(Z), right.predict(Z), atol=1e-9)


@pytest.mark.parametrize("learner", [GRLSClassifier, GRLSClassifierCV])
def test_one_class(learner):
    with pytest.raises(ValueError, match="one class"):
        learner().fit(X, np.ones(20))
    labels = np.r_[np.zeros(10), np.ones(10)]
    with pytest.raises(ValueError, match="one class"):
        learner().fit(X, labels, sample_weight=labels)


@pytest.mark.parametrize("learner", [GRLSClassifier, GRLSClassifierCV])
def test_a_class_without_weight_is_absent(learner):
    labels = np.arange(20) % 3
    w = (labels != 1).astype(float)
    ours = learner().fit(X, labels, sample_weight=w)
    other = learner().fit(X[labels != 1], labels[labels != 1])
    np.testing.assert_array_equal(ours.classes_, [0, 2])
    np.testing.assert_allclose(ours.decision_function(Z), other.decision_function(Z), atol=1e-10)


@pytest.mark.parametrize(
    "learner", [GRLSRegressor, GRLSRegressorCV, GRLSClassifier, GRLSClassifierCV]
)
def test_a_failed_fit_leaves_nothing_half_fitted(learner):
    ours = learner(Gaussian(1.0)).fit(X, Y > 0)
    ours.set_params(kernel=ThinPlate())
    with pytest.raises(ValueError, match="Polynomials"):
        ours.fit(X, Y > 0)
    assert not [name for name in vars(ours) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        ours.predict(X)
    with pytest.raises(NotFittedError):
        _ = ours.coef_cov_


def test_the_fit_is_independent_of_later_changes():
    kernel, points = Gaussian(1.0), X.copy()
    ours = GRLSRegressor(kernel).fit(points, Y)
    before = ours.predict(Z, return_std=True)
    kernel.width = 7.0
    points += 1.0
    ours.set_params(reg=5.0, solver="nullspace", tol=0.0, features=None, kernel="precomputed")
    for a, b in zip(ours.predict(Z, return_std=True), before, strict=True):
        np.testing.assert_array_equal(a, b)
    cov = ours.coef_cov_
    ours.set_params(kernel=ThinPlate())
    np.testing.assert_array_equal(ours.coef_cov_, cov)
    again = GRLSRegressor(Gaussian(1.0)).fit(X, Y).predict(Z, return_std=True)
    for a, b, c in zip(ours.predict(Z, return_std=True), before, again, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, c)


def test_given_features_are_checked_by_rows_columns_and_names():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    gram, frame = Gaussian(1.0)(X), pd.DataFrame(X, columns=["a", "b"])
    weights = np.r_[0.0, np.ones(11)]
    with pytest.raises(ValueError, match=r"P has shape \(15, 1\)"):
        GRLSRegressor("precomputed").fit(gram, y, P=np.ones((15, 1)), sample_weight=weights)
    with pytest.raises(TypeError, match="P must be a matrix of numbers, not 'constant'"):
        GRLSRegressor("precomputed").fit(gram, y, P="constant")
    model = GRLSRegressor("precomputed").fit(gram, y, P=frame)
    np.testing.assert_array_equal(model.predict(gram, P=frame), model.predict(gram, P=X))
    with pytest.raises(ValueError, match="in the same order"):
        model.predict(gram, P=frame[["b", "a"]])
    with pytest.raises(ValueError, match="P has 1 columns, and in fit it had 2"):
        model.predict(gram, P=X[:, :1])


def test_weights_whose_sum_overflows_are_an_error():
    with pytest.raises(ValueError, match="sum of sample_weight overflows"):
        GRLSRegressor().fit(np.eye(3), np.arange(3.0), sample_weight=np.full(3, 1e308))


def test_a_learner_keeps_copies_of_weights_and_features():
    rng = np.random.default_rng(1)
    X, y, w = rng.normal(size=(20, 2)), rng.normal(size=20), rng.uniform(0.5, 2, 20)
    new = rng.normal(size=(4, 2))
    model = GRLSRegressor(Gaussian(1.0), features=lambda Z: Z, reg=0.1)
    before = model.fit(X, y, sample_weight=w).predict(new, return_std=True)[1]
    model = GRLSRegressor(Gaussian(1.0), features=lambda Z: Z, reg=0.1).fit(X, y, sample_weight=w)
    w[:10], X[:] = 1e-3, 5.0
    np.testing.assert_array_equal(model.predict(new, return_std=True)[1], before)


def test_parameters_changed_after_a_fit_of_a_matrix_or_of_sparse_rows():
    G = Gaussian(1.0)(X)
    ours = GRLSRegressor("precomputed").fit(G, Y)
    before = ours.predict(G[:3], return_std=True, diag=np.ones(3))
    ours.set_params(kernel=None, features=Polynomials(1))
    for a, b in zip(ours.predict(G[:3], return_std=True, diag=np.ones(3)), before, strict=True):
        np.testing.assert_array_equal(a, b)
    ours = GRLSRegressor(Linear()).fit(sparse.csr_matrix(X), Y)
    before = ours.predict(sparse.csr_matrix(Z))
    ours.set_params(kernel=None)
    np.testing.assert_array_equal(ours.predict(sparse.csr_matrix(Z)), before)


def test_messages_name_the_remedy():
    G = Gaussian(1.0)(X)
    ours = GRLSRegressor("precomputed").fit(G, Y)
    for matrix in (G[:, :5], X):
        with pytest.raises(ValueError, match=r"expecting 20 .*column for each sample of the fit"):
            ours.predict(matrix)
    with pytest.raises(TypeError, match=r"kernel=None needs dense rows.*toarray.*Linear"):
        GRLSRegressor().fit(sparse.csr_matrix(X), Y)
    grid = {"kernel__width": [1.0, 2.0]}
    with pytest.raises(ValueError, match=r"kernel=None has no parameters.*kernel=Gaussian\(\)"):
        GridSearchCV(GRLSRegressor(), grid).fit(X, Y)
    with pytest.raises(ValueError, match=r"features='constant' has no .*features=Polynomials\(\)"):
        GRLSRegressor().set_params(features__degree=2)
    both = GRLSRegressor().set_params(kernel=Gaussian(), kernel__width=3.0)
    assert both.kernel == Gaussian(3.0)
    with pytest.raises(ValueError, match="Invalid parameter 'kernal'"):
        GRLSRegressor().set_params(kernal__width=3.0)


def test_features_must_be_as_many_as_in_the_fit():
    ours = GRLSRegressor(features=lambda A: A[:, :1] @ A[:2, :1].T).fit(X, Y)
    ours.predict(Z)
    with pytest.raises(ValueError, match=r"features\(X\) has 1 columns, and in fit it had 2"):
        ours.predict(Z[:1])
    ours = GRLSRegressor(features=lambda A: np.ones((len(A), len(A) // 4))).fit(X, Y)
    with pytest.raises(ValueError, match="has 1 columns, and in fit it had 5"):
        ours.predict(Z, return_std=True)

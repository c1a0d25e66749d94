"""PrimalSVMClassifier: equal to the dual and to liblinear, at home in scikit-learn, hard inputs."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelbook import (
    FunctionBasis,
    Gaussian,
    GaussianBasis,
    IncrementalSVMClassifier,
    KernelBasis,
    Linear,
    LinearBasis,
    Matern,
    Polynomials,
    PrimalSVMClassifier,
    SVMGBClassifier,
)
from tests.naive.primal import objective
from tests.samples.xor import xor as noisy_xor

METHODS = ("cholesky", "gram-schmidt", "eigen")


xor = partial(noisy_xor, above=0.2, labels=(-1, 1))


def distance(a, b, X):
    return np.abs(a.decision_function(X) - b.decision_function(X)).max()


@parametrize_with_checks(
    [
        PrimalSVMClassifier(),
        PrimalSVMClassifier(loss="squared_hinge", solver="newton", multiclass="ovr"),
        PrimalSVMClassifier(LinearBasis(), class_weight="balanced"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------ primal = dual


@pytest.mark.parametrize("kernel", [Gaussian(1.3), Matern(width=2.0)])
@pytest.mark.parametrize("features", [None, "constant", Polynomials(1), Polynomials(2)])
@pytest.mark.parametrize("C", [0.1, 30.0])
def test_the_primal_is_the_dual(kernel, features, C):
    X, y = xor(70)
    Z = np.random.default_rng(1).normal(size=(40, 3))
    primal = PrimalSVMClassifier(KernelBasis(kernel), features, C).fit(X, y)
    dual = SVMGBClassifier(kernel, features, C).fit(X, y)
    for A in (X, Z):
        assert distance(primal, dual, A) < 1e-6
    assert primal.certificate_.primal == pytest.approx(dual.certificate_.primal, rel=1e-9)
    if (
        features == "constant" and kernel == Gaussian(1.3) and C < 1
    ):  # LIBSVM's K is single precision
        assert distance(primal, SVC(C=C, gamma=1 / 1.3**2, tol=1e-10).fit(X, y), Z) < 1e-6


def test_the_linear_machine_is_svc_with_a_linear_kernel():
    X, y = xor(60, noise=2.0)
    primal = PrimalSVMClassifier(LinearBasis(), C=0.5).fit(X, y)
    reference = SVC(C=0.5, kernel="linear", tol=1e-6).fit(X, y)
    assert distance(primal, reference, X) < 1e-5
    assert primal.basis_coef_ == pytest.approx(reference.coef_, abs=1e-5)


@pytest.mark.parametrize("solver", ["dcd", "newton"])
def test_without_features_the_squared_hinge_is_liblinear_without_intercept(solver):
    X, y = xor(80, noise=2.0)
    primal = PrimalSVMClassifier(
        LinearBasis(), None, C=0.7, loss="squared_hinge", solver=solver
    ).fit(X, y)
    reference = LinearSVC(C=0.7, fit_intercept=False, dual=False, tol=1e-10, max_iter=10_000)
    assert distance(primal, reference.fit(X, y), X) < 1e-6


@pytest.mark.parametrize("solver", ["dcd", "newton"])
def test_weights_enter_as_in_liblinear(solver):
    X, y = xor(60, noise=2.0)
    w = np.random.default_rng(0).uniform(0.2, 3.0, 60)
    primal = PrimalSVMClassifier(LinearBasis(), None, loss="squared_hinge", solver=solver)
    reference = LinearSVC(fit_intercept=False, dual=False, tol=1e-10, max_iter=10_000)
    assert distance(primal.fit(X, y, w), reference.fit(X, y, w), X) < 1e-6
    twice = np.concatenate([np.arange(60), np.arange(20)])
    integer = np.where(np.arange(60) < 20, 2.0, 1.0)
    assert distance(clone(primal).fit(X[twice], y[twice]), primal.fit(X, y, integer), X) < 1e-8


# -------------------------------------------------------------------------- orthonormalization


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(
    "basis",
    [
        KernelBasis(Gaussian(1.0)),
        GaussianBasis("subset", 0.7, n_centers=15, random_state=0),
        GaussianBasis("subset", [0.4, 1.5], "inner_product", n_centers=15, random_state=0),
    ],
)
def test_every_orthonormalization_gives_the_same_classifier(basis, loss):
    X, y = xor(50)
    Z = np.random.default_rng(1).normal(size=(30, 3))
    models = [
        PrimalSVMClassifier(basis, Polynomials(1), loss=loss, orthonormalization=method).fit(X, y)
        for method in METHODS
    ]
    for model in models[1:]:
        assert distance(models[0], model, Z) < 1e-6
        assert model.certificate_.primal == pytest.approx(models[0].certificate_.primal, rel=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_nested_spaces_never_increase_the_objective(loss):
    X, y = xor(60)
    last = np.inf
    for k in (1, 2, 5, 12, 30, 60):
        basis = GaussianBasis(X[:k], np.linspace(0.5, 1.5, 60)[:k])
        value = PrimalSVMClassifier(basis, loss=loss).fit(X, y).certificate_.primal
        assert value <= last * (1 + 1e-10)
        last = value


def test_the_objective_is_that_of_the_definition():
    X, y = xor(40)
    w = np.random.default_rng(0).uniform(0.5, 2, 40)
    for loss in ("hinge", "squared_hinge"):
        model = PrimalSVMClassifier(GaussianBasis(widths=0.8), Polynomials(1), 2.0, loss=loss)
        model.fit(X, y, w)
        x = model.orthonormal_.evaluate(X)
        P = model.features_.transform(X)
        parts = (x, P, y, 2.0 * w, model.basis_coef_[0], model.coef_[0])
        value = objective(*parts, squared=loss == "squared_hinge")
        assert value == pytest.approx(model.certificate_.primal, rel=1e-9)
        assert np.abs(P.T @ model.dual_coef_[0]).max() < 1e-9
        assert np.abs(x.T @ model.dual_coef_[0] - model.basis_coef_[0]).max() < 1e-6


# ------------------------------------------------------------------------------- two readings


def test_the_readings_coincide_for_a_kernel_and_part_in_L2():
    """Equal widths by inner products are the Gaussian machine of γ/2; by values they are not."""
    X, y = xor(60)
    Z = np.random.default_rng(1).normal(size=(200, 3))
    sigma = 0.9
    machine = SVC(C=2.0, gamma=0.5 / sigma**2, tol=1e-10).fit(X, y)
    inner = PrimalSVMClassifier(GaussianBasis(widths=sigma, reading="inner_product"), C=2.0)
    values = PrimalSVMClassifier(GaussianBasis(widths=sigma), C=2.0)
    assert distance(inner.fit(X, y), machine, Z) < 1e-6
    assert distance(values.fit(X, y), machine, Z) > 0.1
    assert np.any(values.predict(Z) != machine.predict(Z))
    # In the space of the kernel itself f(x) = ⟨f, k_x⟩: there is nothing to choose.
    kernel = PrimalSVMClassifier(KernelBasis(Gaussian(np.sqrt(2) * sigma)), C=2.0).fit(X, y)
    assert distance(kernel, inner, Z) < 1e-6


# -------------------------------------------------------------------------------- many classes


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_many_classes_are_those_of_the_dual(scheme):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    primal = PrimalSVMClassifier(KernelBasis(Gaussian(2.0)), multiclass=scheme, C=0.5)
    dual = SVMGBClassifier(Gaussian(2.0), multiclass=scheme, C=0.5)
    assert distance(primal.fit(X, names), dual.fit(X, names), X) < 1e-6
    assert set(primal.predict(X)) == set(names)
    assert primal.basis_coef_.shape[0] == primal.coef_.shape[0] == 3
    assert len(primal.certificate_.parts) == 3
    before = primal.decision_function(X)
    primal.set_params(multiclass="ovr" if scheme == "ovo" else "ovo", C=1e-3)
    assert np.array_equal(primal.decision_function(X), before)


def test_class_weights_are_weights():
    X, y = xor(50)
    a = PrimalSVMClassifier(class_weight={-1: 3.0, 1: 0.5}).fit(X, y)
    b = PrimalSVMClassifier().fit(X, y, np.where(y == 1, 0.5, 3.0))
    assert distance(a, b, X) < 1e-8
    balanced = PrimalSVMClassifier(class_weight="balanced").fit(X, y)
    counts = np.array([np.sum(y == -1), np.sum(y == 1)])
    c = PrimalSVMClassifier().fit(X, y, (50 / 2 / counts)[(y == 1).astype(int)])
    assert distance(balanced, c, X) < 1e-8


# -------------------------------------------------------------------------------- hard inputs


def test_contradicting_duplicates_and_constant_columns():
    X, y = xor(40)
    X = np.column_stack([X, np.full(40, 7.0)])
    X, y = np.vstack([X, X]), np.concatenate([y, -y])
    model = PrimalSVMClassifier(KernelBasis(Gaussian(1.0))).fit(X, y)
    assert model.certificate_.relative_gap < 1e-8
    assert model.orthonormal_.dropped.size == 40
    assert np.abs(model.decision_function(X)).max() < 1e-6  # nothing can be learned


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_of_the_data_do_not_matter_where_the_kernel_has_them(scale):
    X, y = xor(40)
    a = PrimalSVMClassifier(KernelBasis(Gaussian(1.0)), Polynomials(1)).fit(X, y)
    b = PrimalSVMClassifier(KernelBasis(Gaussian(scale)), Polynomials(1)).fit(scale * X, y)
    assert np.abs(a.decision_function(X) - b.decision_function(scale * X)).max() < 1e-6


def test_weights_over_many_decades():
    X, y = xor(60)
    w = 10.0 ** np.random.default_rng(0).uniform(-10, 10, 60)
    for loss in ("hinge", "squared_hinge"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = PrimalSVMClassifier(KernelBasis(Gaussian(1.0)), loss=loss).fit(X, y, w)
        proof = model.certificate_
        assert proof.dual <= proof.primal * (1 + 1e-12)
        if proof.relative_gap > model.tol:  # then it must have said so
            with pytest.warns(ConvergenceWarning):
                clone(model).fit(X, y, w)


def test_features_alone_that_separate():
    X, _ = xor(40)
    y = X[:, 0] > 0.1
    model = PrimalSVMClassifier(features=Polynomials(1)).fit(X, y)
    assert not model.basis_coef_.any()
    assert np.array_equal(model.predict(X), y)


def test_two_samples():
    model = PrimalSVMClassifier(LinearBasis(), C=10.0).fit([[0.0], [2.0]], ["a", "b"])
    assert model.decision_function([[0.0], [1.0], [2.0]]) == pytest.approx([-1.0, 0.0, 1.0])


# ------------------------------------------------------------------------------- at home


def test_sparse_rows_stay_sparse():
    rng = np.random.default_rng(0)
    S = sparse.csr_array(sparse.random(80, 30, 0.2, "csr", rng=rng))
    y = np.asarray(S[:, :5].sum(axis=1)).ravel() > 0.4
    dense = PrimalSVMClassifier(LinearBasis(), C=10.0).fit(S.toarray(), y)
    for form in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        model = PrimalSVMClassifier(LinearBasis(), C=10.0).fit(form(S), y)
        f = model.decision_function(form(S))
        assert np.abs(f - dense.decision_function(S.toarray())).max() < 1e-8
    with pytest.raises(TypeError, match=r"(?i)sparse"):
        PrimalSVMClassifier().fit(S, y)


def test_pickle_clone_search_and_frames():
    pd = pytest.importorskip("pandas")
    X, y = xor(60)
    pipe = make_pipeline(StandardScaler(), PrimalSVMClassifier(KernelBasis(Gaussian(1.0))))
    grid = {"primalsvmclassifier__C": [0.1, 10.0], "primalsvmclassifier__basis__kernel__width": [1]}
    model = GridSearchCV(pipe, grid, cv=2).fit(X, y).best_estimator_
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = PrimalSVMClassifier(features=lambda F: F[["a"]].to_numpy(), random_state=0)
    placed = PrimalSVMClassifier(features=lambda X: X[:, :1], random_state=0).fit(X, y)
    named.fit(frame, y)
    assert np.abs(named.decision_function(frame) - placed.decision_function(X)).max() < 1e-9


def test_the_caller_may_change_what_was_passed():
    X, y = xor(40)
    basis, w = KernelBasis(Gaussian(1.0)), np.ones(40)
    model = PrimalSVMClassifier(basis).fit(X, y, w)
    fresh, before = X.copy(), model.decision_function(X)
    X *= 3.0
    w[:], y[:] = 5.0, 1
    basis.kernel.width = 9.0
    assert np.array_equal(model.decision_function(fresh), before)


@pytest.mark.parametrize("centers", ["subset", "kmeans"])
def test_random_state_reaches_a_basis_that_has_none(centers):
    X, y = xor(60)
    basis = KernelBasis(Gaussian(1.5), centers, 8)
    models = [PrimalSVMClassifier(basis, random_state=s).fit(X, y) for s in (0, 0, 1)]
    first, second, other = (model.basis_.centers_ for model in models)
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
    assert basis.random_state is None
    own = KernelBasis(Gaussian(1.5), centers, 8, random_state=5)
    kept = PrimalSVMClassifier(own, random_state=0).fit(X, y)
    assert np.array_equal(kept.basis_.centers_, own.fit(X).centers_)


def test_unfitted_and_half_fitted():
    X, y = xor(30)
    model = PrimalSVMClassifier()
    for method in (model.predict, model.decision_function):
        with pytest.raises(NotFittedError):
            method(X)
    model.fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.ones(30))
    with pytest.raises(NotFittedError):
        model.predict(X)


# ---------------------------------------------------------------------------- refusals, warnings


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"C": 0}, ValueError, "C=0"),
        ({"C": "big"}, TypeError, "C must be a number"),
        ({"tol": -1.0}, ValueError, "tol"),
        ({"loss": "logistic"}, ValueError, "loss='logistic'"),
        ({"solver": "magic"}, ValueError, "solver='magic'"),
        ({"solver": "newton"}, ValueError, r"'newton' cannot minimize loss='hinge'.*'dcd'"),
        ({"solver": "pegasos", "loss": "squared_hinge"}, ValueError, r"cannot minimize"),
        ({"orthonormalization": "qr"}, ValueError, "orthonormalization='qr'"),
        ({"rtol": 1.5}, ValueError, "rtol"),
        ({"rtol": "a"}, ValueError, "rtol='a'"),
        ({"multiclass": "all"}, ValueError, "multiclass='all'"),
        ({"max_iter": 0}, ValueError, "max_iter=0"),
        ({"basis": "gaussian"}, TypeError, "basis='gaussian'"),
        ({"basis": KernelBasis}, TypeError, "call it"),
        ({"features": "linear"}, ValueError, "features"),
        ({"features": lambda X: np.ones((len(X), 41))}, ValueError, "41 free features"),
        ({"basis": FunctionBasis([lambda X: X[:, 0]], [[-1.0]])}, ValueError, "Gram matrix"),
    ],
)
def test_errors_name_the_argument(parameters, error, match):
    X, y = xor(40)
    with pytest.raises(error, match=match):
        PrimalSVMClassifier(**parameters).fit(X, y)


def test_the_warning_does_not_advise_the_solver_in_use(monkeypatch):
    X, y = xor(60)
    with pytest.warns(ConvergenceWarning, match="max_iter") as seen:
        PrimalSVMClassifier(solver="pegasos", tol=1e-9, max_iter=3).fit(X, y)
    assert "solver='dcd'" in str(seen[0].message)
    monkeypatch.setattr("kernelbook.solvers.primal.problem.MAX_NEWTON_FLOPS", 0)
    with pytest.warns(ConvergenceWarning, match="max_iter") as seen:
        PrimalSVMClassifier(tol=1e-9, max_iter=2).fit(X, y)
    assert "solver=" not in str(seen[0].message)
    assert seen[0].filename == __file__


def test_dropped_functions_that_samples_can_see_are_announced():
    X = np.linspace(0, 1, 60)[:, None]
    y = np.sin(9 * X[:, 0]) > 0
    with pytest.warns(UserWarning, match="dropped as dependent"):
        PrimalSVMClassifier(GaussianBasis(widths=1.0)).fit(X, y)


@pytest.mark.parametrize("machine", [PrimalSVMClassifier, IncrementalSVMClassifier])
def test_samples_far_from_the_origin_are_announced(machine):
    """The certificate cannot see that the inner products have lost the digits that matter."""
    X, _ = xor(60)
    y = X[:, 0] > 0.2 * X[:, 1]
    for far in (1e6, 1e8, 1e10):
        with warnings.catch_warnings():
            # The digits that `expansion_` loses are announced, too, where they are many.
            warnings.filterwarnings("ignore", r".*rounding in expansion_", ConvergenceWarning)
            with pytest.warns(UserWarning, match=r"Centre the data.*LinearBasis"):
                blurred = machine(KernelBasis(Linear())).fit(X + far, y)
        assert blurred.certificate_.gap >= 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = machine(KernelBasis(Linear())).fit(X + 1e3, y)
        plain = machine(LinearBasis()).fit(X + 1e6, y)
    assert plain.certificate_.gap >= 0
    assert np.abs(near.decision_function(X + 1e3) - plain.decision_function(X + 1e6)).max() < 1e-4

"""IncrementalSVMClassifier: the growing factor, the rules, the ends of the path, its errors."""

import pickle
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelbook import (
    FunctionBasis,
    Gaussian,
    GaussianBasis,
    IncrementalSVMClassifier,
    KernelBasis,
    LinearBasis,
    Polynomials,
    PrimalSVMClassifier,
    SVMGBClassifier,
)
from kernelbook.bases.orthonormal import orthonormalize
from kernelbook.solvers.primal.growing.factor import GrowingFactor
from kernelbook.solvers.primal.growing.hinge import GrowingHinge
from tests.naive import incremental as naive
from tests.naive.primal import quadratic_program
from tests.samples.xor import xor as noisy_xor

RULES = ("most_misclassified", "best_improvement", "random")


xor = partial(noisy_xor, above=0.2, labels=(-1, 1))


def objectives(model):
    return np.array([step.objective for step in model.path_])


@pytest.fixture(scope="module")
def grown():
    """A path to the end of the basis for each rule, and the machine over the whole basis."""
    X, y = xor(60)
    basis, features = KernelBasis(Gaussian(1.5)), Polynomials(1)
    whole = PrimalSVMClassifier(basis, features, C=2.0).fit(X, y)
    model = IncrementalSVMClassifier(basis, features, C=2.0, n_candidates=5, random_state=3)
    paths = {rule: clone(model).set_params(select=rule).fit(X, y) for rule in RULES}
    return X, y, whole, paths


@parametrize_with_checks(
    [
        IncrementalSVMClassifier(),
        IncrementalSVMClassifier(LinearBasis(), multiclass="ovr", select="random"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ----------------------------------------------------------------------------------- the factor


@given(st.integers(0, 10**6), st.integers(1, 9))
@settings(max_examples=25, deadline=None)
def test_the_growing_factor_is_gram_schmidt(seed, k):
    rng = np.random.default_rng(seed)
    Z, X = rng.normal(size=(9, 2)), rng.normal(size=(12, 2))
    basis = GaussianBasis(Z, rng.uniform(0.3, 1.0, 9))
    B, G = basis.evaluate(X), basis.gram()
    order = list(rng.permutation(9)[:k])
    factor = GrowingFactor(B, G, 9)
    for j in order:
        factor.append(j, factor.column(j))
    expected = naive.coordinates(B, G, order)
    assert np.abs(factor.X - expected).max() < 1e-7 * np.abs(expected).max()
    T = factor.core()
    assert np.abs(T.T @ G[np.ix_(order, order)] @ T - np.eye(k)).max() < 1e-8
    assert np.abs(B[:, order] @ T - factor.X).max() < 1e-7 * np.abs(expected).max()


def test_the_factor_refuses_what_rounding_hides():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(6, 2))
    Z = np.vstack([Z, Z[0], Z[1] + 1e-9, Z[2] + 0.1])
    basis = KernelBasis(Gaussian(1.0), Z)
    B, G = basis.evaluate(Z), basis.gram()
    factor = GrowingFactor(B, G, 9, rtol=0.0)
    for j in range(6):
        factor.append(j, factor.column(j))
    assert factor.column(6) is None  # the same function
    assert factor.column(7) is None  # at a distance of 1e-9: d = 1e-18
    assert factor.column(8) is not None
    assert factor.distance(0) == 0.0  # in the span itself


def test_refused_functions_are_named_and_harmless():
    X, y = xor(40)
    X, y = np.vstack([X, X[:10]]), np.concatenate([y, y[:10]])
    model = IncrementalSVMClassifier(C=2.0).fit(X, y)
    assert len(model.path_) == 40
    assert sorted(model.refused_ % 40) == list(range(10))  # one of each pair
    whole = SVMGBClassifier(C=2.0).fit(X, y)
    assert np.abs(model.decision_function(X) - whole.decision_function(X)).max() < 1e-6


# ------------------------------------------------------------------------------------ the rules


@pytest.mark.parametrize("rule", ["most_misclassified", "best_improvement"])
@pytest.mark.parametrize("features", [None, "constant", Polynomials(1)])
def test_a_rule_is_its_naive_twin(rule, features):
    X, y = xor(25, seed=5)
    basis = KernelBasis(Gaussian(1.2))
    model = IncrementalSVMClassifier(
        basis, features, C=1.5, max_basis=7, select=rule, n_candidates=None
    ).fit(X, y)
    P = {None: np.empty((25, 0)), "constant": np.ones((25, 1))}.get(
        features if isinstance(features, str | None) else "", np.column_stack([np.ones(25), X])
    )
    K = Gaussian(1.2)(X)
    # The first function is a tie between samples where only the constant has spoken: start there.
    first = model.path_[0].function
    chosen = [first]
    for step in model.path_[1:]:
        f, before = naive.solve(K, K, P, y.astype(float), np.full(25, 1.5), chosen)
        left = [j for j in range(25) if j not in chosen]
        if rule == "most_misclassified":
            margin = y * f
            assert margin[step.function] <= margin[left].min() + 1e-5
        else:
            trials = [
                naive.solve(K, K, P, y.astype(float), np.full(25, 1.5), [*chosen, j])[1]
                for j in left
            ]
            assert step.objective <= min(trials) + 1e-6 * before
        chosen.append(step.function)
        value = naive.solve(K, K, P, y.astype(float), np.full(25, 1.5), chosen)[1]
        assert abs(step.objective - value) < 1e-6 * value
    assert list(model.selected_) == chosen


def test_most_misclassified_at_first_is_by_the_features_alone():
    X, y = xor(30, seed=2)
    model = IncrementalSVMClassifier(KernelBasis(Gaussian(1.0)), Polynomials(1), max_basis=1).fit(
        X, y
    )
    P = np.column_stack([np.ones(30), X])
    f, _ = naive.solve(None, None, P, y.astype(float), np.ones(30), [])
    assert (y * f)[model.selected_[0]] <= (y * f).min() + 1e-5


def test_random_choice_follows_random_state(grown):
    X, y, _, paths = grown
    model = paths["random"]
    again = clone(model).fit(X, y)
    other = clone(model).set_params(random_state=4).fit(X, y)
    assert np.array_equal(model.selected_, again.selected_)
    assert not np.array_equal(model.selected_, other.selected_)


def test_few_candidates_are_drawn_and_the_best_of_them_taken(grown):
    X, y, _, paths = grown
    one = clone(paths["best_improvement"]).set_params(n_candidates=1, max_basis=15).fit(X, y)
    every = clone(one).set_params(n_candidates=None).fit(X, y)
    five = paths["best_improvement"]
    assert np.all(objectives(every)[0] <= objectives(five)[0] + 1e-9)
    assert objectives(every)[-1] < objectives(one)[-1]


def test_functions_that_belong_to_no_sample_come_last():
    X, y = xor(20)
    far = np.full((2, 3), 50.0) + np.arange(2)[:, None]
    basis = KernelBasis(Gaussian(2.0), np.vstack([X[:5], far]))
    model = IncrementalSVMClassifier(basis, max_basis=10).fit(X, y)
    assert sorted(model.selected_) == list(range(7))
    assert set(model.selected_[-2:]) == {5, 6}


# ------------------------------------------------------------------------------------- the path


@pytest.mark.parametrize("rule", RULES)
def test_nested_spaces_never_increase_the_objective(grown, rule):
    model = grown[3][rule]
    value = objectives(model)
    assert np.all(np.diff(value) <= 1e-9 * value[:-1])
    assert [step.size for step in model.path_] == list(range(1, len(value) + 1))
    assert max(step.certificate.relative_gap for step in model.path_) < 1e-9
    assert all(np.isnan(step.validation_error) for step in model.path_)


@pytest.mark.parametrize("rule", RULES)
def test_the_path_ends_at_the_full_solution(grown, rule):
    X, y, whole, paths = grown
    model, Z = paths[rule], np.random.default_rng(9).normal(size=(50, 3))
    assert model.n_basis_ == len(model.path_) == 60
    assert abs(model.path_[-1].objective / whole.certificate_.primal - 1) < 1e-9
    for A in (X, Z):
        assert np.abs(model.decision_function(A) - whole.decision_function(A)).max() < 1e-6
    dual = SVMGBClassifier(Gaussian(1.5), Polynomials(1), C=2.0).fit(X, y)
    assert np.abs(model.decision_function(Z) - dual.decision_function(Z)).max() < 1e-6


def test_every_classifier_of_the_path_is_the_machine_over_its_functions(grown):
    X, y, _, paths = grown
    model = paths["most_misclassified"]
    for k in (1, 2, 7, 30):
        basis = KernelBasis(Gaussian(1.5), X[model.selected_[:k]])
        alone = PrimalSVMClassifier(basis, Polynomials(1), C=2.0).fit(X, y)
        f = model.decision_function(X, n_basis=k)
        assert np.abs(f - alone.decision_function(X)).max() < 1e-6
        wrong = np.mean(model.predict(X, n_basis=k) != y)
        assert wrong == pytest.approx(model.path_[k - 1].training_error, abs=1e-12)
    assert np.array_equal(model.predict(X), model.predict(X, n_basis=60))


def test_with_the_constant_it_ends_at_svc():
    X, y = xor(50, seed=8)
    model = IncrementalSVMClassifier(KernelBasis(Gaussian(1.0)), C=3.0).fit(X, y)
    reference = SVC(C=3.0, gamma=1.0, tol=1e-10).fit(X, y)
    assert np.abs(model.decision_function(X) - reference.decision_function(X)).max() < 1e-6


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_many_classes_share_their_functions(scheme):
    X, y = load_iris(return_X_y=True)
    X, y = X[::3] + 0.01 * np.arange(50)[:, None], y[::3]
    basis = KernelBasis(Gaussian(2.0))
    model = IncrementalSVMClassifier(basis, multiclass=scheme, max_basis=50).fit(X, y)
    whole = PrimalSVMClassifier(basis, multiclass=scheme).fit(X, y)
    assert model.basis_coef_.shape == (3, len(model.path_))
    assert len(model.certificate_.parts) == 3
    assert np.abs(model.decision_function(X) - whole.decision_function(X)).max() < 1e-6
    assert np.all(np.diff(objectives(model)) <= 1e-9 * objectives(model)[0])
    assert model.predict(X, n_basis=4).shape == (50,)


# ------------------------------------------------------------------------------- other bases


def test_any_basis_can_grow():
    X, y = xor(40)
    waves = [lambda X, k=k: np.cos(k * X[:, 0]) for k in range(4)]
    S = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    for basis, data in (
        (GaussianBasis(widths=[0.5, 2.0]), X),
        (GaussianBasis(widths=[0.5, 2.0], reading="inner_product"), X),
        (FunctionBasis(waves), X),
        (FunctionBasis(waves, np.eye(4) + 0.3), X),
        (LinearBasis(), X),
        (LinearBasis(), S),
    ):
        model = IncrementalSVMClassifier(basis, max_basis=8).fit(data, y)
        k = len(model.path_)
        assert k == min(8, model.basis_.evaluate(data).shape[1])
        f = model.decision_function(data)
        assert np.mean((f > 0) != (y > 0)) == pytest.approx(model.path_[-1].training_error)
        part = model.basis_.take(model.selected_)
        assert orthonormalize(part).evaluate(data).shape == (40, k)


# ----------------------------------------------------------------------------- at home, and errors


def test_pickle_and_clone(grown):
    X, _, _, paths = grown
    model = paths["most_misclassified"]
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X, 7), model.decision_function(X, 7))
    assert [s.objective for s in again.path_] == [s.objective for s in model.path_]
    assert clone(model).get_params()["C"] == 2.0


def test_refusals(grown):
    X, y, _, paths = grown
    with pytest.raises(NotFittedError):
        IncrementalSVMClassifier().predict(X)
    for bad, match in (
        ({"max_basis": 0}, "max_basis=0"),
        ({"select": "best"}, "select='best'"),
        ({"stop": "early"}, "stop='early'"),
        ({"patience": 0}, "patience=0"),
        ({"n_candidates": 1.5}, "n_candidates=1.5"),
        ({"train_on": "some"}, "train_on='some'"),
        ({"validation_fraction": 1.0}, "validation_fraction=1.0"),
        ({"validation_fraction": "a"}, "validation_fraction='a'"),
        ({"stop": np.array([1, 2])}, "stop=array"),
        ({"rtol": 2.0}, "rtol"),
        ({"rtol": "a"}, "rtol='a'"),
        ({"C": -1.0}, "C=-1.0"),
        ({"train_on": "centers", "select": "best_improvement"}, "cannot be compared"),
        ({"train_on": "centers", "basis": LinearBasis()}, "one basis function at each sample"),
    ):
        with pytest.raises(ValueError, match=match):
            IncrementalSVMClassifier(**bad).fit(X, y)
    for k in (0, 61, 2.5, "all"):
        with pytest.raises(ValueError, match="from 1 to 60"):
            paths["random"].predict(X, n_basis=k)


def test_a_certificate_that_is_not_a_number_is_announced():
    X, y = xor(40)
    with np.errstate(all="ignore"), pytest.warns(ConvergenceWarning, match="nan of the objective"):
        IncrementalSVMClassifier(LinearBasis()).fit(X * 1e80, y)


XOR = xor(150)
WEIGHTS = np.random.default_rng(2).uniform(0.5, 2.0, 150)


@pytest.mark.parametrize(
    ("X", "y", "params", "rounded"),
    [
        # Wide functions are nearly dependent: their coefficients, and the rounding, are large.
        (*XOR, {"basis": KernelBasis(Gaussian(5.0)), "C": 1e4, "max_basis": 40}, True),
        (*XOR, {"basis": KernelBasis(Gaussian(1.0)), "C": 10.0, "max_basis": 150}, False),
        (*XOR, {"basis": KernelBasis(Gaussian(1.0)), "stop": "cv", "max_basis": 40}, False),
        (*XOR, {"train_on": "centers", "select": "random", "max_basis": 9}, False),
        (*load_iris(return_X_y=True), {"max_basis": 12, "multiclass": "ovr"}, False),
    ],
)
def test_the_certificate_is_of_f_as_predicted(X, y, params, rounded):
    """½‖w‖² + Σ C_i(1 − y_i f_i)₊ from what a user can see is `primal`, to its last digits."""
    model = IncrementalSVMClassifier(random_state=0, **params).fit(X, y, sample_weight=WEIGHTS)
    f = model.decision_function(X).reshape(len(X), -1)
    parts = model.certificate_.parts or (model.certificate_,)
    labels = model.classes_ if len(parts) > 1 else model.classes_[1:]
    some = model.selected_[: model.n_basis_] if "train_on" in params else slice(None)
    for h, w, label, proof in zip(f.T, model.basis_coef_, labels, parts, strict=True):
        loss = np.maximum(1 - np.where(y == label, 1, -1) * h, 0)
        objective = 0.5 * w @ w + model.C * (WEIGHTS * loss)[some].sum()
        assert proof.primal == pytest.approx(objective, rel=1e-14)
        assert proof.gap == pytest.approx(abs(objective - proof.dual), abs=1e-12 * objective)
    solver = model.path_[model.n_basis_ - 1].certificate
    assert solver.dual == model.certificate_.dual
    if rounded:  # the solver's own gap leaves out most of it
        assert model.certificate_.gap > 10 * solver.gap


@pytest.mark.parametrize("stop", [None, "held_out"])
def test_random_state_reaches_a_basis_that_has_none(stop):
    X, y = xor(60)
    basis = KernelBasis(Gaussian(1.5), "subset", 8)
    model = IncrementalSVMClassifier(basis, max_basis=4, stop=stop, random_state=0)
    first, second = (clone(model).fit(X, y).basis_.centers_ for _ in range(2))
    assert np.array_equal(first, second)
    assert basis.random_state is None
    assert model.fit(X, y).basis.random_state is None


def test_features_that_separate_leave_nothing_to_the_basis():
    X, _ = xor(40)
    y = X[:, 0] > 0.1
    model = IncrementalSVMClassifier(features=Polynomials(1), max_basis=5).fit(X, y)
    assert not model.basis_coef_.any()
    assert objectives(model).tolist() == [0.0] * 5
    assert np.array_equal(model.predict(X), y)


def test_a_warm_start_that_fails_is_not_believed(monkeypatch):
    """Whatever the first attempt returns, what is kept is proved."""
    from kernelbook.solvers.primal.growing import hinge

    X, y = xor(40)
    real = hinge.proximal_multipliers

    def lame(*args, options):
        if options.penalty is not None or lame.always:
            options = replace(options, max_newton=1)
        return real(*args, options=options)

    monkeypatch.setattr(hinge, "proximal_multipliers", lame)
    x = np.column_stack([X, X[:, 0] * X[:, 1]])
    for lame.always in (False, True):
        machine = GrowingHinge(np.ones((40, 1)), y.astype(float), np.ones(40))
        found = machine.solve(x)
        assert machine.n_restarts > 0
        best = quadratic_program(x, np.ones((40, 1)), y.astype(float), np.ones(40))[-1]
        assert abs(found.certificate.primal / best - 1) < 1e-6
        assert found.certificate.relative_gap < 1e-9


@pytest.mark.parametrize("select", ["most_misclassified", "random"])
def test_a_space_that_is_exhausted_is_no_reason_to_warn(select):
    """By the reproducing property nothing that samples could see is lost: no jargon for a start."""
    X, y = make_moons(200, noise=0.2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = IncrementalSVMClassifier(select=select, random_state=0).fit(X, y)
    assert model.refused_.size
    full = PrimalSVMClassifier().fit(X, y)
    assert model.path_[-1].objective == pytest.approx(full.certificate_.primal, rel=1e-5)
    assert np.mean(model.predict(X) == full.predict(X)) == 1.0


def test_functions_left_out_that_samples_can_see_are_announced_in_plain_words():
    X = np.linspace(0, 1, 60)[:, None]
    y = np.sin(9 * X[:, 0]) > 0
    spoiled = pytest.warns(UserWarning, match="they are so nearly dependent")
    gap = pytest.warns(ConvergenceWarning, match="rounding in expansion_.*has left a duality gap")
    with gap, spoiled, pytest.warns(UserWarning, match="left out: up to rounding") as seen:
        IncrementalSVMClassifier(GaussianBasis(widths=1.0), max_basis=40).fit(X, y)
    assert "x̂" not in str(seen[0].message)
    assert "Use fewer or narrower functions" in str(seen[0].message)


def test_coefficients_that_rounding_spoils_are_announced_and_the_sizes_before_are_sound():
    rng = np.random.default_rng(3)
    X, y, C = rng.normal(size=(40, 2)), rng.integers(0, 2, 40), 1e4
    nearly = pytest.warns(UserWarning, match="from .* functions on they are so nearly dependent")
    with nearly as seen, pytest.warns(ConvergenceWarning, match="has left"):
        model = IncrementalSVMClassifier(GaussianBasis(X, 3.0), C=C, max_basis=35).fit(X, y)
    assert model.refused_.size == 0
    # The solver's gap is small at every step, that of f as predicted is not.
    assert max(step.certificate.relative_gap for step in model.path_) <= model.tol
    assert model.certificate_.relative_gap > 1e-3
    first = next(int(str(w.message).split()[1]) for w in seen if "nearly" in str(w.message))
    for k in (first - 10, first - 1):
        f, w = model.decision_function(X, n_basis=k), model._weights[k - 1]
        objective = 0.5 * np.sum(w**2) + C * np.maximum(0, 1 - (2 * y - 1) * f).sum()
        assert objective == pytest.approx(model.path_[k - 1].objective, rel=1e-4)


def test_long_fits_show_a_bar_with_the_remaining_time(capsys):
    X, y = make_moons(80, noise=0.2, random_state=0)
    IncrementalSVMClassifier(max_basis=6, verbose=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"did not reach tol=0.001 \(tol=0.01"):
        PrimalSVMClassifier(solver="pegasos", tol=1e-2, verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert "6/6" in err
    assert "training error" in err
    assert "solve: 100%" in err
    assert "gap" in out
    IncrementalSVMClassifier(max_basis=6).fit(X, y)
    PrimalSVMClassifier().fit(X, y)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("machine", [IncrementalSVMClassifier, PrimalSVMClassifier])
def test_an_interrupted_fit_leaves_an_unfitted_machine(machine, monkeypatch):
    X, y = make_moons(80, noise=0.2, random_state=0)
    model = machine().fit(X, y)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("kernelbook.solvers.primal.growing.hinge.proximal_multipliers", interrupt)
    monkeypatch.setattr("kernelbook.solvers.primal.solve.dual_coordinate_descent", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError, match="not fitted"):
        model.predict(X)


@pytest.mark.parametrize("gram", [[[1.0, 0.0], [0.0, -1.0]], [[1.0, 2.0], [2.0, 1.0]]])
def test_a_gram_matrix_that_is_none_is_refused(gram):
    """Its functions once were left out as if they were dependent, without a word."""
    X, y = make_moons(40, noise=0.2, random_state=0)
    basis = FunctionBasis(lambda Z: Z, np.array(gram))
    with pytest.raises(ValueError, match="not positive semidefinite"):
        IncrementalSVMClassifier(basis).fit(X, y)


def test_a_size_that_is_no_number_is_refused():
    X, y = make_moons(40, noise=0.2, random_state=0)
    model = IncrementalSVMClassifier(max_basis=3).fit(X, y)
    with pytest.raises(ValueError, match="n_basis=True"):
        model.predict(X, n_basis=True)


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 0, 1]])
def test_each_pair_of_classes_is_solved_on_its_own_rows(order):
    """The rows of a pair, class by class, may begin and end as if they were consecutive."""
    rng = np.random.default_rng(3)
    y = np.array(order)[[0, 1, 1, 2, 2, 0, 1, 2, 0, 1, 1, 0, 2, 0, 0, 2, 1]]
    for last in range(9, len(y) + 1):
        X, labels = rng.normal(size=(last, 2)), y[:last]
        model = IncrementalSVMClassifier(C=2.0, max_basis=4, random_state=0).fit(X, labels)
        F = model.basis_.evaluate(X)[:, model.selected_] @ model.expansion_.T + model.coef_.T
        pairs = [(0, 1), (0, 2), (1, 2)]
        for f, w, (a, b), proof in zip(
            F.T, model.basis_coef_, pairs, model.certificate_.parts, strict=True
        ):
            here = (labels == a) | (labels == b)
            short = 1 - np.where(labels == b, 1, -1)[here] * f[here]
            objective = 0.5 * w @ w + 2.0 * np.maximum(short, 0).sum()
            assert np.isclose(objective, proof.primal, rtol=1e-9, atol=1e-9)

"""What the primal learners cost, and that large problems end where they should."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from kernelbook import (
    FunctionBasis,
    Gaussian,
    GaussianBasis,
    IncrementalSVMClassifier,
    KernelBasis,
    Linear,
    LinearBasis,
    PrimalSVMClassifier,
    SVMGBClassifier,
)
from kernelbook.solvers.primal import newton
from kernelbook.solvers.primal.growing import selection
from kernelbook.solvers.primal.growing.hinge import GrowingHinge
from kernelbook.solvers.primal.growing.selection import IncrementalPath
from tests.naive import svm_path as naive
from tests.samples.xor import xor as noisy_xor

xor = partial(noisy_xor, d=2, labels=(-1.0, 1.0))


# -------------------------------------------------------------- where Newton steps are not cheap


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_coordinate_descent_is_finished_by_newton(loss, C, monkeypatch, recwarn):
    """30 sweeps do not reach tol, the rest must; the answer is that of the cheap road."""
    X, y = xor(300, d=6)
    exact = PrimalSVMClassifier(C=C, loss=loss).fit(X, y)
    monkeypatch.setattr("kernelbook.solvers.primal.problem.MAX_NEWTON_FLOPS", 0)
    model = PrimalSVMClassifier(C=C, loss=loss, tol=1e-7, random_state=0).fit(X, y)
    assert not [w for w in recwarn if issubclass(w.category, ConvergenceWarning)]
    assert model.certificate_.relative_gap <= 1e-7
    primal = exact.certificate_.primal
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-7)
    # Strong convexity: ½‖w − w*‖² is at most the gap.
    distance = np.sum((model.basis_coef_ - exact.basis_coef_) ** 2)
    assert distance <= 2 * (model.certificate_.gap + exact.certificate_.gap) + 1e-9 * primal


def test_few_centres_and_many_samples(capsys):
    """Memory of a few matrices of one row a sample and one column a centre; certified; it talks."""
    X, y = xor(20_000)
    basis = KernelBasis(Gaussian(1.0), centers="kmeans", n_centers=20, random_state=0)
    small = PrimalSVMClassifier(basis, C=1.0).fit(X[:500], y[:500])
    tracemalloc.start()
    model = PrimalSVMClassifier(basis, C=1.0, verbose=1).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * X.shape[0] * 20 * 8
    assert model.certificate_.relative_gap < 1e-4
    assert model.score(X, y) >= small.score(X, y) - 0.01
    assert "gap" in capsys.readouterr().out


# ------------------------------------------------------------------------- one step of the growth


@pytest.fixture(scope="module")
def steps():
    """A path of 25 steps on 1500 samples; what each step allocated, factorized and tried."""
    X, y = xor(1500, d=4)
    K, n = Gaussian(2.0)(X), 1500
    problem = (np.arange(n), y, np.full(n, 10.0))
    path = IncrementalPath(
        K,
        K,
        np.ones((n, 1)),
        [problem],
        capacity=25,
        select="most_misclassified",
        n_candidates=None,
        rtol=0.0,
        rng=np.random.default_rng(0),
    )
    records, sizes = [], []
    solve = newton._definite_solve

    def recorded(A, b):
        sizes.append(len(A))
        return solve(A, b)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(newton, "_definite_solve", recorded)
        for name in ("cho_factor", "eigh", "svd", "qr", "lu_factor", "inv", "solve"):
            original = getattr(newton.linalg, name)

            def watched(A, *args, original=original, **options):
                sizes.append(min(np.shape(A)))
                return original(A, *args, **options)

            patch.setattr(newton.linalg, name, watched)
        for _ in range(25):
            sizes.clear()
            tracemalloc.start()
            assert path.step()
            records.append((tracemalloc.get_traced_memory()[1], max(sizes, default=0)))
            tracemalloc.stop()
    return n, path, records


def test_a_step_factorizes_nothing_larger_than_its_basis(steps):
    _, path, records = steps
    assert len(path.factor.chosen) == 25
    for k, (_, largest) in enumerate(records, start=1):
        assert 0 < largest <= k + 1, "a fresh factorization is not a step of O(nk)"


def test_a_step_allocates_a_few_columns_and_no_square_matrix(steps):
    n, _, records = steps
    for k, (peak, _) in enumerate(records[1:], start=2):
        assert peak < 8 * n * (5 * k + 60)  # one n×n matrix: 8·n·1500


def test_a_step_looks_at_one_row_of_the_gram_matrix():
    """One column of G and of B a step, besides the owners, which are found once."""

    class Watched(np.ndarray):
        touched = 0

        def __getitem__(self, key):
            out = super().__getitem__(key)
            Watched.touched += np.size(out)
            return np.asarray(out)

    X, y = xor(200)
    K = Gaussian(1.0)(X)
    rng = np.random.default_rng(0)
    path = IncrementalPath(
        K.view(Watched),
        K.view(Watched),
        np.ones((200, 1)),
        [(np.arange(200), y, np.ones(200))],
        capacity=9,
        select="most_misclassified",
        n_candidates=None,
        rtol=0.0,
        rng=rng,
    )
    path.step()
    for _ in range(8):
        Watched.touched = 0
        path.step()
        assert Watched.touched <= 4 * 200


def test_best_improvement_tries_no_more_than_its_candidates(monkeypatch):
    X, y = xor(80)
    tried = []
    objective = GrowingHinge.objective
    monkeypatch.setattr(GrowingHinge, "objective", lambda s, X: tried.append(1) or objective(s, X))
    admitted = []
    admit = selection.IncrementalPath._admit
    monkeypatch.setattr(
        selection.IncrementalPath, "_admit", lambda s, j: admitted.append(j) or admit(s, j)
    )
    model = IncrementalSVMClassifier(
        C=5.0, max_basis=6, select="best_improvement", n_candidates=7, random_state=0
    )
    model.fit(X, y)
    assert 6 <= len(tried) <= 6 * 7
    assert len(admitted) <= 6 * 7


# ------------------------------------------------------------------------------ primal is dual


@pytest.mark.parametrize("C", [0.2, 0.5, 3.0])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear()], ids=["gaussian", "linear"])
def test_primal_is_dual_to_six_digits(kernel, C):
    """The same decision values as cvxopt, SVC and the dual learner, at new points too."""
    pytest.importorskip("cvxopt")
    X, y = xor(80, seed=3)
    y = np.where(X[:, 0] + 0.4 * y > 0, 1.0, -1.0)
    new = np.random.default_rng(1).normal(size=(40, 2))
    model = PrimalSVMClassifier(KernelBasis(kernel), C=C).fit(X, y)
    dual = SVMGBClassifier(kernel, C=C, tol=1e-10).fit(X, y)
    K, P = kernel(X), np.ones((80, 1))
    beta, value = naive.qp(K, P, y, np.full(80, C))
    inside = (y * beta > 1e-4 * C) & (y * beta < C * (1 - 1e-4))
    assert inside.any(), "λ must be unique for this test to mean something"
    bias = np.mean((y - K @ beta)[inside])
    expected = kernel(new, X) @ beta + bias
    svc = SVC(C=C, kernel="precomputed", tol=1e-12).fit(K, y)
    assert model.decision_function(new) == pytest.approx(expected, abs=1e-6)
    assert model.decision_function(new) == pytest.approx(dual.decision_function(new), abs=1e-6)
    other = svc.decision_function(kernel(new, X))
    assert model.decision_function(new) == pytest.approx(other, abs=1e-6 * (1 + C))
    assert model.certificate_.primal == pytest.approx(-value, rel=1e-7)
    if isinstance(kernel, Linear):
        plain = PrimalSVMClassifier(LinearBasis(), C=C).fit(X, y)
        assert plain.decision_function(new) == pytest.approx(expected, abs=1e-6)


# ------------------------------------------------------------------------------ certificates


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_a_gap_and_a_violation_go_together(C):
    """Pegasos leaves w ≠ X̂ᵀβ behind the repair; a violation of zero beside a gap was a lie."""
    X, y = xor(120, seed=1)
    with pytest.warns(ConvergenceWarning, match="did not reach tol=0.001"):
        rough = PrimalSVMClassifier(solver="pegasos", C=C, tol=1e-2, random_state=0).fit(X, y)
    exact = PrimalSVMClassifier(C=C).fit(X, y)
    assert rough.certificate_.gap > 1e-6
    assert rough.certificate_.kkt > 1e-4
    assert exact.certificate_.kkt < 1e-8
    # The gap is ½‖w − X̂ᵀβ‖² and what the margins break: with v the violation, at most this.
    v, m = rough.certificate_.kkt, 120
    weights = rough.basis_coef_[0], rough.dual_coef_[0]
    x = rough.orthonormal_.evaluate(X)
    apart = 0.5 * np.sum((weights[0] - x.T @ weights[1]) ** 2)
    assert rough.certificate_.gap <= apart + 3 * v * C * m


@pytest.mark.parametrize("shift", [1e5, 1e6])
def test_inner_products_far_from_the_origin_are_announced_before_they_hurt(shift):
    X, y = xor(60)
    y = np.sign(X[:, 0] + 0.2 * y)
    near = PrimalSVMClassifier(LinearBasis(), C=10.0).fit(X, y)
    with pytest.warns(UserWarning, match="rounding in the inner products"):
        far = PrimalSVMClassifier(KernelBasis(Linear()), C=10.0).fit(X + shift, y)
    error = np.abs(far.decision_function(X + shift) - near.decision_function(X)).max()
    assert error < 1e3 * far._rounding


# ------------------------------------------------------------------------------ what they are


@pytest.mark.parametrize("machine", [PrimalSVMClassifier(), IncrementalSVMClassifier()])
def test_scikit_learn_takes_them_for_classifiers(machine):
    """Searches stratify their folds by class only then; sorted labels would leave folds empty."""
    assert is_classifier(machine)
    X, y = xor(60)
    order = np.argsort(y)
    search = GridSearchCV(machine, {"C": [0.1, 1.0]}, cv=3, error_score="raise")
    assert search.fit(X[order], y[order]).best_score_ > 0.5


@pytest.mark.parametrize(
    ("basis", "words"),
    [
        (GaussianBasis(0.5), r"centers=0.5 of GaussianBasis .* \(M, d\).*widths"),
        (KernelBasis(centers=5), r"centers=5 of KernelBasis .*n_centers"),
        (KernelBasis(centers=[1.0, 2.0]), r"one centre a row.*not \(2,\)"),
        (FunctionBasis([np.sin]), r"functions\[0\].*returned shape \(60, 2\).*X\[:, 0\]"),
    ],
)
def test_bases_name_argument_value_and_remedy(basis, words):
    X, y = xor(60)
    with pytest.raises(ValueError, match=words):
        PrimalSVMClassifier(basis).fit(X, y)
    with pytest.raises(ValueError, match=words):
        basis.fit(X).evaluate(X)

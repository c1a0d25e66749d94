"""The checker proves what is right, of every learner, and refutes what is not."""

import ast
import subprocess
import sys
import warnings
from contextlib import suppress
from dataclasses import replace
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import kernelbook as kb
from kernelbook.verifier import fingerprint
from tests.paths import ROOT
from tests.verifier.tampered import CONDITIONAL, KERNELS, passes, tampered

RNG = np.random.default_rng(1)
M = 30
X = RNG.normal(size=(M, 2))
TARGET = X[:, 0] + np.sin(2 * X[:, 1]) + 0.4 * RNG.normal(size=M)
TWO = (TARGET > 0).astype(int)
THREE = np.array(["low", "mid", "top"])[np.digitize(TARGET, [-0.6, 0.6])]
WEIGHTS = np.where(np.arange(M) % 7, RNG.uniform(0.2, 3.0, size=M), 0.0)
FEW = kb.KernelBasis(kb.Gaussian(), centers=X[:8])
BUMPS = kb.GaussianBasis("data", [[1.0, 2.0]], "inner_product")
STEP = lambda Z: np.column_stack([np.ones(len(Z)), Z[:, 0] > 0])  # noqa: E731


def learners():
    for k in [*KERNELS, kb.Matern(1.0, np.inf), 0.5 * kb.Categorical() + kb.Gaussian(columns=1)]:
        yield kb.SVMGBClassifier(k, C=3.0), TWO, None
        yield kb.GRLSRegressor(k, reg=1e-2), TARGET, None
    for k in [*CONDITIONAL, kb.Polyharmonic(1.5), kb.Polyharmonic(1)]:
        yield kb.SVMGBClassifier(k, kb.Polynomials(1), C=3.0), TWO, None
        yield kb.GRLSRegressor(k, kb.Polynomials(1), reg=1e-2), TARGET, WEIGHTS
    for f in (None, kb.Polynomials(2), kb.Polynomials(1, scaled=False), STEP, "1 + x0"):
        yield kb.SVMGBClassifier(None, f, class_weight="balanced"), THREE, WEIGHTS
        yield kb.SVMGBClassifier(None, f, multiclass="ovr"), THREE, WEIGHTS
        yield kb.GRLSClassifier(None, f, reg=1e-3), THREE, WEIGHTS
        yield kb.GRLSRegressorCV(None, f), np.column_stack([TARGET, TARGET**2]), None
        for loss in ("hinge", "squared_hinge"):
            yield kb.PrimalSVMClassifier(None, f, C=2.0, loss=loss), THREE, WEIGHTS
        yield kb.IncrementalSVMClassifier(None, f, C=2.0, max_basis=8), THREE, WEIGHTS
    for basis in (FEW, BUMPS, kb.GaussianBasis(X[:9]), kb.LinearBasis()):
        for way in ("cholesky", "eigen"):
            yield kb.PrimalSVMClassifier(basis, orthonormalization=way, random_state=0), TWO, None
    waves = kb.FunctionBasis([lambda Z: np.cos(Z[:, 0]), lambda Z: np.sin(Z[:, 1])])
    yield kb.PrimalSVMClassifier(waves), TWO, None
    yield kb.GRLSClassifierCV(kb.Gaussian()), THREE, None
    yield kb.GRLSRegressor(kb.Gaussian(0.3), reg=0.0), TARGET, None
    yield kb.GRLSRegressor(None, solver="nystrom", n_centers=8, random_state=0), TARGET, WEIGHTS
    yield kb.GRLSRegressor(None, solver="cg", n_centers=8, random_state=0), TARGET, WEIGHTS
    yield kb.SVMGBClassifier(lambda A, B: np.exp(-((A[:, None] - B) ** 2).sum(2))), TWO, None


@pytest.mark.parametrize(
    ("model", "y", "w"), [pytest.param(*c, id=type(c[0]).__name__) for c in learners()]
)
def test_what_a_learner_finds_is_proved(model, y, w, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of ranks, and of rounding
        model.fit(X, y, w)
    verdict = kb.verify(model, X, y, w)
    assert verdict.status == "proved", verdict
    assert verdict.gap <= 1e-7 * (verdict.primal + 1.0)
    with suppress(TypeError):  # functions cannot be saved
        model.save(tmp_path / "m.kb")
    if (tmp_path / "m.kb").exists():
        of_file = kb.verify(tmp_path / "m.kb", X, y, w)
        assert (of_file.status, of_file.gap) == (verdict.status, verdict.gap), of_file


def test_a_file_is_checked_without_the_learners():
    """In a process that loads NumPy and the checker, and nothing else of the library."""
    program = """
import sys, types
package = types.ModuleType("kernelbook")
package.__path__ = [sys.argv[1]]
sys.modules["kernelbook"] = package  # kernelbook/__init__.py is not run
from kernelbook.verifier import verify
verdict = verify(sys.argv[2], [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 0])
loaded = [name for name in sys.modules if name.startswith(("kernelbook.", "sklearn", "scipy"))]
assert all(name.startswith("kernelbook.verifier") for name in loaded), loaded
print(verdict.status)
"""
    with TemporaryDirectory() as folder:
        path = f"{folder}/m.kb"
        kb.SVMGBClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 0]).save(path)
        command = [sys.executable, "-c", program, str(ROOT / "kernelbook"), path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "proved", done.stderr


@pytest.mark.parametrize("far", [1e3, 1e6])
def test_far_from_the_origin(far):
    for model, y in ((kb.SVMGBClassifier(kb.Linear(), C=3.0), TWO),
                     (kb.GRLSRegressor(2.0 * kb.Linear(), reg=1e-2), TARGET)):  # fmt: skip
        verdict = kb.verify(model.fit(X + far, y), X + far, y)
        assert verdict.status == "proved"
        assert verdict.relative_gap < 1e-8


def test_a_given_gram_matrix():
    G, ones = kb.Gaussian()(X), np.ones((M, 1))
    model = kb.SVMGBClassifier("precomputed").fit(G, TWO, WEIGHTS, P=ones)
    verdict = kb.verify(model, G, TWO, WEIGHTS, P=ones)
    assert verdict.status == "proved"
    assert "semidefinite" in verdict.assumed[0]


def test_what_is_taken_on_trust_is_said():
    model = kb.SVMGBClassifier(None, STEP).fit(X, TWO)
    assert "FunctionFeatures" in kb.verify(model, X, TWO).assumed[0]
    assert kb.verify(kb.SVMGBClassifier().fit(X, TWO), X, TWO).assumed == ()


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (kb.GRLSRegressor(solver="fourier"), "dual_coef_"),
        (kb.SVMGBClassifier(kb.Matern(1.0, 0.7)), "Bessel"),
        (kb.IncrementalSVMClassifier(max_basis=3, stop="held_out"), "part of the sample"),
    ],
)
def test_what_it_cannot_do_is_not_proved(model, reason):
    y = TARGET if isinstance(model, kb.GRLSRegressor) else TWO
    verdict = kb.verify(model.fit(X, y), X, y)
    assert verdict.status == "not proved"
    assert reason in verdict.reasons[0]


def test_a_solution_that_is_not_one_is_not_proved():
    with pytest.warns(UserWarning, match="did not reach"):
        model = kb.PrimalSVMClassifier(solver="pegasos", max_iter=1, random_state=0).fit(X, TWO)
    verdict = kb.verify(model, X, TWO)
    assert verdict.status == "not proved"
    assert verdict.gap >= model.certificate_.gap * (1 - 1e-9)  # and as bad as the learner says


@pytest.mark.parametrize("seed", range(14))
def test_no_fit_that_was_tampered_with_passes(seed):
    for what, before, after in tampered(seed):
        assert before.status == "proved", what
        assert not passes(before, after), f"{what}: {after}"


def test_the_fingerprint_refutes_other_data_at_once():
    model = kb.SVMGBClassifier().fit(X, TWO)
    other = X.copy()
    other[3, 1] = np.nextafter(other[3, 1], 9)
    for data in ((other, TWO), (X, 1 - TWO), (X, TWO, np.full(M, 2.0))):
        verdict = kb.verify(model, *data)
        assert verdict.status == "refuted"
        assert "fingerprint" in verdict.reasons[0]


def test_the_fingerprint_does_not_depend_on_types():
    import pandas as pd
    from scipy import sparse

    same = {
        fingerprint(X, TWO),
        fingerprint(pd.DataFrame(X), TWO.astype(bool)),
        fingerprint(X.tolist(), TWO.astype(float), np.ones(M)),
        fingerprint(np.asfortranarray(X), TWO.tolist()),
    }
    assert len(same) == 1
    S = sparse.csr_array(np.where(X > 0, X, 0.0))
    assert fingerprint(S, TWO) == fingerprint(S.tocsc(), TWO)


def test_the_checker_imports_numpy_and_nothing_of_the_solvers():
    for file in sorted((ROOT / "kernelbook" / "verifier").glob("*.py")):
        found = set()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module)
        standard = set(sys.stdlib_module_names) | {"collections.abc"}
        for name in found - standard - {"numpy", "scipy"}:  # scipy for sparse arrays in files
            assert name.startswith("kernelbook.verifier"), f"{file.name} imports {name}"


def written(model, y, **parameters):
    """A fit into which somebody writes, in its parameters and in what was fitted."""
    model.fit(X, y)
    del model.fingerprint_
    for name, value in parameters.items():
        for owner in (model.kernel, model.kernel_) if name == "factor" else (model,):
            vars(owner)[name] = value  # past the rules of a kernel
    return model


@pytest.mark.parametrize(
    ("model", "written_in", "reason"),
    [
        (kb.GRLSRegressor(2.0 * kb.Gaussian(), reg=0.1), {"factor": -0.3}, "factor=-0.3"),
        (kb.GRLSRegressor(reg=0.1), {"reg": -0.013, "reg_": -0.013}, "reg or C"),
        (kb.SVMGBClassifier(), {"C": -1.0}, "reg or C"),
        (kb.PrimalSVMClassifier(), {"loss": "Hinge"}, "loss='Hinge'"),
    ],
)
def test_parameters_that_no_learner_takes_are_not_proved(model, written_in, reason):
    y = TARGET if isinstance(model, kb.GRLSRegressor) else TWO
    verdict = kb.verify(written(model, y, **written_in), X, y)
    assert verdict.status == "not proved"
    assert reason in verdict.reasons[0]


@pytest.mark.parametrize(
    ("model", "stated"),
    [
        (kb.GRLSRegressor(kb.Gaussian(1.0)), {"kernel": kb.Gaussian(3.0)}),
        (kb.GRLSRegressor(kb.Gaussian(1.0)), {"kernel": None}),
        (kb.GRLSRegressor(), {"kernel": kb.Gaussian(9.0)}),
        (kb.GRLSRegressor(kb.Gaussian(1.0) + kb.Linear()), {"kernel": kb.Gaussian(1.0)}),
        (kb.GRLSRegressor(reg=0.1), {"reg": 5.0}),
        (kb.GRLSRegressor(tune="reml"), {"kernel": kb.Laplacian()}),
        (kb.GRLSClassifier(features=kb.Polynomials(1)), {"features": kb.Polynomials(2)}),
        (kb.GRLSClassifier(features="1 + x0"), {"features": "1 + x1"}),
        (kb.SVMGBClassifier(kb.Gaussian(1.0)), {"kernel": kb.Gaussian(3.0)}),
        (kb.SVMGBClassifier(), {"features": None}),
        (kb.SVMGBClassifier(lambda X, Z: X @ Z.T), {"kernel": lambda X, Z: 2 * X @ Z.T}),
        (kb.PrimalSVMClassifier(), {"basis": kb.KernelBasis(kb.Gaussian(3.0))}),
        (kb.PrimalSVMClassifier(kb.LinearBasis()), {"basis": None}),
        (kb.IncrementalSVMClassifier(max_basis=5), {"basis": kb.GaussianBasis()}),
    ],
)
def test_what_repr_shows_is_what_was_fitted(model, stated):
    y = TARGET if isinstance(model, kb.GRLSRegressor) else TWO
    assert kb.verify(model.fit(X, y), X, y).status == "proved"
    del model.fingerprint_
    verdict = kb.verify(model.set_params(**stated), X, y)
    assert verdict.status == "refuted"
    assert verdict.reasons[0].startswith(next(iter(stated)) + "=")
    assert "not what was fitted" in verdict.reasons[0]


def test_a_larger_dual_objective_is_refuted():
    model = kb.SVMGBClassifier().fit(X, TWO)
    proof = model.certificate_
    model.certificate_ = replace(proof, dual=proof.dual - 9.0)
    assert "dual objective" in str(kb.verify(model, X, TWO))


def test_text_in_a_data_frame():
    """Text is numbered as the learner numbered it; a level that it has not seen is refused."""
    table = pd.DataFrame({"a": X[:, 0], "soil": np.where(X[:, 1] > 0, "clay", "sand")})
    kernel = kb.Gaussian(columns="a") + kb.Categorical(columns="soil")
    model = kb.GRLSRegressor(kernel, "1 + C(soil)").fit(table, TARGET)
    assert kb.verify(model, table, TARGET).status == "proved"
    other = table.replace({"soil": {"clay": "sand"}})
    assert kb.verify(model, other, TARGET).status == "refuted"
    with pytest.raises(ValueError, match="X is an array of object"):
        kb.verify(model, table.replace({"soil": {"clay": "peat"}}), TARGET)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"y": "abc"}, r"y=array\('abc'.* must be the numbers"),
        ({"y": TARGET[:-1]}, "X has .* rows, and y .* entries"),
        ({"X": "abc"}, "X is an array of <U3"),
        ({"P": "abc"}, "P= is taken only where fit got one"),
        ({"sample_weight": "abc"}, "sample_weight is an array of <U3"),
        ({"tol": "abc"}, "tol='abc' must be a positive number"),
    ],
)
def test_wrong_arguments(wrong, message):
    model = kb.GRLSRegressor().fit(X, TARGET)
    with pytest.raises(ValueError, match=message):
        kb.verify(model, **({"X": X, "y": TARGET} | wrong))


def test_a_constraint_that_is_admitted_does_not_hide_another_f():
    """f is judged as published, however much of Pᵀc the certificate admits."""
    model = written(kb.SVMGBClassifier(C=3.0), TWO)
    model.dual_coef_[0, np.abs(model.dual_coef_[0]) < 2.0] += 0.3
    model.certificate_ = replace(model.certificate_, constraint=1.0, gap=1e9)
    assert kb.verify(model, X, TWO).status != "proved"


def test_functions_that_are_left_out_of_a_basis_are_said():
    model, other = (kb.PrimalSVMClassifier(kb.GaussianBasis(X[:n])).fit(X, TWO) for n in (2, 5))
    other.orthonormal_ = SimpleNamespace(T=np.eye(5, 2) @ model.orthonormal_.T)
    for name in ("basis_coef_", "coef_", "intercept_", "dual_coef_", "certificate_", "support_"):
        if hasattr(model, name):
            setattr(other, name, getattr(model, name))
    other.expansion_ = model.expansion_ @ np.eye(2, 5)
    other.fingerprint_ = model.fingerprint_
    assert "span no more than 2" in " ".join(kb.verify(other, X, TWO).assumed)


def test_sparse_rows_and_labels_in_a_column():
    rows = sparse.csr_array(X)
    for learner in (kb.PrimalSVMClassifier, kb.IncrementalSVMClassifier):
        model = learner(kb.KernelBasis(kb.Linear(), centers="data")).fit(rows, TWO)
        assert kb.verify(model, rows, TWO).status == "proved"
    for learner in (kb.GRLSClassifier, kb.SVMGBClassifier):
        model = learner().fit(X, TWO)
        assert kb.verify(model, X, TWO[:, None]).status == "proved"

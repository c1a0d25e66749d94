"""A saved learner is the learner; a file that is not one is refused; no code is ever run."""

import json
import pickle
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

import kernelbook as kb
from kernelbook.cli import main
from tests.verifier.test_verify import BUMPS, FEW, TARGET, THREE, TWO, WEIGHTS, X

NEW = np.random.default_rng(5).normal(size=(9, 2))
CASES = [
    (kb.SVMGBClassifier(kb.Gaussian([1.0, 2.0]) + 0.3 * kb.Linear(columns=[0])), THREE),
    (kb.SVMGBClassifier(kb.ThinPlate(), kb.Polynomials(1), class_weight={0: 2.0}), TWO),
    (kb.SVMGBClassifier(), THREE.astype(object)),
    (kb.GRLSRegressor(kb.Matern(1.0) + 0.5 * kb.Categorical(columns=1), reg=1e-3), TARGET),
    (kb.GRLSRegressor(kb.Linear()), TARGET),
    (kb.GRLSClassifier(features=None), THREE),
    (kb.GRLSRegressor(kb.Matern(1.0), tune=kb.Tuning("loo", fixed="width", starts=1)), TARGET),
    (kb.GRLSRegressorCV(), TARGET),
    (kb.GRLSClassifierCV(), THREE),
    (kb.GRLSRegressor(solver="nystrom", n_centers=7, random_state=0), TARGET),
    (kb.PrimalSVMClassifier(loss="squared_hinge"), THREE),
    (kb.PrimalSVMClassifier(FEW), TWO),
    (kb.PrimalSVMClassifier(BUMPS), TWO),
    (kb.PrimalSVMClassifier(kb.LinearBasis()), TWO),
    (kb.IncrementalSVMClassifier(max_basis=5, random_state=0), THREE),
]
CASES = [pytest.param(*case, id=f"{case[0]!r:.60}") for case in CASES]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m.kb"
    kb.SVMGBClassifier(kb.Gaussian(1.0), kb.Polynomials(1)).fit(X, TWO).save(path)
    return path


@pytest.mark.parametrize(("model", "y"), CASES)
def test_it_predicts_as_before_and_can_be_verified(model, y, tmp_path):
    model.fit(X, y, WEIGHTS)
    model.save(tmp_path / "m.kb")
    other = kb.load(tmp_path / "m.kb")
    assert type(other) is type(model)
    assert repr(other) == repr(model)
    assert np.array_equal(other.predict(NEW), model.predict(NEW))
    assert other.certificate_ == model.certificate_
    assert other.fingerprint_ == model.fingerprint_
    assert kb.verify(other, X, y, WEIGHTS).status == "proved"
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(other, name), value)
            assert getattr(other, name).dtype == value.dtype


def test_deviations_and_given_matrices_survive(tmp_path):
    far = kb.GRLSRegressor(kb.Linear()).fit(X + 1e4, TARGET)
    given = kb.GRLSRegressor("precomputed").fit(X @ X.T, TARGET, P=np.ones((len(X), 1)))
    for model, at in ((far, (NEW + 1e4,)), (given, (NEW @ X.T,))):
        P = {} if model is far else {"P": np.ones((9, 1)), "diag": (NEW**2).sum(axis=1)}
        model.save(tmp_path / "m.kb")
        other = kb.load(tmp_path / "m.kb")
        for ours, theirs in zip(
            other.predict(*at, return_std=True, **P), model.predict(*at, return_std=True, **P),
            strict=True,
        ):  # fmt: skip
            assert np.array_equal(ours, theirs)


def test_sparse_rows(tmp_path):
    S = sparse.csr_array(np.where(X > 0, X, 0.0))
    model = kb.SVMGBClassifier(kb.Linear()).fit(S, TWO)
    model.save(tmp_path / "m.kb")
    assert np.array_equal(kb.load(tmp_path / "m.kb").predict(S), model.predict(S))


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (kb.SVMGBClassifier(lambda A, B: A @ B.T), "kernel"),
        (kb.SVMGBClassifier(features=lambda A: A), "features"),
        (kb.SVMGBClassifier(features="1 + x0"), "features_"),
        (kb.PrimalSVMClassifier(kb.FunctionBasis([lambda A: A[:, 0]])), "basis"),
    ],
)
def test_code_is_not_written_and_the_error_says_where_it_is(model, what, tmp_path):
    model.fit(X, TWO)
    with pytest.raises(TypeError, match=rf"Classifier\.{what}.* is code.*joblib"):
        model.save(tmp_path / "m.kb")
    assert not (tmp_path / "m.kb").exists()


def test_only_what_is_fitted_is_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        kb.SVMGBClassifier().save(tmp_path / "m.kb")


def changed(path, to, change, extra=()):
    """The archive with another model.json, and more files."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "model.json":
                tree = json.loads(data)
                data = json.dumps(change(tree) or tree)
            new.writestr(name, data)
        for name in extra:
            new.writestr(name, b"x")
    return to


def kernel_of(tree):
    return tree["model"]["state"]["kernel_"]


CHANGES = {
    "another format": (lambda t: t.update(format="pickle"), "format"),
    "a later version": (lambda t: t.update(version=2), "version is 2"),
    "more in the head": (lambda t: t.update(run="import os"), "head"),
    "a class from elsewhere": (lambda t: t["model"].update(object="os.system"), "os.system"),
    "an unknown class": (lambda t: kernel_of(t).update(object="FunctionKernel"), "FunctionKernel"),
    "a kind that is none": (lambda t: t["model"]["state"].update(C={"eval": "1"}), "eval"),
    "a private kind": (lambda t: t["model"]["state"].update(C={"_init__": "1"}), "_init__"),
    "an impossible width": (lambda t: kernel_of(t)["state"].update(width=-1.0), "width"),
    "an array that is not there": (
        lambda t: t["model"]["state"].update(coef_={"array": 99}), "index"),
    "no learner": (lambda t: {**t, "model": kernel_of(t)}, "no fitted learner"),
    "no tree": (lambda t: [1], "format"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_load_refuses_what_it_does_not_know(name, saved, tmp_path):
    change, reason = CHANGES[name]
    path = changed(saved, tmp_path / "m.kb", change)
    with pytest.raises(ValueError, match=rf"(?s)m\.kb.*cannot|can load.*{reason}"):
        kb.load(path)


def test_load_refuses_other_files(saved, tmp_path):
    other = changed(saved, tmp_path / "more.kb", lambda t: None, ["run.py"])
    (tmp_path / "text.kb").write_text("no archive")
    (tmp_path / "p.kb").write_bytes(pickle.dumps(kb.Gaussian()))
    broken = bytearray(saved.read_bytes())
    broken[len(broken) // 3] ^= 255
    (tmp_path / "broken.kb").write_bytes(broken)
    for path in (other, tmp_path / "text.kb", tmp_path / "p.kb", tmp_path / "broken.kb"):
        with pytest.raises(ValueError, match="save"):
            kb.load(path)
    with pytest.raises(FileNotFoundError):
        kb.load(tmp_path / "none.kb")
    with pytest.raises(TypeError, match="path=3"):
        kb.load(3)


def test_a_pickle_inside_an_array_is_not_opened(saved, tmp_path):
    path = tmp_path / "m.kb"
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "arrays/0.npy":
                np.save(tmp_path / "o.npy", np.array([kb.Gaussian()], dtype=object))
                data = (tmp_path / "o.npy").read_bytes()
            new.writestr(name, data)
    with pytest.raises(ValueError, match="allow_pickle"):
        kb.load(path)


def test_the_command_verifies(saved, tmp_path):
    data, other = tmp_path / "data.npz", tmp_path / "other.npz"
    np.savez(data, X=X, y=TWO)
    np.savez(other, X=X, y=1 - TWO)
    for file, code, word in ((data, 0, "proved optimal within"), (other, 2, "refuted")):
        done = CliRunner().invoke(main, ["verify", str(saved), str(file)])
        assert (done.exit_code, done.output[: len(word)]) == (code, word)
    pickled = tmp_path / "m.joblib"
    pickled.write_bytes(pickle.dumps(kb.load(saved)))
    done = CliRunner().invoke(main, ["verify", str(pickled), str(data)])
    assert done.exit_code == 3
    assert "--trust-pickle" in done.output
    done = CliRunner().invoke(main, ["verify", str(pickled), str(data), "--trust-pickle"])
    assert done.exit_code == 0


def test_what_keeps_the_command_from_a_verdict_has_an_exit_code_of_its_own(saved, tmp_path):
    numbers = tmp_path / "numbers.npy"
    np.save(numbers, X)
    for model, data in ((saved, numbers), (saved, tmp_path / "none.npz"), ("none.kb", numbers)):
        done = CliRunner().invoke(main, ["verify", str(model), str(data)])
        assert done.exit_code == 3, done.output
        assert "Error: " in done.output


@pytest.mark.parametrize("place", range(0, 400, 7))
def test_a_byte_that_is_wrong_is_refused_or_does_not_matter(saved, place, tmp_path):
    path, damaged = tmp_path / "damaged.kb", bytearray(saved.read_bytes())
    damaged[place % len(damaged)] ^= 1
    path.write_bytes(damaged)
    refused, other = None, None
    try:
        other = kb.load(path)
    except ValueError as error:
        refused = str(error)
    if refused is None:
        np.testing.assert_array_equal(other.predict(X), kb.load(saved).predict(X))
    else:
        assert "is not a model that this version can load" in refused

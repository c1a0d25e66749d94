"""The fuzzer itself: every trial runs, wrong answers are found, a run goes on behind the last."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from fuzz import __main__ as fuzz
from fuzz import oracles
from kernelbook import Gaussian, Laplacian, Matern, Polyharmonic, RationalQuadratic, ThinPlate

TRIALS = fuzz.trials()


@pytest.mark.parametrize("name", TRIALS)
def test_a_seed_of_every_trial(name):
    record = fuzz.one(TRIALS[name], name, 1)
    assert record["outcome"] in ("right", "warned", "refused"), record["what"]
    assert record["problem"].startswith("m=")
    assert record == fuzz.one(TRIALS[name], name, 1) | {"seconds": record["seconds"]}


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (Gaussian(0.7), oracles.gaussian(0.7)),
        (Laplacian(0.7), oracles.matern(0.7, 0.5)),
        (Matern(0.7, 1.5), oracles.matern(0.7, 1.5)),
        (Matern(0.7, 2.5), oracles.matern(0.7, 2.5)),
        (RationalQuadratic(0.7, alpha=2.0), oracles.rational_quadratic(0.7, 2.0)),
        (Polyharmonic(3), oracles.cubic),
        (ThinPlate(), oracles.thin_plate),
    ],
    ids=lambda part: getattr(part, "__name__", type(part).__name__),
)
def test_formulas_of_the_oracles(kernel, formula):
    A, B = np.random.default_rng(0).normal(size=(2, 5, 2))
    np.testing.assert_allclose(kernel(A, B), formula(A, B).astype(float), rtol=1e-12)


@pytest.mark.parametrize("name", ["svm.binary", "grls.exact", "primal.batch"])
def test_a_wrong_answer_is_found(name, monkeypatch):
    """A learner whose kernel is a percent wider than it says."""
    right = oracles.gaussian
    monkeypatch.setattr(
        "fuzz.problems.draw_kernel",
        lambda rng, unit, d, cpd: (Gaussian(unit), right(1.01 * unit), 0),
    )
    outcomes = {fuzz.one(TRIALS[name], name, seed)["outcome"] for seed in range(3)}
    assert "found" in outcomes


def test_an_error_without_words_is_found():
    def trial(rng):
        yield "m=1", lambda: [][0]

    record = fuzz.one(trial, "t", 0)
    assert record["outcome"] == "found"
    assert "IndexError" in record["what"]


def test_a_run_goes_on_behind_the_last_seed(tmp_path):
    log = tmp_path / "log.jsonl"
    arguments = ["--minutes", "0.0001", "--output", str(tmp_path), "grls.exact"]
    before = 0
    for _ in range(2):
        result = CliRunner().invoke(fuzz.main, arguments)
        assert result.exit_code == 0, result.output
        seeds = [json.loads(line)["seed"] for line in log.read_text().splitlines()]
        assert seeds == list(range(len(seeds)))  # none is repeated, none left out
        assert len(seeds) > before
        before = len(seeds)
    with log.open("a") as out:
        out.write('{"trial": "grls.exact", "se')  # killed while it was written
    assert fuzz.next_seeds(log, ["grls.exact"]) == {"grls.exact": before}
    assert "not among" in CliRunner().invoke(fuzz.main, ["nobody"]).output.replace("are ", "")

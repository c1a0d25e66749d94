"""The G-RLS learners on a Dask cluster of several processes."""

import json
import os
import re
import tempfile
import time
from multiprocessing import get_all_start_methods
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV

from kernelbook import (
    Gaussian,
    GRLSClassifier,
    GRLSRegressor,
    GRLSRegressorCV,
    Polynomials,
    SVMGBClassifier,
    ThinPlate,
)
from kernelbook.cli import main
from kernelbook.numeric.arrays import is_collection
from tests.paths import BOOK

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
get_mp_context = distributed.utils.get_mp_context

RNG = np.random.default_rng(0)
M = 800
X = RNG.uniform(size=(M, 2)) * [2.0, 0.5] + [10.0, -3.0]
Y = np.sin(4 * X[:, 0]) + 50 + 0.1 * RNG.normal(size=M)
W = RNG.uniform(0.5, 2.0, size=M)
LABELS = np.digitize(np.sin(4 * X[:, 0]), [-0.4, 0.4])
Z = X[:50] + 0.3 * RNG.normal(size=(50, 2))
ARGUMENTS = {"kernel": Gaussian(0.5), "features": Polynomials(2), "reg": 1e-2, "tol": 1e-6}


# What the workers need, imported once: they are forked from one process that has it, also the one
# that takes the place of the killed one.  Each would take eight seconds to import it for itself.
PRELOAD = [
    "distributed",
    "dask.array",
    "dask.dataframe",
    "finufft",
    "kernelbook.cli",
    "kernelbook.estimators.grls",
    "kernelbook.experiments.abs_",
    "pandas",
]


@pytest.fixture(scope="module", autouse=True)
def environment():
    """Dask sets OMP_NUM_THREADS=1 for the processes it starts, and leaves it so for the tests that
    come after these."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="module")
def client(environment):
    method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
    with dask.config.set({"distributed.worker.multiprocessing-method": method}):
        if method == "forkserver":
            get_mp_context().set_forkserver_preload(PRELOAD)
        yield from _client()


def _client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def alone():
    """One process, no Dask."""
    return GRLSRegressor(**ARGUMENTS, solver="fourier").fit(X, Y, W)


def dask_arrays(*arrays, rows=150):
    return [da.from_array(a, chunks=(rows, *a.shape[1:])) for a in arrays]


def forbid_gathering(monkeypatch):
    """A Dask collection that is turned into one array is an error."""

    def refuse(self, *args, **kwargs):
        raise AssertionError("a Dask collection was gathered")

    monkeypatch.setattr(da.Array, "__array__", refuse)
    monkeypatch.setattr(dd.DataFrame, "__array__", refuse)
    monkeypatch.setattr(dd.Series, "__array__", refuse)


def test_arrays_give_the_answer_of_one_process(client, alone, monkeypatch):
    forbid_gathering(monkeypatch)
    x, y, w = dask_arrays(X, Y, W)
    ours = GRLSRegressor(**ARGUMENTS).fit(x.rechunk((150, 1)), y.rechunk(77), w)  # "auto"
    np.testing.assert_allclose(ours.predict(Z), alone.predict(Z), rtol=1e-8)
    np.testing.assert_allclose(ours.scale_, alone.scale_, rtol=1e-8)
    assert ours.certificate_.kkt <= 1e-6
    f = ours.predict(da.from_array(Z, chunks=(20, 1)))
    assert is_collection(f)
    assert f.chunks == ((20, 20, 10),)
    np.testing.assert_allclose(f.compute(), alone.predict(Z), rtol=1e-8)
    bounded = GRLSRegressor(**ARGUMENTS, solver="fourier", bounds=[(9, 13), (-4, -2)])
    np.testing.assert_allclose(bounded.fit(x, y, w).predict(Z), alone.predict(Z), rtol=1e-6)
    bounded.partial_fit(X[:10], Y[:10])  # and goes on, here


@pytest.fixture(scope="module")
def many_columns():
    """Six columns: nothing for a Fourier basis."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(M, 6))
    y = np.sin(points[:, 0]) + points[:, 1] * points[:, 2] + 5
    return points, y, rng.choice([0.0, 1.0, 2.0], size=M)


@pytest.mark.parametrize("kernel", [Gaussian(3.0), ThinPlate()], ids=repr)
def test_centres_give_the_answer_of_one_process(kernel, client, many_columns, monkeypatch):
    points, y, w = many_columns
    options = {"features": Polynomials(1), "reg": 1e-2, "solver": "nystrom"}
    alone = GRLSRegressor(kernel, **options, centers=points[:60]).fit(points, y, w)
    forbid_gathering(monkeypatch)
    x, t, u = dask_arrays(points, y, w, rows=170)
    ours = GRLSRegressor(kernel, **options, centers=points[:60]).fit(x, t, u)
    assert (ours.solver_, ours.rank_, ours.full_gap_) == ("nystrom", 7, None)
    np.testing.assert_allclose(ours.predict(points), alone.predict(points), rtol=1e-8)
    np.testing.assert_allclose(ours.predict(x).compute(), alone.predict(points), rtol=1e-8)
    np.testing.assert_allclose(ours.coef_, alone.coef_, rtol=1e-6, atol=1e-8)
    assert ours.scale_ == pytest.approx(alone.scale_, rel=1e-7)
    assert ours.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-8)
    assert ours.certificate_.kkt <= 1e-8
    # What was fitted in memory, by any solver, predicts blocks too.
    f = GRLSRegressor(kernel, Polynomials(1)).fit(points[:99], y[:99])
    np.testing.assert_allclose(f.predict(x).compute(), f.predict(points), rtol=1e-10)


def test_centres_are_drawn_from_all_blocks(client, many_columns, monkeypatch):
    points, y, w = many_columns
    frame = pd.DataFrame(points, columns=list("abcdef")).assign(label=y > 5, w=w)
    table = dd.from_pandas(frame, npartitions=4)
    columns = table[list("abcdef")], table["label"], table["w"]
    forbid_gathering(monkeypatch)
    model = GRLSClassifier(Gaussian(3.0), reg=1e-2, solver="nystrom", n_centers=200, random_state=0)
    ours = model.fit(*columns)
    drawn = (ours.centers_[:, None] == points).all(axis=2)
    assert (drawn.sum(axis=1) == 1).all()
    rows = drawn.argmax(axis=1)
    assert len(set(rows)) == 200  # without replacement
    assert (w[rows] > 0).all()
    assert 1.2 < w[rows].mean() / w[w > 0].mean() * 1.5 < 1.8  # in proportion to the weights
    assert np.bincount(rows // 200).min() > 30
    again = clone(model).fit(*columns)
    np.testing.assert_array_equal(again.centers_, ours.centers_)
    assert ours.predict(columns[0]).compute().mean() == pytest.approx((y > 5).mean(), abs=0.05)
    spread = clone(model).set_params(centers="kmeans", n_centers=20).fit(*columns)
    assert spread.centers_.shape == (20, 6)


def test_scores_are_those_of_one_process(client, monkeypatch):
    """R² and the share of right labels, weighted and not, from blocks as from arrays."""
    two = np.c_[X.sum(axis=1), np.cos(9 * X[:, 0])] + 1e4
    model = GRLSRegressor(Gaussian(0.5), Polynomials(1), reg=1e-2, solver="nystrom", n_centers=30)
    f = model.set_params(random_state=0).fit(X, Y, W)
    both, labelled = clone(model).fit(X, two), GRLSClassifier(Gaussian(0.5)).fit(X, LABELS)
    weights = np.where(np.arange(M) < 150, 0.0, W)  # all of the first block is absent
    cases = [(f, Y, None), (f, Y, weights), (both, two, W), (labelled, LABELS, None)]
    cases += [(labelled, LABELS, weights), (f, np.full(M, 8.0), None)]
    wanted = [learner.score(X, y, w) for learner, y, w in cases]
    forbid_gathering(monkeypatch)
    for (learner, y, w), score in zip(cases, wanted, strict=True):
        x, y, *w = dask_arrays(*(a for a in (X, y, w) if a is not None))
        assert learner.score(x, y, *w) == pytest.approx(score, rel=1e-10, abs=1e-12)
    table = dd.from_pandas(pd.DataFrame(X, columns=["u", "v"]).assign(y=Y, w=W), npartitions=3)
    framed = clone(model).fit(pd.DataFrame(X, columns=["u", "v"]), Y, W)
    score = framed.score(table[["u", "v"]], table["y"], table["w"])
    assert score == pytest.approx(f.score(X, Y, W), rel=1e-10)
    # Only for what is beside them in the same blocks.
    x, y = dask_arrays(X, Y)
    with pytest.raises(TypeError, match="y is ndarray: make y one too"):
        f.score(x, Y)
    with pytest.raises(TypeError, match=r"score needs arrays in memory.*must all be collections"):
        f.score(X, y)
    with pytest.raises(NotFittedError):
        clone(model).score(x, y)
    with pytest.raises(ValueError, match=r"y has rows of shape \(2,\), and f of shape \(\)"):
        f.score(x, da.from_array(two, chunks=(150, 2)))
    bad = da.from_array(np.where(np.arange(M) == M - 1, np.nan, Y), chunks=150)
    with pytest.raises(ValueError, match="NaN"):
        f.score(x, bad)
    with pytest.raises(ValueError, match="sample_weight is zero for all"):
        f.score(x, y, da.zeros(M, chunks=150))
    with pytest.raises(ValueError, match="negative"):
        f.score(x, y, -da.ones(M, chunks=150))
    words = GRLSClassifier(Gaussian(0.5)).fit(X, np.where(X[:, 0] > 11, "a", "b"))
    with pytest.raises(ValueError, match=r"are \['a', 'b'\]: text and numbers are never"):
        words.score(x, y)
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(f.score(x[:1], y[:1]))


def test_deviations_are_computed_where_the_blocks_are(client, alone, monkeypatch):
    wanted = alone.predict(Z, return_std=True)
    few = GRLSRegressor(**ARGUMENTS, solver="cholesky").fit(X[:60], np.c_[Y, -Y][:60])
    exact = few.predict(Z, return_std=True)
    forbid_gathering(monkeypatch)
    blocks = da.from_array(Z, chunks=(20, 1))
    for learner, both in ((alone, wanted), (few, exact)):
        f, std = learner.predict(blocks, return_std=True)
        assert is_collection(std)
        assert std.shape == both[1].shape
        assert std.chunks[0] == (20, 20, 10)
        for ours, theirs in zip(dask.compute(f, std), both, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    # Where there is none, nobody has to wait for a worker to say so.
    none = GRLSRegressor(**ARGUMENTS, solver="nystrom", n_centers=20).fit(X, Y)
    with pytest.raises(ValueError, match=r"return_std is not available.*'nystrom'"):
        none.predict(blocks, return_std=True)


def test_only_sums_travel(client):
    """What comes back from the workers does not depend on how many samples there are."""
    x, y = dask_arrays(np.tile(X, (30, 1)), np.tile(Y, 30), rows=4000)
    ours = GRLSRegressor(**ARGUMENTS | {"reg": 1.0, "tol": 1e-3}).fit(x, y)
    sums = ours._blocks.total
    assert sums.m == 30 * M
    size = sum(value.nbytes for value in vars(sums).values() if isinstance(value, np.ndarray))
    assert size < x.nbytes / 2


def test_frames_and_classes(client, monkeypatch):
    frame = pd.DataFrame(X, columns=["u", "v"]).assign(label=LABELS, w=W)
    table = dd.from_pandas(frame, npartitions=5)
    alone = GRLSClassifier(**ARGUMENTS, solver="fourier").fit(frame[["u", "v"]], LABELS, W)
    at = pd.DataFrame(Z, columns=["u", "v"])
    forbid_gathering(monkeypatch)
    ours = GRLSClassifier(**ARGUMENTS).fit(table[["u", "v"]], table["label"], table["w"])
    np.testing.assert_array_equal(ours.classes_, [0, 1, 2])
    np.testing.assert_allclose(ours.decision_function(at), alone.decision_function(at), atol=1e-7)
    labels = ours.predict(dd.from_pandas(at, npartitions=3))
    assert is_collection(labels)
    np.testing.assert_array_equal(labels.compute(), alone.predict(at))
    with pytest.raises(ValueError, match="feature names"):
        ours.predict(at[["v", "u"]])


class DiesOnce:
    """Features on two workers, of which the first that is asked is killed by its first block."""

    def __init__(self, marker):
        self.marker, self.home = marker, os.getpid()

    def __call__(self, rows):
        if os.getpid() != self.home:
            try:
                self.marker.touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), 9)
        return np.c_[np.ones(len(rows)), rows]


def test_a_killed_worker_loses_nothing(client):
    x, y, w = dask_arrays(X, Y, W)
    with tempfile.TemporaryDirectory() as folder:
        features = DiesOnce(Path(folder) / "killed")
        ours = GRLSRegressor(**ARGUMENTS | {"features": features}).fit(x, y, w)
        assert features.marker.exists()
    alone = GRLSRegressor(**ARGUMENTS | {"features": Polynomials(1)}, solver="fourier")
    np.testing.assert_allclose(ours.predict(Z), alone.fit(X, Y, W).predict(Z), rtol=1e-8)
    assert ours._blocks.total.m == M


def test_grid_search_through_joblib(client):
    search = GridSearchCV(GRLSRegressor(**ARGUMENTS, solver="fourier"), {"reg": [1e-2, 1e4]}, cv=2)
    with joblib.parallel_config("dask"):
        search.fit(X, Y)
    assert search.best_params_ == {"reg": 1e-2}


def test_an_address_on_the_command_line(client, tmp_path):
    address = client.scheduler.address
    arguments = ["experiment", "abs", "--quick", "--output", str(tmp_path)]
    done = CliRunner().invoke(main, [*arguments, "--scheduler", address])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "abs.csv").exists()


def test_an_address_where_nobody_answers(tmp_path):
    arguments = ["experiment", "abs", "--quick", "--output", str(tmp_path), "--scheduler"]
    with dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}):
        done = CliRunner().invoke(main, [*arguments, "tcp://127.0.0.1:1"])
    assert done.exit_code == 2
    assert "scheduler='tcp://127.0.0.1:1' does not answer" in done.output
    assert not (tmp_path / "abs.csv").exists()


def test_what_is_refused(client):
    x, y = dask_arrays(X, Y)
    model = GRLSRegressor(**ARGUMENTS, solver="fourier")
    with pytest.raises(TypeError, match="y is ndarray: make y one too"):
        model.fit(x, Y)
    with pytest.raises(TypeError, match=r"solver='cholesky' needs arrays in memory"):
        GRLSRegressor(solver="cholesky").fit(x, y)
    with pytest.raises(ValueError, match="same places"):
        model.fit(dd.from_dask_array(x), y[:300])
    late = X.copy()
    late[-1, 0] = np.nan
    bad = da.from_array(late, chunks=(150, 2))
    for bounds in (None, [(9, 13), (-4, -2)]):
        with pytest.raises(ValueError, match="NaN"):
            model.set_params(bounds=bounds).fit(bad, y)
        assert not hasattr(model, "coef_")
    with pytest.raises(ValueError, match=r"outside the box .*Give bounds"):
        model.set_params(bounds=[(9, 11.5), (-4, -2)]).fit(x, y)
    with pytest.raises(ValueError, match="one to three columns, and X has 4"):
        model.set_params(bounds=None).fit(da.concatenate([x, x], axis=1), y)
    for other in (GRLSRegressorCV(), SVMGBClassifier(), GRLSRegressor(solver="cholesky")):
        with pytest.raises(TypeError, match=r"needs arrays in memory"):
            other.fit(x, y)
    for data in ((X, y), (X, Y, da.ones(M))):
        with pytest.raises(TypeError, match=r"needs arrays in memory.*fit and predict"):
            model.fit(*data)
    centred = GRLSRegressor(solver="nystrom", n_centers=20)
    with pytest.raises(ValueError, match="NaN"):
        centred.fit(bad, y)
    with pytest.raises(ValueError, match="NaN"):
        centred.set_params(centers=X[:20]).fit(bad, y)
    with pytest.raises(ValueError, match="centers has 1 columns and X has 2"):
        centred.set_params(centers=X[:20, :1]).fit(x, y)
    with pytest.raises(ValueError, match="centers='some' is not known"):
        centred.set_params(centers="some").fit(x, y)
    with pytest.raises(ValueError, match="reg > 0"):
        centred.set_params(centers="uniform", reg=0).fit(x, y)
    assert not [name for name in vars(centred) if name.endswith("_")]


def test_the_program_of_the_book_runs(client, tmp_path):
    """The block of "Beyond m³" as it is printed, with another address and another folder."""
    book = BOOK / "computing" / "beyond.ipynb"
    cells = json.loads(book.read_text(encoding="utf-8"))["cells"]
    text = "".join("".join(cell["source"]) for cell in cells)
    (program,) = re.findall(r"```python\n(import dask\.dataframe.*?)```", text, re.DOTALL)
    for printed, ours in (
        ("tcp://head:8786", client.scheduler.address),
        ("/shared/points", str(tmp_path)),
    ):
        assert printed in program
        program = program.replace(printed, ours)
    unit = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    frame = pd.DataFrame(unit, columns=["u", "v"]).assign(y=Y)
    for part in range(3):
        frame[part::3].to_parquet(tmp_path / f"{part}.parquet")
    names = {}
    exec(program, names)
    with names["client"]:
        learner = names["learner"]
    assert learner.certificate_.kkt <= learner.tol
    assert learner._blocks.total.m == M
    options = {"reg": learner.reg, "tol": learner.tol, "solver": "cholesky"}
    exact = GRLSRegressor(Gaussian(0.15), Polynomials(2), **options).fit(frame[["u", "v"]], Y)
    off = learner.predict(frame[["u", "v"]]) - exact.predict(frame[["u", "v"]])
    assert np.sqrt(np.mean(off**2)) <= learner.tol * (np.std(Y) + 1e-4 * np.sqrt(np.mean(Y**2)))


class Unsteady:
    """A block that is read anew each time.

    When it has been read `at` times, the worker that reads it is killed, or the block is shorter
    or has another number from then on, by `what`.
    """

    def __init__(self, folder, at, what):
        self.folder, self.at, self.what, self.home = Path(folder), at, what, os.getpid()

    def __call__(self, rows):
        reads = len(list(self.folder.iterdir()))
        (self.folder / f"{reads}-{os.getpid()}-{time.monotonic_ns()}").touch()
        if self.what == "shorter" and reads >= self.at:
            return rows[:-1]
        if self.what == "another" and reads >= self.at:
            return np.vstack([rows[:-1], rows[-1:] + 1e-9])
        if self.what == "killed" and reads == self.at and os.getpid() != self.home:
            os.kill(os.getpid(), 9)
        return rows

    def array(self, rows):
        block = dask.delayed(self, pure=False)(rows)
        return da.from_delayed(block, (np.nan, *rows.shape[1:]), float)


@pytest.mark.parametrize("at", [0, 1, 2], ids=["pilot", "survey", "sums"])
def test_a_worker_killed_at_each_stage_loses_nothing(client, alone, at, tmp_path):
    x = da.concatenate([Unsteady(tmp_path, at, "killed").array(X[:150]), *dask_arrays(X[150:])])
    y, w = (da.concatenate([da.from_array(a[:150]), *dask_arrays(a[150:])]) for a in (Y, W))
    ours = GRLSRegressor(**ARGUMENTS).fit(x, y, w)
    assert len(list(tmp_path.iterdir())) > at + 1  # it was read again
    np.testing.assert_allclose(ours.predict(Z), alone.predict(Z), rtol=1e-8)


def test_data_that_change_between_two_passes_are_refused(tmp_path):
    with dask.config.set(scheduler="synchronous"):
        block = Unsteady(tmp_path, 4, "shorter")  # X and y are read for the pilot and the survey
        both = block.array(np.c_[X[:100], Y[:100]])
        x, y = both[:, :2], both[:, 2]
        with pytest.raises(ValueError, match=r"had 100 rows .* and 99 when summed"):
            GRLSRegressor(**ARGUMENTS).fit(x, y)


def test_numbers_that_change_between_two_passes_are_refused(tmp_path):
    with dask.config.set(scheduler="synchronous"):
        both = Unsteady(tmp_path, 4, "another").array(np.c_[X[:100], Y[:100]])
        with pytest.raises(ValueError, match="had other numbers when summed than when surveyed"):
            GRLSRegressor(**ARGUMENTS).fit(both[:, :2], both[:, 2])


def test_a_scheduler_that_dies_is_named(monkeypatch):
    """With its process killed while a block is summed, Dask raises this, half a minute later."""
    x, y = da.from_array(X[:100]), da.from_array(Y[:100])

    def compute(*tasks):
        raise distributed.client.FutureCancelledError("sums-1", "scheduler-connection-lost")

    monkeypatch.setattr(dask, "compute", compute)
    with pytest.raises(RuntimeError, match=r"Dask scheduler is gone.*call fit again"):
        GRLSRegressor(**ARGUMENTS).fit(x, y)


def test_an_error_of_the_data_stays_what_it_is():
    def lost(block):
        raise FileNotFoundError("part-7.parquet")

    with dask.config.set(scheduler="synchronous"):
        x = da.from_array(X[:100]).map_blocks(lost, meta=X[:0])
        with pytest.raises(FileNotFoundError, match=r"part-7\.parquet"):
            GRLSRegressor(**ARGUMENTS).fit(x, da.from_array(Y[:100]))

"""From two CSV files to a map with its errors, as a user of kriging would: log zinc at a river.

The columns, and the sizes, are those of the Meuse table of the R package sp; the numbers are
simulated, since the table is not ours to copy.  OpenTURNS computes the same model beside it.
"""

import re
from contextlib import redirect_stdout
from io import StringIO

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from kernelbook import Matern
from tests.paths import ROOT

mpl.use("Agg")

SCRIPT = """
import numpy as np
import pandas as pd
from kernelbook import GRLSRegressor, Matern
from kernelbook.plotting import plot_map
table, grid = pd.read_csv("samples.csv"), pd.read_csv("grid.csv")
X = table[["x", "y", "dist", "soil"]]
model = GRLSRegressor(
    kernel=Matern(width=300.0, columns=["x", "y"]),
    features="1 + sqrt(dist) + C(soil)",
    tune="reml",
).fit(X, np.log(table["zinc"]))
print(model.summary())
f, low, high = model.predict(grid, interval=0.95, noise=True)
left, right = plot_map(model, X, ["x", "y"], places=grid)
"""
WIDTH, NOISE, LAM = 250.0, 0.15, (7.0, -2.0, -0.3, -0.4)


def river(rng):
    """Samples, and a grid without zinc (a band along a bend, so that cells of it are missing)."""
    cells = np.array(np.meshgrid(np.arange(0, 2800, 100.0), np.arange(0, 3900, 100.0)))
    x, y = cells.reshape(2, -1)
    bank = 600 + 1400 * (y / 3900) ** 2
    inside = (x > bank) & (x < bank + 1100)
    x, y, bank = x[inside], y[inside], bank[inside]
    dist = (x - bank) / 1100
    soil = 1 + (dist > 0.3).astype(int) + (dist + 0.2 * rng.uniform(size=len(x)) > 0.8)
    grid = pd.DataFrame({"x": x, "y": y, "dist": dist, "soil": soil})
    mean = LAM[0] + LAM[1] * np.sqrt(dist) + np.r_[0, LAM[2:]][soil - 1]
    K = Matern(WIDTH)(grid[["x", "y"]].to_numpy())
    field = 0.35 * np.linalg.cholesky(K + 1e-10 * np.eye(len(K))) @ rng.standard_normal(len(K))
    zinc = np.exp(mean + field + NOISE * rng.standard_normal(len(K)))
    rows = np.sort(rng.choice(len(grid), 155, replace=False))
    samples = grid.iloc[rows].assign(zinc=zinc[rows].round(3), landuse="Ah")
    return samples[["x", "y", "landuse", "zinc", "dist", "soil"]], grid, zinc, mean + field


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """What is left of a session, and what it printed."""
    samples, grid, zinc, f = river(np.random.default_rng(4))
    folder = tmp_path_factory.mktemp("meuse")
    samples.to_csv(folder / "samples.csv", index=False)
    grid.to_csv(folder / "grid.csv", index=False)
    scope, said = {"truth": f, "zinc": zinc}, StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said):
        patch.chdir(folder)
        exec(compile(SCRIPT, "meuse.py", "exec"), scope)
    yield scope, said.getvalue()
    plt.close("all")


def test_it_takes_fewer_than_fifteen_lines(session):
    assert len(SCRIPT.strip().splitlines()) < 15
    scope, _ = session
    assert "zinc" not in scope["grid"].columns
    assert len(scope["grid"]) > 400


def test_the_summary_has_every_term_and_finds_the_truth(session):
    scope, said = session
    model = scope["model"]
    for word in ("Intercept", "sqrt(dist)", "C(soil)[T.2]", "C(soil)[T.3]", "Matern", "REML"):
        assert word in said
    table = model.summary().coefficients
    t = (table.estimate - LAM) / table.std
    assert np.abs(t).max() < 3.5, t
    assert abs(np.log(model.kernel_.width / WIDTH)) < 3 * np.sqrt(model.tuning_.log_cov[0, 0])


def test_intervals_hold_what_was_not_sampled(session):
    """Of 400 places at which zinc was not measured, 95 % give or take what 155 samples allow."""
    scope, _ = session
    new = ~scope["grid"].set_index(["x", "y"]).index.isin(
        scope["table"].set_index(["x", "y"]).index
    )
    truth = np.log(scope["zinc"])
    inside = (scope["low"] <= truth) & (truth <= scope["high"])
    assert 0.90 <= inside[new].mean() <= 0.99
    error = np.sqrt(np.mean((scope["f"] - scope["truth"])[new] ** 2))
    assert error < 0.75 * np.std(scope["truth"] - scope["truth"].mean())


def test_the_map_shows_the_predictions_and_their_errors(session):
    scope, _ = session
    f, std = scope["model"].predict(scope["grid"], return_std=True)
    for ax, values in ((scope["left"], f), (scope["right"], std)):
        mesh = ax.collections[0]
        shown = np.ma.masked_array(mesh.get_array())
        assert shown.count() == len(values)  # cells outside of the river's band stay empty
        right, up = np.unique(scope["grid"]["x"]), np.unique(scope["grid"]["y"])
        cells = shown.reshape(len(up), len(right))
        rows = np.searchsorted(up, scope["grid"]["y"]), np.searchsorted(right, scope["grid"]["x"])
        np.testing.assert_array_equal(cells[rows], values)
        dots = ax.lines[0].get_xydata()
        np.testing.assert_array_equal(dots, scope["table"][["x", "y"]])
    # The distance to the river varies over the map: at its median it would be another picture.
    slice_ = scope["grid"].assign(dist=scope["table"]["dist"].median())
    assert np.abs(scope["model"].predict(slice_) - f).max() > 0.5


def test_the_same_as_openturns(session):
    ot = pytest.importorskip("openturns")
    scope, _ = session
    model, X, grid = scope["model"], scope["X"], scope["grid"]

    def columns(table):
        dummies = [table["soil"] == level for level in (2, 3)]
        return np.column_stack([table["x"], table["y"], np.sqrt(table["dist"]), *dummies])

    names = ["east", "north", "bank", "second", "third"]
    terms = [ot.SymbolicFunction(names, [term]) for term in ("1", "bank", "second", "third")]
    far = 1e12  # the field does not depend on the last three columns
    field = ot.MaternModel([model.kernel_.width] * 2 + [far] * 3, [1.0], 1.5)
    y = np.log(scope["table"]["zinc"]).to_numpy()
    fitter = ot.GaussianProcessFitter(
        ot.Sample(columns(X)), ot.Sample(y[:, None]), field, ot.Basis(terms)
    )
    fitter.setOptimizeParameters(False)
    fitter.setNoise([len(y) * model.reg_] * len(y))
    fitter.run()
    regression = ot.GaussianProcessRegression(fitter.getResult())
    regression.run()
    result, points = regression.getResult(), ot.Sample(columns(grid))
    variance = ot.GaussianProcessConditionalCovariance(result)
    f, std = model.predict(grid, return_std=True)
    np.testing.assert_allclose(f, np.ravel(result.getMetaModel()(points)), atol=1e-6)
    np.testing.assert_allclose(model.coef_, np.array(result.getTrendCoefficients()), atol=1e-6)
    theirs = np.ravel(variance.getConditionalMarginalVariance(points)) * model.scale_
    np.testing.assert_allclose(std**2, theirs, rtol=1e-6)


def test_the_front_page_says_the_same(session):
    """README's example is this script, its comments aside."""
    first = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    lines = [line.split("  #")[0].rstrip() for line in first.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    ours = SCRIPT.strip().splitlines()
    assert [line for line in lines if line not in ours] == []

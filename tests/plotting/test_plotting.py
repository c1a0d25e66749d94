"""Pictures take axes, return them, and draw the numbers of the model."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from kernelbook import Categorical, GRLSRegressor, Matern
from kernelbook.plotting import (
    plot_components,
    plot_leave_one_out,
    plot_likelihood,
    plot_map,
    plot_partial,
    plot_residuals,
)

mpl.use("Agg")
RNG = np.random.default_rng(0)
M = 60
X = pd.DataFrame(
    {
        "x": RNG.uniform(size=M),
        "y": RNG.uniform(size=M),
        "soil": RNG.choice(["clay", "peat"], M),
    }
)
Z = np.sin(6 * X["x"]) + X["y"] + (X["soil"] == "clay") + 0.2 * RNG.standard_normal(M)
KERNEL = Matern(0.3, columns="x") + Matern(0.5, columns=["x", "y"]) + Categorical("soil")


@pytest.fixture(scope="module")
def model():
    return GRLSRegressor(KERNEL, "1 + y + soil", reg=2e-3).fit(X, Z.to_numpy())


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_components_are_drawn_where_they_have_one_or_two_columns(model):
    axes = plot_components(model, X)
    assert [ax.get_ylabel() for ax in axes] == ["y", "soil", "Matern(x)", "y", "Categorical(soil)"]
    values, std = model.predict_components(X, return_std=True, centered=True)
    order = np.argsort(X["x"].to_numpy())
    line = axes[2].lines[0]
    np.testing.assert_allclose(line.get_ydata(), values["Matern(x)"][order])
    band = axes[2].collections[0].get_paths()[0].vertices
    half = stats.t.ppf(0.975, model.df_resid_) * std["Matern(x)"]
    assert abs(band[:, 1].max() - (values["Matern(x)"] + half).max()) < 1e-12
    assert [t.get_text() for t in axes[1].get_xticklabels()] == ["clay", "peat"]


def test_axes_that_are_given_are_used(model):
    _, grid = plt.subplots(1, 3)
    assert plot_components(model, X, ["Matern(x)"], grid[0]) == [grid[0]]
    assert plot_partial(model, X, "x", grid[1]) is grid[1]
    assert plot_leave_one_out(model, Z, grid[2]) is grid[2]
    assert plot_map(model, X, ["x", "y"], grid[:2]) == list(grid[:2])
    assert plot_residuals(model, X, grid[1:]) == list(grid[1:])


def test_a_partial_effect_holds_the_other_columns(model):
    ax = plot_partial(model, X, "x", noise=True)
    at = X["x"].min()
    y = np.quantile(X["y"], 0.5, method="nearest")
    soil = X["soil"].mode()[0]
    row = pd.DataFrame({"x": [at], "y": [y], "soil": [soil]})
    f, low, _ = model.predict(row, interval=0.95, noise=True)
    assert abs(ax.lines[0].get_ydata()[0] - f[0]) < 1e-12
    assert abs(ax.collections[0].get_paths()[0].vertices[:, 1].min() - low[0]) < 10.0


def test_a_map_shows_f_and_its_standard_deviation(model):
    left, right = plot_map(model, X, ["x", "y"], points=7)
    f = left.collections[0].get_array()
    assert f.size == right.collections[0].get_array().size == 49
    assert (left.get_xlabel(), left.get_ylabel()) == ("x", "y")


def test_a_map_of_places_shows_f_there(model):
    """Scattered places are dots; those of a grid cells, whatever their order, gaps left empty."""
    f, std = model.predict(X, return_std=True)
    for ax, values in zip(plot_map(model, X, ["x", "y"], places=X), (f, std), strict=True):
        np.testing.assert_array_equal(ax.collections[0].get_array(), values)
        np.testing.assert_array_equal(ax.collections[0].get_offsets(), X[["x", "y"]])
    grid = pd.DataFrame({"x": [0.3, 0.1, 0.1], "y": [0.2, 0.9, 0.2], "soil": ["peat"] * 3})
    for table in (grid, pl.from_pandas(grid)):
        left, _ = plot_map(model, X, ["x", "y"], places=table)
        cells = np.ma.masked_array(left.collections[0].get_array()).reshape(2, 2)
        f = model.predict(grid)
        assert cells.mask.tolist() == [[False, False], [False, True]]
        np.testing.assert_array_equal(cells.compressed(), f[[2, 0, 1]])
    with pytest.raises(ValueError, match="columns x, y: pass a frame with the columns of the fit"):
        plot_map(model, X, ["x", "y"], places=grid[["x", "y"]])


def test_a_likelihood_over_a_width(model):
    name = "left__left__width"
    ax = plot_likelihood(model, name, [0.1, 0.3, 0.9])
    line, mark = ax.lines
    assert abs(line.get_ydata()[1] - mark.get_ydata()[0]) < 1e-9
    for value, shown in zip(line.get_xdata(), line.get_ydata(), strict=True):
        other = GRLSRegressor(KERNEL.tuned({name: value}), model.features, reg=model.reg)
        head = dict(other.fit(X, Z.to_numpy()).summary().facts)
        assert head["Log-likelihood (REML)"] == f"{shown:.4f}"
    assert plot_likelihood(model, "reg", [1e-3], "loo", ax) is ax


@pytest.mark.parametrize(
    ("message", "draw"),
    [
        ("'z' is no component", lambda m: plot_components(m, X, ["z"])),
        ("depends on 0 columns", lambda m: plot_components(m, X, ["Intercept"])),
        ("axes: 2 are needed", lambda m: plot_map(m, X, ["x", "y"], plt.gca())),
        ("column='z' is no column", lambda m: plot_partial(m, X, "z")),
        ("parameter='width' is not one of", lambda m: plot_likelihood(m, "width")),
        ("criterion='aic' must be", lambda m: plot_likelihood(m, "reg", criterion="aic")),
        ("pass the sample", lambda m: plot_residuals(m, X[:5])),
        ("pass the y of the fit", lambda m: plot_leave_one_out(m, Z[:5])),
    ],
)
def test_refusals(model, message, draw):
    with pytest.raises(ValueError, match=message):
        draw(model)

"""Tables of pandas and polars: names end to end, and text in columns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from kernelbook import (
    Categorical,
    Gaussian,
    GRLSRegressor,
    IncrementalSVMClassifier,
    Matern,
    Polynomials,
    SVMGBClassifier,
)

M = 40
RNG = np.random.default_rng(0)
SOIL = RNG.choice(["clay", "peat", "sand"], M)
X0, DIST = RNG.uniform(size=(2, M))
FRAME = pd.DataFrame({"x": X0, "soil": SOIL, "dist": DIST})
Y = np.sin(5 * X0) + np.sqrt(DIST) + (SOIL == "peat") + 0.1 * RNG.standard_normal(M)
KERNEL = Matern(0.3, columns="x") + 0.5 * Categorical("soil")


def as_polars(frame):
    return pl.DataFrame({name: frame[name].to_list() for name in frame.columns})


@pytest.mark.parametrize(
    "convert", [lambda t: t, as_polars, lambda t: t.astype({"soil": "category"})]
)
def test_text_is_a_level_for_formulas_and_for_categorical_kernels(convert):
    model = GRLSRegressor(KERNEL, "1 + soil + sqrt(dist)", reg=1e-3).fit(convert(FRAME), Y)
    assert model.coef_names_ == ["Intercept", "soil[T.peat]", "soil[T.sand]", "sqrt(dist)"]
    codes = FRAME.assign(soil=np.searchsorted(["clay", "peat", "sand"], SOIL))
    twin = GRLSRegressor(KERNEL, "1 + C(soil) + sqrt(dist)", reg=1e-3).fit(codes, Y)
    new, new_codes = convert(FRAME[5:9]), codes[5:9]
    np.testing.assert_allclose(model.predict(new), twin.predict(new_codes), atol=1e-10)
    parts = model.predict_components(new)
    assert list(parts) == ["Intercept", "soil", "sqrt(dist)", "Matern(x)", "Categorical(soil)"]
    np.testing.assert_allclose(
        model.predict_gradient(new, ["dist"]), twin.predict_gradient(new_codes, ["dist"]), atol=1e-9
    )
    assert "soil[T.peat]" in str(model.summary())


def test_a_level_that_the_sample_does_not_have():
    free = GRLSRegressor(Matern(0.3, columns="x"), "1 + soil").fit(FRAME, Y)
    new = FRAME[:2].assign(soil=["loess", "clay"])
    with pytest.raises(ValueError, match=r"column 'soil' has the level 'loess'"):
        free.predict(new)
    kernel = GRLSRegressor(KERNEL, "constant").fit(FRAME, Y)
    parts = kernel.predict_components(new)
    assert parts["Categorical(soil)"][0] == 0.0
    assert parts["Categorical(soil)"][1] != 0.0


def test_names_go_through_pipelines_and_column_transformers():
    features = make_column_transformer(
        (make_pipeline(StandardScaler(), Polynomials(1)), ["dist"]),
        (OneHotEncoder(drop="first"), ["soil"]),
    )
    model = GRLSRegressor(Gaussian(0.3, columns="x"), features).fit(FRAME, Y)
    assert model.coef_names_[-2:] == ["onehotencoder__soil_peat", "onehotencoder__soil_sand"]
    assert GRLSRegressor(Gaussian(), Polynomials(1)).fit(FRAME[["x"]], Y).coef_names_ == [
        "Intercept",
        "x",
    ]


def test_names_go_through_a_pipeline_around_the_learner():
    """scikit-learn's transformers lose the names, unless they are asked to keep them."""
    table = FRAME[["x", "dist"]]
    model = GRLSRegressor(Gaussian(0.5, columns="x"), "1 + dist")
    keep = StandardScaler().set_output(transform="pandas")
    line = make_pipeline(keep, model).fit(table, Y)
    assert line[-1].coef_names_ == ["Intercept", "dist"]
    assert list(line[-1].predict_components(line[0].transform(table))) == [
        *("Intercept", "dist", "Gaussian(x)")
    ]
    assert "dist" in str(line[-1].summary())
    scaled = pd.DataFrame(StandardScaler().fit_transform(table), columns=table.columns)
    np.testing.assert_array_equal(line.predict(table[:4]), model.fit(scaled, Y).predict(scaled[:4]))
    both = make_column_transformer(
        *((StandardScaler(), ["x"]), (OneHotEncoder(drop="first", sparse_output=False), ["soil"])),
        **{"remainder": "passthrough", "verbose_feature_names_out": False},
    ).set_output(transform="pandas")
    whole = make_pipeline(both, GRLSRegressor(Gaussian(1.0, columns="x"), "1 + dist + soil_peat"))
    assert whole.fit(FRAME, Y)[-1].coef_names_ == ["Intercept", "dist", "soil_peat"]
    assert whole.predict(FRAME).shape == (M,)


@pytest.mark.parametrize(
    "model",
    [GRLSRegressor(Gaussian(0.5, columns="x")), GRLSRegressor(Gaussian(), "1 + dist")],
    ids=["kernel", "features"],
)
def test_names_lost_in_a_pipeline_are_found_again(model):
    with pytest.raises(ValueError, match=r"names.*set_output\(transform='pandas'\)"):
        make_pipeline(StandardScaler(), model).fit(FRAME[["x", "dist"]], Y)


def test_a_map_without_a_constant_is_said():
    features = make_column_transformer((OneHotEncoder(drop="first"), ["soil"]))
    model = GRLSRegressor(Gaussian(0.3, columns="x"), features).fit(FRAME, Y)
    assert "no free level" in model.summary().notes[0]
    whole = make_column_transformer((OneHotEncoder(), ["soil"]))
    assert GRLSRegressor(Gaussian(0.3, columns="x"), whole).fit(FRAME, Y).summary().notes == []


REFUSALS = {
    r"column 'soil' of X holds text, such as 'clay', and Gaussian\(width=1.0\) needs numbers": (
        lambda: GRLSRegressor(Gaussian(), "1 + soil").fit(FRAME, Y)
    ),
    r"Gaussian\(columns=\['x', 'dist'\]\)": lambda: SVMGBClassifier(
        Gaussian() + Categorical("soil")
    ).fit(FRAME, Y > 0.5),
    "these columns of X hold text: soil": lambda: GRLSRegressor(KERNEL, Polynomials(1)).fit(
        FRAME, Y
    ),
    "column 'soil' of X holds text, and nan in row 3|None in row 3": lambda: GRLSRegressor(
        KERNEL
    ).fit(FRAME.assign(soil=[None if k == 3 else s for k, s in enumerate(SOIL)]), Y),
    "IncrementalSVMClassifier needs numbers here": lambda: IncrementalSVMClassifier().fit(
        FRAME, Y > 0.5
    ),
}


@pytest.mark.parametrize("message", REFUSALS)
def test_refusals_name_the_column_and_the_remedy(message):
    with pytest.raises(ValueError, match=message):
        REFUSALS[message]()

"""Features written as a formula on the columns of a table."""

import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from kernelbook import Categorical, Formula, Gaussian, GRLSRegressor, SVMGBClassifier
from kernelbook.features import Constant, as_features

RNG = np.random.default_rng(0)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "dist": rng.uniform(0, 4, 40),
            "t": np.linspace(0, 1, 40),
            "soil": rng.choice(["clay", "peat", "sand"], 40),
            "block": rng.integers(1, 4, 40),
        }
    )


def test_columns_are_what_the_formula_says(table):
    P = Formula("1 + sqrt(dist) + C(soil)").fit_transform(table)
    expected = np.column_stack(
        [np.ones(40), np.sqrt(table.dist), table.soil == "peat", table.soil == "sand"]
    )
    np.testing.assert_array_equal(P, expected)


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("t", ["Intercept", "t"]),
        ("t - 1", ["t"]),
        ("0 + C(soil)", ["C(soil)[clay]", "C(soil)[peat]", "C(soil)[sand]"]),
        ("soil:t - 1", ["soil[clay]:t", "soil[peat]:t", "soil[sand]:t"]),
        ("1 + C(block)", ["Intercept", "C(block)[T.2]", "C(block)[T.3]"]),
        ("poly(t, 2)", ["Intercept", "poly(t, 2)[1]", "poly(t, 2)[2]"]),
        ("bs(t, df=4)", ["Intercept", *(f"bs(t, df=4)[{k}]" for k in range(1, 5))]),
    ],
)
def test_names(table, formula, names):
    features = Formula(formula).fit(table)
    assert features.get_feature_names_out().tolist() == names
    assert features.transform(table).shape == (40, len(names))


def test_what_is_learned_in_fit_is_kept(table):
    features = Formula("bs(t, df=5) + scale(dist) + C(soil)").fit(table)
    P = features.transform(table)
    for rows in (slice(0, 1), slice(7, 19)):
        np.testing.assert_allclose(features.transform(table.iloc[rows]), P[rows], atol=1e-14)
    again = pickle.loads(pickle.dumps(features))
    np.testing.assert_array_equal(again.transform(table), P)


def test_polars_gives_the_same_matrix(table):
    pandas = Formula("sqrt(dist) + C(soil) + t:soil").fit(table)
    polars = Formula("sqrt(dist) + C(soil) + t:soil").fit(pl.from_pandas(table))
    assert polars.get_feature_names_out().tolist() == pandas.get_feature_names_out().tolist()
    part = table.iloc[3:9]
    np.testing.assert_array_equal(polars.transform(pl.from_pandas(part)), pandas.transform(part))


@pytest.mark.parametrize("soil", ["str", "category"])
def test_fitted_to_one_kind_of_table_and_asked_with_the_other(table, soil):
    formula, part = "sqrt(dist) + C(soil) + C(block) + t:soil", table.iloc[3:9]
    table = table.astype({"soil": soil})
    pandas, polars = Formula(formula).fit(table), Formula(formula).fit(pl.from_pandas(table))
    new = pl.from_pandas(part)
    np.testing.assert_array_equal(pandas.transform(new), pandas.transform(part))
    np.testing.assert_array_equal(polars.transform(part), polars.transform(new))
    model = GRLSRegressor(Gaussian(1.0, columns="t"), formula).fit(table, table.t)
    f = model.predict(part)
    np.testing.assert_array_equal(model.predict(new), f)


def test_numbers_that_are_called_objects_are_numbers(table):
    """formulaic would make a level of each: 40 columns for 40 samples."""
    rows = pd.DataFrame([row.tolist() for _, row in table.iterrows()], columns=table.columns)
    plain = Formula("1 + sqrt(dist) + t + C(soil)").fit(table)
    for frame in (rows, table.astype(object), table.assign(t=[Decimal(v) for v in table.t])):
        features = Formula("1 + sqrt(dist) + t + C(soil)").fit(frame)
        assert features.get_feature_names_out().tolist() == plain.get_feature_names_out().tolist()
        np.testing.assert_allclose(features.transform(frame[:5]), plain.transform(table[:5]))


def test_columns_of_a_frame_by_number(table):
    """As in an array, unless the frame has such names itself."""
    by_name = Formula("1 + sqrt(dist) + C(soil)").fit_transform(table)
    for frame in (table, pl.from_pandas(table), table.set_axis(range(4), axis=1)):
        features = Formula("1 + sqrt(x0) + C(x2)").fit(frame)
        np.testing.assert_array_equal(features.transform(frame), by_name)
        names = ["Intercept", "sqrt(x0)", "C(x2)[T.peat]", "C(x2)[T.sand]"]
        assert features.get_feature_names_out().tolist() == names
    named = table.rename(columns={"t": "x0"})
    np.testing.assert_array_equal(Formula("x0 - 1").fit_transform(named)[:, 0], table.t)
    with pytest.raises(ValueError, match="columns are dist, x0, soil, block"):
        Formula("1 + x1").fit(named)
    with pytest.raises(ValueError, match="`x4` is not present"):
        Formula("1 + x4").fit(table)


def test_the_formula_that_a_hint_suggests_works(table):
    """features=[0, 3] is refused with the formula to write, for arrays and frames alike."""
    for X in (table[["dist", "t", "block"]], table[["dist", "t", "block"]].to_numpy()):
        with pytest.raises(TypeError, match="features=") as error:
            GRLSRegressor(Gaussian(1.0), features=[0, 2]).fit(X, table.t)
        formula = str(error.value).split("features='")[1].removesuffix("'.")
        f = GRLSRegressor(Gaussian(1.0), features=formula).fit(X, table.t)
        assert f.coef_.shape == (3,)


def test_an_array_has_columns_x0_x1():
    X = np.random.default_rng(1).normal(size=(20, 2))
    np.testing.assert_array_equal(
        Formula("1 + x0 + I(x1**2)").fit_transform(X),
        np.column_stack([np.ones(20), X[:, 0], X[:, 1] ** 2]),
    )


def test_functions_of_ones_own(table):
    features = Formula("hat(t) - 1", functions={"hat": lambda t: abs(0.5 - t)})
    np.testing.assert_array_equal(features.fit_transform(table)[:, 0], abs(0.5 - table.t))
    assert clone(features).functions == features.functions


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (
            "1 + distance",
            "'1 \\+ distance' cannot be evaluated: .*distance.*columns are dist, t",
        ),
        ("1 +* t", "cannot be evaluated"),
        ("y ~ t", "left-hand side: write 't'"),
        ("1 + (t | soil)", "Categorical\\(columns"),
        ("  ", "formula='  ' must be text"),
        ("t - t - 1", "has no term"),
        ("1 + s(t)", r"smooth of mgcv, s\(x\), is a kernel here, kernel=Matern\(columns='x'\)"),
        (".", r"'\.' does not stand for all columns here: name them\.  The columns are dist, t"),
        ("1 + log(t - 0.5)", r"`log\(t - 0.5\)` contains null values"),
    ],
)
def test_errors_say_what_there_is(table, formula, said):
    with pytest.raises(ValueError, match=said):
        Formula(formula).fit(table)


def test_functions_must_be_functions(table):
    with pytest.raises(TypeError, match="functions=3 must be None or a dict"):
        Formula("t", functions=3).fit(table)


def test_an_unseen_level_is_named(table):
    features = Formula("t + C(soil)").fit(table)
    new = table.assign(soil="loess")
    with pytest.raises(ValueError, match=r"column 'soil' has the level 'loess'.*'clay', 'peat'"):
        features.transform(new)


def test_a_missing_column_is_named(table):
    features = Formula("t + C(soil)").fit(table)
    with pytest.raises(ValueError, match="soil"):
        features.transform(table.drop(columns="soil"))


def test_a_gap_in_a_column_is_refused(table):
    table.loc[3, "dist"] = np.nan
    with pytest.raises(ValueError, match="dist"):
        Formula("1 + dist").fit(table)
    features = Formula("1 + t").fit(table)
    table.loc[5, "t"] = np.nan
    model = GRLSRegressor(Gaussian(1.0, columns="block"), features=features)
    with pytest.raises(ValueError, match=r"NaN|nan"):
        model.fit(table[["t", "block"]], np.ones(40))


def test_text_is_a_formula_in_every_learner(table):
    y = 3 * table.t + np.sin(table.dist)
    X = table[["t", "dist"]]
    a = GRLSRegressor(Gaussian(1.0), features="1 + t", reg=1e-3).fit(X, y)
    P = np.column_stack([np.ones(40), table.t])
    b = GRLSRegressor(
        Gaussian(1.0), features=lambda X: np.column_stack([np.ones(len(X)), X[["t"]]])
    )
    b.set_params(reg=1e-3).fit(X, y)
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-9)
    assert a.features_.get_feature_names_out().tolist() == ["Intercept", "t"]
    machine = SVMGBClassifier(Gaussian(1.0), features="1 + t").fit(X, y > np.median(y))
    assert machine.coef_.shape[-1] == P.shape[1]


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (["x0", "x1"], r"features='1 \+ x0 \+ x1'"),
        ([0, 2], r"features='1 \+ x0 \+ x2'"),
        (1, "features='constant'"),
        ([], "features=None"),
    ],
)
def test_habits_from_elsewhere_get_a_hint(features, said):
    with pytest.raises(TypeError, match=said):
        as_features(features)


def test_constant_is_still_the_constant():
    assert isinstance(as_features("constant"), Constant)


def test_an_array_after_a_frame_gives_one_warning(table):
    X = table[["t", "dist"]]
    model = GRLSRegressor(Gaussian(1.0), features="1 + t").fit(X, table.dist)
    with pytest.warns(UserWarning, match="does not have valid feature names") as caught:
        values = model.predict(X.to_numpy())
    assert len(caught) == 1
    np.testing.assert_array_equal(values, model.predict(X))


@pytest.mark.parametrize(
    "term",
    ["exp(a - a.mean())", "a.rank()", "np.cumsum(a)", "a.shift(fill_value=0)", "sqrt(a - a.min())"],
)
def test_a_term_that_depends_on_the_other_rows_is_refused(term):
    table = pd.DataFrame({"a": RNG.normal(size=30)})
    with pytest.raises(ValueError, match=r"depends on the other rows .* center\(x\), scale\(x\)"):
        Formula(f"1 + {term}").fit(table)


@pytest.mark.parametrize("term", ["center(a)", "scale(a)", "poly(a, 2)", "bs(a, df=5)", "exp(a)"])
def test_what_remembers_the_sample_is_the_same_function_at_any_rows(term):
    table = pd.DataFrame({"a": RNG.normal(size=30)})
    features = Formula(f"1 + {term}").fit(table)
    whole = features.transform(table)
    np.testing.assert_allclose(features.transform(table.iloc[3:5]), whole[3:5], rtol=1e-12)


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA])
def test_text_that_is_missing_is_refused_after_the_fit(nothing):
    table = pd.DataFrame({"a": RNG.normal(size=30), "s": list("xyz") * 10})
    y = RNG.normal(size=30)
    holes = table.head(2).assign(s=pd.Series(["x", nothing], dtype=object))
    kernel = Gaussian(columns="a") + Categorical(columns="s")
    for model in (GRLSRegressor(kernel), GRLSRegressor(Gaussian(columns="a"), "1 + C(s)")):
        with pytest.raises(ValueError, match=r"column .s. of X has .* in row 1"):
            model.fit(table, y).predict(holes)

"""Messages of learners and kernels: each names what was given, where it is wrong, what to pass."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator

import kernelbook
from kernelbook import Categorical, Gaussian, GRLSRegressor, Kernel, Matern, SVMGBClassifier
from kernelbook.kernels import Product, Scaled, Sum

PUBLIC = [
    value
    for value in (getattr(kernelbook, name) for name in kernelbook.__all__)
    if isinstance(value, type) and issubclass(value, Kernel | BaseEstimator) and value is not Kernel
]
LEARNERS = [c for c in PUBLIC if hasattr(c, "predict")]
PRIVATE = re.compile(r"\b(GRLS|EffectsAndSlopes|StreamingLearner|FreeFeatureEstimator|_\w+)\b\.")

M = 40
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {"x": RNG.uniform(size=M), "soil": ["clay", "peat"] * (M // 2), "dist": RNG.uniform(size=M)}
)
Y = np.sin(5 * FRAME["x"]).to_numpy() + np.sqrt(FRAME["dist"]).to_numpy()
KERNEL = Matern(0.3, columns="x") + 0.5 * Categorical("soil")


def as_polars(frame):
    return pl.DataFrame({name: frame[name].to_list() for name in frame.columns})


@pytest.fixture(scope="module", params=[lambda t: t, as_polars], ids=["pandas", "polars"])
def table(request):
    """How to make a table, and a learner that was fitted to one."""
    convert = request.param
    return convert, GRLSRegressor(KERNEL, "1 + soil + sqrt(dist)").fit(convert(FRAME), Y)


@pytest.mark.parametrize(
    "kind", [*LEARNERS, *(c for c in PUBLIC if issubclass(c, Kernel)), Sum, Product, Scaled]
)
def test_a_parameter_that_there_is_not(kind):
    """The class that was called is named, not one of its parents, and so are its parameters."""
    with pytest.raises(
        TypeError, match=rf"^{kind.__name__}\(\) got an .*'colour'; .*ts param"
    ) as e:
        kind(colour=1)
    assert not PRIVATE.search(str(e.value))
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\(\) takes \d+ arguments at most") as e:
        kind(*range(30))
    assert not PRIVATE.search(str(e.value))


def test_a_slip_of_the_pen():
    with pytest.raises(TypeError, match=r"GRLSRegressor.*'feature'; did you mean 'features'\?"):
        GRLSRegressor(feature="1 + x")
    with pytest.raises(TypeError, match=r"Matern.*'widht'; did you mean 'width'\?"):
        Matern(widht=2.0)


def test_parameters_of_ones_own_are_left_alone():
    class Named(GRLSRegressor):
        def __init__(self, label="a", **others):
            super().__init__(**others)
            self.label = label

    assert Named(label="b", reg=0.1).reg == 0.1

    class Cosine(Kernel):
        pass

    for wrong in (lambda: Cosine(3), lambda: Cosine(width=3)):
        with pytest.raises(TypeError, match=r"Cosine\(\) .*; it has no parameters"):
            wrong()


def test_columns_are_compared_before_anything_is_read(table):
    convert, model = table
    order = r"\[\['x', 'soil', 'dist'\]\]"
    for columns, said in (
        (["x", "soil"], r"now missing:\n- dist\n+.*frame of 40 rows with the columns x, soil: "),
        (["soil", "x", "dist"], "must be in the same order"),
    ):
        with pytest.raises(
            ValueError, match=f"(?s:{said}.*pass a frame .*in their order, X{order})"
        ):
            model.predict(convert(FRAME[columns]))
    with pytest.raises(ValueError, match=f"unseen at fit time:\n- z\n(?s:.*)X{order}"):
        model.predict(convert(FRAME.assign(z=1.0)))


def test_an_array_after_a_table_with_text(table):
    _, model = table
    for X in (FRAME.to_numpy(), FRAME[["x", "dist", "dist"]].to_numpy()):
        with pytest.raises(ValueError, match=r"column 'soil' holds text.*columns x, soil, dist"):
            model.predict(X)


@pytest.mark.parametrize(
    "ask",
    [
        lambda f, A: f.predict(A),
        lambda f, A: f.predict(A, return_std=True),
        lambda f, A: f.predict(A, return_cov=True),
        lambda f, A: f.predict(A, interval=0.9, noise=True),
        lambda f, A: f.sample_y(A),
        lambda f, A: f.predict_components(A, return_std=True),
        lambda f, A: f.predict_gradient(A, return_std=True),
        lambda f, A: f.marginal_effects(A),
    ],
)
def test_an_array_after_a_frame_gives_one_warning(ask):
    X = FRAME[["x", "dist"]]
    model = GRLSRegressor(Gaussian(0.5), "1 + dist").fit(X, Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ask(model, X.to_numpy())
    assert [str(w.message).partition(",")[0] for w in caught] == [
        "X does not have valid feature names"
    ]


@pytest.mark.parametrize(
    "X", [FRAME.to_numpy(), FRAME.to_numpy().astype(str), FRAME.to_numpy().tolist()]
)
@pytest.mark.parametrize("learner", [GRLSRegressor, SVMGBClassifier])
def test_text_in_an_array_is_found(X, learner):
    y = Y if learner is GRLSRegressor else Y > 1
    with pytest.raises(
        ValueError, match=r"column 1, counted from 0, of X holds text, such as 'clay'.*OneHotEncod"
    ) as e:
        learner().fit(X, y)
    assert "np.str_" not in str(e.value).split("\n")[1]


def test_text_as_target():
    with pytest.raises(ValueError, match=r"\n\(y holds text, such as 'clay': labels are for class"):
        GRLSRegressor(KERNEL).fit(FRAME, FRAME["soil"])


def test_what_is_missing_is_found(table):
    convert, model = table
    gap = FRAME.assign(dist=FRAME["dist"].where(FRAME.index != 7))
    where = r"^Input X contains NaN.\n\(column 'dist' of X has no finite number in row 7: drop"
    with pytest.raises(ValueError, match=where):
        model.predict(convert(gap))
    with pytest.raises(ValueError, match=where):
        GRLSRegressor(KERNEL).fit(convert(gap), Y)
    two = np.where(np.isin(np.arange(M), [4, 9]), np.inf, Y)
    with pytest.raises(ValueError, match=r"y has no finite number in 2 rows, first row 4"):
        GRLSRegressor(KERNEL).fit(convert(FRAME), two)
    with pytest.raises(ValueError, match=r"column 1, counted from 0, of X .* first row 0"):
        GRLSRegressor().fit(np.where([[False, True]], np.nan, FRAME[["x", "dist"]]), Y)


def test_the_name_of_a_column_is_not_the_column(table):
    convert, _ = table
    with pytest.raises(TypeError, match=r"y='dist' is a name: pass .*table\['dist'\], and X with"):
        GRLSRegressor(KERNEL).fit(convert(FRAME), "dist")
    model = GRLSRegressor(Matern(0.3, columns="x")).fit(convert(FRAME), Y[:, None])
    with pytest.raises(ValueError, match=r"a table with 1 column: pass it as a vector, y\.squee"):
        model.summary()


def test_dates_are_found():
    """pandas refuses them beside numbers, polars does not."""
    days = pd.date_range("2020-01-01", periods=M)
    learner, said = GRLSRegressor(KERNEL), r"dates or durations \(\['day'\]\)"
    with (
        pytest.warns(UserWarning, match=said),
        pytest.raises(TypeError, match="'day' of X holds d"),
    ):
        learner.fit(FRAME.assign(day=days), Y)
    polars = as_polars(FRAME).with_columns(day=pl.Series(days.to_pydatetime().tolist()))
    with pytest.warns(UserWarning, match=said):
        learner.fit(polars, Y)


def test_a_series_is_no_table():
    with pytest.raises(ValueError, match="2-dimensional container"):
        GRLSRegressor().fit(FRAME["x"], Y)


def test_text_has_no_derivative(table):
    convert, model = table
    for ask in (model.predict_gradient, model.marginal_effects):
        with pytest.raises(ValueError, match=r"'soil' has levels.*columns=\['x', 'dist'\]"):
            ask(convert(FRAME))
        ask(convert(FRAME), columns=["x", "dist"])


def test_features_of_which_the_sample_says_nothing(table):
    convert, _ = table
    wide = convert(FRAME.assign(none=0.0, twice=2 * FRAME["dist"]))
    said = "on these 40 samples.* zero in every row: none; .*of each other: dist, twice"
    for learner, y in ((GRLSRegressor, Y), (SVMGBClassifier, Y > 1)):
        with pytest.warns(UserWarning, match=said) as caught:
            learner(Matern(0.3, columns="x"), "1 + none + dist + twice").fit(wide, y)
        assert [w.filename for w in caught] == [__file__]
    X = FRAME[["dist"]].to_numpy()  # a matrix may be redundant on purpose: no warning
    GRLSRegressor(Gaussian(0.3), lambda A: np.column_stack([np.ones(len(A)), A, A])).fit(X, Y)


@pytest.mark.parametrize("learner", LEARNERS)
def test_no_message_names_a_private_class(learner):
    """What every learner says of arguments that it refuses."""
    y = Y > 1
    tries = [
        lambda: learner(colour=1),
        lambda: learner(gamma=1),
        lambda: learner().set_params(colour=1),
        lambda: learner().predict(FRAME[["x"]]),
        lambda: learner().fit(FRAME.to_numpy(), y),
        lambda: learner().fit(FRAME["x"], y),
        lambda: learner().fit(FRAME[["x", "dist"]], y[:3]),
        lambda: learner(features=["dist"]).fit(FRAME[["x", "dist"]], y),
        lambda: learner(features=1).fit(FRAME[["x", "dist"]], y),
        lambda: learner(features="1 + nowhere").fit(FRAME[["x", "dist"]], y),
        lambda: learner().fit(FRAME[["x", "dist"]], y).predict(FRAME[["dist", "x"]]),
        lambda: learner().fit(FRAME[["x", "dist"]], y).predict(FRAME[["x"]]),
    ]
    for attempt in tries:
        with pytest.raises((TypeError, ValueError)) as e:
            attempt()
        assert not PRIVATE.search(str(e.value)), str(e.value)

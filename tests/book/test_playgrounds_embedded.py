"""Playgrounds inside their chapters: each follows the hand, and guided tasks show what they say.

Those of chapter 1, `svmgb` and `incremental` are played here, the others on the galleries' pages
(`test_playgrounds_solving_browser`, `test_playgrounds_browser`).
"""

import numpy as np
import pytest

from kernelbook import (
    Gaussian,
    GaussianBasis,
    GRLSRegressor,
    Polynomials,
    PrimalSVMClassifier,
    SVMGBClassifier,
)
from tests.book.playground import Playground, close, new_page


@pytest.fixture(scope="module")
def page(browser):
    return new_page(browser)


@pytest.mark.parametrize(
    ("chapter", "line", "dx", "dy"),
    [
        ("free/invariance", "line-free", 60, 0),
        ("free/grls", "line-wrong", 0, -60),
        ("foundations/representer", "line-ridge", -40, 60),
        ("computing/smo", "line-border", 40, 40),
        ("computing/choosing", "line-border", 40, 60),
        ("computing/likelihood", "line-free", 0, -60),
    ],
)
def test_a_playground_follows_the_hand_inside_its_chapter(page, chapter, line, dx, dy):
    ground = Playground(page, chapter)
    if chapter == "computing/smo":
        ground.click("all")  # at β = 0 there is no border yet
    before, points = ground.line(line), ground.points()
    ground.drag(0, dx, dy)
    assert (np.abs(ground.points() - points).max(axis=1) > 0).tolist()[0]
    if chapter == "free/invariance":  # its task: anchors move, the curve does not
        close(ground.number("moved"), 0, scale=1e-3)
    else:
        assert ground.line(line) != before
    assert ground.trouble == []


def test_without_free_features_a_narrow_kernel_falls_to_zero(page):
    """The guided task of chapter 1, with what to see."""
    ground = Playground(page, "foundations/regularized_approximation")
    assert ground.root.locator("input[name=printed]").is_hidden()  # of chapter 10: `:without:`
    start = ground.line("line-free"), ground.line("line-ridge")
    slider = ground.root.locator("input[name=width]")
    first = slider.input_value()
    width = 10 ** ground.slide("width", slider.get_attribute("min"))
    data = ground.points()
    X, y, reg = data[:, :1], data[:, 1], 1e-2
    order = np.sort(X[:, 0])
    k = np.argmax(np.diff(order))
    gap = round((order[k] + order[k + 1]) / 2, 2)  # the middle of the widest gap
    ground.root.locator("input[name=at]").fill(str(gap))
    ground.settle()
    model = GRLSRegressor(Gaussian(width), Polynomials(2), reg=reg).fit(X, y)
    ridge = GRLSRegressor(Gaussian(width), None, reg=reg).fit(X, y)
    close(ground.number("at"), model.predict([[gap]])[0])
    close(ground.number("atRidge"), ridge.predict([[gap]])[0])
    near = np.abs(y[np.argsort(X[:, 0])[k : k + 2]]).min()
    assert abs(ground.number("atRidge")) < 0.05 * near  # zero is what the penalty prefers
    parabola = model.predict([[gap]])[0] - Gaussian(width)([[gap]], X)[0] @ model.dual_coef_
    assert abs(ground.number("at") - parabola) < 0.05 * near  # and here it is a parabola,
    assert abs(parabola - abs(5 - gap)) < abs(0 - abs(5 - gap))  # which is a better guess
    assert ground.number("loo") < ground.number("looRidge")
    ground.slide("width", first)
    assert (ground.line("line-free"), ground.line("line-ridge")) == start
    assert ground.trouble == []


def test_a_free_line_leaves_the_islands_to_the_kernel(page):
    """The guided task of chapter `svmgb`."""
    ground = Playground(page, "free/svmgb")
    X, y = ground.points(), ground.classes()
    width, C = 10 ** float(ground.root.locator("input[name=width]").input_value()), 10.0
    islands = y * (X[:, 1] - 0.4 * X[:, 0]) > 0
    assert 0 < islands.sum() < len(y) / 3

    def look(features):
        model = SVMGBClassifier(Gaussian(width), features, C=C).fit(X, y)
        close(ground.number("primal"), model.certificate_.primal)
        assert ground.number("gap") <= 1e-8 * ground.number("primal")  # the size of rounding
        # How much of the kernel part's picture is at the islands, by the strength of its tint.
        strength = (
            ground.root.locator(".pg-pair canvas")
            .nth(1)
            .evaluate(
                """c => {
              const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
              const rows = Array.from({ length: c.height }, (_, r) =>
                Array.from({ length: c.width }, (_, j) => data[4 * (r * c.width + j) + 3]));
              return rows.reverse();
            }"""
            )
        )
        strength = np.array(strength, dtype=float)
        ys, xs = (np.linspace(-e, e, n) for e, n in zip((1.5, 2), strength.shape, strict=True))
        places = np.stack(np.meshgrid(xs, ys), axis=-1)[:, :, None]
        near = (np.linalg.norm(places - X[islands], axis=-1).min(axis=-1) < width).astype(float)
        return ground.number("seminorm"), (strength * near).sum() / strength.sum()

    norm, share = look(Polynomials(1))
    start = ground.line("line-border")
    ground.choose("features", "bias")
    norm_bias, share_bias = look("constant")
    assert ground.line("line-border") != start
    assert norm < norm_bias
    assert share > 2 * share_bias
    ground.choose("features", "linear")
    assert ground.line("line-border") == start
    i = int(np.flatnonzero(islands)[0])
    ground.drag(i, 0, 150 if X[i, 1] > 0.4 * X[i, 0] else -150)
    X = ground.points()
    assert y[i] * (X[i, 1] - 0.4 * X[i, 0]) < 0  # on its own side now
    model = SVMGBClassifier(Gaussian(width), Polynomials(1), C=C).fit(X, y)
    close(ground.number("primal"), model.certificate_.primal)
    assert ground.number("gap") <= 1e-8 * ground.number("primal")
    assert ground.trouble == []


def test_narrow_functions_correct_the_samples_beside_them(page):
    """The guided task of chapter `incremental`."""
    ground = Playground(page, "primal/incremental")

    def add_six():
        objectives = [ground.number("objective")]
        for _ in range(6):
            ground.click("step")
            objectives.append(ground.number("objective"))
        assert (np.diff(objectives) <= 1e-9 * objectives[0]).all()  # the spans are nested
        samples, functions = ground.points(0), ground.points(1)
        X, y = samples[:, :1], samples[:, 1]
        basis = GaussianBasis(functions[:, :1], functions[:, 1])
        model = PrimalSVMClassifier(basis, "constant", C=10.0, tol=1e-9).fit(X, y)
        close(objectives[-1], model.certificate_.primal)
        return objectives[-1], ground.text("errors"), functions[2:]

    def reach(functions):
        """How many samples a function gives a tenth of its height or more, on average."""
        far = np.abs(ground.points(0)[:, :1] - functions[:, 0]) / functions[:, 1]
        return (np.exp(-(far**2)) > 0.1).sum(axis=0).mean()

    wide, errors_wide, placed_wide = add_six()
    ground.click("reset")
    ground.slide("width", np.log10(0.3))
    narrow, errors_narrow, placed_narrow = add_six()
    assert narrow < wide
    assert (errors_narrow, errors_wide) == ("2", "3")
    assert reach(placed_narrow) < 2 < 4 < reach(placed_wide)
    assert ground.trouble == []


def test_a_link_keeps_the_state_inside_a_chapter(page):
    ground = Playground(page, "free/svmgb")
    ground.drag(2, 50, 30)
    ground.slide("C", 0.5)
    shown = ground.points(), ground.text("primal")
    ground.click("link")
    address = page.url
    assert "free/svmgb.html#playground=classification;" in address
    page.goto("about:blank")
    page.goto(address)
    ground.settle()
    np.testing.assert_allclose(ground.points(), shown[0], atol=1e-4)
    close(ground.number("primal"), float(shown[1]), scale=10)
    box = ground.root.bounding_box()
    assert -5 < box["y"] < 200  # and the page stands there
    assert ground.trouble == []

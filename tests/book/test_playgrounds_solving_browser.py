"""Losses, the path in C, likelihood and SMO in a real browser, beside `kernelbook`."""

import re

import numpy as np
import pytest

from kernelbook import Gaussian, GRLSRegressor, GRLSRegressorCV, Polynomials, SVMGBClassifier
from tests.book.playground import Playground, close, new_page


@pytest.fixture(scope="module")
def page(browser):
    return new_page(browser)


def line(ground, name):
    return ground.pad().locator(f".pg-lines .{name}").first.get_attribute("d")


def test_an_outlier_turns_one_border_of_two(page):
    """The guided task of chapter `representer`, with what it should lead to."""
    ground = Playground(page, "losses")
    box = ground.pad().locator(".pg-frame").bounding_box()

    def carry(share_x, share_y):
        x, y = ground.middle(0)
        ground.drag(
            0, box["x"] + share_x * box["width"] - x, box["y"] + share_y * box["height"] - y
        )

    def check_both():
        X, y = ground.points(), ground.classes()
        features, reg, kernel = Polynomials(1, scaled=False), 1.0, Gaussian(1.0)
        squared = GRLSRegressor(kernel, features, reg=reg).fit(X, y)
        hinge = SVMGBClassifier(kernel, features, C=1 / (2 * reg * len(y))).fit(X, y)
        close(ground.number("marginSquared"), y[0] * squared.predict(X[:1])[0])
        close(ground.number("marginHinge"), y[0] * hinge.decision_function(X[:1])[0])

    carry(0.02, 0.03)
    check_both()
    left = line(ground, "line-ridge"), line(ground, "line-free")
    carry(0.97, 0.03)
    check_both()
    right = line(ground, "line-ridge"), line(ground, "line-free")
    assert left[0] != right[0]
    assert left[1] == right[1]
    assert ground.text("cHinge") == "0"
    assert ground.number("cSquared") < 0  # it pulls back: too far on the right side
    carry(0.5, 0.95)
    check_both()
    assert line(ground, "line-free") != right[1]
    close(ground.number("cHinge"), 1 / (2 * len(ground.points())))  # no sample weighs more
    assert ground.number("cSquared") > ground.number("cHinge")
    ground.click("switch")
    assert ground.classes()[0] == -1
    assert ground.trouble == []


def test_the_path_is_scrubbed_from_breakpoint_to_breakpoint(page):
    """The guided task of chapter `choosing`: each breakpoint changes one sample."""
    ground = Playground(page, "path")
    X, y = ground.points(), ground.classes()
    ground.slide("C", -2)
    seen = []
    for _ in range(int(ground.text("breakpoints"))):
        ground.click("later")
        seen.append(ground.number("C"))
        words = ground.root.locator(".pg-note").inner_text()
        assert re.fullmatch(
            r"At C = \S+ sample \d+ (leaves|reaches|drops) [^,]+(, α = 0)?\.", words
        )
    ground.click("later")
    assert "No breakpoint at a larger C" in ground.root.locator(".pg-note").inner_text()
    assert seen == sorted(seen)
    ground.slide("C", 2.9)
    model = SVMGBClassifier(Gaussian(10**-0.3), Polynomials(1), C=10**2.9).fit(X, y)
    close(ground.number("seminorm"), np.sqrt(2 * model.certificate_.primal))
    assert ground.text("bound") == "0"
    norm = ground.text("seminorm")
    ground.slide("C", 2.5)
    assert ground.text("seminorm") == norm  # however large C is
    ground.click("earlier")
    close(ground.number("C"), seen[-1])
    assert ground.trouble == []


def test_the_likeliest_pair_shows_the_wave(page):
    """The guided task: at the minimum of the landscape the fit follows the samples."""
    ground = Playground(page, "likelihood")
    before, fit = ground.number("deviance"), line(ground, "line-free")
    ground.click("likeliest")
    assert ground.number("deviance") < before - 10
    close(ground.number("deviance"), ground.number("best"))
    assert line(ground, "line-free") != fit
    data = ground.points()
    width, reg = ground.number("width"), ground.number("reg")
    learner = GRLSRegressorCV(Gaussian(width), Polynomials(1), regs=[reg])
    learner.fit(data[:, :1], data[:, 1])
    np.testing.assert_allclose(
        ground.number("error"), np.mean(learner.loo_errors_**2), rtol=1e-4
    )  # the width is shown with six digits
    with_line = width
    ground.choose("degree", "-1")
    ground.click("likeliest")
    assert ground.number("width") > with_line  # the kernel must explain the line, too
    ground.drag(0, 30, 20, pad=1)
    assert ground.number("deviance") > ground.number("best")
    ground.click("least")
    close(ground.number("error"), ground.number("bestError"))
    for _ in range(30):
        ground.click("remove")
    assert "At least 6 samples must stay" in ground.bar().inner_text()
    assert ground.trouble == []


def test_smo_arrives_step_by_step(page):
    """The guided task of chapter `smo`, to the optimum that the library certifies."""
    ground = Playground(page, "smo")
    X, y = ground.points(), ground.classes()
    words = ground.root.locator(".pg-note")
    ends = []
    for k in range(10):
        assert ground.text("steps") == str(k)
        ends.append("end of the box" in words.inner_text())
        ground.click("step")
    assert 0 < sum(ends) < 5  # most end at the bottom of a parabola
    assert ground.number("excess") < ground.number("bound")
    while ground.number("violation") > 1e-3:
        ground.click("ten")
    assert ground.number("excess") < 1e-2 * ground.number("bound")
    first = int(ground.text("steps"))
    ground.root.locator("select[name=rule]").select_option("second")
    ground.click("zero")
    assert ground.text("steps") == "0"
    while ground.number("violation") > 1e-3:
        ground.click("ten")
    assert int(ground.text("steps")) < first
    ground.click("all")
    assert "β is optimal" in words.inner_text()
    model = SVMGBClassifier(Gaussian(10**-0.3), "constant", C=1.0).fit(X, y)
    close(ground.number("minimum"), -model.certificate_.dual)
    assert abs(ground.number("excess")) < 1e-8
    ground.choose("features", "linear")
    left = []
    for _ in range(4):
        ground.click("all")
        left.append(ground.number("residual"))
        ground.click("multipliers")
    assert left == sorted(left, reverse=True)
    assert left[-1] < 1e-2 * left[0]
    assert ground.trouble == []

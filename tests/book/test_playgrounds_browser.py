"""The playgrounds in a real browser, each with its own gestures.

After every gesture the numbers on the page are compared with what `kernelbook` computes from the
points that the page shows.  What all playgrounds have in common is in `test_playgrounds_anywhere`.
"""

import numpy as np
import pytest

from kernelbook import (
    ConditionalKernel,
    Gaussian,
    GaussianBasis,
    GRLSRegressor,
    GRLSRegressorCV,
    Polynomials,
    PrimalSVMClassifier,
    SVMGBClassifier,
    papers,
)
from tests.book.playground import Playground, close, new_page

PATHS = "paths => paths.map(p => p.getAttribute('d'))"


@pytest.fixture(scope="module")
def page(browser):
    return new_page(browser)


# ----------------------------------------------------------------------------------- regression


def check_regression(ground, degree, width, reg, at=5.0):
    data = ground.points()
    X, y = data[:, :1], data[:, 1]
    kernel = Gaussian(width)
    model = GRLSRegressorCV(kernel, Polynomials(degree), regs=[reg]).fit(X, y)
    ridge = GRLSRegressorCV(kernel, None, regs=[reg]).fit(X, y)
    close(ground.number("objective"), model.certificate_.primal)
    close(ground.number("loo"), np.mean(model.loo_errors_**2))
    close(ground.number("looRidge"), np.mean(ridge.loo_errors_**2))
    close(ground.number("at"), model.predict([[at]])[0])
    close(ground.number("atRidge"), ridge.predict([[at]])[0])


def test_regression(page):
    ground = Playground(page, "regression")
    width, reg = 10**-0.3, 1e-2
    check_regression(ground, 2, width, reg)
    before = ground.points()
    ground.drag(3, 40, -60)
    after = ground.points()
    assert np.abs(after - before).max(axis=1).argmax() == 3
    check_regression(ground, 2, width, reg)
    ground.tap_empty(0.5, 0.2)
    assert len(ground.points()) == len(before) + 1
    ground.click("remove")
    assert len(ground.points()) == len(before)
    ground.keys("PageDown", "ArrowUp", "ArrowRight", "Shift+ArrowDown")
    check_regression(ground, 2, width, reg)
    ground.keys("Insert", "Delete")
    assert len(ground.points()) == len(before)
    ground.type("y", 4.25)
    assert 4.25 in ground.points()[:, 1]
    width, reg = 10 ** ground.slide("width", 0.2), 10 ** ground.slide("reg", -3)
    ground.slide("degree", 1)
    ground.root.locator("input[name=at]").fill("2.5")
    ground.settle()
    check_regression(ground, 1, width, reg, at=2.5)
    assert ground.trouble == []


def test_the_printed_formula_jumps_with_the_first_samples(page):
    ground = Playground(page, "regression")
    ground.root.locator("input[name=printed]").check()
    ground.settle()
    width, reg = 10**-0.3, 1e-2

    def check():
        data = ground.points()
        X, y = data[:, :1], data[:, 1]
        P = np.vander(X[:, 0], 3, increasing=True)
        H, E = papers.split(Gaussian(width)(X), P)
        lam, c = papers.b26_27_printed(H, E, y, reg)
        close(ground.number("objectiveWrong"), papers.b22(H, E, y, reg, lam, c))
        return ground.number("atWrong"), ground.number("at")

    ground.root.locator("input[name=at]").fill(str(ground.points()[0, 0]))
    ground.settle()
    wrong, right = check()
    ground.drag(0, 0, -80)
    wrong_after, right_after = check()
    close(wrong_after, ground.points()[0, 1])  # exact at the first samples, wherever they go
    assert abs(wrong_after - wrong) > 1.5 * abs(right_after - right)
    assert ground.number("objectiveWrong") > ground.number("objective")
    marks = ground.root.locator(".pg-marks .mark-anchor")
    assert marks.count() == 3
    assert ground.trouble == []


# ------------------------------------------------------------------------------- classification


def radial(X):
    return np.column_stack([np.ones(len(X)), (X**2).sum(axis=1)])


def check_classification(ground, features, width, C):
    X, y = ground.points(), ground.classes()
    model = SVMGBClassifier(Gaussian(width), features, C=C).fit(X, y)
    close(ground.number("primal"), model.certificate_.primal)
    close(ground.number("dual"), model.certificate_.primal)
    assert ground.number("gap") <= 1e-8 * (C + model.certificate_.primal)
    assert ground.text("supportVectors") == str(len(model.support_))
    chosen = (
        ground.pad()
        .locator(".pg-marks > g")
        .evaluate_all("gs => gs.findIndex(g => g.classList.contains('pg-chosen'))")
    )
    close(ground.number("value"), model.decision_function(X)[chosen])
    # Border and margins are drawn, and beside them the two parts, each with its own tint.
    for line in (".line-border", ".line-margin"):
        assert any(d for d in ground.pad().locator(f".pg-lines {line}").evaluate_all(PATHS))
    tints = ground.root.locator(".pg-plot canvas").evaluate_all("cs => cs.map(c => c.toDataURL())")
    assert len(set(tints)) == (3 if len(model.support_) else 2)  # f is its free part then
    return model


def test_classification(page):
    ground = Playground(page, "classification")
    width, C = 10 ** float(ground.root.locator("input[name=width]").input_value()), 10.0
    check_classification(ground, Polynomials(1), width, C)
    ground.drag(2, 50, 30)
    check_classification(ground, Polynomials(1), width, C)
    ground.keys("PageDown", "ArrowLeft", "ArrowLeft", "s")
    check_classification(ground, Polynomials(1), width, C)
    ground.choose("class", "-1")
    n = len(ground.points())
    ground.tap_empty(0.8, 0.85)
    assert len(ground.points()) == n + 1
    assert ground.classes()[-1] == -1
    for name, features in {
        "bias": "constant",
        "quadratic": Polynomials(2),
        "radial": radial,
    }.items():
        ground.choose("features", name)
        check_classification(ground, features, width, C)
    width, C = 10 ** ground.slide("width", 0.0), 10 ** ground.slide("C", 1.5)
    check_classification(ground, radial, width, C)
    assert ground.trouble == []


def test_features_that_separate_leave_the_kernel_nothing(page):
    ground = Playground(page, "classification")
    ground.click("previous")  # from the first sample to the last: the islands come last
    for _ in range(6):
        ground.click("remove")
    X, y = ground.points(), ground.classes()
    assert (y * (X[:, 1] - 0.4 * X[:, 0]) < 0).all()
    model = check_classification(ground, Polynomials(1), 10**-0.3, 10.0)
    assert len(model.support_) == 0
    assert "kernel part is zero" in ground.root.locator(".pg-note").inner_text()


# ------------------------------------------------------------------------------ basis functions


def check_basis(ground, degree, C):
    samples, functions = ground.points(0), ground.points(1)
    X, y = samples[:, :1], samples[:, 1]
    basis = GaussianBasis(functions[:, :1], functions[:, 1])
    model = PrimalSVMClassifier(basis, Polynomials(degree), C=C, tol=1e-9).fit(X, y)
    close(ground.number("objective"), model.certificate_.primal)
    values = model.decision_function(X)
    assert ground.text("errors") == str(np.sum(y * values <= 0))
    return ground.number("objective")


def test_basis_functions(page):
    ground = Playground(page, "basis_functions")
    objective = check_basis(ground, 0, 10.0)
    for width in (-0.5, 0.1, -0.5):
        ground.slide("width", width)
        ground.click("step")
        now = check_basis(ground, 0, 10.0)
        assert now <= objective * (1 + 1e-9)
        objective = now
    assert len(ground.points(1)) == 5
    ground.drag(4, 15, -20, pad=1)
    check_basis(ground, 0, 10.0)
    ground.click("back")
    assert len(ground.points(1)) == 4
    ground.keys("PageDown", "ArrowUp", pad=1)
    ground.type("x", 7.25, bar=1)
    assert 7.25 in ground.points(1)[:, 0]
    ground.drag(0, 0, 120)  # across the line: the other class
    ground.choose("degree", "1")
    C = 10 ** ground.slide("C", 0.5)
    check_basis(ground, 1, C)
    assert ground.trouble == []


# -------------------------------------------------------------------------------------- anchors


def check_anchors(ground, X, y, degree, width, reg):
    kernel, features = Gaussian(width), Polynomials(degree)
    anchors = ground.points()[:, :1]
    model = GRLSRegressor(kernel, features, reg=reg).fit(X, y)
    f = ConditionalKernel(kernel, features, anchors).fit(X)
    f = f.solution(model.coef_, model.dual_coef_, X)
    close(ground.number("objective"), model.certificate_.primal)
    close(ground.number("seminorm"), f.seminorm)
    close(ground.number("norm"), f.norm)
    assert ground.number("moved") < 1e-8
    np.testing.assert_allclose(
        [float(v) for v in ground.text("lam").split(",")], f.a, rtol=1e-3, atol=1e-3
    )


def test_anchors(page):
    data = Playground(page, "regression").points()  # the same samples
    X, y = data[:, :1], data[:, 1]
    ground = Playground(page, "anchors")
    width = 10 ** float(ground.root.locator("input[name=width]").input_value())
    check_anchors(ground, X, y, 2, width, 1e-2)
    norm, seminorm = ground.text("norm"), ground.text("seminorm")
    ground.drag(1, 60, 30)
    check_anchors(ground, X, y, 2, width, 1e-2)
    assert ground.text("norm") != norm
    assert ground.text("seminorm") == seminorm
    ground.keys("PageDown", "ArrowLeft", "ArrowLeft")
    ground.type("x", 8.125)
    assert 8.125 in ground.points()[:, 0]
    check_anchors(ground, X, y, 2, width, 1e-2)
    ground.choose("degree", "1")
    assert len(ground.points()) == 2
    width, reg = 10 ** ground.slide("width", 0.1), 10 ** ground.slide("reg", -1.5)
    check_anchors(ground, X, y, 1, width, reg)
    before = ground.points()
    ground.type("x", 8)  # there stands the other one
    assert "Another anchor stands at 8" in ground.bar().locator("> .pg-refusal").inner_text()
    assert np.array_equal(ground.points(), before)
    ground.type("x", 3)
    assert ground.bar().locator("> .pg-refusal").inner_text() == ""
    assert ground.trouble == []

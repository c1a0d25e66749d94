"""The playgrounds in a real browser: driven by mouse, touch, keyboard and typing.

After every gesture the numbers on the page are compared with what `kernelbook` computes from the
points that the page shows.
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
from tests.paths import HTML

PATHS = "paths => paths.map(p => p.getAttribute('d'))"
DIGITS = 2e-5  # six digits are shown


class Playground:
    """One playground, its controls and what it shows."""

    def __init__(self, page, name):
        self.page, self.trouble = page, []
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.goto((HTML / "book" / "playgrounds" / f"{name}.html").as_uri())
        self.root = page.locator(".playground")
        self.settle()
        self.root.scroll_into_view_if_needed()

    def settle(self):
        self.page.wait_for_selector('.playground[data-state="ready"]')

    def number(self, name):
        return float(self.text(name))

    def text(self, name):
        return self.root.locator(f'[data-number="{name}"]').inner_text()

    def points(self, pad=0):
        marks = self.pad(pad).locator(".pg-marks > g")
        return np.array(marks.evaluate_all("gs => gs.map(g => [+g.dataset.x, +g.dataset.y])"))

    def classes(self):
        marks = self.pad().locator(".pg-marks > g > path")
        return np.array(
            marks.evaluate_all("ps => ps.map(p => p.classList.contains('mark-plus') ? 1.0 : -1.0)")
        )

    def pad(self, i=0):
        return self.root.locator(".pg-pad").nth(i)

    def bar(self, i=0):
        return self.root.locator(".pg-bar:has([name=previous])").nth(i)

    def slide(self, name, position):
        slider = self.root.locator(f'input[type=range][name="{name}"]')
        slider.evaluate(
            "(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})); }",
            position,
        )
        self.settle()
        return float(slider.input_value())

    def choose(self, name, value):
        self.root.locator(f'select[name="{name}"]').select_option(value)
        self.settle()

    def click(self, name, bar=0):
        scope = self.bar(bar) if name in ("add", "remove", "next", "previous") else self.root
        scope.locator(f'button[name="{name}"]').dispatch_event("click")
        self.settle()

    def type(self, name, value, bar=0):
        self.bar(bar).locator(f'input[name="{name}"]').fill(str(value))
        self.settle()

    def keys(self, *keys, pad=0):
        self.pad(pad).focus()
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def middle(self, i, pad=0):
        box = self.pad(pad).locator(".pg-marks > g").nth(i).locator(".pg-hit").bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(self, i, dx, dy, pad=0):
        self.pad(pad).scroll_into_view_if_needed()
        x, y = self.middle(i, pad)
        mouse = self.page.mouse
        mouse.move(x, y)
        mouse.down()
        for t in (0.3, 0.7, 1.0):
            mouse.move(x + t * dx, y + t * dy)
        mouse.up()
        self.settle()

    def tap_empty(self, share_x, share_y, pad=0):
        """Click on a place of the plot, given in shares of its width and height."""
        box = self.pad(pad).locator("svg").first.bounding_box()
        self.page.mouse.click(box["x"] + share_x * box["width"], box["y"] + share_y * box["height"])
        self.settle()


@pytest.fixture(scope="module")
def page(browser):
    return browser.new_context(viewport={"width": 1300, "height": 1400}, has_touch=True).new_page()


def close(a, b, scale=1.0):
    np.testing.assert_allclose(a, b, rtol=DIGITS, atol=DIGITS * scale)


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


# ------------------------------------------------------------------------------ every playground


def test_what_is_refused_is_seen(page):
    ground = Playground(page, "regression")
    before = ground.points()
    field = ground.bar().locator(".pg-field:has(input[name=x])")
    ground.type("x", 12)
    assert field.locator(".pg-refusal").inner_text() == "12 is not between 0 and 10"
    assert field.locator("input").get_attribute("aria-invalid") == "true"
    assert np.array_equal(ground.points(), before)
    ground.type("x", 3)
    assert field.locator(".pg-refusal").inner_text() == ""
    assert 3.0 in ground.points()[:, 0]
    for _ in range(len(before)):
        ground.click("remove")
    assert "One sample must stay" in ground.bar().inner_text()
    assert len(ground.points()) == 1


def test_a_construction_at_its_end_says_so(page):
    ground = Playground(page, "basis_functions")
    for _ in range(19):
        ground.click("step")
    assert "Every sample has a function already" in ground.root.locator(".pg-stage").inner_text()


def test_a_curve_that_leaves_the_plot_says_where_it_went(page):
    ground = Playground(page, "regression")
    outside = ground.root.locator(".pg-outside")
    assert not "".join(outside.all_text_contents())
    state = (
        "width=0.5;reg=1;degree=2;points=4,2_4.5,5_5,1.5"  # a steep parabola through three points
    )
    page.goto(page.url.partition("#")[0] + f"#playground=regression;{state}")
    page.wait_for_function("() => document.querySelectorAll('.pg-marks > g').length === 3")
    ground.settle()
    model = GRLSRegressor(Gaussian(10**0.5), Polynomials(2), reg=10.0)
    ends = model.fit(ground.points()[:, :1], ground.points()[:, 1]).predict([[0.0], [10.0]])
    assert f"↓ −{abs(ends.min()):.0f}" in outside.all_text_contents()


@pytest.mark.parametrize("size", [(1300, 800), (390, 800)])
def test_plot_and_controls_are_on_one_screen(page, size):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for name in ("regression", "classification", "anchors", "basis_functions"):
        ground = Playground(page, name)
        ground.root.evaluate("e => e.scrollIntoView()")
        top = ground.pad().bounding_box()["y"]
        controls = ground.root.locator(".pg-side .pg-controls").bounding_box()
        assert top >= 0
        if size[0] > 1000:
            assert controls["y"] + controls["height"] <= size[1]
            assert controls["x"] > ground.pad().bounding_box()["x"] + 300
        else:  # the first of them; a finger's width of scrolling shows the rest
            assert controls["y"] + 120 <= size[1]
    page.set_viewport_size({"width": 1300, "height": 1400})


def test_a_link_keeps_the_state(page):
    ground = Playground(page, "classification")
    ground.drag(2, 50, 30)
    ground.choose("features", "quadratic")
    ground.slide("C", 0.5)
    shown = ground.points(), ground.text("primal")
    ground.click("link")
    assert "keeps the state" in ground.root.locator(".pg-link").inner_text()
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    ground.settle()
    np.testing.assert_allclose(ground.points(), shown[0], atol=1e-4)
    close(ground.number("primal"), float(shown[1]), scale=10)
    assert ground.root.locator("select[name=features]").input_value() == "quadratic"
    page.goto(address.split("#")[0] + "#playground=classification;C=nonsense;points=1,2_x,y;width")
    page.reload()
    ground.settle()
    assert len(ground.points()) == len(shown[0])  # what cannot be read changes nothing
    assert ground.trouble == []


@pytest.mark.parametrize(
    ("name", "dx", "dy"),
    [
        ("regression", 0, -50),
        ("classification", 10, 40),
        ("basis_functions", 30, 0),
        ("anchors", 40, 0),
    ],
)
def test_a_finger_drags_a_point(page, name, dx, dy):
    ground = Playground(page, name)
    before = ground.points()
    i = len(before) // 2
    x, y = ground.middle(i)
    touch = page.context.new_cdp_session(page)
    for kind, t in (("touchStart", 0), ("touchMove", 0.5), ("touchMove", 1), ("touchEnd", None)):
        where = [] if t is None else [{"x": x + t * dx, "y": y + t * dy}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": where})
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    ground.settle()
    after = ground.points()
    np.testing.assert_allclose(ground.middle(i), (x + dx, y + dy), atol=1)
    assert np.array_equal(np.delete(after, i, axis=0), np.delete(before, i, axis=0))


def test_a_screen_reader_hears_the_numbers(page):
    ground = Playground(page, "regression")
    live = ground.root.locator(".pg-live")
    ground.keys("PageDown")
    assert "sample 2 of 24" in live.inner_text()
    ground.slide("reg", -1)
    page.wait_for_function(
        "() => /eave-one-out/.test(document.querySelector('.pg-live').innerText)"
    )
    assert ground.pad().get_attribute("aria-label").startswith("Plot of samples. Arrow keys")


@pytest.mark.parametrize(
    ("name", "picture"),
    [
        ("regression", "regression"),
        ("classification", "classification"),
        ("basis_functions", "basis-functions"),
        ("anchors", "anchors"),
    ],
)
def test_without_javascript_a_picture_and_a_sentence(browser, name, picture):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((HTML / "book" / "playgrounds" / f"{name}.html").as_uri())
    image = page.locator(".playground img")
    assert image.get_attribute("src").endswith(f"{picture}.png")
    assert len(image.get_attribute("alt")) > 50
    assert image.bounding_box()["width"] > 200
    assert page.locator(".playground figcaption").inner_text().startswith("With JavaScript")
    context.close()

"""What playgrounds have in common: refusals, links, fingers, words, pictures."""

import numpy as np
import pytest

from kernelbook import Gaussian, GRLSRegressor, Polynomials
from tests.book.playground import Playground, close, new_page
from tests.paths import HTML

NAMES = [
    "regression",
    "classification",
    "basis_functions",
    "anchors",
    "losses",
    "path",
    "likelihood",
    "smo",
]


@pytest.fixture(scope="module")
def page(browser):
    return new_page(browser)


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
    for name in NAMES:
        ground = Playground(page, name)
        ground.root.evaluate("e => e.scrollIntoView()")
        top = ground.pad().bounding_box()["y"]
        controls = ground.root.locator(".pg-side :is(input, select, button)")
        boxes = [c.bounding_box() for c in controls.all() if c.is_visible()]
        header = page.locator(".bd-header-article").bounding_box()
        assert top >= header["y"] + header["height"]  # it lies over the page
        assert max(b["y"] + b["height"] for b in boxes) <= size[1], name
        if size[0] > 1000:
            assert min(b["x"] for b in boxes) > ground.pad().bounding_box()["x"] + 300
        assert min(b["height"] for b in boxes) >= 24  # what a finger hits
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
        ("losses", -40, 30),
        ("path", 20, 30),
        ("likelihood", 10, -30),
        ("smo", 30, 20),
    ],
)
def test_a_finger_drags_a_point(page, name, dx, dy):
    ground = Playground(page, name)
    before = ground.points()
    i = len(before) // 2
    x, y = ground.middle(i)
    ground.drag_by_finger(i, dx, dy)
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


@pytest.mark.parametrize("name", NAMES)
def test_without_javascript_a_picture_and_a_sentence(browser, name):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((HTML / "book" / "playgrounds" / f"{name}.html").as_uri())
    image = page.locator(".playground img")
    assert image.get_attribute("src").endswith(f"/{name.replace('_', '-')}.png")
    assert len(image.get_attribute("alt")) > 50
    assert image.bounding_box()["width"] > 200
    assert page.locator(".playground figcaption").inner_text().startswith("With JavaScript")
    context.close()

"""The way of a student who has never heard of the project, step by step in a real browser.

On a laptop `make live` serves the pages; on a phone they are files, without kernels.  Both are
walked light and dark, by what the student sees: doors, points, buttons, the magnifying glass.
"""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from tests.book.live import Live
from tests.book.playground import Playground
from tests.paths import HTML

LAPTOP = {"viewport": {"width": 1300, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}

BACKGROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture(params=["light", "dark"])
def student(browser, request):
    """Opens a page on a device whose owner likes it light, or dark."""
    contexts, trouble = [], []

    def opens(device, address):
        context = browser.new_context(color_scheme=request.param, **device)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("console", lambda m: m.type in ("error", "warning") and trouble.append(m.text))
        page.goto(address)
        return page

    opens.theme = request.param
    yield opens
    assert trouble == []
    for context in contexts:
        context.close()


def in_sight(locator):
    """Whether all of it is on the screen, and nothing lies over its middle."""
    return locator.evaluate(
        """e => {
          const { left, right, top, bottom } = e.getBoundingClientRect();
          const over = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
          return left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight
            && (e.contains(over) || over.contains(e));
        }"""
    )


def lands(page, theme):
    """What it is stands on the first screen, beside a figure that moves."""
    page.wait_for_url("**/book/index.html")
    page.wait_for_selector('.playground[data-state="ready"]')
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    dark = sum(map(int, re.findall(r"\d+", page.evaluate(BACKGROUND))[:3])) < 3 * 128
    assert dark == (theme == "dark")
    idea = page.get_by_text("Tell a kernel machine what you already know, free of charge.")
    assert in_sight(idea)
    assert page.locator(".pg-pad").bounding_box()["y"] < 0.65 * page.viewport_size["height"]
    assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"]


def opens_the_first_door(page, press):
    door = page.locator(".sd-card", has_text="New to kernels")
    door.scroll_into_view_if_needed()
    press(door)
    page.wait_for_url("**/foundations/regularized_approximation.html*")
    heading = page.locator("article h1")
    assert "Learning as regularized approximation" in heading.inner_text()
    assert in_sight(heading)


def moves_a_point(page, drag):
    ground = Playground(page)
    ground.settle()
    ground.pad().scroll_into_view_if_needed()
    curve, error, points = ground.line("line-free"), ground.text("loo"), ground.points()
    x, y = ground.middle(5)
    drag(ground)(5, 0, -50)
    np.testing.assert_allclose(ground.middle(5), (x, y - 50), atol=1)  # it follows the hand
    moved = np.abs(ground.points() - points).max(axis=1) > 1e-9
    assert moved.nonzero()[0].tolist() == [5]
    assert ground.line("line-free") != curve
    assert ground.text("loo") != error
    assert ground.trouble == []


def finds_kriging(page, press):
    """By the magnifying glass; the result leads to the word."""
    press(page.locator(".search-button__button:visible").first)
    page.wait_for_selector("#pst-search-dialog input:focus")
    page.keyboard.type("kriging")
    glass = page.locator("#pst-search-dialog form > svg").bounding_box()
    typed = page.locator("#pst-search-dialog input").evaluate(
        "e => e.getBoundingClientRect().left + parseFloat(getComputedStyle(e).paddingLeft)"
    )
    assert glass["x"] + glass["width"] <= typed  # nothing lies over what is typed
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=kriging")
    first = page.locator("#search-results li a").first
    first.wait_for()
    assert first.inner_text() == "kriging"
    press(first)
    page.wait_for_url("**/glossary.html*kriging*")
    word = page.locator("dt", has_text=re.compile("^kriging"))
    page.wait_for_function("() => scrollY > 0")
    assert in_sight(word)


def figure_of(picture):
    """The pixels of a live picture, which the page itself holds."""
    kind, _, data = picture.get_attribute("src").partition(",")
    assert kind == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))


def luminance(colours):
    share = np.asarray(colours, dtype=float) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def check_figure(page, picture):
    """It follows the theme: nothing behind it, and what is drawn stands out from the page."""
    pixels = figure_of(picture)
    assert pixels.shape[2] == 4
    assert (pixels[[0, 0, -1, -1], [0, -1, 0, -1], 3] == 0).all()  # transparent
    style = picture.evaluate(
        "e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).filter]"
    )
    assert style == ["rgba(0, 0, 0, 0)", "none"]
    ink = luminance(pixels[pixels[..., 3] == 255][:, :3])
    paper = luminance([int(v) for v in re.findall(r"\d+", page.evaluate(BACKGROUND))[:3]])
    contrast = (np.maximum(ink, paper) + 0.05) / (np.minimum(ink, paper) + 0.05)
    assert len(ink) > 1000
    assert np.quantile(contrast, 0.05) >= 3


def runs_a_changed_cell(page):
    live = Live(page)
    live.write(3, live.cells.nth(3).locator("pre").first.text_content())
    live.write(3, live.code(3).replace("(-10, 15)", "(-100, 150)"))
    live.press(3, "Run")
    live.says(3, "Use “Run all above”")  # as it says to who runs the fourth cell first
    live.press(3, "Run all above")
    live.says(2, "computed on this page")
    live.press(3, "Run")
    live.says(3, "from changed code")
    picture = live.shown(3).locator("img")
    assert "Twelve points" in picture.get_attribute("alt")
    check_figure(page, picture)
    changed = figure_of(picture)
    live.write(3, live.code(3).replace("(-100, 150)", "(-10, 15)"))
    live.press(3, "Run")
    live.says(3, "computed on this page")
    assert not np.array_equal(figure_of(picture), changed)


def test_a_student_with_a_laptop(student, address):
    page = student(LAPTOP, address)
    lands(page, student.theme)
    opens_the_first_door(page, lambda e: e.click())
    moves_a_point(page, lambda ground: ground.drag)
    runs_a_changed_cell(page)
    finds_kriging(page, lambda e: e.click())
    assert page.evaluate("document.documentElement.dataset.theme") == student.theme


def test_a_student_with_a_phone(student):
    page = student(PHONE, (HTML / "index.html").as_uri())
    lands(page, student.theme)
    opens_the_first_door(page, lambda e: e.tap())
    moves_a_point(page, lambda ground: ground.drag_by_finger)
    run = page.get_by_role("button", name="Run", exact=True).first
    run.tap()
    how = page.locator(".kb-how")
    assert "make live" in how.inner_text()  # which command makes it live
    assert how.evaluate("e => getComputedStyle(e).display") != "none"
    finds_kriging(page, lambda e: e.tap())
    assert page.evaluate("document.documentElement.dataset.theme") == student.theme
    assert page.evaluate("document.documentElement.scrollWidth") == 390

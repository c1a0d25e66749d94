"""A playground in a real browser, driven by mouse, touch and keyboard: what its tests share."""

import numpy as np

from tests.paths import HTML

DIGITS = 2e-5  # six digits are shown


class Playground:
    """One playground, its controls and what it shows."""

    def __init__(self, page, name=None):
        """`name` is a gallery, or a chapter that has a playground ("free/svmgb"); without one, the
        playground of the page that is open."""
        self.page, self.trouble = page, []
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        if name:
            where = name if "/" in name else f"playgrounds/{name}"
            page.goto((HTML / "book" / f"{where}.html").as_uri())
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

    def drag_by_finger(self, i, dx, dy, pad=0):
        self.pad(pad).scroll_into_view_if_needed()
        x, y = self.middle(i, pad)
        touch = self.page.context.new_cdp_session(self.page)
        for kind, t in (
            ("touchStart", 0),
            ("touchMove", 0.5),
            ("touchMove", 1),
            ("touchEnd", None),
        ):
            where = [] if t is None else [{"x": x + t * dx, "y": y + t * dy}]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": where})
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
        )
        self.settle()

    def line(self, kind, pad=0):
        """The first path of a style, as it is drawn."""
        return self.pad(pad).locator(f".pg-lines .{kind}").first.get_attribute("d")

    def tap_empty(self, share_x, share_y, pad=0):
        """Click on a place of the plot, given in shares of its width and height."""
        box = self.pad(pad).locator("svg").first.bounding_box()
        self.page.mouse.click(box["x"] + share_x * box["width"], box["y"] + share_y * box["height"])
        self.settle()


def new_page(browser):
    context = browser.new_context(viewport={"width": 1300, "height": 1400}, has_touch=True)
    return context.new_page()


def close(a, b, scale=1.0):
    np.testing.assert_allclose(a, b, rtol=DIGITS, atol=DIGITS * scale)

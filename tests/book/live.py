"""A chapter that `make live` serves, and its cells, in a real browser."""


class Live:
    """A chapter and its cells."""

    def __init__(self, page):
        self.page, self.cells = page, page.locator(".cell:has(.kb-bar)")

    def press(self, i, name):
        self.cells.nth(i).get_by_role("button", name=name, exact=True).click()

    def says(self, i, words):
        self.page.wait_for_function(
            """([i, words]) => document.querySelectorAll('.cell .kb-bar')[i]
                .querySelector('.kb-mark').textContent.includes(words)""",
            arg=[i, words],
            timeout=90_000,
        )

    def panel(self, words):
        self.page.wait_for_function(
            "words => document.querySelector('.kb-panel').textContent.includes(words)",
            arg=words,
            timeout=30_000,
        )

    def write(self, i, code):
        if not self.cells.nth(i).locator("textarea").count():
            self.press(i, "Edit")
        self.cells.nth(i).locator("textarea").fill(code)

    def code(self, i):
        return self.cells.nth(i).locator("textarea").input_value()

    def shown(self, i):
        return self.cells.nth(i).locator(".kb-output")

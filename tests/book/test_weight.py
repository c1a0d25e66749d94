"""What a page costs before it can be used: bytes and requests, counted, not timed."""

import re
from html.parser import HTMLParser

import pytest

from tests.paths import HTML

CHAPTERS = sorted(p for p in HTML.glob("book/*/*.html"))
SHEET, SCRIPT, MATHJAX = 500_000, 160_000, "tex-svg-full.js"

pytestmark = pytest.mark.skipif(
    not CHAPTERS, reason="no built book: `make book` or `make strict` first"
)


class Head(HTMLParser):
    """What holds up a page, and what does not."""

    def __init__(self, text):
        super().__init__()
        self.sheets, self.blocking, self.deferred, self.images = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if tag == "link" and a.get("rel") == "stylesheet":
            self.sheets.append(a["href"])
        if tag == "script" and a.get("src"):
            (self.deferred if "defer" in a else self.blocking).append(a["src"])
        if tag == "img":
            self.images.append(a)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.relative_to(HTML).as_posix())
def test_a_page_is_not_held_up(path):
    head = Head(path.read_text(encoding="utf-8"))
    assert head.blocking == []
    assert len(head.sheets) == 1
    assert len(head.deferred) <= 3  # the book's script, the cells', the playgrounds'
    for image in head.images:
        if "_images/" in image["src"]:
            assert image["loading"] == "lazy"
    assert path.stat().st_size < 700_000


def test_what_all_pages_share_is_small():
    assert (HTML / "_static" / "book.css").stat().st_size < SHEET
    assert (HTML / "_static" / "book.js").stat().st_size < SCRIPT
    assert (HTML / "_static" / "live.js").stat().st_size < 30_000
    assert (HTML / "_static" / "playgrounds.js").stat().st_size < 200_000


def test_no_picture_is_stored_larger_than_it_need_be():
    used = set()
    for path in HTML.rglob("*.html"):
        used |= set(re.findall(r'_images/([^"]+\.(?:png|webp))', path.read_text(encoding="utf-8")))
    pictures = HTML / "_images"
    for name in used:
        twin = (pictures / name).with_suffix(".webp")
        assert not (name.endswith(".png") and twin.exists()), name
    assert sum(name.endswith(".webp") for name in used) > 0.8 * len(used)


def test_a_chapter_can_be_used_before_its_formulas_are_set(browser):
    """At the load event the page has asked for less than 1.5 MB in at most eight requests."""
    page = browser.new_context(viewport={"width": 1300, "height": 900}).new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url.split("?")[0]))
    page.goto((HTML / "book/foundations/regularized_approximation.html").as_uri())
    before = list(asked)
    sizes = [
        (HTML.parent / url.partition("_build/")[2]).stat().st_size
        for url in before
        if not url.endswith(MATHJAX)
    ]
    assert len(sizes) <= 8
    assert sum(sizes) < 1_500_000
    page.evaluate("window.KERNELBOOK_MATH")
    assert sum(url.endswith(MATHJAX) for url in asked) == 1
    formulas = "document.querySelectorAll('.math').length"
    assert page.evaluate(f"{formulas} === document.querySelectorAll('.math mjx-container').length")
    page.context.close()

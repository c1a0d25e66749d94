"""The built book in a real browser: every page, at two widths, light and dark, from `file://`.

A page is loaded once and everything is asked of it then: what it wrote to the console, what it
tried to load, whether its formulas are set, whether anything is wider than the window, and what
axe-core says of it.  One tab goes through all pages, and each page is resized, not loaded again.
"""

import re
from pathlib import Path

import axe_playwright_python
import pytest

from tests.paths import HTML

AXE_SCRIPT = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()

PAGES = sorted(
    p.relative_to(HTML).as_posix()
    for p in HTML.rglob("*.html")
    if "_static" not in p.relative_to(HTML).parts and p != HTML / "index.html"
)
PHONE, DESK = {"width": 390, "height": 800}, {"width": 1300, "height": 900}
RAW_MYST = re.compile(r"\{(?:doc|eq|ref|cite[:a-z]*|prf:ref|index|term|numref)\}`|```\{|:::\{")

# Formulas that failed, pictures that did not come, text as a reader would copy it.
LOOK = """async () => {
  await window.KERNELBOOK_MATH;
  const failed = document.querySelectorAll(
    '[data-mjx-error], mjx-merror, [data-mml-node="merror"]');
  const containers = [...document.querySelectorAll('mjx-container')];
  const set = containers.length;
  // A screen reader gets the MathML, not the drawing: it must be there, with words, rendered.
  const mute = containers.filter(e => {
    if (getComputedStyle(e).visibility === 'hidden') return false; // a solution, still closed
    const math = e.querySelector(':scope > mjx-assistive-mml > math');
    const style = math && getComputedStyle(math.parentElement);
    return !math || !math.textContent.trim() || style.display === 'none'
      || style.visibility === 'hidden' || math.closest('[aria-hidden="true"]')
      || e.querySelector(':scope > svg').getAttribute('aria-hidden') !== 'true';
  });
  const images = [...document.querySelectorAll('main img')]
    .filter(i => i.complete && !i.naturalWidth);
  const article = document.querySelector('article') ?? document.body;
  return {
    formulas: document.querySelectorAll('.math').length, set, mute: mute.length,
    stops: containers.filter(e => e.tabIndex >= 0).length,
    failed: [...failed].map(e => e.textContent.slice(0, 80)), images: images.map(i => i.src),
    text: article.innerText,
  };
}"""

# What is wider than the window, or than the box it is in without saying so.
WIDE = """() => {
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) return [`the page is ${page.scrollWidth} wide`];
  const boxes = document.querySelectorAll('div.math, mjx-container[display="true"]');
  return [...boxes].filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1)
    .map(e => `a formula of ${e.scrollWidth} in ${e.clientWidth}: ${e.id}`);
}"""

# Formulas are many, and so are the words of code: axe-core gets one formula of each kind (the tags
# and the names of the attributes inside) and one word of each colour.
FEWER = """() => {
  const kinds = new Set();
  for (const e of document.querySelectorAll('mjx-container')) {
    const inside = [...e.querySelectorAll('*')].map(
      n => [n.tagName, ...n.getAttributeNames().filter(a => !a.startsWith('data-'))].join('.'));
    const kind = [...new Set(inside)].sort().join();
    if (kinds.has(kind)) e.replaceChildren('x');
    else kinds.add(kind);
  }
  const seen = new Set();
  for (const e of document.querySelectorAll('pre span')) {
    if (seen.has(e.className)) e.replaceWith(e.textContent);
    else seen.add(e.className);
  }
}"""

# Contrast depends on the style, and the style on the chain of tags and classes: one element of each
# is enough, and a hundred times faster.
THIN = """() => {
  const seen = new Set();
  const name = e => [e.tagName, e.getAttribute('style'),
    ...[...e.classList].filter(c => !/\\d/.test(c))].join('.');
  for (const e of [...document.querySelectorAll('main *, nav *')].reverse()) {
    if (e.children.length || e.closest('.playground, svg')) continue;
    let chain = '';
    for (let up = e; up; up = up.parentElement) chain += `<${name(up)}`;
    if (seen.has(chain)) e.remove();
    else seen.add(chain);
  }
}"""

AXE = """async ([theme, rules]) => {
  document.documentElement.dataset.theme = theme;
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
  const contrast = ['color-contrast', 'link-in-text-block'];
  const options = rules === 'contrast'
    ? { runOnly: { type: 'rule', values: contrast } }
    : { runOnly: { type: 'tag', values: tags },
        rules: Object.fromEntries(contrast.map(r => [r, { enabled: false }])) };
  const found = await axe.run(document, { ...options, resultTypes: ['violations'] });
  return found.violations.flatMap(v => v.nodes.slice(0, 5).map(
    n => `${theme}, ${v.id}: ${n.html.slice(0, 150)} (${n.any[0]?.message ?? v.help})`));
}"""


class Tab:
    """One tab for all pages; it keeps what a page says and asks for."""

    def __init__(self, browser):
        self.page = browser.new_context(viewport=PHONE).new_page()
        self.trouble = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        self.page.on("request", self._asked)
        self.page.on("requestfailed", lambda r: self.trouble.append(f"failed: {r.url}"))

    def _heard(self, message):
        if message.type in ("error", "warning"):
            self.trouble.append(f"console: {message.text}")

    def _asked(self, request):
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.trouble.append(f"external: {request.url}")

    def open(self, name):
        self.page.set_viewport_size(PHONE)  # cheap: what is left of the last page is thin
        self.trouble = []
        self.page.goto(f"{HTML.as_uri()}/{name}")
        return self.page

    def wide(self):
        """What is too wide on a phone and at a desk; the tab stays at the desk."""
        phone = self.page.evaluate(WIDE)
        self.page.set_viewport_size(DESK)
        return {"phone": phone, "desk": self.page.evaluate(WIDE)}

    def axe(self):
        """Violations of WCAG 2.2 AA; this takes the page apart, so it comes last."""
        self.page.evaluate(FEWER)
        self.page.evaluate(AXE_SCRIPT)
        found = self.page.evaluate(AXE, ["light", "structure"])
        self.page.evaluate(THIN)
        for theme in ("light", "dark"):
            found += self.page.evaluate(AXE, [theme, "contrast"])
        return found


@pytest.fixture(scope="module")
def tab(browser):
    return Tab(browser)


@pytest.mark.parametrize("name", PAGES)
def test_a_page(tab, name):
    page = tab.open(name)
    seen = page.evaluate(LOOK)
    assert seen["failed"] == []
    assert seen["images"] == []
    assert seen["set"] >= seen["formulas"]
    assert seen["mute"] == 0
    assert seen["stops"] == 0  # the tab key goes past hundreds of formulas
    assert not RAW_MYST.search(seen["text"]), RAW_MYST.search(seen["text"])
    assert tab.wide() == {"phone": [], "desk": []}
    assert tab.trouble == []
    assert tab.axe() == []


def test_the_front_door_leads_to_the_first_page(tab):
    tab.open("index.html").wait_for_url("**/book/index.html")
    assert tab.trouble == []


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_the_first_screen_explains_itself(tab, size):
    """What it is, a picture that moves, three doors; a sample is dragged and the border follows."""
    page = tab.open("book/index.html")
    page.set_viewport_size(size)
    page.wait_for_selector('.playground[data-state="ready"]')
    top = page.locator("article p").first
    assert top.inner_text().startswith(
        "Tell a kernel machine what you already know, free of charge."
    )
    assert page.locator(".pg-pad").bounding_box()["y"] < size["height"] * 0.65
    border = "() => document.querySelector('.pg-lines .line-border').getAttribute('d')"
    before = page.evaluate(border)
    page.locator(".pg-pad").focus()
    for _ in range(8):
        page.keyboard.press("ArrowUp")
    page.wait_for_function(f"before => ({border})() !== before", arg=before)
    doors = page.locator("#where-to-begin .sd-card a.sd-stretched-link")
    assert [a.get_attribute("href").partition("#")[0] for a in doors.all()] == [
        "foundations/regularized_approximation.html",
        "free/generalized_representer.html",
        "back/api.html",
    ]
    assert page.locator("#what-is-in-it .sd-card img:visible").count() == 6
    assert tab.wide() == {"phone": [], "desk": []} if size is PHONE else True
    assert tab.trouble == []


def test_a_screen_reader_finds_the_formulas(tab):
    """In the tree that browsers give to assistive technology, formulas are mathematics."""
    page = tab.open("book/free/virtual.html")
    page.evaluate(
        """() => {
      for (const e of document.querySelectorAll('.toggle-hidden'))
        e.classList.remove('toggle-hidden');
      for (const e of document.querySelectorAll('details')) e.open = true;
    }"""
    )
    page.evaluate(LOOK)
    # The replies to answers that nobody has given are on the page, and rightly not in the tree.
    formulas = page.evaluate(
        "() => [...document.querySelectorAll('mjx-container')]"
        ".filter(e => e.getClientRects().length).length"
    )
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    roles = [n["role"]["value"] for n in nodes if not n["ignored"] and "role" in n]
    assert sum(role in ("math", "MathMLMath") for role in roles) >= formulas > 100
    assert sum(role == "MathMLIdentifier" for role in roles) > formulas


def search(tab, question):
    """The titles, pages and lines that the search page shows."""
    page = tab.open(f"search.html?q={question.replace(' ', '+')}")
    page.locator("#search-results[data-state=ready]").wait_for()
    return page.locator("#search-results li").evaluate_all(
        """items => items.map(i => {
          const a = i.querySelector('a');
          const line = i.querySelector('p').innerText;
          return [a.innerText, a.getAttribute('href').split('?')[0], line];
        })"""
    )


@pytest.mark.parametrize(
    ("question", "first_page"),
    [
        ("virtual samples", "book/free/virtual.html"),
        ("leave one out", "book/free/grls.html"),
        ("anchor invariance", "book/free/invariance.html"),
        ("duality", "book/foundations/duality.html"),
        ("GRLSRegressor", "book/back/api.html"),
    ],
)
def test_the_search_finds_phrases_and_titles_first(tab, question, first_page):
    found = search(tab, question)
    pages = [page for _, page, _ in found if page != "book/back/glossary.html"]
    assert pages[0] == first_page
    raw_tex = re.compile(r"\\(?:[a-zA-Z]{2,}|[()\[\]{}])")  # a command, and not the \n of a cell
    assert not [line for *_, line in found if raw_tex.search(line)]
    assert tab.trouble == []


def test_a_student_finds_kriging_on_a_phone(tab):
    """By the sign in the header, without a server; the result leads to the word."""
    page = tab.open("book/foundations/regularized_approximation.html")
    page.keyboard.press("/")
    field = page.locator("#pst-search-dialog input")
    field.fill("kriging")
    field.press("Enter")
    page.wait_for_url("**/search.html?q=kriging")
    first = page.locator("#search-results li a").first
    first.wait_for()
    assert first.inner_text() == "kriging"  # the term of the glossary
    lines = page.locator("#search-results mark").all_inner_texts()
    assert len(lines) >= 5
    assert all(line.lower().startswith("krig") for line in lines)
    first.click()
    page.wait_for_url("**/glossary.html*")
    assert tab.trouble == []


def test_the_parts_are_numbered_as_the_text_calls_them(tab):
    page = tab.open("book/index.html")
    captions = page.locator("nav.bd-links .caption-text").all_text_contents()
    captions = [c.strip() for c in captions]
    assert captions[:3] == [
        "I. Foundations",
        "II. Unpenalized features",
        "III. The primal view",
    ]
    assert captions[3].startswith("IV. ")
    assert "Playgrounds" in captions


def test_figures_stand_on_dark_pages_as_they_are(tab):
    """No white card behind them and no filter over them; they are transparent (test_html)."""
    page = tab.open("book/free/virtual.html")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    styles = page.locator("main .cell_output img").evaluate_all(
        """es => es.map(e => {
          const s = getComputedStyle(e);
          return [s.backgroundColor, s.filter];
        })"""
    )
    assert styles
    assert all(s == ["rgba(0, 0, 0, 0)", "none"] for s in styles)


def test_a_page_is_printed_light_and_alone(tab):
    page = tab.open("book/free/virtual.html")
    page.evaluate(LOOK)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    theme = "document.documentElement.dataset.theme"
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(theme) == "light"
    page.emulate_media(media="print")
    alone = [".bd-sidebar-primary", ".bd-header-article", ".prev-next-footer", ".run-chapter"]
    folded = ["details.hide > summary", "details.hide:not([open])", ".kb-names", ".kb-bar"]
    for part in alone + folded:  # no bar offers to show code on paper
        assert page.locator(part).count()
        assert not any(e.is_visible() for e in page.locator(part).all())
    # The solutions are open on paper, and no line is cut at its edge.
    closed = "getComputedStyle(document.querySelector('.solution .cell')).visibility"
    assert page.evaluate(closed) == "visible"
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 within its margins
    assert page.evaluate(WIDE) == []
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(theme) == "dark"
    page.emulate_media(media="screen")


def test_names_in_code_break_at_their_joints(tab):
    """On a phone no line of an inline name ends within a word, wherever the name is set."""
    broken = """() => [...document.querySelectorAll('article code span.pre')].filter(e => {
      const parts = [...e.childNodes].filter(n => n.nodeType === 3);
      return parts.some(n => {
        const range = document.createRange();
        range.selectNodeContents(n);
        return new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1;
      });
    }).map(e => e.textContent)"""
    for name in ("book/back/equations.html", "book/back/api.html", "book/free/grls.html"):
        page = tab.open(name)
        page.evaluate(LOOK)
        assert page.evaluate(broken) == []


def test_the_pages_are_those_of_the_contents():
    for line in (Path(HTML).parents[1] / "_toc.yml").read_text().splitlines():
        if "file:" in line:
            assert line.split("file:")[1].strip() + ".html" in PAGES

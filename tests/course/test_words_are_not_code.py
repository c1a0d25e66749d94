"""What students write stays words: in formgrader and on the feedback page, in a real browser.

Formgrader runs as in the instructor's JupyterLab, on the origin that could change every grade.  The
test clicks on everything in the student's answers, with a mouse, and then looks whether a dialog
opened, anything outside was asked for, the page changed, or a grade did.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from click.testing import CliRunner
from nbconvert import HTMLExporter

from kernelbook.cli import main
from kernelbook.course.assignment import source
from kernelbook.course.gradebook import Course, shown_name
from kernelbook.course.showing.mathml import NotSet, mathml
from kernelbook.course.showing.outputs import Budget, is_png, safe_outputs
from kernelbook.course.showing.text import as_html

from ..conftest import BROWSER, QUIET
from .attacks_text import VECTORS, written
from .helpers import ROOT, load, notebook, save
from .small import make

ELEMENTS = set(
    "div code math mrow mi mo mn mtext mspace msub msup msubsup munder mover munderover mfrac "
    "msqrt mroot mtable mtr mtd".split()
)
ATTRIBUTES = {"class", "style", "display", "stretchy", "accent", "displaystyle", "linethickness"}
ATTRIBUTES |= {"mathvariant", "width", "lspace", "rspace", "form"}


def tags(html):
    """(element, its attributes) of each tag, by Python's own parser."""
    from html.parser import HTMLParser

    found = []

    class Parser(HTMLParser):
        def handle_starttag(self, tag, attributes):
            found.append((tag, dict(attributes)))

        def handle_comment(self, data):
            raise AssertionError(data)

        handle_decl = unknown_decl = handle_pi = handle_comment

    Parser().feed(html)
    return found


@pytest.mark.parametrize("n", range(len(VECTORS)))
def test_only_known_elements_come_out(n):
    html = as_html(written(n))
    assert "\n" not in html
    for tag, attributes in tags(html):
        assert tag in ELEMENTS
        assert set(attributes) <= ATTRIBUTES
        assert "url" not in attributes.get("style", "")
    # A Markdown parser has nothing left to interpret.
    from nbconvert.filters import markdown2html

    assert re.sub(r"\s", "", markdown2html(html)) == re.sub(r"\s", "", html)


def test_there_are_enough_of_them_and_each_is_one():
    assert len(VECTORS) >= 60
    assert len({written(n) for n in range(len(VECTORS))}) == len(VECTORS)
    assert all(str(n) in written(n) for n in range(len(VECTORS)))


FORMULAS = {
    r"\tilde K = \begin{pmatrix} I & 0\\ E & H\end{pmatrix}": ("mtable", "mover"),
    r"(\tilde K^\top\tilde K + m\gamma\,\mathrm{diag}(0, H))\,z = \tilde K^\top y": ("msup",),
    r"\frac1m\sum_{i=1}^m (y_i - f(x_i))^2 \le \sqrt{2}": ("mfrac", "munderover", "msqrt"),
    r"\begin{aligned} a &= b\\ c &= d \end{aligned}": ("mtable",),
    r"\frac12 + \frac{1}2 = \tfrac1{10}x_12 + f'^2": ("mfrac", "msup"),
    r"f''(x) \in \mathbb R,\ \left\|\frac{x}{2}\right\|": ("mfrac", "msup"),
    r"\begin{cases} 1 & x > 0\\ 0 & \text{otherwise}\end{cases}": ("mtable", "mtext"),
}


MEMBERS = dict.fromkeys("msub msup munder mover mfrac mroot".split(), 2)
MEMBERS |= dict.fromkeys(("msubsup", "munderover"), 3)


def test_every_formula_of_the_book_is_set_with_its_parts_in_place():
    """12,000 formulas: none outside the language, and a subscript has a base and an index."""
    from xml.etree import ElementTree

    seen = 0
    for path in sorted((ROOT / "book").glob("*/*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n\n".join(source(c) for c in cells if c["cell_type"] == "markdown")
        text = re.sub(r"`[^`\n]*`", "", text)
        found = re.findall(r"\$\$(.+?)\$\$|\$([^$]+?)\$", text, re.DOTALL)
        for tex in {displayed or inline for displayed, inline in found}:
            seen += 1
            for element in ElementTree.fromstring(mathml(tex.strip())).iter():
                if element.tag in MEMBERS:
                    assert len(element) == MEMBERS[element.tag], (path.name, tex)
    assert seen > 3000


def test_functions_stand_apart_from_their_arguments():
    gap = "<mspace"
    for tex in (r"\log x", r"\operatorname{tr} S", r"\max_i x_i", r"\det P^\top", r"\sin\theta"):
        assert gap in mathml(tex), tex
    for tex in (r"\log(x)", r"\operatorname{tr}", r"\max\{a\}", r"\dim = 3", r"\det\left(A\right)"):
        assert gap not in mathml(tex), tex
    assert re.search(
        r"<msub><mi>argmin</mi><mi>f</mi></msub>", mathml(r"\operatorname{argmin}_f J")
    )


def test_a_sign_stands_close_and_a_difference_apart():
    for tex in ("(-1, 2)", "x = -y", r"a \le -b", r"f(x, -z)", r"\mu = \pm 1"):
        assert mathml(tex).count('form="prefix"') == 1, tex
    for tex in ("a - b", "-x", "2 - 1 = 1", "(a) - b", "x_i - y", "|x| - 1"):
        assert 'form="prefix"' not in mathml(tex), tex


@pytest.mark.parametrize("tex", FORMULAS)
def test_formulas_are_set_and_well_formed(tex):
    from xml.etree import ElementTree

    html = as_html(f"As we saw, ${tex}$.")
    for element in FORMULAS[tex]:
        assert f"<{element}" in html
    ElementTree.fromstring(html)
    ElementTree.fromstring(mathml(tex, display=True))


def test_what_is_no_formula_of_ours_is_shown_as_it_was_typed():
    for tex in (r"\href{x}{y}", "x_", "{", r"\begin{pmatrix}", "a & b", "x" * 5000, "{" * 500):
        with pytest.raises(NotSet):
            mathml(tex)
    assert "<math" not in as_html(r"$\href{x}{y}$")
    assert "<math" not in as_html("It costs $5 and then $6.")
    assert "<math" not in as_html(r"\$x\$")


def test_what_is_shown_has_a_limit():
    budget = Budget()
    flood = {"outputs": [{"output_type": "stream", "text": "<&" * 10**6}] * 50}
    shown = sum(len(o["text"]) for _ in range(100) for o in safe_outputs(flood, budget))
    assert shown < 600_000
    assert len(as_html("<" * 10**7)) < 200_000
    assert "more characters" in as_html("x" * 30_000)
    import base64
    import struct

    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 60_000, 60_000)
    assert not is_png(base64.b64encode(head).decode())  # 14 GB when unpacked


def test_names_that_formgrader_puts_into_its_pages():
    assert shown_name("Jörg O'Müller-Šimůnek") == "Jörg O'Müller-Šimůnek"
    assert not set(shown_name('<img src=x onerror="alert(1)">{{x}}')) & set('<>"{}')


# In the browser


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A graded course with one submission that holds every vector, alone and all together."""
    root = tmp_path_factory.mktemp("words")
    masters = make(root)
    made = notebook(load("small", masters))
    essay = next(c for c in made["cells"] if c["metadata"]["nbgrader"]["grade_id"] == "essay")
    texts = [written(n) for n in range(len(VECTORS))]
    essay["source"] = "\n\n".join(texts)
    for text in texts:
        made["cells"].append({"cell_type": "markdown", "metadata": {}, "source": text})
        made["cells"].append(
            {"cell_type": "code", "metadata": {}, "source": f"# {text}", "execution_count": 1}
            | {"outputs": [{"output_type": "stream", "name": "stdout", "text": text}]}
            | {"attachments": {"x.svg": {"image/svg+xml": text}}}
        )
    save(root / "submissions", "<img src=x onerror=alert(7)>", made, "small")
    arguments = ["grade", "small", root / "submissions", "--course", root / "course"]
    arguments += ["--assignments", masters, "--unsafe"]  # the texts are not run: they are comments
    done = CliRunner().invoke(main, ["course", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return root / "course"


@pytest.fixture(scope="module")
def launch():
    """Starts a browser, each time a new one: hostile pages may end one on a busy machine."""
    if BROWSER is None:
        pytest.skip("no browser: install chromium, or name one in KERNELBOOK_BROWSER")
    from playwright.sync_api import sync_playwright

    rules = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    with sync_playwright() as playwright:
        options = {"executable_path": BROWSER, "args": [*QUIET[:-1], rules]}
        yield lambda: playwright.chromium.launch(**options)


@pytest.fixture
def chromium(launch):
    browser = launch()
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def formgrader(course, tmp_path_factory):
    """A Jupyter server over the course, with formgrader alone; its address."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    settings = {
        "ServerApp": {
            "ip": "127.0.0.1",
            "port": port,
            "open_browser": False,
            "allow_root": True,
            "root_dir": str(course),
            "jpserver_extensions": {"nbgrader.server_extensions.formgrader": True},
        },
        "IdentityProvider": {"token": "words"},
        "CourseDirectory": {"root": str(course), "course_id": "kernelbook"},
    }
    home = tmp_path_factory.mktemp("jupyter")
    (home / "jupyter_server_config.json").write_text(json.dumps(settings))
    (course / "nbgrader_config.json").write_text(
        json.dumps({k: settings[k] for k in ("CourseDirectory",)})
    )
    environment = os.environ | {"JUPYTER_CONFIG_DIR": str(home), "JUPYTER_RUNTIME_DIR": str(home)}
    log = open(home / "log", "w")
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter_server"],
        cwd=course,
        env=environment,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}/api?token=words", timeout=5)
                break
            except OSError:
                assert server.poll() is None, (home / "log").read_text()
                time.sleep(0.25)
        yield address
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)
        log.close()


# What formgrader's own pages load from elsewhere: these very addresses, and no neighbours of them.
FORMGRADERS_OWN = {
    HTMLExporter.require_js_url.default_value,
    HTMLExporter.mathjax_url.default_value,
}


class Watched:
    """A page that notes down what should not happen."""

    def __init__(self, browser, ours):
        self.page = browser.new_context(viewport={"width": 1200, "height": 900}).new_page()
        self.happened, self.ours = [], ours
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)
        self.page.context.on("page", lambda page: self.happened.append(f"opened {page.url}"))

    def _dialog(self, dialog):
        self.happened.append(f"alert {dialog.message}")
        dialog.dismiss()

    def _request(self, request):
        if request.url in FORMGRADERS_OWN:
            return
        if not request.url.startswith(("data:", *self.ours)):
            self.happened.append(f"asked for {request.url}")

    def click_everything(self, where):
        """With the mouse on every answer, and by event on whatever in it invites a click."""
        self.page.evaluate(INVITED, where)
        for k in range(self.page.locator(where).count()):
            self.page.mouse.click(*self.page.evaluate(MIDDLE, [where, k]))
        self.page.wait_for_timeout(200)


INVITED = """where => {
  const inviting = 'a, button, summary, input, select, textarea, svg, img, iframe, [onclick], code';
  for (const part of document.querySelectorAll(where))
    for (const e of [part, ...part.querySelectorAll(inviting)])
      for (const kind of ['click', 'pointerenter', 'focus'])
        e.dispatchEvent(new MouseEvent(kind, {bubbles: true}));
}"""
MIDDLE = """([where, k]) => {
  const part = document.querySelectorAll(where)[k];
  part.scrollIntoView({block: 'center', behavior: 'instant'});
  const box = part.getBoundingClientRect();
  return [box.left + 20, Math.min(Math.max(box.top + box.height / 2, 80), innerHeight - 20)];
}"""


def test_the_watch_notices_what_gets_through(chromium, launch):
    """The same words through Markdown without protection: many of them run."""
    from nbconvert.filters import markdown2html
    from playwright.sync_api import Error

    watched, happened = Watched(chromium, ("about:",)), []
    for n in range(len(VECTORS)):
        if "attachment" in written(n):  # no page at all
            continue
        html = markdown2html(written(n))
        try:
            watched.page.set_content(f"<div class='answer'>{html}</div>", wait_until="commit")
            for handle in watched.page.query_selector_all(".answer a"):
                handle.dispatch_event("click")
        except Error:  # it went somewhere else
            happened += watched.happened
            chromium = chromium if chromium.is_connected() else launch()
            watched = Watched(chromium, ("about:",))
    watched.page.wait_for_timeout(100)
    happened += watched.happened
    assert any("cdnjs" in h for h in happened)  # what formgrader loads itself is no cover
    assert len({n for h in happened for n in re.findall(r"\d+", h)[:1]}) >= 25, happened


def test_nothing_runs_in_formgrader(chromium, formgrader, course):
    with Course(course) as book:
        (submission,) = book.gradebook.assignment_submissions("small")
        identity = submission.notebooks[0].id
        before = [(g.name, g.score) for g in submission.notebooks[0].grades]
    watched = Watched(chromium, (formgrader,))
    page = watched.page
    page.goto(f"{formgrader}/formgrader/submissions/{identity}/?token=words")
    page.wait_for_selector(".answer")
    assert page.locator(".answer").count() == len(VECTORS) + 1
    start = page.url
    watched.click_everything(".answer")
    page.evaluate("toggle_name(true)")
    page.wait_for_timeout(200)
    assert watched.happened == []
    assert page.url == start
    for path in ("gradebook/small", "gradebook/small/small", "manage_students"):
        page.goto(f"{formgrader}/formgrader/{path}")
        page.wait_for_timeout(700)
    assert watched.happened == []
    with Course(course) as book:
        (submission,) = book.gradebook.assignment_submissions("small")
        assert [(g.name, g.score) for g in submission.notebooks[0].grades] == before


def test_nothing_runs_on_the_feedback_page(chromium, course):
    (path,) = (course / "feedback").rglob("*.html")
    watched = Watched(chromium, (path.as_uri(),))
    watched.page.goto(path.as_uri())
    assert watched.page.locator(".answer").count() >= len(VECTORS)
    assert watched.happened == []
    # A page that forgot its policy is as harmless.
    bare = path.with_name("bare.html")
    bare.write_text(re.sub(r"<meta http-equiv[^>]*>", "", path.read_text()), encoding="utf-8")
    watched = Watched(chromium, (bare.as_uri(),))
    watched.page.goto(bare.as_uri())
    watched.click_everything(".answer, pre")
    assert watched.page.url == bare.as_uri()
    bare.unlink()
    assert watched.happened == []

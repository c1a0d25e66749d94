"""The built pages load nothing from the network and link to nothing that is missing."""

import json
import re
import sys
from functools import cache
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from tests.paths import HTML

# The theme copies two of its templates into _static; they are not pages.
PAGES = sorted(p for p in HTML.rglob("*.html") if "_static" not in p.relative_to(HTML).parts)

pytestmark = pytest.mark.skipif(
    not PAGES, reason="no built book: `make book` or `make strict` first"
)

LOADS = {
    "script": ["src"],
    "img": ["src", "srcset"],
    "iframe": ["src"],
    "source": ["src", "srcset"],
    "video": ["src", "poster"],
    "audio": ["src"],
    "embed": ["src"],
    "object": ["data"],
    "track": ["src"],
}
LOADING_RELS = {
    "stylesheet",
    "preload",
    "modulepreload",
    "prefetch",
    "icon",
    "manifest",
    "preconnect",
}


class Page(HTMLParser):
    """What a page loads, where it links to, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.ids, self.styles, self._in_style = [], [], set(), "", False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.ids.update(filter(None, (a.get("id"), a.get("name"))))
        self.loads += [a[key] for key in LOADS.get(tag, []) if a.get(key)]
        if tag == "link" and LOADING_RELS & set((a.get("rel") or "").split()):
            self.loads.append(a.get("href", ""))
        if tag == "a" and a.get("href"):
            self.links.append(a["href"])
        self.styles += a.get("style") or ""
        self._in_style = tag == "style"

    def handle_data(self, data):
        if self._in_style:
            self.styles += data


@cache
def parsed(path):
    """Pages are long, and three tests look at each."""
    return Page(path)


def external(address):
    return address.startswith("//") or urlsplit(address).scheme in {
        "http",
        "https",
        "ftp",
        "ws",
        "wss",
    }


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(HTML).as_posix())
def test_a_page_loads_only_its_own_files(path):
    page = parsed(path)
    assert not [a for a in page.loads if external(a)]
    assert "url(http" not in page.styles
    assert "@import" not in page.styles
    for address in page.loads:
        if not address.startswith("data:"):
            target = path.parent / unquote(urlsplit(address).path)
            assert target.exists(), f"{address} is missing"


def test_style_sheets_load_only_their_own_files():
    for path in HTML.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        for marker in ("url(http", 'url("http', "url('http", "url(//", "@import url"):
            assert marker not in text, path


def test_math_comes_from_the_book():
    page = (HTML / "book" / "back" / "notation.html").read_text(encoding="utf-8")
    (script,) = re.findall(r'data-mathjax="([^"]*)"', page)
    assert not external(script)
    assert (HTML / "book" / "back" / script).exists()


def test_links_inside_the_book_lead_somewhere():
    pages = {path.resolve(): parsed(path) for path in PAGES}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                broken.append((path.name, link))
            elif parts.fragment and target in pages and target.suffix == ".html":
                if unquote(parts.fragment) not in pages[target].ids:
                    broken.append((path.name, link))
    assert not broken


def test_the_front_door_and_the_usual_pages_exist():
    for name in ("index.html", "search.html", "genindex.html", "book/index.html"):
        assert (HTML / name).exists()


def test_every_chapter_says_how_to_run_it():
    notebooks = [
        p for p in PAGES if (HTML.parents[1] / p.relative_to(HTML)).with_suffix(".ipynb").exists()
    ]
    assert len(notebooks) > 15
    for path in notebooks:
        source = path.relative_to(HTML).with_suffix(".ipynb").as_posix()
        assert f"make run NB={source}" in path.read_text(encoding="utf-8")


def test_the_notebook_of_each_chapter_can_be_downloaded():
    root = HTML.parents[1]
    notebooks = [p for p in PAGES if (root / p.relative_to(HTML)).with_suffix(".ipynb").exists()]
    for path in notebooks:
        links = [a for a in parsed(path).links if a.endswith(".ipynb")]
        assert links, f"{path.name} offers no notebook"
        for link in links:
            copy = json.loads((path.parent / unquote(link)).read_text(encoding="utf-8"))
            assert copy["nbformat"] == 4
            assert any(cell["cell_type"] == "code" for cell in copy["cells"])


def test_figures_are_transparent():
    """They stand on light and on dark pages; a white card would glare on the latter."""
    from PIL import Image

    pictures = [p for p in (HTML / "_images").iterdir() if p.suffix in (".png", ".webp")]
    assert len(pictures) > 20
    for path in pictures:
        with Image.open(path) as image:
            assert image.mode == "RGBA", path.name
            assert image.getpixel((0, 0))[3] == 0, path.name


EMBEDDED = {
    "foundations/regularized_approximation": "regression",
    "free/invariance": "anchors",
    "free/grls": "regression",
    "free/svmgb": "classification",
    "primal/incremental": "basis-functions",
    "foundations/representer": "losses",
    "computing/smo": "smo",
    "computing/choosing": "path",
    "computing/likelihood": "likelihood",
}


@pytest.mark.parametrize("chapter", EMBEDDED)
def test_a_playground_stands_in_the_argument(chapter):
    """With a task before it and what to see behind it."""
    text = (HTML / "book" / f"{chapter}.html").read_text(encoding="utf-8")
    before, place, after = text.partition(f'data-playground="{EMBEDDED[chapter]}"')
    assert place
    assert "<em>Try it.</em>" in before[-1500:]
    assert "What to see:" in after[:1500]


def test_the_menu_offers_the_book_and_does_not_print_the_page():
    text = (HTML / "book/free/grls.html").read_text(encoding="utf-8")
    assert "window.print" not in text
    entry = text[text.index("btn-download-pdf-button") - 200 :][:600]
    assert "kernelbook.pdf" in entry or "make pdf" in entry


def test_tex_is_quoted_where_it_stopped(tmp_path):
    sys.path.insert(0, str(HTML.parents[1] / "tools"))
    from build_book import tex_error

    log = tmp_path / "kernelbook.log"
    assert tex_error(log) == ""
    log.write_text("This is XeTeX\n! Undefined control sequence.\n<x>\nl.42 \\kbqd\n\n! Later.\n")
    assert tex_error(log) == "! Undefined control sequence.\nl.42 \\kbqd"
    log.write_text("Output written on kernelbook.pdf")
    assert tex_error(log) == ""

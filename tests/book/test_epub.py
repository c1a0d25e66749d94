"""The EPUB: a small book by the same extension, and the whole one where `make epub` made it."""

import posixpath
import re
import shutil
import sys
import zipfile
from xml.etree import ElementTree

import pytest

from tests.book.small_sphinx import build
from tests.paths import ROOT

WHOLE = ROOT / "_build" / "epub" / "kernelbook.epub"
EXTENSIONS = ROOT / "book" / "_ext"
XHTML = "{http://www.w3.org/1999/xhtml}"
MATHML = "{http://www.w3.org/1998/Math/MathML}"
INDEX = """# A book

```{toctree}
:hidden:
first
second
```

A price, 5 < 6 & so on, <b>bold and <br> never closed.
"""
FIRST = r"""# First

Let $\operatorname{tr}_k A < 1$. By {eq}`first-sum`

$$
\sum_i x_i = \begin{pmatrix} 1 & 0 \\ 0 & 1 \end{pmatrix}
$$ (first-sum)

\begin{align*}
a &= b \\ c &= d
\end{align*}

<details class="hide"><summary aria-label="x"><p>Show</p><p>Hide</p></summary><p>Inside</details>

```{playground} regression
:alt: a curve
A sentence for readers without JavaScript.
```
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A book of three pages, built by Sphinx in this process."""
    folder = tmp_path_factory.mktemp("epub")
    pages = {"index": INDEX, "first": FIRST, "second": "# Second\n\nNo formula here.\n"}
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    stills = folder / "book" / "_static" / "playgrounds"
    stills.mkdir(parents=True)
    shutil.copy(ROOT / "book/_static/playgrounds/regression.png", stills)
    settings = {
        "extensions": ["myst_parser", "sphinx.ext.mathjax", "playgrounds", "epub"],
        "epub_basename": "kernelbook",
        "epub_tocscope": "includehidden",
    }
    out, said = build(folder, "epub", settings)
    assert "not set" not in said
    with zipfile.ZipFile(out / "kernelbook.epub") as book:
        yield book


@pytest.fixture(scope="module")
def whole():
    if not WHOLE.exists():
        pytest.skip("no EPUB: `make epub` first")
    with zipfile.ZipFile(WHOLE) as book:
        yield book


@pytest.fixture(params=["small", "whole"])
def book(request):
    return request.getfixturevalue(request.param)


def pages(book):
    return {n: book.read(n).decode() for n in book.namelist() if n.endswith(".xhtml")}


def test_a_reader_can_open_it(book):
    """What a reading system refuses: the order of the files, XML that is not, what is missing."""
    first = book.infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
    assert book.read("mimetype") == b"application/epub+zip"
    assert b"content.opf" in book.read("META-INF/container.xml")
    manifest = book.read("content.opf").decode()
    listed = {i[1]: i[0] for i in re.findall(r'(<item [^>]*href="([^"]+)"[^>]*>)', manifest)}
    inside = set(book.namelist())
    assert set(listed) <= inside
    for name, text in pages(book).items():
        tree = ElementTree.fromstring(text)
        identities = [e.get("id") for e in tree.iter() if e.get("id")]
        assert len(identities) == len(set(identities)), name
        assert not list(tree.iter(f"{XHTML}script")), name
        has_math = next(tree.iter(f"{MATHML}math"), None) is not None
        assert ("mathml" in listed[name]) == has_math, name
        for element in tree.iter():
            target = element.get("src") or element.get("href") or ""
            if target and not re.match(r"#|https?:|mailto:", target):
                path = posixpath.normpath(f"{posixpath.dirname(name)}/{target.partition('#')[0]}")
                assert path.lstrip("/") in inside, (name, target)


def test_nothing_is_packed_that_a_reader_of_books_cannot_use(book):
    assert not [n for n in book.namelist() if n.endswith((".js", ".html"))]
    for name in book.namelist():
        if name.endswith(".css"):
            asked = re.findall(r"url\([\"']?([^)\"']+)", book.read(name).decode())
            relative = {f"_static/{a}" for a in asked if ":" not in a}
            assert relative <= set(book.namelist()), name


def test_formulas_numbers_and_pictures(small):
    page = pages(small)["first.xhtml"]
    tree = ElementTree.fromstring(page)
    formulas = list(tree.iter(f"{MATHML}math"))
    assert len(formulas) == 3
    assert [f.get("display") for f in formulas] == ["inline", "block", "block"]
    assert "$" not in page
    assert r"\begin" not in page
    assert '<span class="eqno">(1)' in page
    assert "playgrounds/regression" in page or "regression.png" in page
    assert "data-playground" not in page
    assert re.search(r"<summary>Code</summary>\s*<p>Inside</p>", page)


def test_the_contents_list_all_chapters(book):
    contents = ElementTree.fromstring(book.read("nav.xhtml").decode())
    linked = {a.get("href").partition("#")[0] for a in contents.iter(f"{XHTML}a")}
    missing = {n for n in pages(book) if n not in linked} - {"nav.xhtml", "genindex.xhtml"}
    assert missing == set()


def test_broken_html_becomes_xhtml():
    sys.path.insert(0, str(EXTENSIONS))
    try:
        from epub import Xhtml
    finally:
        sys.path.remove(str(EXTENSIONS))
    for html in (
        "<p>one<ul><li>two</ul></p>three",
        '<div><img src="x" hidden><b>a<i>b</b></div></div>',
        "a & b &lt; c &copy; <wbr>d",
        '<p id="a" id="b">x</p><p id="a" onclick="y">z</p>',
    ):
        ElementTree.fromstring(f"<body>{Xhtml(html)}</body>")
    assert str(Xhtml("<p>a<ul><li>b</ul></p>")) == "<p>a</p><ul><li>b</li></ul>"

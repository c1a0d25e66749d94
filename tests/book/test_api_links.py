"""Every name of the library in every chapter leads to its entry and its source, and back."""

import ast
import importlib.util
import inspect
import json
import re
from contextlib import suppress
from functools import cache
from html import unescape
from urllib.parse import urldefrag

import pytest

import kernelbook
from kernelbook import plotting
from tests.paths import HTML, ROOT

API = HTML / "book" / "back" / "api.html"
CHAPTERS = sorted(
    p for p in (ROOT / "book").rglob("*.ipynb") if not any(s.startswith(".") for s in p.parts)
)
LINK = re.compile(r'<a class="kb-api" href="([^"]+)"( tabindex="-1")?>(?:<[^>]*>)*([\w.]+)')
ITEM = re.compile(r"<li(?: id=\"[^\"]*\")?>(?:<a href=\"([^\"]+)\">)?<code>(\w+)</code>.*?</li>")
# Solvers, experiments and helpers that a chapter opens: their source is their explanation.
WITHOUT_ENTRY = ("solvers", "experiments", "numeric", "inference", "papers", "verifier")

pytestmark = pytest.mark.skipif(not API.exists(), reason="no built book: `make strict` first")


@cache
def text(path):
    return path.read_text(encoding="utf-8")


def page(chapter):
    return HTML / chapter.relative_to(ROOT).with_suffix(".html")


@cache
def imports(chapter):
    """{(module, name)} that the cells of a chapter import from the library."""
    found = set()
    for cell in json.loads(text(chapter))["cells"]:
        if cell["cell_type"] == "code" and "kernelbook" in "".join(cell["source"]):
            for node in ast.walk(ast.parse("".join(cell["source"]))):
                if isinstance(node, ast.ImportFrom) and node.module.startswith("kernelbook"):
                    found |= {(node.module, alias.name) for alias in node.names}
    return found


def target(link, start):
    """The file and the anchor that a link on the page `start` leads to."""
    file, anchor = urldefrag(link)
    file = (start.parent / file).resolve()
    assert file.exists(), link
    if anchor:
        assert f'id="{anchor}"' in text(file), link
    return file, anchor


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda p: p.stem)
def test_every_imported_name_leads_to_its_entry_and_its_source(chapter):
    here = page(chapter)
    html = text(here).replace("<wbr>", "")
    links = {}
    for address, again, name in LINK.findall(html):
        links.setdefault(name, []).append((address, again))
    lists = "".join(re.findall(r'<details class="kb-names">.*?</details>', html, re.DOTALL))
    sources = {m[2]: (m[1], re.findall('href="([^"]+)"', m[0])[-1]) for m in ITEM.finditer(lists)}
    for module, name in imports(chapter):
        assert name in links, f"{name} is no link"
        for address, _ in links[name]:
            file, anchor = target(address, here)
            if file == API.resolve():
                assert anchor.split(".")[-1] == name
            else:
                room = f"{module}.{name}".split(".")[1]
                assert room in WITHOUT_ENTRY, f"{module}.{name} has no entry"
        assert sum(not again for _, again in links[name]) == 1  # the tab key meets it once
        entry, source = sources[name]
        assert bool(entry) == any("api.html#" in address for address, _ in links[name])
        file, anchor = target(source, here)
        assert "_modules" in file.parts
        if importlib.util.find_spec(module).origin.endswith("__init__.py"):
            with suppress(ImportError):
                importlib.import_module(f"{module}.{name}")  # a name may be a module
        thing = inspect.unwrap(getattr(importlib.import_module(module), name))
        if inspect.isclass(thing) or inspect.isfunction(thing):
            written = inspect.getsourcefile(thing)
            assert str(file.with_suffix(".py")).endswith(written.rpartition("/kernelbook/")[2])
            assert anchor == name


def test_every_entry_lists_the_chapters_that_use_it():
    """Those that import it, and those that name it in their text."""
    html = text(API)
    for entry in re.finditer(
        r'<dt class="sig[^>]* id="kernelbook\.([\w.]+)">(.*?)(?=<dt class="sig|\Z)', html, re.DOTALL
    ):
        full, name = f"kernelbook.{entry[1]}", entry[1].rpartition(".")[2]
        used = entry[2].partition('<p class="kb-used">')[2].partition("</p>")[0]
        listed = {target(link, API)[0] for link in re.findall('href="([^"]+)"', used)}
        for chapter in CHAPTERS:
            if any(f"{m}.{n}" == full for m, n in imports(chapter)):
                assert page(chapter) in listed, f"{full} does not list {chapter.stem}"
        for file in listed:
            chapter = ROOT / file.relative_to(HTML).with_suffix(".ipynb")
            assert name in text(chapter), f"{full} lists {chapter.stem}"


def test_a_name_in_the_text_counts_as_a_use():
    entry = text(API).partition('id="kernelbook.GRLSClassifier"')[2]
    used = entry.partition('<p class="kb-used">')[2].partition("</p>")[0]
    assert 'href="../free/grls.html"' in used
    assert "GRLSClassifier" not in {n for _, n in imports(ROOT / "book/free/grls.ipynb")}


@pytest.mark.parametrize("name", plotting.__all__)
def test_pictures_have_entries(name):
    assert f'id="kernelbook.plotting.{name}"' in text(API)


def test_most_entries_are_used_somewhere():
    """A public name that no chapter mentions is hard to learn."""
    html = text(API)
    unused = []
    for name in kernelbook.__all__:
        entry = html.partition(f'id="kernelbook.{name}"')[2].partition('<dt class="sig')[0]
        if entry and 'class="kb-used"' not in entry:
            unused.append(unescape(name))
    assert len(unused) <= 12, unused

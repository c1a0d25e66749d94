"""The PDF: a small book as TeX by the same extension and settings, and the whole one if it is made.

TeX is not needed: what it would be given is read.  Where xelatex is installed it sets the small
book; where `make pdf` has made the whole book, its bookmarks, links and index are counted.
"""

import re
import shutil
import subprocess
import zlib

import pytest
import yaml
from PIL import Image

from kernelbook.plotting import COLORS
from tests.book.small_sphinx import build
from tests.paths import ROOT

WHOLE = ROOT / "_build" / "latex" / "kernelbook.pdf"
CHAPTER = r"""# First

## An idea

A {index}`bias` is free.

```{figure} drawn.png
:name: a-figure
A figure in the text.
```

```{admonition} A box
Text.

![in a box](drawn.png)
```

## Exercises

```{exercise} A name
:label: one-more

Compute it.
```

```{solution} one-more
:label: one-more-solution
:class: dropdown

It is zero.
```

## Take away

1. Nothing.
"""
EQUATIONS = """# Equations

As in {ref}`an exercise <one-more>` of another page.

| equation | in this book | code |
|---|---|---|
| A (1) | right | `f` |
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A book of two chapters as TeX, built by Sphinx in this process."""
    folder = tmp_path_factory.mktemp("latex")
    contents = "# A book\n\n```{toctree}\n:numbered:\nfirst\nequations\n```\n"
    pages = {"index": contents, "first": CHAPTER}
    for name, text in {**pages, "equations": EQUATIONS}.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    Image.new("RGBA", (30, 20), COLORS.grey).save(folder / "drawn.png")
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    settings = {
        "extensions": ["myst_parser", "sphinx_exercise", "sphinx_proof", "pdf"],
        "numfig": True,
        "latex_engine": "xelatex",
        "latex_documents": [("index", "kernelbook.tex", "A book", "Somebody", "manual")],
        "latex_elements": config["sphinx"]["config"]["latex_elements"],
        "exercise_style": config["sphinx"]["config"]["exercise_style"],
    }
    out, said = build(folder, "latex", settings)
    assert "WARNING" not in said
    return out


@pytest.fixture(scope="module")
def tex(folder):
    return (folder / "kernelbook.tex").read_text(encoding="utf-8")


def test_a_figure_that_does_not_fit_lets_the_text_go_on(tex):
    assert r"\begin{figure}[htbp]" in tex
    assert r"\begin{figure}[H]" not in tex
    assert r"\usepackage[section,above,below]{placeins}" in tex  # but not into the next section


def test_figures_are_printed_in_the_inks_of_paper(folder):
    with Image.open(folder / "drawn.png") as image:
        assert image.getpixel((3, 3)) == (0x62, 0x62, 0x62, 255)


def test_solutions_stand_at_the_end_of_the_chapter(tex):
    before, title, after = tex.partition(r"\section{Solutions}")
    assert title
    assert "It is zero." in after
    assert "It is zero." not in before
    assert before.index(r"\section{Take away}") > before.index("Compute it.")
    (label,) = re.findall(r"\\hyperref\[(solution:[^\]]+)\]", before)
    assert rf"\pageref*{{{label}}}" in before
    assert rf"\label{{{label}}}" in after
    assert r"\hyperref[exercise:one-more]{Exercise 1.1}" in after  # and back


def test_the_equation_index_has_columns_as_wide_as_it_needs(tex):
    table = tex[tex.index(r"\chapter{Equations}") :]
    widths = [float(w) for w in re.findall(r"p\{([\d.]+)\\linewidth\}", table)]
    assert len(widths) == 3
    assert sum(widths) <= 0.95
    assert r"\begin{longtable}" in table  # it goes on over pages


def test_code_is_as_large_as_eighty_characters_allow(tex):
    """The advance of DejaVu Sans Mono is 0.602 of its size; A4 has 453 points between margins."""
    scale = float(re.search(r"setmonofont\{DejaVu Sans Mono\}\[Scale=([\d.]+)\]", tex)[1])
    size = float(re.search(r"fontsize=\\fontsize\{(\d+)\}", tex)[1])
    line = 80 * 0.602 * size * scale
    assert 0.9 * 446 < line < 446  # 453 less the frame


def test_there_are_links_bookmarks_and_an_index(tex):
    assert r"\usepackage{hyperref}" in tex
    assert r"\hyperref[\detokenize{first:one-more}]" in tex
    assert r"\label{\detokenize{first:one-more}}" in tex
    assert re.search(r"\\index\{bias", tex)
    assert r"\printindex" in tex


def inside(pdf):
    """All objects of a PDF: what its compressed streams hold, and what stands between them."""
    data = pdf.read_bytes()
    parts = [data]
    for match in re.finditer(rb"/ObjStm.*?stream\r?\n(.*?)endstream", data, re.DOTALL):
        parts.append(zlib.decompressobj().decompress(match[1]))
    return b"\n".join(parts)


@pytest.mark.skipif(
    not all(map(shutil.which, ("xelatex", "latexmk", "xindy", "make"))),
    reason="no xelatex, latexmk, xindy or make",
)
def test_tex_sets_the_small_book(folder):
    command = ["make", "kernelbook.pdf", "LATEXOPTS=-interaction=nonstopmode -halt-on-error"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    log = (folder / "kernelbook.log").read_text(encoding="utf-8", errors="replace")
    assert "undefined references" not in log
    objects = inside(folder / "kernelbook.pdf")
    assert objects.count(b"/Title") >= 5  # a bookmark for each section
    assert len(re.findall(rb"/Subtype\s*/Link", objects)) >= 8
    assert "bias" in (folder / "kernelbook.ind").read_text(encoding="utf-8")


@pytest.mark.skipif(not WHOLE.exists(), reason="no PDF: `make pdf` first")
def test_the_whole_book_has_bookmarks_links_and_an_index():
    objects = inside(WHOLE)
    assert re.search(rb"/Type\s*/Outlines|/Outlines", objects)
    assert len(re.findall(rb"/Title\s*[(<]", objects)) > 300
    assert len(re.findall(rb"/Subtype\s*/Link", objects)) > 3000
    index = (WHOLE.parent / "kernelbook.ind").read_text(encoding="utf-8")
    assert index.count(r"\item") > 200
    log = (WHOLE.parent / "kernelbook.log").read_text(encoding="utf-8", errors="replace")
    assert "There were undefined references" not in log

"""What the errata, the list and the page, quote is printed in the papers."""

import os
import re
import unicodedata
from pathlib import Path

import nbformat
import pytest

from kernelbook import papers
from tests.paths import BOOK

TEXTS = {
    "A": "svm-gb-ijcai07.txt",
    "B": "g-rls-nips06.md",
    "C": "basis-expansions-svm-cgl12.md",
}
QUOTES = [(e.where, q) for e in papers.ERRATA for q in re.findall("“(.*?)”", e.quote)]


def quotes_of_the_page():
    """Heading and words of each quotation on the errata page, exercises left out."""
    cells = nbformat.read(BOOK / "back" / "errata.ipynb", as_version=4).cells
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    text = text.partition("## Find the slip yourself")[0]
    sections = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    for heading, _, body in (section.partition("\n") for section in sections):
        for quote in re.findall('"(.*?)"', body, re.DOTALL):
            yield heading, quote


def plain(text):
    """Lower-case letters without ligatures, hyphenation, spaces, mark-up."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'").lower()
    return re.sub(r"[\s*$]", "", re.sub(r"-\n+", "", text))


@pytest.fixture(scope="module")
def texts():
    """What the papers say, by letter."""
    folder = os.environ.get("KERNELBOOK_PAPERS")
    if folder is None or not Path(folder).is_dir():
        pytest.skip("KERNELBOOK_PAPERS does not name the folder with the papers' texts")
    return {paper: plain((Path(folder) / name).read_text()) for paper, name in TEXTS.items()}


@pytest.mark.parametrize(("where", "quote"), QUOTES)
def test_the_papers_say_what_we_quote(where, quote, texts):
    said_by = {paper for paper, text in texts.items() if plain(quote) in text}
    assert said_by & set(where), f"{where}: {quote!r} is not there"


def test_the_papers_say_what_the_errata_page_quotes(texts):
    """Formulas within a quotation are left out: each text writes them in its own way."""
    quotes = list(quotes_of_the_page())
    assert len(quotes) > 20
    for heading, quote in quotes:
        words = [plain(part) for part in re.split(r"\$.*?\$", quote)]
        named = set(re.findall(r"\b[ABC]\b", heading))
        said_by = {p for p, text in texts.items() if all(part in text for part in words)}
        assert said_by & named, f"{heading}: {quote!r} is not there"


def test_the_kinds():
    assert {e.kind for e in papers.ERRATA} == set("THWR")
    assert all(e.quote and e.should_be for e in papers.ERRATA)

"""What the errata quote is printed in the papers."""

import os
import re
import unicodedata
from pathlib import Path

import pytest

from kernelbook import papers

TEXTS = {
    "A": "svm-gb-ijcai07.txt",
    "B": "g-rls-nips06.md",
    "C": "basis-expansions-svm-cgl12.md",
}
QUOTES = [(e.where, q) for e in papers.ERRATA for q in re.findall("“(.*?)”", e.quote)]


def plain(text):
    """Letters without ligatures, hyphenation, spaces, mark-up."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    return re.sub(r"[\s*$]", "", re.sub(r"-\n+", "", text))


@pytest.mark.parametrize(("where", "quote"), QUOTES)
def test_the_papers_say_what_we_quote(where, quote):
    folder = os.environ.get("KERNELBOOK_PAPERS")
    if folder is None:
        pytest.skip("KERNELBOOK_PAPERS is not set: the folder with the papers' texts")
    said_by = {p for p in TEXTS if plain(quote) in plain((Path(folder) / TEXTS[p]).read_text())}
    assert said_by & set(where), f"{where}: {quote!r} is not there"


def test_the_kinds():
    assert {e.kind for e in papers.ERRATA} == set("THWR")
    assert all(e.quote and e.should_be for e in papers.ERRATA)

"""The maps are right: paths in CONTRIBUTING; chapters and files that name each other."""

import json
import re

import pytest

from tests.paths import BOOK, ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`((?:kernelbook|book|tests|tools|assignments)/[\w./]+)`", TEXT)))


def chapters():
    """The text of each chapter, by its path without the suffix."""
    found = {}
    for path in sorted(BOOK.rglob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
        found[str(path.relative_to(ROOT).with_suffix(""))] = text
    return found


CHAPTERS = chapters()
FILES = {
    str(path.relative_to(ROOT)): set(
        re.findall(r"^Chapters?:.*$", path.read_text(encoding="utf-8"), re.MULTILINE)
    )
    for path in sorted((ROOT / "kernelbook").rglob("*.py"))
}


def names(chapter, file):
    """Whether the text names the file, by its path or as a module."""
    module = re.escape(file.removesuffix(".py").replace("/", "."))
    return file in CHAPTERS[chapter] or re.search(rf"{module}\b", CHAPTERS[chapter]) is not None


def named_chapters(file):
    return {chapter for line in FILES[file] for chapter in re.findall(r"book/[\w/]+", line)}


WITHOUT_CODE = {
    "book/free/columns",  # tables from the user's side: which column goes where
    "book/free/generalization",  # bounds, and the simulations beside them
    "book/free/generalized_representer",  # a theorem
}
"""Chapters of parts II to V that explain no algorithm of the library."""


@pytest.mark.parametrize("path", PATHS)
def test_a_path_in_contributing_exists(path):
    assert (ROOT / path).exists()


def test_the_ten_questions_have_an_answer():
    table = TEXT.split("## Where to look")[1].split("## Landing")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) >= 10
    assert len(PATHS) >= 20


@pytest.mark.parametrize("file", [file for file in FILES if FILES[file]])
def test_a_file_names_chapters_that_exist_and_name_it(file):
    for chapter in named_chapters(file):
        assert chapter in CHAPTERS, f"{file} names {chapter}, which does not exist"
        assert names(chapter, file)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_names_files_that_exist_and_name_it(chapter):
    for file in sorted(set(re.findall(r"kernelbook/[\w/]+\.py", CHAPTERS[chapter]))):
        assert file in FILES, f"{chapter} names {file}, which does not exist"
        assert chapter in named_chapters(file)


def test_a_chapter_that_explains_an_algorithm_names_its_file():
    silent = {
        chapter
        for chapter, text in CHAPTERS.items()
        if chapter.split("/")[1] in ("free", "primal", "computing")
        and not re.search(r"kernelbook/[\w/]+\.py", text)
    }
    assert silent == WITHOUT_CODE

"""What every chapter promises: checks that print numbers, and an honest reading time."""

import re
import sys

import nbformat
import pytest

from kernelbook.checks import below
from tests.paths import BOOK, ROOT

sys.path.insert(0, str(ROOT / "tools"))
import reading_time

PARTS = "foundations", "free", "primal", "computing", "evidence"
CHAPTERS = {p.stem: p for part in PARTS for p in sorted((BOOK / part).glob("*.ipynb"))}
LONGEST = 90  # minutes

# Chapters that still print mostly booleans, or name a time they do not take.  The tests are strict:
# a chapter that has been rewritten must leave its list.
MOSTLY_BOOLEANS = set()
TIME_TO_BE_NAMED = set()


def chapters(waiting, parts=PARTS):
    return [
        pytest.param(
            path,
            id=name,
            marks=pytest.mark.xfail(reason="to be rewritten", strict=True)
            if name in waiting
            else (),
        )
        for name, path in CHAPTERS.items()
        if path.parent.name in parts
    ]


def printed_lines(notebook):
    return [
        line
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "stream"
        for line in output.text.splitlines()
        if line.strip()
    ]


@pytest.mark.parametrize("path", chapters(MOSTLY_BOOLEANS))
def test_at_most_a_third_of_the_printed_lines_are_booleans(path):
    lines = printed_lines(nbformat.read(path, as_version=4))
    booleans = [line for line in lines if re.search(r"\b(True|False)\b", line)]
    assert 3 * len(booleans) <= len(lines), f"{len(booleans)} of {len(lines)}"


@pytest.mark.parametrize("path", chapters(TIME_TO_BE_NAMED))
def test_a_chapter_names_the_time_it_takes(path):
    notebook = nbformat.read(path, as_version=4)
    named, needed = reading_time.named_minutes(notebook), reading_time.minutes(notebook)
    assert named is not None
    assert needed <= LONGEST
    assert abs(named - needed) <= 5, f"names {named} minutes, takes {needed:.0f}"


@pytest.mark.parametrize("path", chapters(set(), PARTS[:2]))
def test_a_figure_for_every_fifteen_minutes(path):
    """Pictures and playgrounds in the text; what stands in exercises comes on top."""
    notebook = nbformat.read(path, as_version=4)
    pictures = sum("mystnb" in cell.metadata for cell in notebook.cells)
    playgrounds = sum(cell.source.count("{playground}") for cell in notebook.cells)
    needed = reading_time.minutes(notebook) / 15
    assert pictures + playgrounds >= int(needed), f"{needed:.1f} needed"


@pytest.mark.parametrize("path", chapters(set(), PARTS[:2]))
def test_each_chapter_asks_questions(path):
    """About one for every ten minutes of reading, and never fewer than four."""
    notebook = nbformat.read(path, as_version=4)
    asked = sum("} Check yourself" in cell.source for cell in notebook.cells)
    assert asked >= max(4, int(reading_time.minutes(notebook) / 10))


def test_the_book_asks_a_hundred_questions():
    texts = [cell.source for path in CHAPTERS.values() for cell in nbformat.read(path, 4).cells]
    assert sum("} Check yourself" in text for text in texts) >= 100


def test_below_prints_the_bound_where_it_holds_and_the_error_where_not():
    assert below([3e-13, -2e-12], 1e-10) == "< 1e-10"
    assert below(-0.25, 1e-2) == "0.25, not < 1e-2"
    assert below([1e-3, float("nan")], 1e-2) == "nan, not < 1e-2"
    assert below(1e-3, 1e-3) == "0.001, not < 1e-3"


def test_reading_time_leaves_out_exercises_questions_and_hidden_code():
    words = "word " * 150
    proof = "```{prf:proof}\n" + "word " * 75 + "\n```"
    exercise = "```{exercise-start}\n" + "word " * 600 + "\n```{exercise-end}\n```"
    code = nbformat.v4.new_code_cell("\n".join(["x = 1"] * 15))
    hidden = nbformat.v4.new_code_cell("x = 2\n" * 15, metadata={"tags": ["hide-input"]})
    check = "````{admonition} Check yourself\n:class: check\n" + "word " * 300 + "\n````"
    text = nbformat.v4.new_markdown_cell("\n".join([words, proof, exercise, check]))
    notebook = nbformat.v4.new_notebook(cells=[text, code, hidden])
    assert reading_time.minutes(notebook) == pytest.approx(3, abs=0.1)

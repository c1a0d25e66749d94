"""What every chapter promises: checks that print numbers, and an honest reading time."""

import math
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
NOTEBOOKS = CHAPTERS | {name: BOOK / "back" / f"{name}.ipynb" for name in ("errata", "verify")}
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
        for name, path in NOTEBOOKS.items()
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


@pytest.mark.parametrize("path", chapters(MOSTLY_BOOLEANS, (*PARTS, "back")))
def test_at_most_a_third_of_the_printed_lines_are_booleans(path):
    lines = printed_lines(nbformat.read(path, as_version=4))
    booleans = [line for line in lines if re.search(r"\b(True|False)\b", line)]
    assert 3 * len(booleans) <= len(lines), f"{len(booleans)} of {len(lines)}"


@pytest.mark.parametrize("path", chapters(TIME_TO_BE_NAMED, (*PARTS, "back")))
def test_a_chapter_names_the_time_it_takes(path):
    notebook = nbformat.read(path, as_version=4)
    named, needed = reading_time.named_minutes(notebook), reading_time.minutes(notebook)
    assert named is not None
    assert needed <= LONGEST
    assert abs(named - needed) <= 5, f"names {named} minutes, takes {needed:.0f}"


@pytest.mark.parametrize("path", chapters(set()))
def test_a_figure_for_every_fifteen_minutes(path):
    """Pictures and playgrounds, one for every quarter of an hour that has begun."""
    notebook = nbformat.read(path, as_version=4)
    pictures = sum("figure" in cell.metadata.get("mystnb", {}) for cell in notebook.cells)
    playgrounds = sum(cell.source.count("{playground}") for cell in notebook.cells)
    needed = reading_time.minutes(notebook) / 15
    assert pictures + playgrounds >= math.ceil(needed), f"{needed:.2f} needed"


@pytest.mark.parametrize("path", chapters(set()))
def test_what_the_papers_say_is_one_folded_box_at_the_end(path):
    notebook = nbformat.read(path, as_version=4)
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    boxes = [text for text in texts if ":class: dropdown seealso" in text]
    assert len(boxes) == 1
    assert boxes[0] in texts[-2:], "the box belongs to the end of the chapter"
    assert boxes[0].count(":class: dropdown seealso") == 1
    assert not any(re.search(r"^#+ Where .*papers?\b", text, re.MULTILINE) for text in texts)


@pytest.mark.parametrize("path", chapters(set()))
def test_each_chapter_asks_questions(path):
    """About one for every ten minutes of reading, and never fewer than four."""
    notebook = nbformat.read(path, as_version=4)
    asked = sum("} Check yourself" in cell.source for cell in notebook.cells)
    assert asked >= max(4, int(reading_time.minutes(notebook) / 10))


@pytest.mark.parametrize("path", chapters(set()))
def test_each_chapter_has_four_exercises_with_solutions(path):
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
    asked = re.findall(r"\{exercise-start\}.*\n:label: (.*)", text)
    assert len(asked) >= 4
    assert sorted(asked) == sorted(re.findall(r"\{solution-start\} (.*)", text))


@pytest.mark.parametrize("path", chapters(set()))
def test_questions_end_sections_and_do_not_stand_among_exercises(path):
    texts = [cell.source for cell in nbformat.read(path, as_version=4).cells]
    first = next(i for i, text in enumerate(texts) if "## Exercises" in text)
    assert not any("} Check yourself" in text for text in texts[first + 1 :])


def test_the_book_asks_a_hundred_questions():
    texts = [cell.source for path in CHAPTERS.values() for cell in nbformat.read(path, 4).cells]
    assert sum("} Check yourself" in text for text in texts) >= 100


# How a page mentions a paper by its letter, and the authors in words.  A is an article as well, and
# C the weight of the loss.
MENTION = (
    r"[Pp]apers? \**{0}\b"
    r"|\b{0}(?:['’]s\b| ?\(\d| \d\b|, section|, B\b| and [BC]\b| (?:says|writes|has|calls)\b)"
    r"|\b(?:of|in|by|to|from|for|against|like|and) {0}\b(?=[ .,;:])(?! =)"
)
MENTIONS = {"A": MENTION.format("A"), "B": r"(?<!theorem )\bB\b", "C": MENTION.format("C")}
AUTHORS = {
    "A": "Li, Leung and Lee",
    "B": "Li, Lee and Leung|Li, Leung and Lee|the same authors",
    "C": "Giesen, Laue and Mueller",
}


def words_of_a_page(path):
    """The page's text without headings, code, formulas and roles."""
    text = path.read_text()
    if path.suffix == ".ipynb":
        cells = nbformat.reads(text, as_version=4).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    else:
        text = re.sub(r"^```python\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(?:#|:alt:).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL)
    paragraphs = re.split(r"\n\s*\n", text)
    bare = (re.sub(r"\$[^$]*\$|\{[\w:+-]+\}`[^`]*`|`[^`\n]+`", "", p) for p in paragraphs)
    return re.sub(r"\s+", " ", " ".join(bare))


def unnamed_papers(text):
    """Letters used without the authors' names, or more than a few words before them."""
    for paper, mention in MENTIONS.items():
        used, named = re.search(mention, text), re.search(AUTHORS[paper], text)
        if used and not (named and named.start() < used.end() + 30):
            yield paper


PAGES = sorted(path for path in BOOK.rglob("*") if path.suffix in (".ipynb", ".md"))


@pytest.mark.parametrize("path", [pytest.param(p, id=str(p.relative_to(BOOK))) for p in PAGES])
def test_papers_are_named_at_first_use(path):
    assert not list(unnamed_papers(words_of_a_page(path)))


def test_a_letter_without_a_name_is_noticed():
    assert list(unnamed_papers("The example of B. Li, Lee and Leung")) == []
    assert list(unnamed_papers("The example of B, which was printed in the year 2006")) == ["B"]
    assert list(unnamed_papers("B 5 and " + 40 * "x" + " Li, Lee and Leung")) == ["B"]
    assert list(unnamed_papers("As A 5 says. A free feature costs nothing.")) == ["A"]
    assert list(unnamed_papers("A free feature costs nothing. At C = 1, for C = 2 as well.")) == []


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

"""Chapter 1 as a screen reader has it, from top to bottom: `heard` turns the tree into text."""

import itertools
import re

import pytest

from tests.book.heard import BLOCKS, heard, name, role, tree
from tests.paths import HTML

NAMED = set(
    "button link slider spinbutton combobox checkbox textbox searchbox image DisclosureTriangle "
    "application navigation".split()
)


@pytest.fixture(scope="module")
def chapter(browser):
    """The nodes of chapter 1 and its lines, once its formulas are set and it is quiet."""
    page = browser.new_context(viewport={"width": 1300, "height": 900}).new_page()
    page.goto((HTML / "book" / "foundations" / "regularized_approximation.html").as_uri())
    page.evaluate("async () => { await window.KERNELBOOK_MATH; }")
    page.wait_for_function("() => document.querySelector('.pg-live').textContent")
    nodes, root = tree(page)
    page.context.close()
    return list(nodes.values()), heard(nodes, root)


def inside(lines, begin, end):
    """The lines from one that begins so to one that ends the part, without their depth."""
    lines = [line.strip() for line in lines]
    first = next(i for i, line in enumerate(lines) if line.startswith(begin))
    last = next(i for i, line in enumerate(lines) if i > first and line.startswith(end))
    return lines[first : last + 1]


def test_everything_has_a_name_of_its_own(chapter):
    nodes, lines = chapter
    shown = [n for n in nodes if not n.get("ignored")]
    assert [role(n) for n in shown if role(n) in NAMED and not name(n)] == []
    text = "\n".join(lines)
    for useless in ("Toggle hidden content", "Show code cell"):
        assert useless not in text
    unfolding = [line for line in lines if "DisclosureTriangle" in line or "(collapsed)" in line]
    of_code = [line.strip() for line in unfolding if "the code of" in line]
    assert len(of_code) == len(set(of_code)) >= 2  # each says of which figure
    solutions = [line.strip() for line in unfolding if "Solution of exercise" in line]
    assert len(solutions) == len(set(solutions)) >= 4


def test_headings_make_a_contents_without_jumps(chapter):
    _, lines = chapter
    start = next(i for i, line in enumerate(lines) if "article" in line)
    levels = [int(m[1]) for line in lines[start:] if (m := re.match(r"\s*heading (\d)", line))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert len(levels) > 8
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_a_code_cell_is_announced_before_it_is_read(chapter):
    _, lines = chapter
    said = [line.strip() for line in lines]
    cells = [line for line in said if re.match(r"group: (Code|Buttons|Output)", line)]
    numbers = [int(re.search(r"\d+", line)[0]) for line in cells]
    assert numbers == sorted(numbers)  # those of folded code, too, count
    assert len(set(numbers)) > 20
    opened = [line for line in cells if line.startswith("group: Code cell")]
    assert len(opened) == len(set(opened)) > 15
    first = said.index("group: Code cell 2")
    assert not said[first + 1].startswith(("group", "button"))
    assert "group: Buttons of code cell 2" in said[first:]
    assert any(line.startswith("group: Output of code cell") for line in cells)


def test_answers_say_their_formulas(chapter):
    """A button is its name alone to a screen reader; formulas in it are said in words."""
    _, lines = chapter
    said = [line.strip() for line in lines]
    answers = [line for line in said if line.startswith("- button: ")]
    assert len(answers) > 10
    assert not [a for a in answers if re.search(r"\b(of|in|by|only|all|and|for) [.,]|: [.,]", a)]
    assert "- button: w sub γ stays, and λ grows by (5, 3)." in answers
    assert "- button: That f lies in the range of X." in answers


def test_formulas_and_paragraphs_are_read_in_order(chapter):
    nodes, lines = chapter
    text = "\n".join(lines)
    assert text.count("⟨") > 200
    assert "\\(" not in text  # no TeX
    assert sum(role(n) in BLOCKS for n in nodes) > 100


def test_a_playground_makes_sense_in_its_order(chapter):
    _, lines = chapter
    task = "Try it. The solid curve is generalized regularized least squares"
    what = "What to see: without free features the narrow kernel falls to zero"
    part = inside(lines, task, what)
    order = [
        task,
        "group: Playground: ",
        "application: Plot of samples. Arrow keys move the selected sample",
        "list: Legend",
        "slider: width σ of the kernel",
        "group: The selected sample",
        "button: previous sample",
        "sample 1 of ",
        "spinbutton: x = ",
        "button: Start again",
        "term: ",
        "definition: ",
        "status: Leave-one-out error",
        "button: Link to this state",
        what,
    ]
    at = -1
    for begin in order:
        at = next((i for i, line in enumerate(part) if i > at and line.startswith(begin)), None)
        assert at is not None, begin
    values = [line for line in part if line.startswith(("slider", "spinbutton", "combobox"))]
    assert len(values) >= 5
    assert all(re.search(r" = \S+", line) for line in values)
    numbers = [line for line in part if line.startswith("definition: ")]
    assert len(numbers) >= 5
    assert not [n for n in numbers if "–" in n or not n.removeprefix("definition: ").strip()]

"""The equation index and the errata page: complete, and what they name exists."""

import json
import re
from functools import reduce
from importlib import import_module

import pytest

import kernelbook
from kernelbook import papers
from tests.paths import ROOT

LINES = (ROOT / "book" / "back" / "equations.md").read_text().splitlines()
ROWS = [
    re.fullmatch(r"\| ([ABC] [^:]*): (.*) \| (.*): (.*) \| (.*); (.*) \|", line).groups()
    for line in LINES
    if re.match(r"\| [ABC] ", line)
]
"""Equation, what it is, where in the book, whether it is right, code, tests."""

THEOREMS = [
    re.fullmatch(r"\| (T\d+): (.*) \| (.*) \| (.*); (`.*) \|", line).groups()
    for line in LINES
    if re.match(r"\| T\d", line)
]
"""Theorem, what it says, where it is proved, code, tests."""

DISPLAYS_OF_C = {"1": 5, "2": 8, "3": 3, "3.1": 6, "appendix": 5}
"""How many equations C displays in each section; counted in the paper."""


def test_every_equation_of_the_papers_has_a_row():
    expected = [f"A ({n})" for n in range(1, 28)] + [f"B ({n})" for n in range(1, 29)]
    for section, count in DISPLAYS_OF_C.items():
        expected += [f"C {section} [{n}]" for n in range(1, count + 1)]
    expected[expected.index("C appendix [1]")] = "C appendix (1)"
    assert [row[0] for row in ROWS] == expected


def look_up(name):
    """The object that a dotted name of the package means; attributes that only a fit sets pass."""
    first, *rest = name.split(".")
    if hasattr(kernelbook, first):
        found = getattr(kernelbook, first)
    else:
        found = import_module(f"kernelbook.{first}")
    for k, part in enumerate(rest):
        if part.endswith("_"):
            assert k == len(rest) - 1
            assert part in found.__doc__ or any(part in (c.__doc__ or "") for c in found.__mro__)
            return found
        if not hasattr(found, part):  # a module that nothing has imported yet
            import_module(f"{found.__name__}.{part}")
        found = reduce(getattr, [part], found)
    return found


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_what_a_row_names_exists(row):
    _, what, where, verdict, code, tests = row
    assert what
    assert where
    assert re.search(r"right|wrong", verdict)
    check_code_and_tests(code, tests)


def check_code_and_tests(code, tests):
    """What is named exists, and one of the tests uses it."""
    names = re.findall(r"`([^`]+)`", code)
    assert names
    for name in names:
        assert callable(look_up(name)) or name.rpartition(".")[2] in ("H", "K"), name
    files = re.findall(r"`([^`]+)`", tests)
    assert files
    texts = [path.read_text() for file in files for path in (ROOT / "tests").rglob(f"{file}.py")]
    assert len(texts) == len(files)
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    # A method is used through its class, and a class through one that inherits from it.
    parts = {part for name in names for part in name.split(".")[-2:]}
    assert parts & words, f"{files} use none of {names}"


def test_fifteen_theorems_have_a_row():
    assert [row[0] for row in THEOREMS] == [f"T{n}" for n in range(1, 16)]


@pytest.mark.parametrize("row", THEOREMS, ids=[row[0] for row in THEOREMS])
def test_a_theorem_is_proved_and_tested(row):
    _, what, where, code, tests = row
    assert what
    check_code_and_tests(code, tests)
    labels = re.findall(r"\{prf:ref\}`([\w-]+)`", where)
    assert labels
    for label in labels:
        (chapter,) = (ROOT / "book").glob(f"*/{label.partition('-')[0]}.ipynb")
        cells = json.loads(chapter.read_text())["cells"]
        texts = ["".join(cell["source"]) for cell in cells]
        (k,) = (k for k, text in enumerate(texts) if f":label: {label}\n" in text + "\n")
        assert "{prf:proof}" in texts[k].split(f":label: {label}\n")[1], label
        # A cell that computes, close behind.
        assert any(cell["cell_type"] == "code" for cell in cells[k + 1 : k + 6]), label


def test_the_index_calls_wrong_what_the_errata_call_wrong():
    wrong = {row[0] for row in ROWS if "**wrong**" in row[3]}
    numbered = {
        e.where for e in papers.ERRATA if e.kind == "W" and re.fullmatch(r"[AB] \(\d+\)", e.where)
    }
    # (24) is (23) in another form, and C's displays have no numbers.
    assert wrong - {"B (24)", "C 2 [5]", "C 3 [1]"} == numbered


def test_every_erratum_has_its_section_with_a_cell():
    cells = json.loads((ROOT / "book" / "back" / "errata.ipynb").read_text())["cells"]
    sections = {}
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for title in re.findall(r"^### (.*)$", text, re.MULTILINE):
                sections[title] = 0
        elif sections:
            sections[list(sections)[-1]] += 1
    for erratum in papers.ERRATA:
        titles = [t for t in sections if t == erratum.where or t.startswith(erratum.where + ":")]
        assert len(titles) == 1, erratum.where
        assert sections[titles[0]] > 0, erratum.where


CITED = {"duality-slater": "theorem 28.2"}
"""Statements that the book does not prove, and the words with which it says who does."""


@pytest.mark.parametrize("path", sorted((ROOT / "book").glob("*/*.ipynb")), ids=lambda p: p.stem)
def test_every_statement_has_its_proof(path):
    cells = json.loads(path.read_text())["cells"]
    text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    blocks = re.split(
        r"^`{3,}\{prf:(theorem|lemma|proposition|corollary|proof)\}", text, flags=re.M
    )
    kinds, bodies = blocks[1::2], blocks[2::2]
    for kind, body, following in zip(kinds, bodies, [*kinds, None][1:], strict=True):
        if kind != "proof":
            label = re.search(r"^:label: (\S+)$", body, re.MULTILINE).group(1)
            if label in CITED:
                assert CITED[label] in body, label
            else:
                assert following == "proof", label

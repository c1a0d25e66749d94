"""The notebook check bites: what must fail, fails."""

import re
import subprocess
import sys

import nbformat
import pytest

from tests.paths import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import check_notebooks
import run_notebooks

CHAPTERS = [p for p in run_notebooks.notebooks() if p.is_relative_to(ROOT / "book")]


def check(*paths):
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "check_notebooks.py"), *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def chapter(tmp_path):
    """A shortened copy of a real chapter: its cells up to the first two that print a number.

    They need NumPy and `below` only; the set-up cell, which loads the chapter's other libraries,
    is cut down to that, since six kernels start from it.
    """
    first = next(p for p in CHAPTERS if p.stem == "regularized_approximation")
    notebook = nbformat.read(first, as_version=4)
    printed = [
        i
        for i, cell in enumerate(notebook.cells)
        if any(any(ch.isdigit() for ch in text) for text in texts(cell))
    ]
    notebook.cells = notebook.cells[: printed[1] + 1]
    setup = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert "import numpy as np\n" in setup.source
    setup.source = "import numpy as np\n\nfrom kernelbook.checks import below"
    return notebook, tmp_path / "chapter.ipynb"


def texts(cell):
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            yield output.text
        elif "text/plain" in output.get("data", {}) and "image/png" not in output.data:
            yield output.data["text/plain"]


def last_printing(notebook):
    return next(c for c in reversed(notebook.cells) if list(texts(c)))


def test_the_book_has_chapters_and_the_check_sees_all_of_them():
    assert CHAPTERS
    tracked = subprocess.run(
        ["git", "ls-files", "*.ipynb"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    seen = {p.relative_to(ROOT).as_posix() for p in run_notebooks.notebooks()}
    assert {t for t in tracked if t.startswith(("book/", "assignments/"))} <= seen


def test_an_honest_copy_passes(chapter):
    notebook, path = chapter
    nbformat.write(notebook, path)
    done = check(path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_changed_digit_fails_also_beside_an_honest_copy(chapter):
    notebook, path = chapter
    honest = path.with_name("honest.ipynb")
    nbformat.write(notebook, honest)
    output = next(o for o in reversed(last_printing(notebook).outputs))
    text = output.text if output.output_type == "stream" else output.data["text/plain"]
    at = max(i for i, ch in enumerate(text) if ch.isdigit())
    text = text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :]
    if output.output_type == "stream":
        output.text = text
    else:
        output.data["text/plain"] = text
    nbformat.write(notebook, path)
    assert check(honest, path).returncode != 0


def test_an_unexecuted_cell_fails(chapter):
    notebook, path = chapter
    cell = last_printing(notebook)
    cell.execution_count, cell.outputs = None, []
    nbformat.write(notebook, path)
    done = check(path)
    assert done.returncode != 0
    assert "never been executed" in done.stderr
    with pytest.raises(SystemExit, match="never been executed"):  # the same without a process
        check_notebooks.main([str(path)])


def test_a_cell_that_raises_fails(chapter):
    notebook, path = chapter
    last_printing(notebook).source = "raise ValueError('broken')"
    nbformat.write(notebook, path)
    assert check(path).returncode != 0


def test_a_cell_that_prints_more_than_is_stored_fails(chapter):
    notebook, path = chapter
    last_printing(notebook).source += "\nprint('more')"
    nbformat.write(notebook, path)
    assert check(path).returncode != 0


@pytest.mark.parametrize("tag", ["nbval-skip", "nbval-ignore-output"])
def test_a_cell_cannot_be_tagged_out_of_the_check(chapter, tag):
    notebook, path = chapter
    last_printing(notebook).metadata["tags"] = [tag]
    nbformat.write(notebook, path)
    with pytest.raises(SystemExit, match="tagged to escape the check"):
        check_notebooks.main([str(path)])


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
def test_stored_chapters_are_complete(path):
    assert not list(check_notebooks.complaints(path))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
def test_chapters_have_the_agreed_form(path):
    cells = nbformat.read(path, as_version=4).cells
    markdown = "\n".join(c.source for c in cells if c.cell_type == "markdown")
    for needed in ("You will learn", "You need", "minutes", "take away"):
        assert needed.lower() in markdown.lower(), f"{path.stem}: no “{needed}”"
    exercises = markdown.count("{exercise-start}") + markdown.count("{exercise}")
    solutions = markdown.count("{solution-start}") + markdown.count("{solution}")
    assert exercises >= 4
    assert solutions == exercises
    assert "\n## Take away\n\n1. " in "\n" + markdown, "no numbered take-away"
    assert re.search(r"\bNext\b.*\{doc\}", cells[-1].source), "no way on"
    for cell in cells:
        if cell.cell_type == "code":
            assert max(map(len, cell.source.split("\n"))) <= 80, cell.source


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
def test_exercises_say_what_they_ask_for_and_each_solution_runs(path):
    cells = nbformat.read(path, as_version=4).cells
    markdown = "\n".join(c.source for c in cells if c.cell_type == "markdown")
    start = r"\{exercise-start\}[^\n]*\n:label: (\S+)\n`{3,}\s*(\*[\w, -]+\.\*)?"
    kinds = dict(re.findall(start, markdown))
    assert len(kinds) >= 4
    assert set(kinds.values()) <= {"*Pencil.*", "*Code.*", "*Pencil, then code.*", "*Open-ended.*"}
    for kind in ("Pencil", "ode.*", "Open-ended"):
        assert any(kind in asked for asked in kinds.values()), f"{path.stem}: no {kind}"
    runs, inside = {}, None
    for cell in cells:
        if cell.cell_type == "code":
            if inside:
                runs[inside] += 1
            continue
        for edge, label in re.findall(r"\{solution-(start|end)\} ?(\S*)", cell.source):
            inside = label if edge == "start" else None
            if inside:
                runs[inside] = 0
    assert runs.keys() == kinds.keys()
    assert all(runs.values()), f"a solution without a cell: {runs}"


def test_rerunning_a_notebook_leaves_it_alone(chapter):
    notebook, path = chapter
    nbformat.write(notebook, path)
    run_notebooks.execute(path)
    first = path.read_bytes()
    run_notebooks.execute(path)
    assert path.read_bytes() == first

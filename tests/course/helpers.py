"""Shared by the tests of the course: notebooks made from masters, and one place to skip."""

import copy
import json
import os
from pathlib import Path

import pytest

from kernelbook.course.assignment import load, names, source
from kernelbook.course.intake import Submission, code, read
from kernelbook.course.intake.finding import find
from kernelbook.course.sandbox import why_not

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENTS = ROOT / "assignments"
NAMES = names(ASSIGNMENTS)

needs_sandbox = pytest.mark.skipif(
    why_not() is not None, reason=f"no sandbox here: {why_not()}; hostile code is not run"
)
as_root = os.geteuid() == 0


def notebook(assignment, replace=None, drop=()):
    """The master as a submission, with the sources of some cells replaced."""
    made = copy.deepcopy(assignment.master)
    cells = []
    for cell in made["cells"]:
        name = cell["metadata"]["nbgrader"]["grade_id"]
        if name in drop:
            continue
        if replace and name in replace:
            cell["source"] = replace[name]
        cells.append(cell)
    made["cells"] = cells
    return made


def with_code(assignment, text, **options):
    """The master with a cell of the student's own in front."""
    made = notebook(assignment, **options)
    cell = {"cell_type": "code", "metadata": {}, "source": text, "outputs": []}
    made["cells"].insert(2, cell | {"execution_count": None})
    return made


def save(folder, student, made, name):
    path = folder / student / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(made if isinstance(made, str) else json.dumps(made), encoding="utf-8")
    return path


def submission(tmp_path, made, assignment, student="ada") -> Submission:
    """One student's notebook, saved and read again."""
    save(tmp_path, student, made, assignment.name)
    (found,) = (h for h in find(tmp_path, assignment.name) if h.entry == student)
    return read(found, assignment)


def runnable(assignment, made):
    """The code that the grader would run, for trusted notebooks."""
    cells = [
        {
            "cell_type": c["cell_type"],
            "source": source(c),
            "grade_id": c["metadata"].get("nbgrader", {}).get("grade_id"),
        }
        for c in made["cells"]
    ]
    return code(Submission("ada", "ada", cells=cells), assignment)


__all__ = [
    "ASSIGNMENTS",
    "NAMES",
    "ROOT",
    "as_root",
    "load",
    "needs_sandbox",
    "notebook",
    "runnable",
    "save",
    "submission",
    "with_code",
]

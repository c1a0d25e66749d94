"""A small assignment for tests of the grader: two functions, one essay, quick to import."""

from .helpers import save

CANARY = "canary-5d1f0c"  # stands in every file and variable that must not be read
CHECKS = f"""
# {CANARY}
import numpy as np
from kernelbook.course import Assignment, Question


def cases(rng):
    yield "three numbers", (rng.normal(size=3),)
    yield "three others", (rng.normal(size=3),)


ASSIGNMENT = Assignment(
    "small", 1, "Small", (Question("double", 3, cases, lambda x: 2 * x),
                          Question("total", 2, cases, lambda x: x.sum())),
    packages=("numpy",), seconds=1.5,
)
"""


def tagged(cell_type, text, name, grade=False, solution=False, points=None):
    tag = {"grade": grade, "grade_id": name, "locked": not solution, "schema_version": 3}
    tag |= {"solution": solution, "task": False} | ({"points": points} if points else {})
    cell = {"cell_type": cell_type, "source": text, "metadata": {"nbgrader": tag}, "id": name}
    return cell | ({"outputs": [], "execution_count": None} if cell_type == "code" else {})


def answered(name, body):
    return f"def {name}(x):\n    ### BEGIN SOLUTION\n    return {body}\n    ### END SOLUTION"


RUBRIC = "<!-- BEGIN MARK SCHEME -->\nThe rubric.\n<!-- END MARK SCHEME -->"
MASTER = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {"kernelspec": {"name": "python3", "language": "python", "display_name": "P"}},
    "cells": [
        tagged("markdown", f"# Small\n{RUBRIC}", "text-1"),
        tagged("code", "import numpy as np", "setup"),
        tagged("code", answered("double", "2 * x"), "double", solution=True),
        tagged("code", "assert True", "double-check", grade=True, points=3),
        tagged("code", answered("total", "x.sum()"), "total", solution=True),
        tagged("code", "assert True", "total-check", grade=True, points=2),
        tagged("markdown", f"Because. {CANARY}", "essay", grade=True, solution=True, points=4),
    ],
}


def make(root):
    """Write the assignment below a folder; returns the folder of assignments."""
    save(root / "assignments", "small", MASTER, "small")
    (root / "assignments" / "small" / "checks.py").write_text(CHECKS)
    return root / "assignments"

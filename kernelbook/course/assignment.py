"""An assignment: a master notebook, and its hidden checks.

`checks.py` of an assignment defines ASSIGNMENT, an `Assignment` with one `Question` for each
function that students write.  A question draws its own inputs and knows the right answer, either as
a reference implementation or as a judge where several answers are right.
"""

import hashlib
import importlib.util
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from kernelbook.course.student import without_solutions
from kernelbook.course.values import Refused, compare

__all__ = ["LIMIT", "Assignment", "Case", "Question", "Slip", "find_assignments", "load"]

LIMIT = "limit"  # third entry of a case: a limit case, which costs a quarter of the points


@dataclass(frozen=True)
class Case:
    """One call: what it is about (students read this), the arguments, and the right answer."""

    about: str
    arguments: tuple
    answer: object
    limit: bool = False


@dataclass(frozen=True)
class Slip:
    """A mistake that the master foresaw, as a function, and the hint for it."""

    function: Callable
    hint: str


@dataclass(frozen=True)
class Question:
    """A function that students write, and how it is judged.

    cases(rng) yields (what it is about, arguments), with LIMIT as a third entry for limit cases.
    reference(*arguments) is the right answer, compared within rtol of its largest entry and atol.
    judge(arguments, answer, value), if given, replaces that comparison: None if the value is right,
    else a sentence; it must survive any plain value.
    nearly: relative to the largest entry, what is right to some digits and earns half the points;
    0 where such an answer is as likely to be wrong.
    slips: wrong answers that get a hint.
    canonical: what of a value is compared with a slip's, where several values say the same: of a
    vector up to its sign, say, the absolute values.
    without: packages of the assignment that are absent while this question is graded.
    """

    name: str
    points: float
    cases: Callable[[np.random.Generator], Iterable]
    reference: Callable
    rtol: float = 1e-7
    atol: float = 1e-9
    judge: Callable | None = None
    nearly: float = 0.0
    slips: tuple[Slip, ...] = ()
    canonical: Callable | None = None
    without: tuple[str, ...] = ()

    def complaint(self, case: Case, value) -> str | None:
        """None if the value is right, else why not."""
        if self.judge is None:
            return compare(value, case.answer, self.rtol, self.atol)
        try:
            return self.judge(copies(case.arguments), case.answer, value)
        except Exception:  # a judge does not foresee every value
            return "the result has the wrong form"


def copies(arguments):
    """Arguments that a reference may write into."""
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)


def arrays(value, *shapes):
    """A returned tuple as float arrays of the given shapes, for judges."""
    if len(shapes) == 1:
        value = (value,)
    if not isinstance(value, tuple) or len(value) != len(shapes):
        raise Refused(f"{len(shapes)} values are expected")
    found = []
    for v, shape in zip(value, shapes, strict=True):
        a = np.asarray(v)
        if a.dtype.kind not in "bif" or a.shape != tuple(shape):
            raise Refused("wrong shape")
        found.append(a.astype(float))
    if not all(np.isfinite(a).all() for a in found):
        raise Refused("NaN or infinity")
    return found[0] if len(shapes) == 1 else found


@dataclass
class Assignment:
    """What `checks.py` defines; `folder` is filled in when it is loaded."""

    name: str
    number: int
    title: str
    questions: tuple[Question, ...]
    packages: tuple[str, ...] = ("numpy", "scipy")
    provides: tuple[str, ...] = ()
    seconds: float = 5.0  # of CPU time, for one cell or one question
    folder: Path = field(default=Path(), repr=False)

    @property
    def master_path(self) -> Path:
        return self.folder / f"{self.name}.ipynb"

    @cached_property
    def master(self) -> dict:
        return json.loads(self.master_path.read_text(encoding="utf-8"))

    def cells(self, kind=None):
        """(grade_id, cell) of the master's tagged cells; kind is one of `kind_of`'s words."""
        for cell in self.master["cells"]:
            tag = cell["metadata"].get("nbgrader")
            if tag and kind in (None, kind_of(cell)):
                yield tag["grade_id"], cell

    @property
    def setup(self) -> list[str]:
        """The cells that prepare the ground for the student's; taken from the master."""
        return [source(cell) for name, cell in self.cells() if name == "setup"]

    @cached_property
    def points(self) -> dict[str, float]:
        """Every gradable cell of the master and its points."""
        return {
            name: float(cell["metadata"]["nbgrader"]["points"])
            for name, cell in self.cells()
            if cell["metadata"]["nbgrader"]["grade"]
        }

    @cached_property
    def stubs(self) -> dict[str, str]:
        """What students get in place of the answers, by cell."""
        answered = {name for kind in ("solution", "manual") for name, _ in self.cells(kind)}
        tagged = [
            c for c in without_solutions(self.master_path).cells if "nbgrader" in c["metadata"]
        ]
        names = [c["metadata"]["nbgrader"]["grade_id"] for c in tagged]
        return {n: source(c) for n, c in zip(names, tagged, strict=True) if n in answered}

    @cached_property
    def fingerprint(self) -> str:
        """Changes when the master or the checks change."""
        h = hashlib.sha256()
        for path in (self.master_path, self.folder / "checks.py"):
            h.update(path.read_bytes())
        return h.hexdigest()


def kind_of(cell) -> str:
    """text, setup, solution (graded by machine), check (holds its points) or manual."""
    tag = cell["metadata"]["nbgrader"]
    if tag["grade"]:
        return "manual" if tag["solution"] else "check"
    if tag["solution"]:
        return "solution"
    return "locked" if cell["cell_type"] == "code" else "text"


def source(cell) -> str:
    text = cell.get("source", "")
    return "".join(text) if isinstance(text, list) else text


def find_assignments(folder=None) -> Path:
    """The folder of assignments: the given one, one here, or the one of this checkout."""
    if folder is not None:
        candidates = [Path(folder)]
    else:
        candidates = [Path("assignments"), Path(__file__).parents[2] / "assignments"]
    for candidate in candidates:
        if any(candidate.glob("*/checks.py")):
            return candidate.resolve()
    raise FileNotFoundError(
        f"no assignments in {' or '.join(map(str, candidates))}; "
        "name the folder with --assignments, e.g. the one of a checkout of this book"
    )


def names(folder) -> list[str]:
    """All assignments in a folder, in the order of the course."""
    found = [load(p.parent.name, folder) for p in Path(folder).glob("*/checks.py")]
    return [a.name for a in sorted(found, key=lambda a: a.number)]


def load(name, folder=None) -> Assignment:
    """Read an assignment; the checks are the instructor's own code and are trusted."""
    folder = find_assignments(folder)
    path = folder / name / "checks.py"
    if "/" in name or not path.is_file():
        known = sorted(p.parent.name for p in folder.glob("*/checks.py"))
        raise LookupError(f"there is no assignment {name!r} in {folder}; known: {', '.join(known)}")
    spec = importlib.util.spec_from_file_location(f"kernelbook_checks_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assignment = module.ASSIGNMENT
    assignment.folder = folder / name
    return assignment

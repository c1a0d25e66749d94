"""Attacks once more, graded by somebody without a single right of root."""

import json
import os
import shutil
import tempfile
import threading
from pathlib import Path

import pytest

from kernelbook.course.grading import Result

from .attacks import CODE, RETURNS
from .helpers import load, needs_sandbox, notebook, save, with_code
from .ordinary import STRANGER, as_stranger, python
from .small import CANARY, MASTER, make
from .test_attacks import UNDONE, Server

pytestmark = [
    needs_sandbox,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else"),
]

CHOSEN = """socket walk homes read-paths write-system many-files fork-bomb memory-bomb namespaces
become-root raise-limits forged-ready shared-memory sleeping-child kill-everything""".split()

GRADE = """
import os, sys
from pathlib import Path
from kernelbook.course.assignment import load
from kernelbook.course.grading import Grader
from kernelbook.course.intake import read
from kernelbook.course.intake.finding import find
from kernelbook.course.sandbox import Limits

assert os.getuid() == os.geteuid() == 12345 and os.getgroups() == []
root = Path(sys.argv[1])
assignment = load("small", root / "assignments")
handed_in = [read(h, assignment) for h in find(root / "submissions", "small")]
hidden, limits = (root / "course", root / "submissions"), Limits(seconds=0.5, total=60)
with Grader(assignment, "secret", hidden=hidden, limits=limits) as grader:
    for result in grader.grade_all(handed_in, 6):
        (root / "course" / f"{result.identity}.json").write_text(result.to_json())
"""


@pytest.fixture(scope="module")
def graded():
    """Results by student; all files belong to the one who grades."""
    interpreter = python()
    root = Path(tempfile.mkdtemp(prefix="kernelbook-ordinary-"))  # pytest's folders are root's own
    try:
        assignment = load("small", make(root))
        server = Server()
        server.start()
        folder, course = root / "submissions", root / "course"
        course.mkdir()
        (course / "grading-secret").write_text(CANARY)
        paths = [course / "grading-secret", root / "assignments" / "small" / "checks.py"]
        paths += [root / "assignments" / "small" / "small.ipynb", folder / "anna" / "small.ipynb"]
        paths += ["/etc/passwd", __file__]
        marker = f"marker-{os.getpid()}-ordinary"
        for name in CHOSEN:
            text = CODE[name].replace("{paths!r}", repr([str(p) for p in paths]))
            text = text.replace("{port}", str(server.port)).replace("{marker}", marker)
            text = text.replace("{escape!r}", repr(str(root / "escaped")))
            text = text.replace("{home!r}", repr(str(root)))
            text = text.replace("time.sleep(60)", "time.sleep(2)")  # the bomb went off before
            save(folder, name, with_code(assignment, text, replace=UNDONE), "small")
        slow = {"double": RETURNS["slow-clock"], "total": UNDONE["total"]}
        save(folder, "slow-clock", notebook(assignment, UNDONE | slow), "small")
        save(folder, "anna", MASTER, "small")
        os.chmod(root, 0o700)
        for path in (root, *root.rglob("*")):
            os.chown(path, STRANGER, STRANGER)
        done = as_stranger(interpreter, GRADE, root, root)
        assert done.returncode == 0, done.stderr
        server.socket.close()
        results = {p.stem: Result.from_json(p.read_text()) for p in course.glob("*.json")}
        assert not server.visitors
        assert not (root / "escaped").exists()
        assert marker not in running()
        assert (course / "grading-secret").read_text() == CANARY
        yield results
    finally:
        shutil.rmtree(root)


def running():
    """The command lines of everything that runs on this machine."""
    lines = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(process.read_bytes().decode(errors="replace"))
        except OSError:
            continue  # it ended meanwhile
    return "\n".join(lines)


def test_an_honest_notebook_keeps_its_points(graded):
    assert graded["anna"].trouble is None
    assert graded["anna"].score == 5
    assert len(graded) == len(CHOSEN) + 2
    assert threading.active_count() < 20


@pytest.mark.parametrize("name", [*CHOSEN, "slow-clock"])
def test_an_attack_scores_nothing_and_learns_nothing(graded, name):
    result = graded[name]
    assert result.score == 0
    said = json.dumps([result.printed, result.cell_errors])
    for word in (CANARY, "FOUND", "root:"):
        assert word not in said
    assert all(v.reason for v in result.verdicts.values())

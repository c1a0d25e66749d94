"""Hostile submissions: none scores, escapes or delays others; honest ones beside them lose nothing.

One run of the command grades all of them, in a course of their own with two small functions.
"""

import csv
import json
import os
import socket
import threading
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelbook.cli import main
from kernelbook.course.grading import Result
from kernelbook.course.intake.names import safe_name

from .attacks import CODE, RETURNS
from .attacks_files import NOTEBOOKS, flooded
from .helpers import load, needs_sandbox, notebook, save, with_code
from .small import CANARY, MASTER, make

pytestmark = needs_sandbox

# Code that is nearly right: so a score of 0 says something about the attack.
UNDONE = {
    "double": "def double(x):\n    return 3 * x",
    "total": "def total(x):\n    return x.mean()",
    "essay": "*Your answer here.*",
}
HONEST = {"anna": MASTER, "bela": MASTER, "zoe": MASTER}


class Server(threading.Thread):
    """Listens on this machine, and remembers who came."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.visitors = []

    def run(self):
        while True:
            try:
                self.visitors.append(self.socket.accept())
            except OSError:
                return


class Graded:
    def __init__(self, root, server):
        self.root, self.course, self.server = root, root / "course", server
        self.escape = root / "escaped"

    def result(self, student):
        path = self.course / "autograded" / safe_name(student) / "small" / "result.json"
        return Result.from_json(path.read_text())

    def rows(self):
        with open(self.course / "grades" / "small.csv", newline="") as stream:
            return list(csv.DictReader(stream))


def spoiled_files(folder, assignment, secret):
    """Submissions that are not what they seem."""
    made = json.dumps(notebook(assignment, UNDONE))
    (folder / "huge").mkdir()
    with open(folder / "huge" / "small.ipynb", "w") as stream:
        stream.write(made)
        stream.truncate(100 << 20)
    (folder / "link").mkdir()
    (folder / "link" / "small.ipynb").symlink_to(secret)
    (folder / "linked-folder").symlink_to(folder / "anna")
    (folder / "copied-by-link").mkdir()
    (folder / "copied-by-link" / "small.ipynb").symlink_to(folder / "anna" / "small.ipynb")
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe" / "small.ipynb")
    (folder / "folder" / "small.ipynb").mkdir(parents=True)
    (folder / "nothing").mkdir()
    binary = folder / "binary" / "small.ipynb"
    binary.parent.mkdir()
    binary.write_bytes(bytes(range(256)) * 10)
    save(folder, "flooded", flooded(notebook(assignment, UNDONE)), "small")
    save(folder, "damaged-cells", '{"cells":[' + "1," * 5_000 + "1]}", "small")
    save(folder, "deep/" + "d" * 200, made, "\x1b]0;owned\x07\x1b[2J" + "n" * 100)
    with zipfile.ZipFile(folder / "many.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as many:
        for k in range(12):
            many.writestr(f"{'long' * 900}{k}.ipynb", bytes([65 + k]) * (20 << 20))


NAMES_OF_STUDENTS = {
    "<img src=x onerror=alert(1)>": 0,
    "=cmd|' /C calc'!A0": 0,
    "..%2f..%2f..%2fetc%2fpasswd": 0,
    "a\nb\tc": 0,
    "x" * 200: 0,
    "...": None,  # hidden files are no submissions
    "-rf": 0,
    "\x1b]0;owned\x07\x1b[2J": 0,  # a terminal would obey
    "'; drop table grade; --": 0,
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    root = tmp_path_factory.mktemp("attacked")
    masters = make(root)
    assignment = load("small", masters)
    server = Server()
    server.start()
    folder = root / "submissions"
    course = root / "course"
    course.mkdir()
    (course / "grading-secret").write_text(CANARY)
    (folder / "anna").mkdir(parents=True)
    (folder / "anna" / "notes.txt").write_text(CANARY)
    paths = [course / "gradebook.db", course / "grading-secret", masters / "small" / "checks.py"]
    paths += [masters / "small" / "small.ipynb", folder / "anna" / "small.ipynb", "/etc/passwd"]
    paths += [folder / "anna" / "notes.txt", "/etc/shadow", Path.home() / ".bashrc", __file__]
    tokens = {
        "{paths!r}": repr([str(p) for p in paths]),
        "{escape!r}": repr(str(root / "escaped")),
        "{escape}": str(root / "escaped"),
        "{home!r}": repr(str(Path.home())),
        "{port}": str(server.port),
        "{marker}": f"marker-{os.getpid()}",
    }
    for student, made in HONEST.items():
        save(folder, student, made, "small")
    for name, text in CODE.items():
        for token, value in tokens.items():
            text = text.replace(token, value)
        save(folder, f"code-{name}", with_code(assignment, text, replace=UNDONE), "small")
    for name, text in RETURNS.items():
        functions = {
            "double": f"{text}\nif 'double' not in dir():\n    double = lambda x: answer",
            "total": f"{text}\ndef total(x):\n    return answer",
        }
        save(folder, f"returns-{name}", notebook(assignment, UNDONE | functions), "small")
    for name, change in NOTEBOOKS.items():
        save(folder, f"file-{name}", change(notebook(assignment, UNDONE)), "small")
    for student in NAMES_OF_STUDENTS:
        save(folder, student, notebook(assignment, UNDONE), "small")
    spoiled_files(folder, assignment, course / "grading-secret")
    os.environ["KERNELBOOK_TEST_CANARY"] = CANARY
    try:
        arguments = ["course", "grade", "small", str(folder), "--course", str(course)]
        arguments += ["--assignments", str(masters), "--jobs", "6"]
        done = CliRunner().invoke(main, arguments)
    finally:
        del os.environ["KERNELBOOK_TEST_CANARY"]
        server.socket.close()
    assert done.exit_code == 0, done.output + str(done.exception)
    found = Graded(root, server)
    found.output = done.output
    return found


def test_there_are_enough_of_them():
    assert len(CODE) + len(RETURNS) + len(NOTEBOOKS) >= 40


@pytest.mark.parametrize("student", HONEST)
def test_honest_submissions_keep_all_points(graded, student):
    result = graded.result(student)
    assert result.trouble is None
    assert (result.score, result.out_of) == (5.0, 5.0)


@pytest.mark.parametrize(
    "student",
    [*(f"code-{n}" for n in CODE), *(f"returns-{n}" for n in RETURNS)]
    + [f"file-{n}" for n in NOTEBOOKS],
)
def test_an_attack_scores_nothing_learns_nothing_and_is_told_why(graded, student):
    result = graded.result(student)
    assert result.score == 0
    assert all(v.reason for v in result.verdicts.values())
    assert CANARY not in result.printed
    assert "FOUND" not in result.printed
    assert "root:" not in result.printed
    assert not any(CANARY in text for text in result.cell_errors.values())


@pytest.mark.parametrize("name", ["huge", "link", "copied-by-link", "pipe", "folder", "nothing"])
def test_what_is_no_notebook_gets_zero_with_the_reason(graded, name):
    result = graded.result(name)
    assert result.score == 0
    assert result.trouble
    assert result.trouble in graded.output
    words = {"huge": "100 MB", "link": "is a link", "pipe": "not an ordinary file"}
    assert words.get(name, "") in result.trouble


def test_pages_and_records_stay_small_and_nothing_commands_the_terminal(graded):
    limits = {"small.html": 9 << 20, "small.ipynb": 9 << 20, "handed-in.json": 14 << 20}
    limits["result.json"] = 60_000
    for path in (*(graded.course / "autograded").rglob("*"), *graded.course.rglob("*.html")):
        if path.is_file() and path.parent.name != "reports":
            assert path.stat().st_size < limits[path.name], path
    assert (graded.course / "reports" / "small.html").stat().st_size < 300_000
    assert len(graded.output) < 120_000
    assert graded.output.replace("\n", "").isprintable()
    for name in ("damaged-cells", "many"):
        assert not graded.result(name).readable
    assert graded.result("flooded").readable


def test_every_submission_has_one_row_and_the_right_score(graded):
    rows = graded.rows()
    students = [p.stem for p in (graded.root / "submissions").iterdir()]
    expected = {safe_name(s) for s in students if not s.startswith(".")}
    assert len(rows) == len(expected)
    assert {r["student_id"].removeprefix("'") for r in rows} == expected
    winners = {r["student_id"] for r in rows if float(r["score"] or 0) > 0}
    assert winners == set(HONEST)
    # Nothing a spreadsheet would compute.
    assert not [v for r in rows for v in r.values() if v[:1] in ("=", "+", "-", "@")]


def test_nothing_escaped(graded):
    assert not graded.escape.exists()
    assert not graded.server.visitors
    marker = f"marker-{os.getpid()}".encode()
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert marker not in process.read_bytes()
        except OSError:
            continue  # it ended meanwhile
    written = {p.name for p in graded.course.iterdir()}
    empty = {"source", "submitted"}
    files = {"gradebook.db", "grading-secret", "autograded", "feedback", "grades"}
    files |= {"return", "reports"}
    assert written == files | empty
    assert not [p for name in empty for p in (graded.course / name).rglob("*") if p.is_file()]
    assert (graded.course / "grading-secret").read_text() == CANARY
    assert {p.name for p in graded.root.iterdir()} == {"assignments", "course", "submissions"}


def test_limits_are_named_where_they_ended_something(graded):
    said = {
        "code-output-flood": "printed",
        "code-forged-flood": "MB was returned",
        "code-stubborn-loop": "the notebook waited for more than 25 s",
        "code-earned-sleep": "the notebook waited for more than 25 s",
        "code-unseen-children": "more than 500 processes or threads were started",
        "code-infinite-loop": "off by",  # the cell was ended, and the functions were called
        "code-exit": "the code ended before this was called",
        "returns-endless": "stopped after 1.5 s of computing",
        "returns-sleeper": "double was stopped: it waited instead of computing",
        "code-forged-newlines": "lines were returned",
        "code-forged-frames": "lines were returned",
        "returns-slow-clock": "ended the process (signal 9)",
    }
    for student, word in said.items():
        reasons = " ".join(v.reason for v in graded.result(student).verdicts.values())
        assert word in reasons, (student, reasons)
    assert "took too long" in graded.result("code-infinite-loop").cell_errors["cell 3"]


class Tags(HTMLParser):
    allowed = "html head meta title style body h1 h2 p strong table thead tbody tr th td pre img "
    allowed += "div code"

    def handle_starttag(self, tag, attributes):
        assert tag in self.allowed.split(), tag
        assert {name for name, _ in attributes} <= {
            *("lang", "charset", "http-equiv", "content", "name", "class", "alt", "src", "style")
        }
        sources = [value for name, value in attributes if name == "src"]
        assert all(value.startswith("data:image/png;base64,") for value in sources)


def test_feedback_pages_are_text_whatever_was_handed_in(graded):
    pages = list((graded.course / "feedback").rglob("*.html"))
    assert len(pages) == len(graded.rows())
    for page in pages:
        assert page.resolve().is_relative_to(graded.course)
        text = page.read_text(encoding="utf-8")
        Tags().feed(text)
        assert "default-src 'none'" in text
        assert CANARY not in text or page.parent.parent.name in HONEST
    injected = next(p for p in pages if "file-injection" in str(p)).read_text()
    assert "&lt;script&gt;alert(1)" in injected


def test_what_formgrader_opens_holds_no_script(graded):
    for path in (graded.course / "autograded").rglob("*.ipynb"):
        made = json.loads(path.read_text(encoding="utf-8"))
        assert "widgets" not in made["metadata"]
        for cell in made["cells"]:
            if cell["cell_type"] == "markdown":
                assert "<script" not in "".join(cell["source"])
                assert "javascript:" not in "".join(cell["source"])
            for output in cell.get("outputs", []):
                assert output["output_type"] in ("stream", "display_data")
                assert set(output.get("data", {})) <= {"image/png"}
    from nbconvert import HTMLExporter

    shown = graded.course / "autograded" / "file-injection" / "small" / "small.ipynb"
    html, _ = HTMLExporter(template_name="basic").from_filename(str(shown))
    for part in ("<script>alert", "<img src=x", "<svg/onload", 'href="javascript', "<a href='data"):
        assert part not in html

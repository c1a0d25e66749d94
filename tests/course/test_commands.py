"""`kernelbook course`: released, graded, graded again, interrupted, refused, reported."""

import csv
import json
from html import unescape

import pytest
from click.testing import CliRunner

from kernelbook.cli import main
from kernelbook.course.gradebook import Course
from kernelbook.course.grading import grader

from .helpers import ASSIGNMENTS, NAMES, load, needs_sandbox, notebook, save
from .small import MASTER, make, tagged


def run(*arguments):
    return CliRunner().invoke(main, ["course", *map(str, arguments)])


class Place:
    """A course in a folder of its own."""

    def __init__(self, root):
        self.root, self.masters = root, make(root)
        self.submissions, self.course = root / "submissions", root / "course"
        self.assignment = load("small", self.masters)

    def hand_in(self, student, **replaced):
        save(self.submissions, student, notebook(self.assignment, replaced), "small")

    def grade(self, *options):
        where = ("--course", self.course, "--assignments", self.masters)
        return run("grade", "small", self.submissions, *where, *options)

    def report(self):
        return run("report", "--course", self.course, "--assignments", self.masters)

    def rows(self, name="small"):
        with open(self.course / "grades" / f"{name}.csv", newline="") as stream:
            return {row["student_id"]: row for row in csv.DictReader(stream)}


WRONG = "def total(x):\n    return x.mean()"


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.hand_in("ada", essay="An answer.")
    place.hand_in("bob", total=WRONG, essay="*Your answer here.*")
    return place


def test_list_and_release(tmp_path):
    listed = run("list", "--assignments", ASSIGNMENTS)
    assert [line.split()[1] for line in listed.output.splitlines()] == NAMES
    assert len(NAMES) == 8
    done = run("release", *NAMES, "--to", tmp_path, "--assignments", ASSIGNMENTS)
    assert done.exit_code == 0
    for name in NAMES:
        assert (tmp_path / name / f"{name}.ipynb").is_file()


def test_errors_are_one_sentence_with_the_remedy(place, tmp_path):
    unknown = run("release", "nosuch", "--to", tmp_path / "r", "--assignments", place.masters)
    assert unknown.exit_code == 1
    assert "there is no assignment 'nosuch'" in unknown.output
    assert "known: small" in unknown.output
    nothing = run("report", "--course", tmp_path / "empty")
    assert nothing.exit_code == 1
    assert "has no gradebook" in nothing.output
    (tmp_path / "none").mkdir()
    empty = run("grade", "small", tmp_path / "none", "--assignments", place.masters)
    assert "no submissions" in empty.output
    missing = run("list", "--assignments", tmp_path / "none")
    assert "--assignments" in missing.output
    for done in (unknown, nothing, empty, missing):
        assert "Traceback" not in done.output


def test_without_a_sandbox_nothing_runs_unless_told_so(place, monkeypatch):
    monkeypatch.setattr(grader, "why_not", lambda: "bubblewrap is not installed")
    witness = place.root / "ran"
    place.hand_in("eve", total=f"open({str(witness)!r}, 'w')\ndef total(x):\n    return 0")
    refused = place.grade()
    assert refused.exit_code == 1
    assert "apt install bubblewrap" in refused.output
    assert "--unsafe" in refused.output
    assert not witness.exists()
    (place.submissions / "eve" / "small.ipynb").unlink()
    done = place.grade("--unsafe")
    assert done.exit_code == 0, done.output
    assert "without a sandbox" in done.output
    assert place.rows()["ada"]["score"] == "5"
    assert place.rows()["bob"]["score"] == "3"


@needs_sandbox
def test_grading_again_changes_nothing_and_keeps_grades_given_by_hand(place):
    first = place.grade()
    assert "2 graded, 0 unchanged" in first.output, first.output
    rows = place.rows()
    assert (rows["ada"]["score"], rows["bob"]["score"]) == ("5", "3")
    assert (rows["ada"]["left_to_grade"], rows["bob"]["left_to_grade"]) == ("1", "0")
    assert "still to be graded" in feedback(place, "ada")
    with Course(place.course) as course:  # what formgrader does
        grade = course.gradebook.find_grade("essay", "small", "small", "ada")
        grade.manual_score, grade.needs_manual_grade = 4.0, False
        comment = course.gradebook.find_comment("essay", "small", "small", "ada")
        comment.manual_comment = "Fine <b>work</b>."
        course.gradebook.db.commit()
    assert place.report().exit_code == 0
    rows = place.rows()
    assert rows["ada"]["score"] == "9"
    assert "Fine <b>work</b>." in unescape(feedback(place, "ada"))
    assert "<b>work" not in feedback(place, "ada")
    assert "An answer." in feedback(place, "ada")
    assert "The rubric" not in feedback(place, "ada")  # formgrader shows it, students do not see it
    again = place.grade()
    assert "0 graded, 2 unchanged" in again.output
    assert place.rows() == rows
    forced = place.grade("--again", "--jobs", "1")
    assert "2 graded, 0 unchanged" in forced.output
    assert place.rows() == rows
    # A new version is graded again; a new answer goes back to the grader's list.
    place.hand_in("ada", essay="Another answer.", total=WRONG)
    assert "1 graded, 1 unchanged" in place.grade().output
    assert place.rows()["ada"]["left_to_grade"] == "1"
    # New checks: everything is graded again.
    checks = place.masters / "small" / "checks.py"
    checks.write_text(checks.read_text() + "\n# changed\n")
    assert "2 graded, 0 unchanged" in place.grade().output
    totals = place.rows("all")
    assert list(totals["bob"]) == ["student_id", "name", "small (9)", "total", "missing"]
    assert totals["bob"]["total"] == "3"


@needs_sandbox
def test_a_question_added_later_is_graded_and_others_in_the_gradebook_do_not_matter(place):
    place.grade()
    with Course(place.course) as course:
        course.gradebook.find_grade("essay", "small", "small", "ada").manual_score = 2.0
        course.gradebook.update_or_create_assignment("somebody-elses")
        course.gradebook.db.commit()
    checks = place.masters / "small" / "checks.py"
    old = 'Question("total", 2, cases, lambda x: x.sum())'
    added = old + ', Question("half", 1, cases, lambda x: x / 2)'
    assert old in checks.read_text()
    checks.write_text(checks.read_text().replace(old, added))
    master = json.loads(json.dumps(MASTER))
    half = "def half(x):\n    ### BEGIN SOLUTION\n    return x / 2\n    ### END SOLUTION"
    master["cells"] += [
        tagged("code", half, "half", solution=True),
        tagged("code", "assert True", "half-check", grade=True, points=1),
    ]
    save(place.masters, "small", master, "small")
    place.assignment = load("small", place.masters)
    place.hand_in("ada", essay="An answer.")
    done = place.grade()
    assert done.exit_code == 0, done.output
    assert (place.rows()["ada"]["score"], place.rows()["ada"]["max_score"]) == ("8", "10")
    assert place.rows()["bob"]["half-check"] == "0"


def feedback(place, student):
    return (place.course / "feedback" / student / "small" / "small.html").read_text()


@needs_sandbox
def test_an_interruption_loses_nothing(place, monkeypatch):
    for student in ("cyd", "dan"):
        place.hand_in(student)
    record, calls = Course.record, []

    def fragile(self, *arguments):
        if len(calls) == 2:
            raise RuntimeError("the power failed")
        calls.append(record(self, *arguments))

    monkeypatch.setattr(Course, "record", fragile)
    failed = place.grade("--jobs", "1")
    assert failed.exit_code == 1
    monkeypatch.setattr(Course, "record", record)
    done = place.grade()
    assert "2 graded, 2 unchanged" in done.output
    scores = {student: row["score"] for student, row in place.rows().items()}
    assert scores == {"ada": "5", "bob": "3", "cyd": "5", "dan": "5"}


@needs_sandbox
def test_two_files_of_one_student_are_a_conflict_of_that_student_alone(place):
    (place.submissions / "ada.ipynb").write_text(json.dumps(MASTER))
    done = place.grade()
    assert done.exit_code == 0
    assert "there are two submissions of ada" in done.output
    assert "keep one of them" in done.output
    assert (place.rows()["ada"]["state"], place.rows()["ada"]["score"]) == ("unreadable", "")
    assert place.rows()["bob"]["score"] == "3"


@needs_sandbox
def test_what_is_written_beside_an_unanswered_question_waits_for_a_person(place):
    made = notebook(place.assignment, {"essay": "*Your answer here.*"})
    made["cells"].append({"cell_type": "markdown", "metadata": {}, "source": "Because $x^2$."})
    save(place.submissions, "cyd", made, "small")
    made["cells"][-1] = made["cells"][-1] | {"cell_type": "code", "source": "# Because."}
    save(place.submissions, "dan", made, "small")
    done = place.grade()
    rows = place.rows()
    states = {name: (row["state"], row["left_to_grade"]) for name, row in rows.items()}
    assert states == dict.fromkeys(("ada", "cyd", "dan"), ("to grade", "1")) | {
        "bob": ("graded", "0")
    }
    assert "cyd: the answer to essay stood in a cell of its own" in done.output
    assert "dan: nothing stands where essay should be answered" in done.output
    shown = json.loads((place.course / "autograded/cyd/small/small.ipynb").read_text())
    answer = next(c for c in shown["cells"] if c["metadata"]["nbgrader"]["grade_id"] == "essay")
    assert "<msup>" in "".join(answer["source"])  # where formgrader asks for its points


@needs_sandbox
def test_all_three_layouts_are_found(place):
    (place.submissions / "cyd.ipynb").write_text(json.dumps(MASTER))
    save(place.submissions / "dan", "small", MASTER, "small")
    assert place.grade().exit_code == 0
    assert {"ada", "bob", "cyd", "dan"} == set(place.rows())
    assert place.rows()["dan"]["score"] == "5"


@needs_sandbox
def test_nbgrader_sees_what_formgrader_needs(place):
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    place.grade()
    config = Config()
    config.CourseDirectory.root = str(place.course)
    config.CourseDirectory.course_id = "kernelbook"
    api = NbGraderAPI(CourseDirectory(config=config), config=config)
    (listed,) = api.get_assignments()  # the page that formgrader opens with
    assert (listed["name"], listed["num_submissions"]) == ("small", 2)
    submissions = {s["student"]: s for s in api.get_notebook_submissions("small", "small")}
    assert set(submissions) == {"ada", "bob"}
    assert submissions["ada"]["score"] == 5
    assert submissions["ada"]["max_score"] == 9
    assert submissions["ada"]["needs_manual_grade"]
    assert not submissions["bob"]["needs_manual_grade"]
    assert submissions["bob"]["failed_tests"]
    # The question's text comes from the master, the answer from the student.
    shown = json.loads((place.course / "autograded/bob/small/small.ipynb").read_text())
    sources = {c["metadata"]["nbgrader"]["grade_id"]: "".join(c["source"]) for c in shown["cells"]}
    assert sources["total"] == WRONG
    assert sources["total-check"] == "assert True"
    assert "The rubric" in sources["text-1"]

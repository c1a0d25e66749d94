"""Two students of one name, times that nobody can be sure of, and what other programs import.

Who is who does not depend on what the code computes, so nothing is run here: a stand-in for the
grader looks at the text.
"""

import csv
import io
import json
import re
import zipfile
from dataclasses import fields

import pytest

from kernelbook.course.gradebook import Course
from kernelbook.course.grading import Result, Verdict
from kernelbook.course.reports.writing import write_reports

from .helpers import notebook
from .test_commands import WRONG, Place
from .test_fair import SETTINGS
from .test_intake import WORKSHEET

ANN, OTHER = "Ann Lee_1_assignsubmission_file_", "Ann Lee_2_assignsubmission_file_"
TYPED = "Ann Lee_1_assignsubmission_onlinetext_"
HEADER = "id,name,email,extension,number\n"
TWO = "s1,Ann Lee,a1@x.org,,{}\ns2,Ann Lee,a2@x.org,,{}\n"


class Reads:
    """In place of the grader: all points, but for the function that is known to be wrong."""

    def __init__(self, assignment, *_, **options):
        self.assignment = assignment

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def grade_all(self, submissions, jobs):
        for s in submissions:
            wrong = any(c["source"] == WRONG for c in s.cells)
            points = {"double": 3.0, "total": 0.0 if wrong else 2.0}
            verdicts = {
                q.name: Verdict(points[q.name], q.points) for q in self.assignment.questions
            }
            known = {f.name: getattr(s, f.name) for f in fields(s) if hasattr(Result, f.name)}
            known |= {"digest": s.digest, "remarks": s.remarks, "readable": s.trouble is None}
            known |= {"student": s.student, "identity": s.identity}
            yield Result(**known, fingerprint=self.assignment.fingerprint, verdicts=verdicts)


@pytest.fixture(scope="module", autouse=True)
def nothing_runs():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernelbook.course.run.Grader", Reads)
        yield


def handed_in(root):
    """Two of one name with different points, and the text that one of them typed into Moodle."""
    place = Place(root)
    place.hand_in(ANN)
    place.hand_in(OTHER, total=WRONG)
    (place.submissions / TYPED).mkdir()
    (place.submissions / TYPED / "onlinetext.html").write_text("<p>See the notebook.</p>")
    place.course.mkdir()
    return place


def scores(place):
    return {name: (row["state"], row["score"]) for name, row in place.rows().items()}


@pytest.fixture(scope="module")
def unlisted(tmp_path_factory):
    place = handed_in(tmp_path_factory.mktemp("unlisted"))
    place.done = place.grade("--unsafe")
    assert place.done.exit_code == 0, place.done.output
    return place


def test_without_a_roster_the_numbers_tell_two_of_a_name_apart(unlisted):
    found = scores(unlisted)
    assert sorted(found.values()) == [("to grade", "3"), ("to grade", "5")]
    assert all(re.fullmatch(r"Ann-Lee-[12]-\w{8}", name) for name in found)
    assert "several students are called Ann Lee" in unlisted.done.output
    assert "onlinetext_ was not read" in unlisted.done.output
    assert "two submissions" not in unlisted.done.output
    # Whoever came first keeps what was given by hand when a namesake hands in later.
    before = sorted(found)
    assert "0 graded, 2 unchanged" in unlisted.grade("--unsafe").output
    assert sorted(scores(unlisted)) == before


def test_the_first_keeps_the_identity_when_a_namesake_hands_in_later(tmp_path):
    place = Place(tmp_path)
    place.hand_in(ANN)
    assert place.grade("--unsafe").exit_code == 0
    (first,) = scores(place)
    place.hand_in(OTHER, total=WRONG)
    assert "1 graded, 1 unchanged" in place.grade("--unsafe").output
    found = scores(place)
    assert found.pop(first) == ("to grade", "5")
    assert list(found.values()) == [("to grade", "3")]


@pytest.mark.parametrize("known_by", ["nothing", "number", "number here", "worksheet", "one"])
def test_with_a_roster_neither_is_missing(tmp_path, known_by):
    place = handed_in(tmp_path)
    numbers = {"number": ("1", "2"), "number here": ("small:1 svm:2", "small:2 svm:1")}
    lines = TWO.format(*numbers.get(known_by, ("", "")))
    if known_by == "one":
        lines = "s1,Ann Lee,a1@x.org,,\n"
    (place.course / "roster.csv").write_text(HEADER + lines + "s3,Eve Missing,,,\n")
    if known_by == "worksheet":
        (place.submissions / "Grades-Small.csv").write_text(WORKSHEET)
    done = place.grade("--unsafe")
    assert done.exit_code == 0, done.output
    found = scores(place)
    assert found.pop("s3") == ("missing", "")
    if known_by in ("nothing", "one"):
        assert found.pop("s1") == ("unclear", "")
        assert known_by == "one" or found.pop("s2") == ("unclear", "")
        assert sorted(found.values()) == [("to grade", "3"), ("to grade", "5")]
        assert "a column 'number' in the roster" in done.output
        page = (place.course / "reports" / "small.html").read_text()
        assert "2 handed in, 1 missing" in page
        assert "Ann Lee: unclear" in page
    else:
        assert found == {"s1": ("to grade", "5"), "s2": ("to grade", "3")}
        assert "called Ann Lee" not in done.output


def test_who_is_in_the_roster_later_is_not_there_twice(tmp_path):
    place = handed_in(tmp_path)
    (place.course / "roster.csv").write_text(HEADER + TWO.format("", ""))
    said = place.grade("--unsafe").output
    assert "is not in the roster" not in said
    assert len(scores(place)) == 4  # two who are graded, two of whom nothing is known
    first = next(name for name in scores(place) if name.startswith("Ann-Lee-1"))
    with Course(place.course) as course:
        grade = course.gradebook.find_grade("essay", "small", "small", first)
        grade.manual_score, grade.needs_manual_grade = 4.0, False
        course.gradebook.db.commit()
    (place.course / "roster.csv").write_text(HEADER + TWO.format("1", "2"))
    said = place.grade("--unsafe").output
    assert scores(place) == {"s1": ("to grade", "5"), "s2": ("to grade", "3")}
    assert f"s1: was graded as {first} before: points given by hand there are not here" in said
    text = (place.course / "grades" / "small-moodle.csv").read_text()
    assert text.count("Participant 1") == text.count("Participant 2") == 1


# Times


@pytest.fixture
def late(tmp_path):
    """An export of Canvas, one file marked as late, and a due date that knows better."""
    place = Place(tmp_path)
    place.course.mkdir()
    place.due = place.course / "course.toml"
    place.due.write_text(SETTINGS)
    place.submissions = tmp_path / "export.zip"
    return place


def export(place, names, day):
    text = json.dumps(notebook(place.assignment))
    with zipfile.ZipFile(place.submissions, "w") as archive:
        for k, name in enumerate(names):
            archive.writestr(zipfile.ZipInfo(name, (2026, 3, day, 12 + k, 0, 0)), text)


def test_a_file_in_an_export_is_late_by_its_own_time(late):
    export(late, [f"{ANN}/small.ipynb", f"Bo_3_{ANN[10:]}/small.ipynb"], 12)
    assert "late" not in late.grade("--dry-run").output
    export(late, [f"{ANN}/small.ipynb"], 14)
    assert "2 days late: 20 % of the points" in late.grade("--dry-run").output


def test_where_the_clock_and_canvas_disagree_the_lecturer_is_told(late):
    export(late, ["ann_LATE_1_5_small.ipynb", "bo_2_6_small.ipynb"], 12)
    said = late.grade("--dry-run").output
    assert said.count("Canvas marks this as late, and by its time it is not") == 1
    export(late, ["ann_LATE_1_5_small.ipynb", "bo_2_6_small.ipynb"], 14)
    said = late.grade("--dry-run").output
    assert said.count("Canvas does not mark this as late, and by its time it is") == 1
    with zipfile.ZipFile(late.submissions, "w") as archive:
        archive.writestr(zipfile.ZipInfo("ann_LATE_1_5_small.ipynb"), "{}")  # no time: 1980
    said = late.grade("--dry-run").output
    assert "is not known: it counts as in time; Canvas marks it as late" in said
    late.due.unlink()
    assert "Canvas" not in late.grade("--dry-run").output


def test_a_time_that_is_learned_later_counts_without_grading_again(tmp_path):
    place = Place(tmp_path)
    place.hand_in("Bob_3_assignsubmission_file_")
    place.course.mkdir()
    (place.course / "course.toml").write_text("[due]\nsmall = 2025-03-09\n")
    assert place.grade("--unsafe").exit_code == 0
    sheet = WORKSHEET.replace("yesterday", '"Sunday, 9 March 2025, 11:58 PM"')
    (row,) = place.rows().values()
    assert int(row["days_late"]) > 100  # this file is of today
    (place.submissions / "Grades.csv").write_text(sheet)
    assert "0 graded, 1 unchanged" in place.grade("--unsafe").output
    (row,) = place.rows().values()
    assert row["days_late"] == "0"


# What others import.  Each reader takes over the conditions of the program that it stands for.


def moodle_takes(text, participants):
    """The grades that Moodle would take from a worksheet, by its user; None if it refuses the file.

    After `assignfeedback_offline_grade_importer::init` and `::next`, in
    mod/assign/feedback/offline/importgradeslib.php: three columns must be there, with these very
    names, and what is behind the word for a participant must be a participant's number.
    """
    header, *body = csv.reader(io.StringIO(text))
    if not {"Identifier", "Grade", "Last modified (grade)"} <= set(header):
        return None
    taken = {}
    for cells in body:
        row = dict(zip(header, cells, strict=True))
        number = row["Identifier"][len("Participant ") :]
        if number in participants:
            taken[participants[number]] = float(row["Grade"])
    return taken


def canvas_takes(text, users, titles):
    """The scores that Canvas would take, by user, with the assignment they are for.

    After `GradebookImporter` in lib/gradebook_importer.rb: the first columns are the student's,
    "Section" the last of them; an assignment is known by the number behind its title, or by the
    title; a student by the number, then by the SIS id.  None stands for a new assignment.
    """
    header, *body = csv.reader(io.StringIO(text))
    if "Student" not in header[0] or "ID" not in header[1] or header[4] != "Section":
        section = header.index("Section") if "Section" in header else -1
    else:
        section = 4
    assert header[2 : section + 1] == ["SIS User ID", "SIS Login ID", "Section"]
    (column,) = header[section + 1 :]
    number = re.fullmatch(r"(.*)\s\((\d+)\)", column)
    assignment = titles.get(int(number[2])) if number else None
    assignment = assignment or (column if column in titles.values() else None)
    taken = {}
    for row in body:
        if "Points Possible" in row[0]:
            continue
        user = users.get(int(row[1])) if row[1] else None
        user = user or next((u for u in users.values() if u == row[2]), None)
        if user:
            taken[user] = float(row[-1])
    return assignment, taken


def test_moodle_imports_the_worksheet_as_it_is(unlisted):
    text = (unlisted.course / "grades" / "small-moodle.csv").read_text()
    assert moodle_takes(text, {"1": "first", "2": "second"}) == {"first": 5, "second": 3}
    without = text.replace("Last modified (grade)", "")
    assert moodle_takes(without, {"1": "first"}) is None  # the reader is no yes-man
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {r["Last modified (grade)"] for r in rows} == {"-"}


def test_moodle_gives_nobody_the_grade_of_a_student_without_a_number(tmp_path):
    """It looks for digits at a fixed place: "hermione12345" would be participant 5."""
    place = Place(tmp_path)
    place.hand_in("hermione12345")
    assert place.grade("--unsafe").exit_code == 0
    text = (place.course / "grades" / "small-moodle.csv").read_text()
    assert moodle_takes(text, {"5": "somebody else", "": "nobody"}) in ({}, {"nobody": 5.0})
    assert "hermione12345" in text


@pytest.fixture(scope="module")
def canvas(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("canvas"))
    place.submissions.mkdir()
    for name, replaced in (("annlee_11_5", {}), ("annlee_12_6", {"total": WRONG})):
        text = json.dumps(notebook(place.assignment, replaced))
        (place.submissions / f"{name}_small.ipynb").write_text(text)
    place.course.mkdir()
    assert place.grade("--unsafe").exit_code == 0
    return place


@pytest.mark.parametrize(
    ("title", "expected"),
    [("", None), ("Sheet 1", "Sheet 1"), ("Any words (77)", "Sheet 1"), ("Sheet", None)],
)
def test_canvas_finds_the_assignment_by_the_title_in_the_settings(canvas, title, expected):
    settings = f"[canvas]\nsmall = '{title}'\n" if title else ""
    (canvas.course / "course.toml").write_text(settings)
    with Course(canvas.course) as book:
        write_reports(book, (), canvas.masters)
    text = (canvas.course / "grades" / "small-canvas.csv").read_text()
    found = canvas_takes(text, {11: "first", 12: "second"}, {77: "Sheet 1"})
    assert found == (expected, {"first": 5, "second": 3})

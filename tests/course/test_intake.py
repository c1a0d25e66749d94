"""Nothing handed in is lost: damaged, renamed, packed or stripped, it is read or looked at."""

import base64
import copy
import csv
import io
import json
import os
import struct
import zipfile
from datetime import datetime

import pytest

from kernelbook.course.grading import Grader
from kernelbook.course.intake.finding import find
from kernelbook.course.intake.names import Owner, folded, owner, safe_name
from kernelbook.course.intake.reading import code, read
from kernelbook.course.intake.roster import Roster, RosterError

from .helpers import NAMES, load, needs_sandbox, notebook, save
from .small import MASTER, make


@pytest.fixture(scope="module")
def assignment(tmp_path_factory):
    return load("small", make(tmp_path_factory.mktemp("intake")))


def stripped(made, keep=()):
    """As an editor leaves it that knows nothing of nbgrader."""
    made = copy.deepcopy(made)
    for cell in made["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") not in keep:
            cell["metadata"] = {}
    return made


def with_heading(made):
    made = copy.deepcopy(made)
    text = {"cell_type": "markdown", "metadata": {}, "source": "## Question 3: Why (4 points)"}
    made["cells"].insert(-1, text)
    return made


def cells(made, name, **changes):
    for cell in made["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == name:
            cell.update(changes)
    return made


def only(folder, name="small", others=()):
    (found,) = find(folder, name, others)
    return found


TEXT = json.dumps(MASTER, ensure_ascii=False)
CURLY = json.loads(TEXT)
cells(
    CURLY,
    "double",
    source="def double(x):\n    \u201c\u201c\u201cTwice.\u201d\u201d\u201d\n"
    "    assert \u2018a\u2019 != \u201cb\u201d\n    return\u00a02 * x \u2212 0",
)
OLD = {
    "nbformat": 3,
    "worksheets": [{"cells": [c | {"input": c["source"]} for c in MASTER["cells"]]}],
}
SPLIT = json.loads(TEXT)
SPLIT["cells"].append(copy.deepcopy(SPLIT["cells"][-1]) | {"source": "And more."})
IN_CHECK = json.loads(TEXT)
cells(IN_CHECK, "total", source="")
cells(IN_CHECK, "total-check", source="def total(x):\n    return x.sum()")
CRLF = json.loads(TEXT.replace("\\n", "\\r\\n"))


def packed(*names, content=TEXT, **others):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
        for name, text in others.items():
            archive.writestr(name, text)
    return stream.getvalue()


# (path below the folder of submissions, content, a word of the remark or None)
READ = {
    "plain": ("ada/small.ipynb", TEXT, None),
    "browser's copy": ("ada/small (1).ipynb", TEXT, "small (1).ipynb"),
    "student's version": ("ada/small-final.ipynb", TEXT, "small-final"),
    "capitals": ("ada/Small_v2.IPYNB", TEXT, "Small_v2"),
    "another name": ("ada/homework.ipynb", TEXT, "homework"),
    "one folder deeper": ("ada/my files/small.ipynb", TEXT, None),
    "name with .txt": ("ada/small.ipynb.txt", TEXT, "small.ipynb.txt"),
    "zip": ("ada/small.zip", packed("small.ipynb"), None),
    "zip with rubbish": (
        "ada/hand in.zip",
        packed("x/small.ipynb", "__MACOSX/._small.ipynb", "x/.ipynb_checkpoints/small.ipynb"),
        None,
    ),
    "byte-order mark": ("ada/small.ipynb", b"\xef\xbb\xbf" + TEXT.encode(), None),
    "UTF-16": ("ada/small.ipynb", TEXT.encode("utf-16"), "UTF-16"),
    "Windows-1252": ("ada/small.ipynb", TEXT.replace("Because", "Größe").encode("cp1252"), "1252"),
    "Windows line ends": ("ada/small.ipynb", json.dumps(CRLF), None),
    "file with Windows line ends": (
        "ada/small.ipynb",
        json.dumps(MASTER, indent=1).replace("\n", "\r\n"),
        None,
    ),
    "typographic quotes": ("ada/small.ipynb", json.dumps(CURLY), "typographic"),
    "old format": ("ada/small.ipynb", json.dumps(OLD), "old format"),
    "no tags": ("ada/small.ipynb", json.dumps(stripped(MASTER)), "lost its tags"),
    "answer in the check's cell": ("ada/small.ipynb", json.dumps(IN_CHECK), None),
    "unicode name": ("Jörg Müller/small.ipynb", TEXT, None),
    "Moodle": ("Jörg Müller_48213_assignsubmission_file_/small.ipynb", TEXT, None),
    "Moodle, flat": ("Jörg Müller_48213_assignsubmission_file_small (2).ipynb", TEXT, "small (2)"),
    "Canvas": ("muellerjoerg_LATE_48213_917245_small-1.ipynb", TEXT, "small-1"),
    "Canvas, zip": ("muellerjoerg_48213_917245_work.zip", packed("small.ipynb"), None),
    "flat": ("ada.ipynb", TEXT, None),
}


def put(folder, path, content):
    path = folder / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@needs_sandbox
def test_what_arrives_in_another_form_is_read_and_keeps_its_points(assignment, tmp_path):
    with Grader(assignment, "secret") as grader:
        for k, (case, (path, content, word)) in enumerate(READ.items()):
            folder = tmp_path / str(k)
            put(folder, path, content)
            found = read(only(folder), assignment)
            assert found.trouble is None, (case, found.trouble)
            said = " ".join(found.remarks)
            assert (word or "") in said, (case, said)
            result = grader.grade(found)
            scores = {n: v.points for n, v in result.verdicts.items()}
            assert scores == {"double": 3, "total": 2}, (case, result)


REFUSED = {
    "empty file": ("ada/small.ipynb", "", "is empty"),
    "cut off": ("ada/small.ipynb", TEXT[: len(TEXT) // 2], "it ends too early"),
    "web page": ("ada/small.ipynb", "<!DOCTYPE html><html>", "web page"),
    "zip by another name": ("ada/small.ipynb", packed("small.ipynb"), "is a zip file"),
    "PDF": ("ada/small.pdf", b"%PDF-1.7", "small.pdf"),
    "PDF by another name": ("ada/small.ipynb", b"%PDF-1.7", "is a PDF"),
    "Word": ("ada/answers.docx", b"PK\x03\x04", "answers.docx"),
    "damaged zip": ("ada/small.zip", b"PK\x03\x04 nothing", "damaged"),
    "nothing in it": ("ada/notes.txt", "later", "notes.txt"),
    "a picture": ("ada/small.ipynb", b"\x89PNG\r\n\x1a\n\xff\xff", "not a notebook"),
    "no cells": ("ada/small.ipynb", "{}", "no list of cells"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_named_with_the_remedy(assignment, tmp_path, case):
    path, content, word = REFUSED[case]
    put(tmp_path, path, content)
    found = read(only(tmp_path), assignment)
    assert word in found.trouble
    name = path.rpartition("/")[2]
    assert name in found.trouble
    remedies = ("hand", "rename", "name it", "unpack", "use Download")
    assert any(remedy in found.trouble for remedy in remedies)


def test_several_notebooks_are_a_conflict_unless_they_are_the_same(assignment, tmp_path):
    put(tmp_path, "ada/small (1).ipynb", TEXT)
    put(tmp_path, "ada/small (2).ipynb", TEXT)
    assert read(only(tmp_path), assignment).trouble is None
    put(tmp_path, "ada/small (2).ipynb", TEXT.replace("2 * x", "3 * x"))
    assert "small (1).ipynb, small (2).ipynb" in read(only(tmp_path), assignment).trouble
    put(tmp_path, "ada/small.ipynb", TEXT)
    # The right name does not settle it.
    assert (
        "small.ipynb, small (1).ipynb, small (2).ipynb" in read(only(tmp_path), assignment).trouble
    )
    assert only(tmp_path, "other", ("small",)).trouble  # and is not taken for another's


BESIDE = ["small-final.ipynb", "small (1).ipynb", "small/small.ipynb", "small-1.ipynb"]


@pytest.mark.parametrize("name", BESIDE)
def test_the_right_name_does_not_hide_another_notebook(assignment, tmp_path, name):
    empty = json.dumps(handed_out(assignment))
    put(tmp_path, "ada/small.ipynb", TEXT.replace("2 * x", "3 * x"))
    put(tmp_path, f"ada/{name}", TEXT)
    found = read(only(tmp_path), assignment)
    assert not found.cells
    assert f"small.ipynb, {name}; keep only the right one" in found.trouble
    # The notebook as it was handed out is no answer, whichever of the two it is.
    for first, second in ((empty, TEXT), (TEXT, empty)):
        put(tmp_path, "ada/small.ipynb", first)
        put(tmp_path, f"ada/{name}", second)
        found = read(only(tmp_path), assignment)
        assert found.trouble is None
        assert [c for c in found.cells if "2 * x" in c["source"]]
        assert found.file == (name if second is TEXT else "small.ipynb")
        said = f"read from {found.file}; without any answer: "
        assert said + (name if first is TEXT else "small.ipynb") in found.remarks
    # Outputs and numbers of executions are no other answers; a damaged copy may be.
    put(tmp_path, "ada/small.ipynb", TEXT)
    put(tmp_path, f"ada/{name}", json.dumps(MASTER, indent=2).replace("null", "7"))
    found = read(only(tmp_path), assignment)
    assert (found.trouble, found.file, found.remarks) == (None, "small.ipynb", [])
    put(tmp_path, f"ada/{name}", TEXT[:-40])
    assert name in read(only(tmp_path), assignment).trouble


def test_an_empty_notebook_does_not_hide_one_of_another_name(assignment, tmp_path):
    put(tmp_path, "ada/small.ipynb", json.dumps(handed_out(assignment)))
    put(tmp_path, "ada/homework.ipynb", TEXT)
    found = read(only(tmp_path), assignment)
    assert (found.trouble, found.file) == (None, "homework.ipynb")
    put(tmp_path, "ada/homework2.ipynb", TEXT.replace("2 * x", "3 * x"))
    assert "homework.ipynb, homework2.ipynb" in read(only(tmp_path), assignment).trouble


def handed_out(assignment):
    """What students get."""
    return notebook(assignment, dict(assignment.stubs))


@needs_sandbox
def test_a_failed_public_check_is_told(assignment, tmp_path):
    folder = make(tmp_path)
    master = json.loads(TEXT)
    cells(master, "double-check", source="print('hm')\nassert double(2) == 4, 'twice two'")
    save(folder, "small", master, "small")
    wrong = cells(json.loads(json.dumps(master)), "double", source="def double(x):\n    return x")
    put(tmp_path, "in/ada/small.ipynb", json.dumps(wrong))
    changed = load("small", folder)
    with Grader(changed, "secret") as grader:
        result = grader.grade(read(only(tmp_path / "in"), changed))
    assert result.verdicts["double"].check.startswith("AssertionError: twice two")
    assert result.verdicts["total"].check == ""
    assert "hm" not in result.printed


def test_links_are_refused_hard_ones_too(assignment, tmp_path):
    secret = put(tmp_path, "elsewhere/small.ipynb", TEXT)
    folder = tmp_path / "submissions"
    (folder / "hard").mkdir(parents=True)
    os.link(secret, folder / "hard" / "small.ipynb")
    (folder / "soft").mkdir()
    (folder / "soft" / "small.ipynb").symlink_to(secret)
    (folder / "deep" / "more").mkdir(parents=True)
    (folder / "deep" / "more" / "below").symlink_to(secret.parent)
    (folder / "whole").symlink_to(secret.parent)
    found = {h.entry: read(h, assignment) for h in find(folder, "small")}
    assert set(found) == {"hard", "soft", "deep", "whole"}
    assert not any(s.cells for s in found.values())
    assert "hard link" in found["hard"].trouble
    for name in ("soft", "whole"):
        assert "is a link" in found[name].trouble
    # A folder that becomes a link after it was listed.
    late = find(folder.parent, "small")
    mine = next(h for h in late if h.entry == "elsewhere")
    (tmp_path / "elsewhere").rename(tmp_path / "moved")
    (tmp_path / "elsewhere").symlink_to(tmp_path / "moved")
    assert "is a link" in read(mine, assignment).trouble


def test_answers_without_tags_are_matched_by_heading_or_given_to_a_person(assignment, tmp_path):
    save(tmp_path, "ada", stripped(MASTER), "small")
    found = read(only(tmp_path), assignment)
    assert not found.unmatched
    assert next(c for c in found.cells if c["grade_id"] == "essay")["source"].startswith("Because")
    project = load("grls")
    bare = stripped(notebook(project, {"slip": "By the first row."}))
    bare["cells"] = [c for c in bare["cells"] if "## Question" not in "".join(c["source"])]
    save(tmp_path / "bare", "ada", bare, "grls")
    found = read(only(tmp_path / "bare", "grls"), project)
    assert found.unmatched  # no heading tells what it answers
    assert "please look" in " ".join(found.remarks)
    folder = tmp_path / "grls"
    save(folder, "ada", stripped(notebook(project, {"slip": "By the first row."})), "grls")
    found = read(only(folder, "grls"), project)
    assert not found.unmatched
    answers = {c["grade_id"]: c["source"] for c in found.cells}
    assert answers["slip"] == "By the first row."
    assert "def excess" in answers["excess"]
    assert "semilogy" in answers["excess-picture"]


def test_an_answer_split_in_two_is_one_answer(assignment, tmp_path):
    save(tmp_path, "ada", SPLIT, "small")
    found = read(only(tmp_path), assignment)
    answer = next(c["source"] for c in found.cells if c["grade_id"] == "essay")
    assert answer.startswith("Because.")
    assert answer.endswith("And more.")


HEAD = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 10, 10)
PNG = {"output_type": "display_data", "data": {"image/png": base64.b64encode(HEAD).decode()}}


def own(text, kind="markdown", outputs=()):
    made = {"cell_type": kind, "metadata": {}, "source": text}
    return made | ({"outputs": list(outputs), "execution_count": None} if kind == "code" else {})


def released(project, name, *added, at=1):
    """The solution with one answer as it was handed out, and cells of the student's own by it."""
    made = notebook(project, {name: project.stubs[name]})
    for cell in made["cells"]:
        cell["outputs"] = []
    names = [c["metadata"]["nbgrader"]["grade_id"] for c in made["cells"]]
    where = names.index(name) + at
    made["cells"][where:where] = added
    return made


# What a student wrote beside the untouched cell of a question, and what must be in the answer.
# Nothing in the answer: somebody has to look.
BESIDE = {
    "text below": ("slip", [own("By the first row.")], "By the first row."),
    "text above": ("slip", [own("By the first row.")], "By the first row."),
    "two texts": ("slip", [own("First."), own("Second.")], "First.\n\nSecond."),
    "under a heading": ("slip", [own("## Question 8\n\nThe row.")], "The row."),
    "raw": ("slip", [own("By the first row.", "raw")], "By the first row."),
    "text and code": ("slip", [own("1 + 1", "code"), own("By the row.")], "By the row."),
    "words in code": ("slip", [own("# By the first row.", "code")], None),
    "picture below": ("excess-picture", [own("plt.plot(x)", "code", [PNG])], "plt.plot(x)"),
    "picture, cleared": ("excess-picture", [own("plt.plot(x)", "code")], "plt.plot(x)"),
    "picture and import": ("excess-picture", [own("import scipy\nplt.plot(x)", "code")], None),
    "picture's numbers": ("excess-picture", [own("excess(1, 2)", "code")], None),
}


@pytest.mark.parametrize("case", BESIDE)
def test_an_answer_in_a_cell_of_its_own_is_found_or_looked_at(case, tmp_path):
    project = load("grls")
    name, added, expected = BESIDE[case]
    made = released(project, name, *added, at=0 if "above" in case else 1)
    save(tmp_path, "ada", made, "grls")
    found = read(only(tmp_path, "grls"), project)
    answer = next(c for c in found.cells if c["grade_id"] == name)
    if expected is None:
        assert found.unmatched
        assert f"nothing stands where {name} should be answered" in found.remarks[-1]
        assert answer["source"] == project.stubs[name]
    else:
        assert not found.unmatched
        assert expected in answer["source"]
        assert "Your answer here" not in answer["source"]
        assert found.remarks == [f"the answer to {name} stood in a cell of its own"]
    # Code of the student's own runs wherever it stands; a picture's does not.
    ran = "\n".join(text for _, text in code(found, project))
    assert ("import scipy\nplt" in ran) == (case == "picture and import")
    assert ("plt.plot(x)" in ran) == (case == "picture and import")


def test_an_answer_far_from_its_question_is_looked_at_and_none_is_none(tmp_path):
    project = load("grls")
    quiet = released(project, "slip", own("import scipy", "code"), own("---"), at=-3)
    save(tmp_path / "quiet", "ada", quiet, "grls")
    assert not read(only(tmp_path / "quiet", "grls"), project).unmatched  # nothing was answered
    last = released(project, "slip")
    last["cells"].append(own("Answer to 8: the first row of the equation is wrong."))
    save(tmp_path / "last", "ada", last, "grls")
    assert read(only(tmp_path / "last", "grls"), project).unmatched
    # The function's own cell drew the picture.
    drawn = released(project, "excess-picture")
    for cell in drawn["cells"]:
        if cell["metadata"]["nbgrader"]["grade_id"] == "excess":
            cell["outputs"] = [PNG]
    save(tmp_path / "drawn", "ada", drawn, "grls")
    assert read(only(tmp_path / "drawn", "grls"), project).unmatched
    # Written into the text of the question, as editors without locks allow.
    within = released(project, "slip")
    for cell in within["cells"]:
        if cell["metadata"]["nbgrader"]["grade_id"] == "slip-text":
            cell["source"] = "".join(cell["source"]) + "\n\nIt went wrong in the very first row."
    save(tmp_path / "within", "ada", within, "grls")
    found = read(only(tmp_path / "within", "grls"), project)
    answer = next(c for c in found.cells if c["grade_id"] == "slip")
    assert answer["source"] == "It went wrong in the very first row."


def test_what_students_get_is_known_by_its_cells():
    for name in NAMES:
        project = load(name)
        kinds = dict(project.cells("solution")) | dict(project.cells("manual"))
        assert set(project.stubs) == set(kinds)
        assert all(s.strip().endswith(('written yet")', "here.*")) for s in project.stubs.values())


@needs_sandbox
@pytest.mark.parametrize("at", [0, 1])
def test_a_function_in_a_cell_of_its_own_counts_above_the_one_handed_out_and_below(
    assignment, tmp_path, at
):
    made = released(assignment, "double", own("def double(x):\n    return 2 * x", "code"), at=at)
    found = read(save_and_find(tmp_path, made), assignment)
    assert next(c for c in found.cells if c["grade_id"] == "double")["source"].endswith("2 * x")
    with Grader(assignment, "secret") as grader:
        assert grader.grade(found).verdicts["double"].points == 3
        # In the cell of another question, above; and under another kind of name.
        made = released(assignment, "total")
        cells(made, "double", source="total = sum\ndouble = lambda x: 2 * x")
        found = read(save_and_find(tmp_path / "other", made), assignment)
        assert [v.points for v in grader.grade(found).verdicts.values()] == [3, 2]


def save_and_find(folder, made):
    save(folder, "ada", made, "small")
    return only(folder)


def test_a_whole_export_may_be_one_zip_file(assignment, tmp_path):
    content = packed(
        "Jörg Müller_1_assignsubmission_file_/small.ipynb",
        "Ana de la Cruz_2_assignsubmission_file_/small.ipynb",
        **{"Eve_3_assignsubmission_file_/essay.docx": "x"},
    )
    path = put(tmp_path, "export.zip", content)
    found = {h.owner.name: read(h, assignment) for h in find(path, "small")}
    assert set(found) == {"Jörg Müller", "Ana de la Cruz", "Eve"}
    assert [s.trouble is None for s in found.values()] == [True, True, False]
    assert found["Jörg Müller"].number == "1"


def exported(path, times, **others):
    """A whole export, each entry with its own time in the zip file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, time in times.items():
            archive.writestr(zipfile.ZipInfo(f"{name}/small.ipynb", time), TEXT)
        for name, text in others.items():
            archive.writestr(name, text)
    return path


def moment(*parts):
    return datetime(*parts).timestamp()


def test_times_in_a_whole_export_are_those_of_its_files(assignment, tmp_path):
    entry = "{}_{}_assignsubmission_file_".format
    times = {
        entry("Ann", 1): (2025, 3, 1, 12, 0, 0),
        entry("Bob", 2): (2025, 3, 9, 8, 30, 2),
        entry("Cyd", 3): (1980, 1, 1, 0, 0, 0),  # unknown
        entry("Dan", 4): (2099, 1, 1, 0, 0, 0),  # cannot be
        entry("Eve", 5): (2025, 0, 0, 0, 0, 0),  # no date
    }
    path = exported(tmp_path / "export.zip", times)
    found = {h.owner.name: read(h, assignment).time for h in find(path, "small")}
    assert found == {"Ann": moment(2025, 3, 1, 12), "Bob": moment(2025, 3, 9, 8, 30, 2)} | dict(
        Cyd=None, Dan=None, Eve=None
    )
    # One time for all is the time of the export, which says nothing of the students.
    same = {entry(name, k): (2025, 3, 9, 12, 0, 2 * k) for k, name in enumerate("abc")}
    path = exported(tmp_path / "same.zip", same)
    assert {read(h, assignment).time for h in find(path, "small")} == {None}


def participant(number, name, mail, said):
    status = "No submission" if said == "-" else "Submitted for grading"
    return [f"Participant {number}", name, f"i{number}", mail, status, "", "9.00", "Yes", said, "-"]


def worksheet():
    """As Moodle writes it; a comma in the time, a byte-order mark in front."""
    header = "Identifier,Full name,ID number,Email address,Status,Grade,Maximum Grade,Grade can be "
    header += "changed,Last modified (submission),Last modified (grade)"
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(header.split(","))
    writer.writerow(participant(1, "Ann Lee", "a1@x.org", "Sunday, 9 March 2025, 11:58 PM"))
    writer.writerow(participant(2, "Ann Lee", "a2@x.org", "Monday, 10 March 2025, 8:05 AM"))
    writer.writerow(participant(3, "Bob", "bob@x.org", "yesterday"))
    writer.writerow(participant(4, "Cyd", "cyd@x.org", "-"))
    return "\ufeff" + stream.getvalue()


WORKSHEET = worksheet()


@pytest.mark.parametrize("packed_up", [False, True])
def test_the_worksheet_of_moodle_knows_times_and_participants(assignment, tmp_path, packed_up):
    name = "{}_assignsubmission_file_".format
    entries = {name("Ann Lee_1"), name("Ann Lee_2"), name("Bob_3")}
    place = tmp_path / "in"
    if packed_up:
        times = dict.fromkeys(entries, (2025, 6, 1, 0, 0, 0))
        place = exported(tmp_path / "all.zip", times, **{"Grades-Small.csv": WORKSHEET})
    else:
        for entry in entries:
            os.utime(put(place, f"{entry}/small.ipynb", TEXT), (moment(2025, 6, 1),) * 2)
        put(place, "Grades-Small.csv", WORKSHEET)
    found = {h.owner.number: h for h in find(place, "small")}
    assert set(found) == {"1", "2", "3"}
    assert found["2"].owner.known == ("a2@x.org", "i2")
    times = {number: read(h, assignment).time for number, h in found.items()}
    assert times["1"] == moment(2025, 3, 9, 23, 58)
    assert times["2"] == moment(2025, 3, 10, 8, 5)
    assert times["3"] == (None if packed_up else moment(2025, 6, 1))
    assert "'yesterday', which is not understood" in " ".join(found["3"].remarks)


def test_a_worksheet_in_another_language_is_named_and_other_tables_are_not_read(tmp_path):
    put(tmp_path, "Ann_1_assignsubmission_file_/small.ipynb", TEXT)
    german = WORKSHEET.replace("Identifier", "ID").replace("Participant", "Teilnehmer/in")
    put(tmp_path, "Bewertungen.csv", german)
    put(tmp_path, "numbers.csv", "a,b\n1,2\n")
    (found,) = find(tmp_path, "small")
    assert "Bewertungen.csv looks like Moodle's worksheet, in another language" in found.remarks[0]
    # A student's own table is theirs, whatever it says.
    put(tmp_path / "canvas", "evil_7_8_Grades.csv", WORKSHEET)
    put(tmp_path / "canvas", "annlee_1_2_small.ipynb", TEXT)
    found = {h.owner.name: h for h in find(tmp_path / "canvas", "small")}
    assert found["annlee"].owner.known == ()
    assert "Grades.csv" in found["evil"].trouble


def test_owners_are_read_from_the_names_of_exports():
    assert owner("Jörg Müller_48213_assignsubmission_file_") == Owner("Jörg Müller", "48213", "")
    assert owner("muellerjoerg_LATE_4_9_x_y.ipynb") == Owner("muellerjoerg", "4", "x_y.ipynb", True)
    assert owner("muellerjoerg_4_9_x_y.ipynb") == Owner("muellerjoerg", "4", "x_y.ipynb", False)
    both = "eve_3_9_Bob_4_assignsubmission_file_small.ipynb"  # Eve's file in Canvas, not Bob's
    assert owner(both) == Owner(both)
    assert owner("ada_lovelace") == Owner("ada_lovelace")
    assert folded("Müller, Jörg") == folded("JÖRG  MÜLLER") == folded("Jo\u0308rg Mu\u0308ller")
    assert safe_name("Jörg Müller").startswith("Jorg-Muller-")
    assert safe_name("Jörg") == safe_name("Jo\u0308rg")


def test_the_roster_knows_students_by_id_mail_and_name(tmp_path):
    path = tmp_path / "roster.csv"
    text = (
        "Name;ID;E-mail;extension\nJörg Müller;s1;jm@x.org;3\nAna de la Cruz;s2;ana@x.org;grls:7\n"
    )
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    roster = Roster.read(path)
    for name in ("s1", "S1", "jm@x.org", "jm", "Müller Jörg", "muellerjoerg", "mullerjorg"):
        assert roster.find(Owner(name))[0].id == "s1", name
    assert roster.find(Owner("somebody"))[0] is None
    assert (roster.students[0].days("svm"), roster.students[1].days("svm")) == (3, 0)
    assert roster.students[1].days("grls") == 7
    path.write_text("name,email\nx,y\n")
    with pytest.raises(RosterError, match="no column 'id'"):
        Roster.read(path)
    path.write_text("id,extension\nx,soon\n")
    with pytest.raises(RosterError, match="line 2: extension='soon'"):
        Roster.read(path)
    path.write_text("id\nx\nx\n")
    with pytest.raises(RosterError, match="line 3: the id 'x' is already in line 2"):
        Roster.read(path)
    path.write_text("id,name,number\ns1,Ann Lee,7 grls:8\ns2,Ann Lee,\n")
    roster = Roster.read(path)
    assert roster.find(Owner("Ann Lee")) == (None, False)
    assert [s.id for s in roster.namesakes("Lee Ann")] == ["s1", "s2"]
    assert roster.find(Owner("Lee, A.", "7"), "svm")[0].id == "s1"
    assert roster.find(Owner("Lee, A.", "7"), "grls")[0] is None
    assert roster.find(Owner("Lee, A.", "8"), "grls") == (roster.students[0], True)
    path.write_text("id,name,number\ns1,Ann Lee,7\n")
    assert Roster.read(path).find(Owner("Ann Lee", "9")) == (None, False)  # not this Ann Lee
    path.write_text("id,number\ns1,7\ns2,7\n")
    with pytest.raises(RosterError, match="line 3: s1 has the number 7, too"):
        Roster.read(path)
    path.write_text("id,number\ns1,seven\n")
    with pytest.raises(RosterError, match="line 2: number='seven'"):
        Roster.read(path)

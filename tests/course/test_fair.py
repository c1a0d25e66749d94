"""What a lecturer expects: due dates, one student again, exports, similarity, the class."""

import csv
import io
import os
import re
import zipfile
from datetime import datetime
from itertools import pairwise

import pytest
from click.testing import CliRunner

from kernelbook.cli import main
from kernelbook.course.assignment import Question
from kernelbook.course.commands import course as command
from kernelbook.course.grading.credit import credit, lacks
from kernelbook.course.grading.inputs import draw
from kernelbook.course.reports.similarity import pairs, runs
from kernelbook.course.settings import Settings, SettingsError, template

from .helpers import needs_sandbox
from .test_commands import WRONG, Place

ROSTER = """id,name,email,extension
ada,Ada Lovelace,ada@x.org,
s2,Jörg Müller,joerg@x.org,2
s3,Eve Missing,eve@x.org,
"""
SETTINGS = """
[due]
small = 2026-03-12T23:59:00
[late]
percent_per_day = 10
most_days = 3
"""
MOODLE = "Jörg Müller_48213_assignsubmission_file_"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("fair"))
    place.hand_in("ada", essay="*Your answer here.*")
    place.hand_in(MOODLE, total=WRONG, essay="$x^2$")
    place.course.mkdir()
    (place.course / "roster.csv").write_text(ROSTER)
    (place.course / "course.toml").write_text(SETTINGS)
    for student, day in (("ada", 14), (MOODLE, 14)):
        at = datetime(2026, 3, day, 12).astimezone().timestamp()
        os.utime(place.submissions / student / "small.ipynb", (at, at))
    place.dry = place.grade("--dry-run")
    place.written = sorted(p.name for p in place.course.iterdir())
    place.done = place.grade()
    assert place.done.exit_code == 0, place.done.output
    return place


@needs_sandbox
def test_a_dry_run_says_what_would_happen_and_writes_nothing(place):
    assert place.dry.exit_code == 0, place.dry.output
    assert re.search(r"ada +to be graded +small.ipynb", place.dry.output)
    assert "2 days late: 20 % of the points are taken off" in place.dry.output
    assert place.written == ["course.toml", "roster.csv"]


@needs_sandbox
def test_lateness_extensions_and_missing_students(place):
    rows = place.rows()
    assert (rows["ada"]["score"], rows["ada"]["days_late"]) == ("4", "2")  # 5 less a fifth
    assert (rows["s2"]["score"], rows["s2"]["days_late"]) == ("3", "0")  # an extension
    assert (rows["s3"]["state"], rows["s3"]["score"]) == ("missing", "")
    totals = place.rows("all")
    assert (totals["s3"]["total"], totals["s3"]["missing"]) == ("", "1")
    page = (place.course / "feedback/ada/small/small.html").read_text()
    assert "2 days late: 20 % of the points are taken off" in page


@needs_sandbox
def test_one_student_is_graded_again(place):
    again = place.grade("--only", "ada")
    assert "1 graded, 0 unchanged" in again.output, again.output
    assert place.rows()["s2"]["score"] == "3"
    nobody = place.grade("--only", "nobody")
    assert nobody.exit_code == 1
    assert "no submission of nobody; there are those of ada" in nobody.output


def read(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@needs_sandbox
def test_exports_have_the_columns_that_are_imported(place):
    grades = place.course / "grades"
    moodle = read(grades / "small-moodle.csv")
    assert [r["Identifier"] for r in moodle] == ["", "Participant 48213"]
    assert (moodle[1]["Grade"], moodle[1]["Maximum Grade"]) == ("3", "9")
    assert moodle[1]["Email address"] == "joerg@x.org"
    canvas = read(grades / "small-canvas.csv")
    assert list(canvas[0]) == [
        *("Student", "ID", "SIS User ID", "SIS Login ID", "Section", "1. Small")
    ]
    assert (canvas[0]["Student"].strip(), canvas[0]["1. Small"]) == ("Points Possible", "9")
    assert (canvas[2]["Student"], canvas[2]["ID"]) == ("Müller, Jörg", "")  # Moodle's number
    assert (canvas[2]["SIS User ID"], canvas[2]["SIS Login ID"]) == ("s2", "joerg@x.org")
    packed = zipfile.ZipFile(io.BytesIO((place.course / "return" / "small.zip").read_bytes()))
    assert sorted(packed.namelist()) == [
        f"{MOODLE}/small-feedback.html",
        "ada/small-feedback.html",
    ]
    assert b"Content-Security-Policy" in packed.read("ada/small-feedback.html")


@needs_sandbox
def test_the_class_page_and_the_overview(place):
    page = (place.course / "reports" / "small.html").read_text()
    assert "2 handed in, 1 missing" in page
    assert "<script" not in page
    assert "Eve Missing: missing" in page
    where = ("--course", str(place.course), "--assignments", str(place.masters))
    shown = CliRunner().invoke(main, ["course", *where]).output
    assert re.search(r"small +9 +12 Mar 2026 +2 of 3 +1 +1 +3.5", shown), shown
    report = (place.course / "feedback" / "s2" / "small" / "small.html").read_text()
    assert "<msup>" in report  # the essay's formula is set


@needs_sandbox
def test_the_inputs_of_a_contested_grade_are_shown_again(place):
    where = ("--course", str(place.course), "--assignments", str(place.masters))
    shown = CliRunner().invoke(main, ["course", "inputs", "small", "s2", *where]).output
    assert shown.count("# total: ") == 2
    assert "answer: " in shown


def test_every_command_has_help_with_an_example():
    for name, one in command.commands.items():
        text = CliRunner().invoke(main, ["course", name, "--help"]).output
        assert f"kernelbook course {name}" in text.replace("Usage", ""), name
        assert one.help


def test_settings_are_checked(tmp_path):
    path = tmp_path / "course.toml"
    assert Settings.read(path).late("small", 1e9).days == 0
    path.write_text(template(["kernels", "grls"]))
    assert Settings.read(path).due == {}
    path.write_text("[due]\nsmall = 2026-03-12\n[late]\npercent_per_day = 50\n")
    settings = Settings.read(path)
    at = lambda day: datetime(2026, 3, day, 12).astimezone().timestamp()  # noqa: E731
    assert settings.late("small", at(12)).share == 0
    assert settings.late("small", at(13)).share == 0.5
    assert settings.late("small", at(13), extension=1).share == 0
    assert settings.late("small", at(29)).share == 1
    for text, word in (
        ("[late]\nper_day = 3", "'per_day' is not known"),
        ("[late]\npercent_per_day = 'a lot'", "must be a number"),
        ("[due]\nsmall = 'soon'", "is no date"),
        ("[due", "cannot be read"),
    ):
        path.write_text(text)
        with pytest.raises(SettingsError, match=word):
            Settings.read(path)


def test_the_template_s_due_dates_exist(tmp_path):
    """With the # removed, every line is read; the dates go past the end of a month."""
    names = [f"a{k:02d}" for k in range(60)]
    lines = [line.removeprefix("# ") for line in template(names).splitlines()[1:]]
    path = tmp_path / "course.toml"
    path.write_text("\n".join(lines))
    settings = Settings.read(path)
    assert list(settings.due) == list(settings.canvas) == names
    found = [settings.due[name].replace(tzinfo=None) for name in names]
    assert found[0] == datetime(2027, 3, 5, 23, 59)
    assert {(b - a).days for a, b in pairwise(found)} == {7}
    assert (settings.percent_per_day, settings.most_days, settings.grace_minutes) == (10, 5, 15)


ANSWER = """
def f(gram, P, y, reg):
    # my own
    m, l = P.shape
    A = gram + m * reg * np.eye(m)
    Q = np.linalg.qr(P, mode="complete")[0][:, l:]
    c = Q @ np.linalg.solve(Q.T @ A @ Q, Q.T @ y)
    return c, np.linalg.lstsq(P, y - A @ c, rcond=None)[0]
"""
RENAMED = ANSWER.replace("gram", "K").replace("# my own", "").replace("Q", "basis")
OWN = """
def f(gram, P, y, reg):
    size = len(y)
    top = np.concatenate([gram + np.diag(np.full(size, size * reg)), P], axis=1)
    low = np.concatenate([P.T, np.zeros((P.shape[1], P.shape[1]))], axis=1)
    both = np.linalg.lstsq(np.concatenate([top, low]), np.append(y, 0 * P[0]), rcond=-1)[0]
    return both[:size], both[size:]
"""


OTHERS = [
    "[x**2 if x > 0 else -x for x in sorted(a) if not x.any() or x[0] is None]",
    "{k: (v, v + 1, v * 3) for k, v in enumerate(a) if k % 2 == 0 and v != 4}",
    "lambda u, v=a: (u @ v).T.dot(v[::2, 1:]) / (1 - u[0]) ** 2 // 3",
    "a[0] < a[1] < a[2] or a[3] >= a[4] >= a[5] or not (a[6] == a[7] != a[8])",
    "f(*a, **{'b': [1, 2, [3, 4, [5, 6]]]}) if a else (yield (a, (a, (a, a))))",
    "~a & 1 | a ^ 2 << 3 >> 4 & (a | ~a) ^ (a << 5) | -a & +a ^ ~(a >> 6)",
    "a.b.c.d.e.f.g(a).h[a].i(a)[a].j.k(a, a)[a, a].l(a)(a)(a)[a][a]",
]


def test_renamed_code_is_similar_and_the_template_counts_for_nobody():
    answers = {"a": {"f": ANSWER}, "b": {"f": RENAMED}, "c": {"f": OWN}}
    (found,) = pairs(answers, {"f": "def f(gram, P, y, reg):\n    pass"})
    assert (found.first, found.second, found.share) == ("a", "b", 1.0)
    assert pairs(answers, {"f": ANSWER}) == []
    assert runs("this is ( no python") == set()


def test_copies_are_listed_however_many_there_are():
    """Renamed, in a class of ten; a whole class is one group, last and without every pair."""
    others = [OWN, *(f"def f(a):\n    return {line}\n" for line in OTHERS)]
    for copies in range(2, 8):
        names = [f"copy{k}" for k in range(copies)]
        answers = {n: {"f": (ANSWER, RENAMED)[k % 2]} for k, n in enumerate(names)}
        answers |= {f"own{k}": {"f": others[k]} for k in range(10 - copies)}
        found = pairs(answers, {"f": "def f(gram, P, y, reg):\n    pass"})
        assert {s for p in found for s in (p.first, p.second)} == set(names)
        assert {(p.share, p.group) for p in found} == {(1.0, copies)}
        assert len(found) == (copies * (copies - 1) // 2 if copies <= 6 else copies - 1)
    many = {f"s{k}": {"f": ANSWER, "g": OWN if k < 2 else ""} for k in range(30)}
    found = pairs(many, {"f": "", "g": ""})
    assert [(p.question, p.group) for p in found] == [("g", 2), *[("f", 30)] * 29]


def test_what_many_have_weighs_less_than_what_is_one_s_own():
    """Half of each answer is the usual way: alike in a pair, and not where all have it."""
    usual = "\n".join(ANSWER.strip().splitlines()[:-1])
    code = [f"{usual}\n    return {line}\n" for line in OTHERS]
    two = {f"s{k}": {"f": code[k]} for k in range(2)}
    all_of_them = {f"s{k}": {"f": text} for k, text in enumerate(code)}
    shares = [pairs(a, {"f": ""}, least=0) for a in (two, all_of_them)]
    first, second = (next(p for p in x if {p.first, p.second} == {"s0", "s1"}) for x in shares)
    assert second.share < first.share - 0.05


def question(reference, **options):
    return Question("q", 4, lambda rng: [("one", (rng.normal(size=5),))], reference, **options)


def test_an_answer_that_is_right_and_lacks_something_keeps_a_part():
    asked = question(lambda x: 2 * x, nearly=1e-4)
    (case,) = draw(asked, "secret")
    right = case.answer
    assert lacks(asked, case, right[:, None]) == "shape"
    assert lacks(asked, case, right * (1 + 1e-5)) == "digits"
    assert lacks(question(lambda x: 2 * x), case, right * (1 + 1e-5)) is None
    for wrong in (0 * right, right[:3], "x", None, right * 1.01, right[:, None] * 2):
        assert lacks(asked, case, wrong) is None
    assert credit(4, ["", ""], [False, True]) == 4
    assert credit(4, ["", None], [False, True]) == 3
    assert credit(4, ["shape", "shape"], [False, False]) == 3
    assert credit(4, ["shape", None], [False, True]) == 2
    assert credit(4, ["digits", ""], [False, False]) == 2
    assert credit(4, [None, ""], [False, True]) == 0  # a limit case alone earns nothing
    assert credit(4, [None, ""], [False, False]) == 0
    assert credit(4, [None], [True]) == 0

"""Exams: worked solutions are right for all numbers, and the students' sheet holds none of them."""

import re

import numpy as np
import pytest
from click.testing import CliRunner

from kernelbook.cli import main
from kernelbook.course.exams import banks, choose, read_bank, write_exam
from kernelbook.course.slides.markup import as_html
from kernelbook.course.slides.weeks import read_weeks

from .helpers import ASSIGNMENTS, ROOT

BANKS = {name: read_bank(ASSIGNMENTS, name) for name in banks(ASSIGNMENTS)}
ENTRIES = [pytest.param(e, id=e.name) for bank in BANKS.values() for e in bank.entries]
WITHOUT_NUMBERS = {  # proofs
    *("the-theorem-with-free-features", "what-depends-on-the-anchors", "separated-by-the-features"),
    *("points-that-are-not-there", "bit-by-bit", "a-large-variance-instead"),
}


def test_two_exams_with_enough_to_choose_from():
    assert set(BANKS) == {"midterm", "final"}
    for bank in BANKS.values():
        assert len(bank.entries) >= 12
        assert len({e.name for e in bank.entries}) == len(bank.entries)
        assert sum(e.minutes for e in bank.entries) >= 120


@pytest.mark.parametrize("entry", ENTRIES)
def test_solutions_are_right_for_all_numbers(entry):
    """The check of a question computes its solution by another way."""
    seen = {entry.sheet(np.random.default_rng(k), checked=True).question for k in range(40)}
    assert (len(seen) > 2) == bool(entry.values)
    assert bool(entry.check) == (entry.name not in WITHOUT_NUMBERS)


@pytest.mark.parametrize("entry", ENTRIES)
def test_questions_are_complete_and_set(entry):
    weeks = {w.number: {f.stem for f in w.chapters} for w in read_weeks(ROOT / "book")}
    folder, _, chapter = entry.chapter.partition("/")
    assert (ROOT / "book" / folder / f"{chapter}.ipynb").is_file()
    read = set().union(*(names for week, names in weeks.items() if week <= entry.week))
    assert chapter in read, "asked before it is read"
    assert len(entry.rubric) >= 3
    assert entry.minutes >= entry.points
    sheet = entry.sheet(np.random.default_rng(0))
    for text in (sheet.question, sheet.solution, *(what for _, what in entry.rubric)):
        page = as_html(text, {})
        assert not re.search(r"<code>[^<]*\\", page), "a formula is not set"
        words = re.sub(r"<[^>]+>", "", page)
        assert not re.search(r"KEPT|[{}$]|\b(nan|inf)\b", words), words


@pytest.mark.parametrize("name", BANKS)
def test_a_paper_spreads_over_the_weeks_and_keeps_its_time(name):
    bank = BANKS[name]
    papers = {tuple(e.name for e in choose(bank, 90, seed)) for seed in range(8)}
    assert len(papers) > 4
    for seed in range(8):
        entries = choose(bank, 90, seed)
        assert 75 <= sum(e.minutes for e in entries) <= 90
        assert {e.week for e in entries} == {e.week for e in bank.entries}
        assert [e.week for e in entries] == sorted(e.week for e in entries)


def test_the_students_sheet_gives_nothing_away(tmp_path):
    bank = BANKS["midterm"]
    paper, marking = write_exam(bank, list(bank.entries), 7, tmp_path)
    asked, answered = paper.read_text(encoding="utf-8"), marking.read_text(encoding="utf-8")
    assert "Solution" not in asked
    assert "Rubric" not in asked
    assert answered.count("<h3>Solution</h3>") == answered.count("<h3>Rubric</h3>") == 12
    for text in (asked, answered):
        assert not re.search(r"(src|href)=|url\(|@import|<script", text)
        assert all(re.search(rf"{k}\. {e.title}", text) for k, e in enumerate(bank.entries, 1))
    again, _ = write_exam(bank, list(bank.entries), 7, tmp_path / "again")
    assert again.read_text(encoding="utf-8") == asked
    other, _ = write_exam(bank, list(bank.entries), 8, tmp_path)
    assert other.read_text(encoding="utf-8") != asked
    # A question keeps its numbers whatever stands beside it.
    alone, _ = write_exam(bank, [bank.entries[0]], 7, tmp_path / "alone")
    question = re.search(r'<section class="question">.*?</section>', alone.read_text(), re.DOTALL)
    assert question[0] in asked


def test_the_command(tmp_path):
    def run(*arguments):
        arguments = ["course", "exam", *map(str, arguments), "--assignments", ASSIGNMENTS]
        return CliRunner().invoke(main, [*map(str, arguments)])

    assert len(run("final", "--list").output.splitlines()) == len(BANKS["final"].entries)
    done = run("midterm", "--seed", 3, "--to", tmp_path)
    assert [p.name for p in sorted(tmp_path.iterdir())] == [
        *("midterm-3-solutions.html", "midterm-3.html")
    ]
    assert str(tmp_path / "midterm-3.html") in done.output
    run("final", "--question", "two-points", "--to", tmp_path)
    assert "1 questions" not in (tmp_path / "final-1.html").read_text()
    assert "known: final, midterm" in run("oral").output
    assert "--list prints their names" in run("final", "--question", "nothing").output
    assert "minutes=3 is too short" in run("final", "--minutes", 3, "--to", tmp_path).output


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda text: text.replace("- 2: the numbers", "- 3: the numbers"), "do not add up to 6"),
        (lambda text: text.replace(":week: 1\n", ""), "lacks :week:"),
        (lambda text: text.replace("### Rubric", "### Marks", 1), "'### Rubric'"),
    ],
)
def test_a_bank_with_a_gap_is_refused(tmp_path, spoil, said):
    text = (ASSIGNMENTS / "exams" / "midterm.md").read_text(encoding="utf-8")
    (tmp_path / "exams").mkdir()
    (tmp_path / "exams" / "midterm.md").write_text(spoil(text), encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(said)):
        read_bank(tmp_path, "midterm")

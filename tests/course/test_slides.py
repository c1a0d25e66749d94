"""Slides say what the chapters say, need no network, and fit."""

import json
import re

import pytest
from click.testing import CliRunner

from kernelbook.cli import main
from kernelbook.course.assignment import load, source
from kernelbook.course.slides import write_slides
from kernelbook.course.slides.markup import as_html
from kernelbook.course.slides.parts import read_chapter
from kernelbook.course.slides.weeks import find_book, read_weeks

from ..conftest import BROWSER, QUIET
from .helpers import ASSIGNMENTS, NAMES, ROOT

WEEKS = read_weeks(ROOT / "book")
CHAPTERS = sorted({f for w in WEEKS for f in w.chapters})


@pytest.fixture(scope="module")
def decks(tmp_path_factory):
    return write_slides(tmp_path_factory.mktemp("slides"), ROOT / "book")


def test_the_weeks_cover_the_first_three_parts_and_what_the_assignments_need():
    assert [w.number for w in WEEKS] == list(range(1, 17))
    parts = ("foundations", "free", "primal")
    written = {f for part in parts for f in (ROOT / "book" / part).glob("*.ipynb")}
    assert {f.resolve() for f in written if f.stem != "opening"} <= set(CHAPTERS)
    # What an assignment names is read before it is collected.
    numbers = {str(load(name, ASSIGNMENTS).number): name for name in NAMES}
    read = set()
    for week in WEEKS:
        read |= {f.relative_to(ROOT / "book").with_suffix("").as_posix() for f in week.chapters}
        collected = re.search(r"collect ([\d, ]+)", week.assignments)
        for number in re.findall(r"\d+", collected[1]) if collected else ():
            cells = load(numbers.pop(number), ASSIGNMENTS).cells("text")
            titles = [re.search(r"\*\*Chapter\*\*: (.*)", source(cell)) for _, cell in cells]
            named = {c for t in titles if t for c in re.findall(r"`book/([^`]+)`", t[1])}
            assert named <= read, (number, named - read)
    assert numbers == {}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
def test_every_statement_figure_and_take_away_is_on_a_slide(path):
    """Counted in the notebook, without the reader of slides."""
    cells = json.loads(path.read_text())["cells"]
    texts = [source(c) for c in cells if c["cell_type"] == "markdown"]
    before, behind = "\n".join(texts).split("\n## Exercises", 1)
    chapter = read_chapter(path)
    stated = re.findall(r"\{prf:(theorem|lemma|proposition|definition|corollary)\}", before)
    kinds = [s.kind for s in chapter.slides]
    assert [k for k in kinds if k in set(stated)] == stated
    drawn = [c for c in cells if "figure" in c["metadata"].get("mystnb", {})]
    shown = [s for s in chapter.slides if s.picture]
    assert 0 < len(shown) <= len(drawn)
    assert all(s.alt and s.body for s in shown)
    assert kinds[:2] == ["title", "objectives"]
    assert kinds[-1] == "take-away"
    lesson = behind.split("## Take away")[1].strip().splitlines()[0]
    assert chapter.slides[-1].body.startswith(lesson)
    proofs = before.count("{prf:proof}")
    assert sum(s.notes.count("**Proof.**") for s in chapter.slides) == proofs
    assert "```" not in "".join(s.body + s.notes for s in chapter.slides)


def test_decks_hold_all_formulas_and_nothing_from_elsewhere(decks):
    assert len(decks) == len(WEEKS)
    for path in decks:
        page = path.read_text(encoding="utf-8")
        assert not re.search(r"(src|href)=\"(?!data:image/png|week-)", page), path.name
        assert "url(" not in page
        assert "@import" not in page
        slides = page.split("<main>")[1].split("</main>")[0]
        assert not re.search(r"<code>[^<]*\\[a-z]", slides), "a formula is not set"
        words = re.sub(r"<[^>]+>", "", slides)
        assert not re.search(r"\{(prf|eq|doc|ref|cite|index)|KEPT|\$\$|:label:", words)
    contents = (decks[0].parent / "index.html").read_text()
    assert re.findall(r'href="(week-\d\d\.html)"', contents) == [p.name for p in decks]


def test_a_changed_chapter_changes_the_slides(tmp_path):
    book = tmp_path / "book"
    for path in (ROOT / "book" / "course" / "instructor.md", *CHAPTERS):
        copied = book / path.relative_to(ROOT / "book")
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    first = WEEKS[0].chapters[0]
    mine = book / first.relative_to(ROOT / "book")
    lesson = read_chapter(first).slides[-1].body[:30]
    mine.write_text(mine.read_text().replace(lesson, "1. Something else: "))
    (deck,) = write_slides(tmp_path / "out", book, weeks=[1])
    assert "Something else" in deck.read_text()
    mine.unlink()
    with pytest.raises(FileNotFoundError, match=r"week 1 of .* names .*, which is not there"):
        write_slides(tmp_path / "out", book)


def test_references_are_called_by_name():
    names = {"a-theorem": "Mercer", "chapter": "The first"}
    html = as_html("See {prf:ref}`a-theorem`, {doc}`../x/chapter`, {eq}`a-eq-sum` & $a<b$.", names)
    assert "<em>Mercer</em>" in html
    assert "<em>The first</em>" in html
    assert "(sum)" in html
    assert "&amp;" in html
    assert "<mo>&lt;</mo>" in html


def test_the_command_names_what_is_missing(tmp_path):
    def run(*arguments):
        return CliRunner().invoke(main, ["course", "slides", *map(str, arguments)])

    strange = run(17, "--to", tmp_path, "--book", ROOT / "book")
    assert strange.exit_code == 1
    assert "there is no week 17; weeks go from 1 to 16" in strange.output
    nowhere = run("--to", tmp_path, "--book", tmp_path)
    assert "--book" in nowhere.output
    assert find_book(ROOT / "book") == (ROOT / "book").resolve()
    done = run(12, "--to", tmp_path / "s", "--book", ROOT / "book")
    assert "1 deck: " in done.output


def test_slides_fit_turn_and_show_notes(decks):
    if BROWSER is None:
        pytest.skip("no browser: install chromium, or name one in KERNELBOOK_BROWSER")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=QUIET)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        for path in decks:
            page.goto(path.as_uri())
            spilt = page.evaluate(
                """() => slides.flatMap((s, k) => { show(k);
                const wide = [...s.querySelectorAll('.display')].some(
                  d => d.scrollWidth > d.clientWidth + 2);
                return wide || s.scrollHeight > s.clientHeight + 1 ? [k + 1] : []; })"""
            )
            assert spilt == [], path.name
        page.goto(decks[3].as_uri())
        page.keyboard.press("ArrowRight")
        assert page.locator("section.shown").count() == 1
        assert page.locator("#place").inner_text().startswith("2 /")
        assert page.locator("#notes").is_hidden()
        page.keyboard.press("n")
        assert page.locator("#notes").is_visible()
        page.keyboard.press("End")
        assert "Take away" in page.locator("section.shown h2").inner_text()
        page.emulate_media(media="print")
        assert page.locator("section:visible").count() == page.locator("section").count()
        browser.close()
    assert said == []

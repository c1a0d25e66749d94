"""The weeks of the course, as the lecturer's page lists them: twelve, and four on tables."""

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Week", "find_book", "read_weeks"]


@dataclass
class Week:
    """One week: what is discussed, the chapters' files, what is handed out or collected."""

    number: int
    discussed: str
    chapters: list[Path]
    assignments: str


def find_book(folder=None) -> Path:
    """The folder of the chapters: the given one, one here, or the one of this checkout."""
    candidates = [Path(folder)] if folder else [Path("book"), Path(__file__).parents[3] / "book"]
    for candidate in candidates:
        if (candidate / "course" / "instructor.md").is_file():
            return candidate.resolve()
    raise FileNotFoundError(
        f"no chapters in {' or '.join(map(str, candidates))}; name the folder with --book, e.g. "
        "the one of a checkout of this book"
    )


def read_weeks(book: Path) -> list[Week]:
    """The tables below `Twelve weeks`; a chapter named there that does not exist is an error."""
    page = book / "course" / "instructor.md"
    text = page.read_text(encoding="utf-8")
    section = text.partition("\n## Twelve weeks\n")[2].partition("\n## ")[0]
    table = "".join(section.split("```")[1::2])  # what is fenced
    weeks = []
    for number, discussed, assignments in re.findall(
        r"^\* - (\d+)\n  - (.*)\n  -(.*)$", table, re.MULTILINE
    ):
        files = [
            (page.parent / f"{name}.ipynb").resolve()
            for name in re.findall(r"\{doc\}`([^`]+)`", discussed)
        ]
        if missing := [f for f in files if not f.is_file()]:
            raise FileNotFoundError(
                f"week {number} of {page} names {missing[0]}, which is not there"
            )
        weeks.append(Week(int(number), discussed, files, assignments.strip()))
    if not weeks:
        raise LookupError(f"{page} has no table of weeks under the heading 'Twelve weeks'")
    if [w.number for w in weeks] != list(range(1, len(weeks) + 1)):
        raise LookupError(f"the weeks of {page} are not numbered 1, 2, …; number them in order")
    return weeks

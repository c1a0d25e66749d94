"""An exam: questions chosen from a bank, one sheet to print and one to mark with.

Both are single HTML files without anything from the network.  The seed decides which questions are
chosen and what their numbers are, so a paper can be written again.
"""

import re
from html import escape
from importlib import resources
from pathlib import Path

import numpy as np

from kernelbook.course.exams.bank import Bank, Entry, Sheet
from kernelbook.course.slides.markup import as_html

__all__ = ["choose", "write_exam"]

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style></head>
<body>
<h1>{title}</h1>
{head}
{body}
</body></html>
"""
WHO = '<p class="who"><span>Name</span><span>Number</span></p>'


def choose(bank: Bank, minutes: int, seed: int) -> list[Entry]:
    """Questions for so many minutes: at random, the weeks as even as they can be."""
    rng = np.random.default_rng([seed, 1])
    left = [bank.entries[k] for k in rng.permutation(len(bank.entries))]
    chosen: list[Entry] = []
    while left:
        used = [e.week for e in chosen]
        entry = min(left, key=lambda e: used.count(e.week))  # the first of those, in random order
        left.remove(entry)
        if sum(e.minutes for e in chosen) + entry.minutes <= minutes:
            chosen.append(entry)
    if not chosen:
        shortest = min(e.minutes for e in bank.entries)
        raise ValueError(f"minutes={minutes} is too short; the shortest question takes {shortest}")
    return sorted(chosen, key=lambda e: (e.week, bank.entries.index(e)))


def write_exam(bank: Bank, entries: list[Entry], seed: int, to: Path) -> tuple[Path, Path]:
    """Write NAME-SEED.html and NAME-SEED-solutions.html; returns their paths."""
    sheets = [entry.sheet(_numbers(bank, entry, seed), checked=True) for entry in entries]
    points, minutes = (sum(getattr(e, what) for e in entries) for what in ("points", "minutes"))
    asked = f"{len(entries)} question{'s' * (len(entries) != 1)}"
    about = f"<p>{asked}, {points} points, {minutes} minutes"
    to.mkdir(parents=True, exist_ok=True)
    paths = to / f"{bank.name}-{seed}.html", to / f"{bank.name}-{seed}-solutions.html"
    numbered = list(enumerate(zip(entries, sheets, strict=True), 1))
    for path, marking in zip(paths, (False, True), strict=True):
        head = f"{about}, seed {seed}.</p>" if marking else f"{WHO}{about}. Give reasons.</p>"
        body = "\n".join(_question(k, e, s, marking) for k, (e, s) in numbered)
        title = bank.title + marking * ": solutions and rubric"
        path.write_text(
            PAGE.format(title=escape(title), style=_style(), head=head, body=body),
            encoding="utf-8",
        )
    return paths


def _numbers(bank, entry, seed):
    """The same numbers for a question whatever else the paper holds."""
    return np.random.default_rng([seed, 2, *f"{bank.name}/{entry.name}".encode()])


def _question(number, entry: Entry, sheet: Sheet, marking):
    head = f"<h2>{number}. {escape(entry.title)} <small>{entry.points} points</small></h2>"
    text = f'<section class="question">{head}{_html(sheet.question)}</section>'
    if not marking:
        return text
    rows = "".join(f"<tr><td>{p}</td><td>{_inline(what)}</td></tr>" for p, what in entry.rubric)
    where = f"<p><small>Week {entry.week}, chapter {escape(entry.chapter)}</small></p>"
    return (
        f'{text}<section class="solution"><h3>Solution</h3>{_html(sheet.solution)}'
        f"<h3>Rubric</h3><table>{rows}</table>{where}</section>"
    )


def _html(text):
    return as_html(text, {})


def _inline(text):
    return re.sub(r"^\s*<p>(.*)</p>\s*$", r"\1", _html(text), flags=re.DOTALL)


def _style():
    return resources.files(__package__).joinpath("exam.css").read_text(encoding="utf-8")

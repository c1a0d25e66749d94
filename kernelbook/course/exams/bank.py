"""A bank of exam questions, as one Markdown file an exam.

    # Mid-term                                     the exam's title
    ## Three points and a line                     a question
    :week: 1
    :points: 6
    :minutes: 8
    :chapter: foundations/regularized_approximation

    ```values                                      numbers of its own: Python that draws from `rng`
    slope = int(rng.integers(2, 5))
    ```
    The question, in which {slope} or {slope:.3f} between two pairs of braces is a number.

    ### Solution
    ```check                                       what must hold for these numbers; tests run it
    assert slope > 1
    ```
    The worked solution.

    ### Rubric
    - 2: the first step
    - 4: the second one

The points of a rubric add up to the question's.  Files of a bank are the lecturer's own, and their
code is trusted, as that of `checks.py` is.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["Bank", "Entry", "Sheet", "banks", "read_bank"]

BLOCK = re.compile(r"^```(values|check)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
OPTION = re.compile(r"^:(\w+): *(.+)$", re.MULTILINE)
NUMBER = re.compile(r"\{\{(\w+)(?::([^{}]+))?\}\}")


@dataclass(frozen=True)
class Sheet:
    """A question with its numbers filled in."""

    question: str
    solution: str


@dataclass(frozen=True)
class Entry:
    """A question of a bank."""

    title: str
    week: int
    points: int
    minutes: int
    chapter: str
    question: str
    solution: str
    rubric: tuple[tuple[int, str], ...]
    values: str = ""
    check: str = ""

    @property
    def name(self) -> str:
        """How the command calls it: the title in lower case, with hyphens."""
        return "-".join(re.findall(r"[a-z0-9]+", self.title.lower()))

    def sheet(self, rng: np.random.Generator, checked=False) -> Sheet:
        """The question with numbers drawn; checked: run the assertions about them, too."""
        names = {"np": np, "rng": rng}
        exec(compile(self.values, f"values of {self.name}", "exec"), names)
        if checked:
            exec(compile(self.check, f"check of {self.name}", "exec"), names)

        def filled(found):
            if found[1] not in names:
                raise LookupError(f"{self.name}: no value is called {found[1]!r}")
            return format(names[found[1]], found[2] or "")

        return Sheet(NUMBER.sub(filled, self.question), NUMBER.sub(filled, self.solution))


@dataclass(frozen=True)
class Bank:
    """All questions of one exam."""

    name: str
    title: str
    entries: tuple[Entry, ...]


def banks(assignments: Path) -> list[str]:
    """The names of the exams beside the assignments."""
    return sorted(p.stem for p in (assignments / "exams").glob("*.md"))


def read_bank(assignments: Path, name: str) -> Bank:
    """The bank of one exam; a question that lacks something is an error with its title."""
    if name not in banks(assignments):
        known = ", ".join(banks(assignments)) or "none"
        raise LookupError(f"there is no exam {name!r} in {assignments / 'exams'}; known: {known}")
    text = (assignments / "exams" / f"{name}.md").read_text(encoding="utf-8")
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    entries = tuple(_entry(part) for part in parts)
    return Bank(name, head.strip().splitlines()[0].removeprefix("# "), entries)


def _entry(text):
    title, _, rest = text.partition("\n")
    parts = re.split(r"^### (Solution|Rubric)\n", rest, flags=re.MULTILINE)
    if parts[1::2] != ["Solution", "Rubric"]:
        raise ValueError(f"{title!r} must have '### Solution' and then '### Rubric'")
    question, solution, rubric = parts[0], parts[2], parts[4]
    code = {kind: body for part in (question, solution) for kind, body in BLOCK.findall(part)}
    question, solution = (BLOCK.sub("", part) for part in (question, solution))
    options = dict(OPTION.findall(question))
    if missing := {"week", "points", "minutes", "chapter"} - options.keys():
        raise ValueError(f"{title!r} lacks :{min(missing)}:")
    lines = re.findall(r"^- (\d+): (.+(?:\n  .+)*)$", rubric, re.MULTILINE)
    criteria = tuple((int(points), " ".join(what.split())) for points, what in lines)
    points = int(options["points"])
    if sum(p for p, _ in criteria) != points:
        raise ValueError(f"{title!r}: the points of its rubric do not add up to {points}")
    return Entry(
        title=title.strip(),
        week=int(options["week"]),
        points=points,
        minutes=int(options["minutes"]),
        chapter=options["chapter"].strip(),
        question=OPTION.sub("", question).strip(),
        solution=solution.strip(),
        rubric=criteria,
        values=code.get("values", ""),
        check=code.get("check", ""),
    )

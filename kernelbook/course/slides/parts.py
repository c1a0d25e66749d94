"""What of a chapter goes onto slides, and what a lecturer says beside it.

Statements, figures, objectives and the take-away are slides; the prose in front of each, and the
proof behind it, are its notes.  Exercises and set-up stay in the book.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from kernelbook.course.assignment import source

__all__ = ["Chapter", "Slide", "read_chapter"]

STATEMENTS = ("theorem", "lemma", "proposition", "definition", "corollary", "example")
FENCE = re.compile(r"(`{3,})\{([\w:-]+)\}[ ]*(.*)")


@dataclass
class Slide:
    """One slide, in Markdown; a picture is base64 of a PNG."""

    title: str
    body: str = ""
    kind: str = "text"
    notes: str = ""
    picture: str = ""
    alt: str = ""


@dataclass
class Chapter:
    """A chapter's slides, and what its labels are called."""

    name: str
    title: str
    slides: list[Slide]
    names: dict[str, str]


def read_chapter(path: Path) -> Chapter:
    """The slides of one chapter, from its executed notebook."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    reader = _Reader(path.stem)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            reader.text(source(cell))
        elif "figure" in cell["metadata"].get("mystnb", {}):
            reader.figure(cell)
    return reader.finished()


class _Reader:
    def __init__(self, name):
        self.name, self.title, self.section = name, name, ""
        self.slides, self.names, self.said = [], {}, []
        self.skipping = False  # exercises

    def text(self, text):
        lines = text.split("\n")
        k = 0
        while k < len(lines):
            line = lines[k]
            if fence := FENCE.match(line):
                end = next(
                    (j for j in range(k + 1, len(lines)) if lines[j].rstrip() == fence[1]),
                    len(lines),
                )
                self.directive(fence[2], fence[3].strip(), lines[k + 1 : end])
                k = end + 1
                continue
            if line.startswith("# "):
                self.title = self.section = line[2:].strip()
            elif line.startswith("## "):
                self.heading(line[3:].strip())
            elif not self.skipping:
                self.said.append(line.replace("### ", "**", 1) + "**" * line.startswith("### "))
            k += 1

    def heading(self, title):
        self.skipping = title == "Exercises"
        if title == "Take away":
            self.notes_to_last()
            self.slides.append(Slide("Take away", kind="take-away"))
        self.section = title

    def directive(self, kind, argument, lines):
        options = dict(re.findall(r"^:(\w+): *(.+)$", "\n".join(lines), re.MULTILINE))
        body = "\n".join(line for line in lines if not re.match(r":\w+:", line)).strip()
        what = kind.removeprefix("prf:")
        if kind.startswith("prf:") and what in STATEMENTS:
            title = f"{what.capitalize()}: {argument}" if argument else what.capitalize()
            if "label" in options:
                self.names[options["label"]] = argument or f"the {what}"
            if not self.skipping:
                self.add(Slide(title, body, what))
        elif kind == "prf:proof" and self.slides and not self.skipping:
            self.slides[-1].notes += f"\n\n**Proof.** {body}"
        elif kind == "admonition" and argument == "Before you start":
            self.objectives(body)
        elif kind == "exercise-start" and "label" in options:
            self.names[options["label"]] = f"exercise “{argument}”"

    def objectives(self, body):
        found = re.search(
            r"\*\*You will learn\*\*\n+(.*?)(?=\n\*\*You need\*\*|\Z)", body, re.DOTALL
        )
        why = "\n".join(self.said).strip()
        self.said = []
        self.slides.append(Slide(self.title, why, "title", body[found.end() :] if found else ""))
        if found:
            self.slides.append(Slide("You will learn", found[1].strip(), "objectives"))

    def figure(self, cell):
        settings = cell["metadata"]["mystnb"]
        data = [o["data"] for o in cell["outputs"] if "image/png" in o.get("data", {})]
        if data and not self.skipping:
            png = source({"source": data[0]["image/png"]}).replace("\n", "")
            caption = settings["figure"].get("caption", "")
            alt = settings.get("image", {}).get("alt", "")
            self.add(Slide(self.section, caption, "figure", picture=png, alt=alt))

    def add(self, slide):
        slide.notes = "\n".join(self.said).strip()
        self.said = []
        self.slides.append(slide)

    def notes_to_last(self):
        """What was said behind the last slide belongs to it."""
        if self.slides:
            self.slides[-1].notes += "\n\n" + "\n".join(self.said).strip()
        self.said = []

    def finished(self):
        if self.slides and self.slides[-1].kind == "take-away":
            text = "\n".join(self.said).strip()
            listed = re.match(r"\d+\. .*?(?=\n\n(?!\d|\s)|\Z)", text, re.DOTALL)
            self.slides[-1].body = listed[0] if listed else text
        self.names[self.name] = self.title
        return Chapter(self.name, self.title, self.slides, self.names)

"""The lines that come out of a sandbox, read with suspicion.

A student can write lines, too.  That makes them answers, and no more: the first line for a call
counts, and only if it came after the hidden inputs went in; an error of a cell counts only if it
came before, if the notebook has that cell, and a few of them.  How a process ended is told by a
word and a number, from which the grader makes the sentence.  So nothing that knows a hidden input
is repeated but the error of the call itself, cut short, and that input is never used again.
"""

import json
from dataclasses import dataclass, field

from kernelbook.course.sandbox import Outcome

__all__ = ["Found", "read_frames", "short"]

ERROR = 240  # characters of an error
CELL_ERRORS = 10
MEMBERS = 400_000  # of all lists and objects together: small text can unpack to large memory


@dataclass
class Found:
    """What one notebook answered."""

    calls: dict = field(default_factory=dict)  # (question, call) -> frame
    cells: dict = field(default_factory=dict)  # cell -> error
    ended: dict = field(default_factory=dict)  # question, or None for all -> sentence
    checks: dict = field(default_factory=dict)  # question -> what its public check said
    stage: str = ""


def short(message, most=ERROR) -> str:
    """What a sandbox said: one line, cut off, fit for a database."""
    text = " ".join(str(message)[: 2 * most].split())
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= most else text[:most] + " …"


def read_frames(outcome: Outcome, cells=(), questions=(), seconds=0.0) -> dict[int, Found]:
    """What was found, by number of the notebook; what is not a frame of ours is ignored.

    cells: the numbers of the cells that were run; questions: the names that were called.
    """
    found: dict[int, Found] = {}
    budget = [MEMBERS]
    for frame in _parsed(outcome.before, budget):
        mine = found.setdefault(frame["variant"], Found())
        number, error = frame.get("cell"), frame.get("error")
        if type(number) is int and number in cells and isinstance(error, str):
            if len(mine.cells) < CELL_ERRORS:
                mine.cells.setdefault(number, short(error))
        elif isinstance(error, str) and str(frame.get("check")) in questions:
            mine.checks.setdefault(frame["check"], short(error))
        elif isinstance(stage := frame.get("stage"), str) and stage[:5] == "cell ":
            if stage[5:].isdecimal() and len(stage) < 12 and int(stage[5:]) in cells:
                mine.stage = stage
    for frame in _parsed(outcome.after, budget):
        mine = found.setdefault(frame["variant"], Found())
        question = frame.get("question")
        known = isinstance(question, str) and question in questions
        if known and type(frame.get("call")) is int:
            mine.calls.setdefault((question, frame["call"]), frame)
        elif (known or question is None) and isinstance(frame.get("ended"), str):
            mine.ended.setdefault(question, _how(frame, question or "the notebook", seconds))
        elif isinstance(frame.get("stage"), str) and frame["stage"] in questions:
            mine.stage = frame["stage"]
    return found


def _parsed(lines, budget):
    for line in lines:
        members = line.count(b",") + line.count(b"[") + line.count(b"{")
        if not line or members > budget[0]:
            continue
        budget[0] -= members
        try:
            frame = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(frame, dict) and type(frame.get("variant")) is int:
            yield frame


def _how(frame, where, seconds) -> str:
    number = frame.get("number")
    number = number if type(number) is int and abs(number) < 1000 else "?"
    if frame["ended"] == "time":
        return f"{where} was stopped after {seconds:g} s of computing"
    if frame["ended"] == "waiting":
        return f"{where} was stopped: it waited instead of computing"
    kind = "signal" if frame["ended"] == "signal" else "status"
    return f"{where} ended the process ({kind} {number})"

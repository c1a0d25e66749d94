"""Which code resembles which: a list to look through, and no verdict.

The code of two students is compared question by question.  Comments, layout, names of variables and
the values of numbers and strings are taken away first, then every piece that stands in the
released notebook.  What is left is cut into overlapping runs of tokens, and two answers are as
similar as the share of runs that the shorter one has in common with the other.  A run that a fifth
of the class has counts for nobody: it is the usual way to write the formula.
"""

import io
import keyword
import tokenize
from collections import Counter
from dataclasses import dataclass
from itertools import combinations

__all__ = ["MOST_CODE", "NOTE", "Pair", "pairs", "runs"]

LENGTH = 9  # tokens in a run
LEAST = 12  # runs that an answer must have to be compared
COMMON = 0.2
MOST_CODE = 50_000  # characters of an answer that are compared

NOTE = (
    "High similarity means that two answers have the same structure after renaming. It does not "
    "say who wrote it first, whether the two worked together as they were allowed to, or whether "
    "both took the same public source; short answers to narrow questions resemble each other by "
    "themselves. Low similarity does not prove independent work. Read both before you ask."
)


@dataclass(frozen=True)
class Pair:
    """Two students, one question."""

    first: str
    second: str
    question: str
    share: float  # of the shorter answer's runs
    runs: int  # in common


def tokens(code: str) -> list[str]:
    """The structure of a piece of code: keywords, operators, and N, 0 or s for what they join."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.NAME:
                found.append(token.string if keyword.iskeyword(token.string) else "N")
            elif token.type == tokenize.NUMBER:
                found.append("0")
            elif token.type == tokenize.STRING:
                found.append("s")
            elif token.type == tokenize.OP:
                found.append(token.string)
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass  # what came before the error counts
    return found


def runs(code: str) -> set[tuple]:
    """All runs of tokens."""
    found = tokens(code[:MOST_CODE])
    return {tuple(found[k : k + LENGTH]) for k in range(len(found) - LENGTH + 1)}


def pairs(answers: dict[str, dict[str, str]], template: dict[str, str], least=0.7) -> list[Pair]:
    """Pairs of students at least that similar, the most similar first.

    answers: code by student and question; template: the released code by question.
    """
    found = []
    for question, released in template.items():
        ours = runs(released)
        cut = {s: runs(mine.get(question, "")) - ours for s, mine in answers.items()}
        frequent = Counter(r for own in cut.values() for r in own)
        most = max(3, COMMON * len(cut))
        cut = {s: {r for r in own if frequent[r] <= most} for s, own in cut.items()}
        cut = {s: own for s, own in cut.items() if len(own) >= LEAST}
        for first, second in combinations(sorted(cut), 2):
            common = len(cut[first] & cut[second])
            share = common / min(len(cut[first]), len(cut[second]))
            if share >= least:
                found.append(Pair(first, second, question, share, common))
    return sorted(found, key=lambda p: (-p.share, -p.runs, p.first, p.second))

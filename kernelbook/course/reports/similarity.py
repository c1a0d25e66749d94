"""Which code resembles which: a list to look through, and no verdict.

The code of two students is compared question by question.  Comments, layout, names of variables and
the values of numbers and strings are taken away first, then every piece that stands in the
released notebook.  What is left is cut into overlapping runs of tokens, and two answers are as
similar as the share of runs that the shorter one has in common with the other.  A run that more
than a fifth of the class has weighs less, the less the more have it: it may be the usual way to
write the formula.  It is not dropped, for it may also be one answer that many copied.  Pairs that
hang together are a group; small groups come first, and of a large one only as many pairs are listed
as connect it.
"""

import io
import keyword
import math
import tokenize
from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations

__all__ = ["MOST_CODE", "NOTE", "Pair", "pairs", "runs"]

LENGTH = 9  # tokens in a run
LEAST = 12  # runs that an answer must have to be compared
COMMON = 0.2  # of the class; a run that more have weighs less
ALL_PAIRS = 6  # students in a group of which every pair is listed
MOST_CODE = 50_000  # characters of an answer that are compared

NOTE = (
    "High similarity means that two answers have the same structure after renaming. It does not "
    "say who wrote it first, whether the two worked together as they were allowed to, or whether "
    "both took the same public source; short answers to narrow questions resemble each other by "
    "themselves, and a large group may have found the usual way, or one copy. "
    "Low similarity does not prove independent work. Read both before you ask."
)


@dataclass(frozen=True)
class Pair:
    """Two students, one question."""

    first: str
    second: str
    question: str
    share: float  # of the shorter answer's runs
    runs: int  # in common
    group: int = 2  # students whose answers hang together by such pairs


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
    """Pairs of students at least that similar: small groups first, then the most similar.

    answers: code by student and question; template: the released code by question.
    """
    found = []
    for question, released in template.items():
        ours = runs(released)
        cut = {s: runs(mine.get(question, "")) - ours for s, mine in answers.items()}
        frequent = Counter(r for own in cut.values() for r in own)
        most = max(3, COMMON * len(cut))
        weight = {r: min(1.0, most / n) for r, n in frequent.items()}
        cut = {s: own for s, own in cut.items() if len(own) >= LEAST}
        size = {s: _weigh(own, weight) for s, own in cut.items()}
        alike = []
        for first, second in combinations(sorted(cut), 2):
            common = cut[first] & cut[second]
            share = _weigh(common, weight) / min(size[first], size[second])
            if share >= least:
                alike.append(Pair(first, second, question, share, len(common)))
        found += _grouped(sorted(alike, key=_most_similar))
    return sorted(found, key=lambda p: (p.group, *_most_similar(p)))


def _weigh(some, weight):
    """The weights of some runs; the sum does not depend on their order."""
    return math.fsum(weight[r] for r in some)


def _most_similar(pair):
    return -pair.share, -pair.runs, pair.first, pair.second


def _grouped(alike):
    """Pairs of one question, the most similar first, with the sizes of their groups."""
    group: dict[str, set[str]] = {}
    connecting = set()
    for pair in alike:
        one, other = (group.setdefault(s, {s}) for s in (pair.first, pair.second))
        if one is not other:
            connecting.add(pair)
            one |= other
            group.update(dict.fromkeys(other, one))
    sized = [(p, len(group[p.first])) for p in alike]
    return [replace(p, group=n) for p, n in sized if n <= ALL_PAIRS or p in connecting]

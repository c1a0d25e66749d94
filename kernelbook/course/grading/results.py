"""What was found in one submission, as it is kept beside the notebook."""

import json
from dataclasses import asdict, dataclass, field

__all__ = ["Result", "Verdict"]


@dataclass
class Verdict:
    """One question of one submission."""

    points: float
    out_of: float
    reason: str = ""  # empty when all points were earned
    hint: str = ""  # for a slip that the master foresaw
    check: str = ""  # what the public check in the notebook said, if it failed, too


@dataclass
class Result:
    """One submission, graded by machine."""

    student: str  # as it is shown
    identity: str  # the student's id, also a folder's name
    digest: str
    fingerprint: str
    verdicts: dict[str, Verdict]
    trouble: str | None = None
    cell_errors: dict[str, str] = field(default_factory=dict)
    printed: str = ""
    file: str = ""
    entry: str = ""  # what the learning management system called it
    number: str = ""  # the participant's number there
    time: float | None = None  # when it was handed in
    marked_late: bool | None = None  # by Canvas
    remarks: list[str] = field(default_factory=list)
    readable: bool = True
    unmatched: bool = False

    @property
    def by_hand(self) -> bool:
        """Whether a person has to look before this counts as a score."""
        return not self.readable or self.unmatched

    @property
    def score(self) -> float:
        return sum(v.points for v in self.verdicts.values())

    @property
    def out_of(self) -> float:
        return sum(v.out_of for v in self.verdicts.values())

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Result":
        plain = json.loads(text)
        plain["verdicts"] = {name: Verdict(**v) for name, v in plain["verdicts"].items()}
        return cls(**plain)

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


@dataclass
class Result:
    """One submission, graded by machine."""

    student: str
    folder: str
    digest: str
    fingerprint: str
    verdicts: dict[str, Verdict]
    trouble: str | None = None
    cell_errors: dict[str, str] = field(default_factory=dict)
    printed: str = ""

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

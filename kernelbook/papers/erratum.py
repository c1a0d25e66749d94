"""What an entry of the errata consists of."""

from dataclasses import dataclass

__all__ = ["Erratum"]


@dataclass(frozen=True)
class Erratum:
    """One mistake: `kind` is T for a typo, H for an unstated hypothesis, W for wrong."""

    where: str
    says: str
    should_be: str
    kind: str

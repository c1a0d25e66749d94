"""What an entry of the errata consists of."""

from dataclasses import dataclass

__all__ = ["Erratum"]


@dataclass(frozen=True)
class Erratum:
    """A place in a paper that a reader should know about.

    Attributes
    ----------
    where : the paper, the section or equation
    quote : what is printed there; words between “ and ” are the paper's own, the rest is a formula
        or says what the words are about
    should_be : what we say instead, or besides
    kind : T, a slip of the pen; H, a hypothesis that is used and not stated, or stated and not met;
        W, wrong as printed; R, a remark: true, but weaker or less needed than it reads
    """

    where: str
    quote: str
    should_be: str
    kind: str

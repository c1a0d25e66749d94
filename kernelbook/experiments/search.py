"""A grid that grows where its end is chosen.

A value chosen at the end of a grid says that the grid was too short, and nothing else.  `Search`
starts with a few values, adds one more beyond an end for as long as that end is *better* than its
neighbour, then looks half-way between the best value and its neighbours, and grows again if that
led to an end.  Of equals the smallest is taken: as C → ∞, say, a machine that makes no errors does
not change any more, and a grid could grow for ever.

What is left is reported: `end` is "" for a choice inside of what was tried, "tie" for a smallest
value that is as good as its neighbour, and "end" where the search ran into its limits.
"""

from dataclasses import dataclass, field

__all__ = ["Search"]


@dataclass
class Search:
    """Look for the value with the highest score.

    Parameters
    ----------
    score : callable
        `score(values)` returns a dictionary from each value to its score.
    grid : ascending values to begin with
    step : float
        The factor by which the grid grows.
    least, most : float
        It does not grow beyond these.
    halve : bool
        Look between the best value and its neighbours, at √step times and 1/√step times the best.
    """

    score: object
    grid: tuple
    step: float
    least: float
    most: float
    halve: bool = False
    tried: dict = field(default_factory=dict)

    def best(self):
        """The best value of those tried; of equals the smallest."""
        return max(sorted(self.tried), key=self.tried.get)

    @property
    def end(self):
        values, best = sorted(self.tried), self.best()
        if best not in (values[0], values[-1]):
            return ""
        return "end" if self._is_better_than_its_neighbour(best) else "tie"

    def _is_better_than_its_neighbour(self, best):
        values = sorted(self.tried)
        beside = values[1] if best == values[0] else values[-2]
        return self.tried[best] > self.tried[beside]

    def _beyond(self):
        """The next value outside of the grid, if its end is the best."""
        best = self.best()
        if self.end != "end":
            return None
        value = best / self.step if best == min(self.tried) else best * self.step
        return value if self.least <= value <= self.most else None

    def run(self):
        """Search; returns the best value."""
        self.tried |= self.score(self.grid)
        self._grow()
        if self.halve:
            best, root = self.best(), self.step**0.5
            self.tried |= self.score([best / root, best * root])
            self._grow()
        return self.best()

    def _grow(self):
        while (value := self._beyond()) is not None:
            self.tried |= self.score([value])

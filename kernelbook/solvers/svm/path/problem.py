"""A quadratic program whose data are affine functions of a parameter."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Affine", "PathError", "Problem"]


class PathError(RuntimeError):
    """The path cannot be continued: rounding has defeated the pivoting rule."""


@dataclass
class Affine:
    """The vector at + t·rate."""

    at: np.ndarray
    rate: np.ndarray

    @classmethod
    def constant(cls, value):
        value = np.asarray(value, dtype=np.float64)
        return cls(value, np.zeros_like(value))

    def __call__(self, t):
        return self.at + t * self.rate


@dataclass
class Problem:
    """a, low, up (one entry a sample) and q (one entry a feature), all affine in t.

    `unit` is the scale of a, by which its perturbation is measured.
    """

    a: Affine
    low: Affine
    up: Affine
    q: Affine
    unit: float = 1.0

    def perturbed(self, noise):
        """The same with the box larger, and a moved, by random amounts in the eleventh digit."""
        a = Affine(self.a.at + self.unit * noise[0], self.a.rate.copy())
        width = Affine(self.up.at - self.low.at, self.up.rate - self.low.rate)
        low = Affine(self.low.at - noise[1] * width.at, self.low.rate - noise[1] * width.rate)
        up = Affine(self.up.at + noise[2] * width.at, self.up.rate + noise[2] * width.rate)
        return Problem(a, low, up, Affine(self.q.at.copy(), self.q.rate.copy()), self.unit)

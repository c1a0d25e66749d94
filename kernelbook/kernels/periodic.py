"""Kernels of what comes back: seasons, hours, angles.

A period p rolls the line up into a circle, x ↦ (cos 2πx/p, sin 2πx/p), and two points of it are the
chord 2|sin(π(x − z)/p)| apart.  Any kernel of the plane, restricted to the circle, is a kernel of
the line with that period; we take the Gaussian (MacKay 1998, section 3.3).  Several columns lie on
a product of circles, and the kernel is the product of theirs.

(One sine of the *Euclidean* distance in several columns, as some libraries have it, is not positive
definite.)

**Derivatives.**  With u = π(x − z)/p, K = exp(−4 sin²u/width²), and ∂u/∂log p = −u gives
∂K/∂log p = 4u sin(2u)/width²·K.  It grows with the distance: after many periods a slightly
different one is a very different function, so the likelihood of a period has many maxima, and
learners leave it alone unless they are told otherwise.

References
----------
MacKay, *Introduction to Gaussian processes*, in Neural Networks and Machine Learning (1998).
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from kernelbook.kernels import checks
from kernelbook.kernels.base import Kernel
from kernelbook.kernels.radial import Gaussian

__all__ = ["Periodic"]


class Periodic(Gaussian):
    """K(x, z) = exp(−(2 sin(π(x − z)/period)/width)²), a product over the columns.

    It is `Gaussian(width)` of points on a circle of radius one.  scikit-learn's `ExpSineSquared`
    has length_scale = width/√2.

    Parameters
    ----------
    period : float, or a list with one for each column
    width : float, or a list with one for each column
        In units of the circle's radius.
    columns : int, str or list of those, optional
        The columns that the kernel sees; by default all.

    Examples
    --------
    >>> from kernelbook import Periodic
    >>> Periodic(period=12.0, width=2.0)([[0.0]], [[12.0], [6.0], [3.0]]).round(4)
    array([[1.    , 0.3679, 0.6065]])
    """

    _proven = True
    _has_gradient = True
    _tunable = ("period", "width")
    _rules: ClassVar[dict] = {"period": checks.widths, "width": checks.widths}
    strictly_pd = False  # x and x + p are one point

    _called_elsewhere: ClassVar[dict] = Kernel._called_elsewhere | {
        "length_scale": "it is written width=√2·length_scale",
        "lengthscale": "it is written width=√2·lengthscale",
        "periodicity": "it is called period here",
    }

    def __init__(
        self,
        period: float | Sequence[float],
        width: float | Sequence[float] = 1.0,
        columns: Any = None,
    ) -> None:
        self.period = period
        self.width = width
        self.columns = columns

    def _periods(self, X):
        return checks.one_for_each_column("period", self.period, X.shape[1], self)

    def _coordinates(self, X):
        period = self._periods(X)
        angle = 2.0 * np.pi * (np.fmod(X, period) / period)
        circles = np.hstack([np.cos(angle), np.sin(angle)])
        if isinstance(self.width, tuple):
            circles /= np.tile(self._widths(X), 2)
        return circles

    def _angles(self, X, Z, rows, cols):
        """π(x − z)/p for each column."""
        period = np.broadcast_to(self._periods(X), X.shape[1])
        return [np.pi / p * (X[rows, k, None] - Z[None, cols, k]) for k, p in enumerate(period)]

    def _by_period(self, u, width, K):
        """∂K/∂log p of one column: 4u sin(2u)/width²·K."""
        return np.where(K > 0, 8.0 * u * np.cos(u) * (np.sin(u) / width / width) * K, 0.0)

    def _fill_slopes(self, X, Z):
        fill_values = self._fill(X, Z)
        widths = np.broadcast_to(self._widths(X), X.shape[1])
        listed = isinstance(self.period, tuple), isinstance(self.width, tuple)

        def fill(rows, cols, out, slopes):
            fill_values(rows, cols, out)
            of_period, of_width = [], []
            for u, w in zip(self._angles(X, Z, rows, cols), widths, strict=True):
                of_period.append(self._by_period(u, w, out))
                square = np.minimum(2.0 * np.abs(np.sin(u)) / w, 100.0) ** 2
                of_width.append(2.0 * square * out)
            parts = []
            for each, part in zip(listed, (of_period, of_width), strict=True):
                parts += part if each else [sum(part)]
            slopes[:] = parts

        return fill

    def _gradient_x(self, X, Z):
        rows, cols = slice(0, len(X)), slice(0, len(Z))
        K = np.empty((len(X), len(Z)))
        self._fill(X, Z)(rows, cols, K)
        period, widths = (
            np.broadcast_to(v, X.shape[1]) for v in (self._periods(X), self._widths(X))
        )
        gradient = []
        for u, p, w in zip(self._angles(X, Z, rows, cols), period, widths, strict=True):
            gradient.append(-4.0 * np.pi / p * np.sin(2.0 * u) / w / w * K)
        return np.array(gradient)

    def _jet(self, X):
        n, d = X.shape
        mixed = np.broadcast_to(8.0 * (np.pi / self._periods(X) / self._widths(X)) ** 2, d)
        return np.ones(n), np.zeros((d, n)), np.broadcast_to(mixed[:, None], (d, n))

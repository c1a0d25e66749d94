"""The book's house style for figures.

Figures are transparent, with grey text and lines of middling lightness, so that one picture can be
seen on a white page and on a dark one; the pages of the book and its PDF show it in inks with the
contrast of text (`book/_ext/inks.py`).  The colours are told apart by colour-blind readers and each
also differs in lightness or line style.  Call `use_style()` once, in a chapter's set-up cell.

    from kernelbook.plotting import COLORS, use_style
    use_style()
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["COLORS", "LABEL_COLORS", "plot_boundary", "use_style"]

COLORS = SimpleNamespace(
    blue="#2f7fbf",
    red="#d1541b",
    green="#1b9468",
    purple="#a860a0",
    gold="#b07d10",
    grey="#7a7a7a",
)
"""Six colours with at least 3:1 contrast against white and against the dark page."""

LABEL_COLORS = {-1: COLORS.blue, 1: COLORS.red}
"""The two classes, the same in every figure of the book."""


def use_style() -> None:
    """Set matplotlib's defaults to the book's style."""
    import matplotlib as mpl
    from cycler import cycler

    c = COLORS
    mpl.rcParams.update(
        {
            "figure.figsize": (7.0, 3.6),
            "figure.dpi": 110,
            "figure.constrained_layout.use": True,
            "figure.facecolor": "none",
            "savefig.facecolor": "none",
            "axes.facecolor": "none",
            "axes.edgecolor": c.grey,
            "axes.labelcolor": c.grey,
            "axes.grid": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": cycler(color=[c.blue, c.red, c.green, c.purple, c.gold, c.grey])
            + cycler(linestyle=["-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1))]),
            "text.color": c.grey,
            "xtick.color": c.grey,
            "ytick.color": c.grey,
            "font.size": 10,
            "legend.frameon": False,
            "legend.labelcolor": c.grey,
            "lines.linewidth": 1.8,
            "image.cmap": "cividis",
        }
    )


def plot_boundary(
    ax: Any,
    decision: Callable[[np.ndarray], np.ndarray],
    box: Any,
    n: int = 160,
    levels: Any = (-1.0, 0.0, 1.0),
) -> np.ndarray:
    """Draw f = 0 and the margins f = ±1 of a decision function on box = (x0, x1, y0, y1)."""
    import numpy as np

    x = np.linspace(box[0], box[1], n)
    y = np.linspace(box[2], box[3], n)
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    f = decision(grid.reshape(-1, 2)).reshape(n, n)
    styles = {0.0: "-"}
    ax.contour(
        x,
        y,
        f,
        levels=list(levels),
        colors=COLORS.grey,
        linestyles=[styles.get(level, "--") for level in levels],
        linewidths=1.4,
    )
    return f

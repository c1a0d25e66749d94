"""The book's figures, and pictures of a fit.

Every picture takes the axes to draw in (by default a new figure's) and returns them.

| file | draws |
|---|---|
| `style` | nothing: colours, matplotlib's defaults, and the border of a classifier |
| `effects` | components with bands, partial effects, a map with its standard errors |
| `residuals` | leave-one-out residuals, and the likelihood over a width |
"""

from kernelbook.plotting.effects import plot_components, plot_map, plot_partial
from kernelbook.plotting.residuals import plot_leave_one_out, plot_likelihood, plot_residuals
from kernelbook.plotting.style import COLORS, LABEL_COLORS, plot_boundary, use_style

__all__ = [
    "COLORS",
    "LABEL_COLORS",
    "plot_boundary",
    "plot_components",
    "plot_leave_one_out",
    "plot_likelihood",
    "plot_map",
    "plot_partial",
    "plot_residuals",
    "use_style",
]

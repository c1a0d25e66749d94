"""Figures in the inks of the page they stand on.

The stored pictures are transparent, drawn in six colours of middling lightness
(`kernelbook.plotting.style`).  They can be seen on white and on the dark page,
but no single grey has the contrast of text, 4.5 to 1, on both.  So when pages
are written, the six colours of each picture are replaced by darker ones for the
light page and for paper and by lighter ones for the dark page.

A line that covers half a pixel has its own colour there and half the opacity,
so that nearly all pixels of a drawing are exactly one of the six; where two
colours mix, a pixel stays as it is.  Colour maps hold none of the six.
"""

import numpy as np
from PIL import Image

from kernelbook.plotting import COLORS

INKS = {
    "light": {
        "blue": "#2a72ac",
        "red": "#bb4b18",
        "green": "#177d58",
        "purple": "#9c5594",
        "gold": "#90660d",
        "grey": "#626262",
    },
    "dark": {
        "blue": "#4a96d2",
        "red": "#e56c35",
        "green": "#1ea372",
        "purple": "#b77cb1",
        "gold": "#bc8611",
        "grey": "#a3a3a3",
    },
}
"""At least 4.5:1 against each theme's page and its tinted boxes."""

PAGES = {"light": ("#ffffff", "#f3f4f5"), "dark": ("#121212", "#222832")}
"""What the figures stand on: the page, and a box on it."""


def rgb(color):
    return tuple(int(color[k : k + 2], 16) for k in (1, 3, 5))


def inked(image, theme):
    """The picture in a theme's inks; None if it has none of the colours."""
    if image.mode != "RGBA":
        return None
    pixels = np.array(image)
    packed = pixels[..., :3].astype(np.int32) @ (65536, 256, 1)
    visible = pixels[..., 3] > 0
    changed = False
    for name, color in vars(COLORS).items():
        found = visible & (packed == int(color[1:], 16))
        if found.any():
            pixels[found, :3] = rgb(INKS[theme][name])
            changed = True
    return Image.fromarray(pixels) if changed else None


def ink_for_paper(folder):
    """The pictures of a folder, in place, in the inks of the light page."""
    for path in sorted(folder.glob("*.png")):
        with Image.open(path) as image:
            found = inked(image, "light")
        if found:
            found.save(path)

"""What cells printed and drew, made harmless: text and PNG pictures, within a budget.

No HTML, no SVG, no scripts, no widgets.  A budget belongs to one submission, so that a notebook of
20 MB does not become a page of 100.
"""

import base64
import binascii
import struct
from dataclasses import dataclass

from kernelbook.course.showing.text import MOST, plain

__all__ = ["Budget", "is_png", "kept_outputs", "safe_outputs"]

PICTURE = 2 << 20  # characters of one picture in base64
PIXELS = 20_000_000  # a small file can unpack to more than a browser has memory for


@dataclass
class Budget:
    """What is left to show of one submission: cells, characters of text, characters of pictures,
    and what these unpack to."""

    cells: int = 400
    text: int = 400_000
    pictures: int = 6 << 20
    pixels: int = 10 * PIXELS

    def words(self, text: str, most=MOST) -> str:
        """Text, cut to what is left of the budget."""
        shown = plain(text, min(most, max(self.text, 0)))
        self.text -= len(shown)
        return shown

    def picture(self, data: str) -> bool:
        self.pictures -= len(data)
        self.pixels -= pixels(data)
        return self.pictures >= 0 and self.pixels >= 0


def safe_outputs(cell, budget: Budget, most=MOST) -> list[dict]:
    """The outputs worth showing: {"text": …} or {"picture": base64 of a PNG}."""
    kept = []
    outputs = cell.get("outputs")
    for output in outputs[:50] if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        data = data if isinstance(data, dict) else {}
        picture = _joined(data.get("image/png"))
        text = _joined(output.get("text", data.get("text/plain")))
        if picture is not None and is_png(picture):
            if budget.picture(picture):
                kept.append({"picture": picture.replace("\n", "")})
            elif budget.text > 0:
                words = "[this picture is not shown: there are too many]"
                kept.append({"text": budget.words(words)})
        elif text is not None and budget.text > 0:
            kept.append({"text": budget.words(text, most)})
    return kept


def kept_outputs(cell, budget: Budget) -> list[dict]:
    """The same in a notebook's own form, to be kept: what is over the budget is gone."""
    kept = []
    for output in safe_outputs(cell, budget, MOST - 100):  # room for the remark that it was cut
        if "picture" in output:
            kept.append({"output_type": "display_data", "data": {"image/png": output["picture"]}})
        else:
            kept.append({"output_type": "stream", "name": "stdout", "text": output["text"]})
    return kept


def _joined(text):
    if isinstance(text, list) and all(isinstance(t, str) for t in text):
        text = "".join(text)
    return text if isinstance(text, str) else None


def is_png(text: str) -> bool:
    """Whether this is a PNG picture in base64, of a size that a browser can show."""
    return 0 < pixels(text) <= PIXELS


def pixels(text: str) -> int:
    """How many a PNG picture in base64 unpacks to; 0 if it is none, or too long."""
    if len(text) > PICTURE:
        return 0
    try:
        raw = base64.b64decode(text.replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        return 0
    if raw[:8] != b"\x89PNG\r\n\x1a\n" or len(raw) < 24:
        return 0
    width, height = struct.unpack(">II", raw[16:24])
    return width * height

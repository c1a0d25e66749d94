"""The book's Markdown as HTML: paragraphs, lists, formulas, and references by name.

The book is ours, so its Markdown is interpreted (unlike students').  A slide has no page to link
to: a reference becomes the name of what it refers to.
"""

import re
from html import escape

from kernelbook.course.showing.mathml import NotSet, mathml

__all__ = ["as_html"]

DISPLAY = re.compile(r"\$\$(.+?)\$\$(?: *\(([\w-]+)\))?", re.DOTALL)
INLINE = re.compile(r"(?<![\\$])\$([^$]+?)\$(?!\$)")
ROLE = re.compile(r"\{([a-z:]+)\}`([^`]+)`")


def as_html(text: str, names: dict[str, str]) -> str:
    """A piece of a chapter; names: what labels and documents are called."""
    from nbconvert.filters import markdown2html

    kept: list[str] = []

    def keep(html):
        kept.append(html)
        return f"KEPT{len(kept) - 1}TPEK"

    text = ROLE.sub(lambda found: _role(found[1], found[2], names, keep), text)
    text = DISPLAY.sub(lambda found: keep(_display(found[1], found[2])), text)
    text = INLINE.sub(lambda found: keep(_formula(found[1], False)), text)
    html = re.sub(r"<a class=\"anchor-link\".*?</a>", "", markdown2html(text))
    # What was kept may hold formulas that were kept before it.
    while "KEPT" in html:
        html = re.sub(r"KEPT(\d+)TPEK", lambda found: kept[int(found[1])], html)
    return html


def _formula(tex, display):
    try:
        return mathml(tex, display)
    except NotSet:
        return f"<code>{escape(tex)}</code>"


def _display(tex, label):
    number = f'<span class="tag">({escape(_short(label))})</span>' if label else ""
    return f'<span class="display">{_formula(tex, True)}{number}</span>'


def _short(label):
    """The part of a label that says what it is: chapters put their own name in front."""
    return label.split("-", 1)[-1].removeprefix("eq-")


def _role(role, target, names, keep):
    shown = re.match(r"(.*\S) *<([^>]+)>$", target, re.DOTALL)
    if role in ("index", "term"):
        return shown[1] if shown else target
    if shown:
        return shown[1]
    if role == "eq":
        return keep(f"({escape(_short(target))})")
    if role == "cite":
        return keep(f"[{escape(target)}]")
    if role == "numref":
        return "the figure"
    name = target.rsplit("/", 1)[-1] if role == "doc" else target
    return f"*{names.get(name, _short(name).replace('-', ' '))}*"

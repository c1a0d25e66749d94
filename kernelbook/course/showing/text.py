r"""What a student wrote, as HTML that does nothing.

The words appear as they were typed, escaped, with line breaks kept; formulas between dollar signs
(or in \( \), \[ \] and the usual environments) are set by `mathml`.  Nothing is a link, nothing is
a tag, nothing is loaded.  Markdown is not interpreted: `**bold**` reads well enough, and a parser
that is not there cannot be fooled.

The result is one line of HTML.  Every character outside letters, digits and harmless punctuation is
a numeric reference, so the line survives a Markdown parser, which formgrader puts it through, as a
block of HTML with nothing in it to interpret.
"""

import re

from kernelbook.course.showing.mathml import NotSet, mathml

__all__ = ["MOST", "as_html", "plain"]

MOST = 20_000  # characters shown of one cell
# Control characters, and those that turn around the direction of what follows.
UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# Of bounded length: each of ten thousand openings would look for its end through all of the text.
FORMULA = re.compile(
    r"(?<!\\)\$\$(?P<display>.{1,2000}?)(?<!\\)\$\$"
    r"|(?<![\\$])\$(?P<inline>[^$]+?)(?<!\\)\$(?!\d)"
    r"|\\\[(?P<bracket>.{1,2000}?)\\\]"
    r"|\\\((?P<paren>.{1,2000}?)\\\)"
    r"|(?P<environment>\\begin\{(?P<name>[a-z]+\*?)\}.{1,2000}?\\end\{(?P=name)\})",
    re.DOTALL,
)


def plain(text: str, most: int = MOST) -> str:
    """Text without what cannot be shown, cut off with a remark."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", "�", text
    )
    if len(text) <= most:
        return text
    return text[:most] + f"\n[{len(text) - most} more characters are not shown]"


def referenced(text: str) -> str:
    """Text as HTML in which no character can begin anything."""
    return re.sub(r"[^A-Za-z0-9 .,;]", lambda m: f"&#{ord(m[0])};", text)


def as_html(text: str, most: int = MOST) -> str:
    """A student's words, with their formulas set, as one harmless line of HTML."""
    text, out, end = plain(text, most), [], 0
    for found in FORMULA.finditer(text):
        inline = found["inline"] or found["paren"]
        tex = inline or found["display"] or found["bracket"] or found["environment"]
        out.append(referenced(text[end : found.start()]))
        try:
            out.append(_as_one_line(mathml(tex, display=not inline)))
        except (NotSet, RecursionError):
            out.append(f"<code>{referenced(found[0])}</code>")
        end = found.end()
    out.append(referenced(text[end:]))
    # The classes keep MathJax away, should the page have it: what a student wrote is data.
    kind = "answer tex2jax_ignore mathjax_ignore"
    return f'<div class="{kind}" style="white-space: pre-wrap">{"".join(out)}</div>'


def _as_one_line(markup: str) -> str:
    """The same markup, with references for all characters in it that are not ASCII or special."""
    return re.sub(r"[^\x20-\x7e]|[$\\*_`\[\]~|{}^]", lambda m: f"&#{ord(m[0])};", markup)

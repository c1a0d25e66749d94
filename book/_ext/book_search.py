"""The search: an index of sections with their words, read from the built pages.

Sphinx lists pages by single words, from an index that every page loads, and
shows a line of raw TeX.  Here each section, each term of the glossary and each
name of the library is an entry; formulas are written as one would read them
out of a text message, and `book/_search` looks for phrases, titles first.  The
index is one script, which works from `file://`; only the search page loads it.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

from bundling import bundle

MODULES = Path(__file__).resolve().parents[1] / "_search"
INDEX, SCRIPT = "searchtexts.js", "search.js"
SIGNS = {
    **dict(
        zip(
            "alpha beta gamma delta epsilon varepsilon zeta eta theta kappa "
            "lambda mu nu xi pi rho sigma tau phi varphi chi psi omega".split(),
            "αβγδεεζηθκλμνξπρστφφχψω",
            strict=True,
        )
    ),
    **dict(
        zip(
            "Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega".split(),
            "ΓΔΘΛΞΠΣΦΨΩ",
            strict=True,
        )
    ),
    **{"sum": "Σ", "prod": "Π", "int": "∫", "in": "∈", "le": "≤", "ge": "≥"},
    **{"to": "→", "top": "ᵀ", "infty": "∞", "cdot": "·", "times": "×"},
    **{"ell": "ℓ", "dots": "…", "ldots": "…", "cdots": "…", "neq": "≠"},
    **{"|": "‖", "mapsto": "↦", "subset": "⊂", "approx": "≈", "quad": " "},
    **{",": " ", ";": " ", "!": "", ":": " ", " ": " ", "{": "{", "}": "}"},
}
SILENT = {"script", "style", "noscript", "svg", "button", "figure"}
VOID = {"br", "img", "hr", "wbr", "input", "link", "meta", "col"}


def readable(tex):
    """A formula in signs; one that cannot be written so is an ellipsis."""
    tex = re.sub(r"^\s*\\[(\[]|\\[)\]]\s*$", "", tex)
    drop = (
        r"\\(?:left|right|mathrm|mathbf|mathbb|mathcal|text|operatorname|"
        r"big[lr]?|Big[lr]?|hat|tilde|bar|boldsymbol)(?![a-zA-Z])"
    )
    tex = re.sub(drop, "", tex)
    tex = re.sub(r"\\([a-zA-Z]+|.)", lambda m: SIGNS.get(m[1], m[0]), tex)
    if "\\" in tex or len(tex) > 60:
        return "…"
    return " ".join(re.sub(r"[{}_^$&]", "", tex).split())


class Sections(HTMLParser):
    """The sections of a page: identifier, title, text; terms and names, too."""

    def __init__(self):
        super().__init__()
        self.found, self.open, self.stack = [], [], []
        self.article = self.silent = self.math = 0
        self.title, self.heading, self.formula = None, False, ""

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        classes = (a.get("class") or "").split()
        if tag == "article":
            self.article += 1
        if not self.article or tag in VOID:
            return
        kind = None
        if tag in SILENT or "cell_output" in classes or "headerlink" in classes:
            kind = "silent"
            self.silent += 1
        elif "math" in classes:
            kind, self.formula = "math", ""
        elif tag == "section" or (tag == "dt" and a.get("id")):
            kind = "section"
            entry = {"id": a.get("id", ""), "title": "", "text": []}
            if tag == "dt":
                entry["term"] = True
            self.found.append(entry)
            self.open.append(entry)
        elif re.fullmatch(r"h[1-6]", tag):
            kind = "heading"
        self.stack.append((tag, kind))

    def handle_endtag(self, tag):
        if tag == "article":
            self.article -= 1
        if not self.article or tag in VOID:
            return
        while self.stack:
            name, kind = self.stack.pop()
            if kind == "silent":
                self.silent -= 1
            elif kind == "math":
                self.say(readable(self.formula))
            elif kind == "section" and self.open:
                # What follows a term is its explanation; it ends with the next.
                last = self.open.pop()
                if last.get("term"):
                    last["title"] = " ".join("".join(last["text"]).split())
                    last["text"] = []
                    self.after = last
            if name == tag:
                break

    def handle_data(self, data):
        if not self.article or self.silent:
            return
        if any(kind == "math" for _, kind in self.stack):
            self.formula += data
        else:
            self.say(data)

    after = None

    def say(self, words):
        if any(kind == "heading" for _, kind in self.stack) and self.open:
            self.open[-1]["title"] += words
        elif self.after is not None and any(t == "dd" for t, _ in self.stack):
            self.after["text"].append(words)
        elif self.open:
            self.open[-1]["text"].append(words)


def entries(page):
    """[identifier, title, text, is a term] of every section of a page."""
    parser = Sections()
    parser.feed(page)
    rows = []
    for found in parser.found:
        title = " ".join(found["title"].split())
        name = re.match(r"(?:class |property )?kernelbook\.([\w.]+)", title)
        if name:
            title = name[1]
        elif found.get("term") and found["id"].startswith("kernelbook"):
            title = found["id"].removeprefix("kernelbook.")
        text = " ".join("".join(found["text"]).split())
        rows.append([found["id"], title, text, bool(found.get("term"))])
    return rows


def write_index(app, exception):
    if exception is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    pages = []
    for name in sorted(app.env.found_docs):
        path = out / f"{name}.html"
        if path.exists():
            rows = entries(path.read_text(encoding="utf-8"))
            if rows:
                pages.append([name, rows[0][1], rows])
    code = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    static = out / "_static"
    static.joinpath(INDEX).write_text(
        f"const BOOK_TEXTS = {code};\n", encoding="utf-8"
    )
    static.joinpath(SCRIPT).write_text(bundle(MODULES), encoding="utf-8")


def load_on_search(app, pagename, templatename, context, doctree):
    if pagename == "search":
        app.add_js_file(INDEX, priority=300)
        app.add_js_file(SCRIPT, priority=301)


def setup(app):
    app.connect("html-page-context", load_on_search)
    app.connect("build-finished", write_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The book for readers of books: an EPUB, by `make epub`.

An EPUB's pages are XHTML, which a reading system refuses when one element is
not closed; it runs no script of ours and need not run MathJax.  So formulas are
set as MathML when the book is built (by the converter that sets students'
formulas), pictures stand for the playgrounds, no script is packed, and what
extensions wrote as HTML is written again as XHTML.
"""

import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path

from docutils import nodes
from sphinx.builders.epub3 import Epub3Builder
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

from kernelbook import __version__
from kernelbook.course.showing.mathml import NotSet, mathml

logger = logging.getLogger(__name__)
NAMESPACE = '<math xmlns="http://www.w3.org/1998/Math/MathML"'
SHEETS = ("epub.css", "pygments.css", "book-epub.css")
VOID = set("area br col embed hr img input link meta source track wbr".split())
ENDS_PARAGRAPH = set(
    "blockquote details div dl figure ol p pre section table ul".split()
)
# What XHTML 5 no longer has, or a reading system does nothing with.
DROPPED = {"align", "valign", "border", "loading", "onclick", "scale"}
NUMBERED = re.compile(
    r"^\\begin\{(equation|align|gather)\*?\}(.*)\\end\{\1\*?\}$", re.DOTALL
)
SUMMARY = re.compile(r"<summary[^>]*>.*?</summary>", re.DOTALL)


class Book(Epub3Builder):
    """Sphinx's builder, with a manifest that says what the pages hold."""

    def init(self):
        super().init()
        self.config.html_math_renderer = "mathml"
        self.config.version = self.config.release = __version__

    def build_content(self):
        """Scripts and the pages' own style sheets stay outside."""
        out = Path(self.outdir)
        static = [p for p in (out / "_static").rglob("*") if p.is_file()]
        self.config.epub_exclude_files = ["index.html"] + [
            p.relative_to(out).as_posix()
            for p in static
            if p.name not in (*SHEETS, "file.png")  # which epub.css asks for
        ]
        super().build_content()
        manifest = out / "content.opf"
        manifest.write_text(
            re.sub(
                r'href="([^"]+\.xhtml)"(?![^>]*properties=)(?=[^>]*media-type)',
                self.declared,
                manifest.read_text(encoding="utf-8"),
            ),
            encoding="utf-8",
        )

    def declared(self, item):
        page = Path(self.outdir) / item[1]
        holds = page.exists() and "<math" in page.read_text(encoding="utf-8")
        return item[0] + ' properties="mathml"' * holds


class Xhtml(HTMLParser):
    """HTML as XHTML: elements closed, attributes quoted, each id once."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.parts, self.open, self.ids = [], [], set()
        self.feed(SUMMARY.sub("<summary>Code</summary>", html))
        self.close()
        self.parts += [f"</{tag}>" for tag in reversed(self.open)]

    def __str__(self):
        return "".join(self.parts)

    def handle_starttag(self, tag, attributes):
        if tag in ENDS_PARAGRAPH and self.open[-1:] == ["p"]:
            self.handle_endtag("p")
        kept = {}
        for name, value in attributes:
            if name in DROPPED or name in kept:
                continue
            if name == "id":
                if value in self.ids:
                    continue
                self.ids.add(value)
            kept[name] = name if value is None else value
        written = "".join(f' {k}="{escape(v)}"' for k, v in kept.items())
        self.parts.append(f"<{tag}{written}{'/' * (tag in VOID)}>")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:  # else it was closed already
            while (last := self.open.pop()) != tag:
                self.parts.append(f"</{last}>")
            self.parts.append(f"</{tag}>")

    def handle_data(self, data):
        self.parts.append(escape(data, quote=False))


def formula(node, display):
    tex = node.astext().strip()
    if display and (inside := NUMBERED.match(tex)):
        kind, tex = inside[1], inside[2]
        if kind == "align" or "\\\\" in tex:
            tex = f"\\begin{{aligned}}{tex}\\end{{aligned}}"
    try:
        made = mathml(tex.strip(), display)
    except NotSet as reason:
        logger.warning("a formula is not set: %s", reason, location=node)
        made = f"<code>{escape(tex)}</code>"
    return made.replace("<math", NAMESPACE, 1)


def inline(translator, node):
    translator.body.append(formula(node, display=False))
    raise nodes.SkipNode


def displayed(translator, node):
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(formula(node, display=True))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})</span>')
    translator.body.append("</div>\n")
    raise nodes.SkipNode


class StillPlaygrounds(SphinxPostTransform):
    """A playground's picture, as on paper, in place of the playground."""

    default_priority = 10  # before `only` is resolved
    builders = ("epub",)

    def run(self, **options):
        for raw in list(self.document.findall(nodes.raw)):
            if 'class="playground"' in raw.astext():
                raw.parent.remove(raw)


def as_xhtml(app, pagename, templatename, context, doctree):
    if app.builder.name != "epub":
        return
    context["script_files"] = []
    context["css_files"] = [
        sheet
        for sheet in context["css_files"]
        if Path(getattr(sheet, "filename", sheet) or "").name in SHEETS
    ]
    if "body" in context:
        context["body"] = str(Xhtml(context["body"]))


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    app.add_builder(Book, override=True)
    app.connect("html-page-context", as_xhtml, priority=990)
    app.add_post_transform(StillPlaygrounds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

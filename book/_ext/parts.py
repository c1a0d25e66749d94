"""The numbers of the parts, where the pages list them.

The text says "part II"; the PDF numbers its parts, the theme's list of contents
does not.  The parts whose chapters are numbered get their Roman numbers here.

A part opens with a page that is no chapter.  In a numbered part the notebooks
are the chapters, and a page of plain text has no number and takes none away.
"""

import re
from html import escape

from docutils import nodes
from sphinx.environment.collectors.toctree import TocTreeCollector

ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X"]


def number(page, captions):
    for roman, caption in zip(ROMAN, captions, strict=False):
        words = re.escape(escape(caption, quote=False))
        page = re.sub(
            rf'(<span class="caption-text">\s*)({words}\s*</span>)',
            rf"\g<1>{roman}. \g<2>",
            page,
        )
    return page


def wrap(app, pagename, templatename, context, doctree):
    if "generate_toctree_html" not in context:
        return
    original = context["generate_toctree_html"]
    captions = [
        part.caption
        for part in app.env.external_site_map.root.subtrees
        if part.caption and part.numbered
    ]

    def generate(kind, **options):
        made = original(kind, **options)
        return made if kind == "raw" else number(str(made), captions)

    context["generate_toctree_html"] = generate


def number_notebooks_only(app):
    """Section numbers are assigned as if the other pages were not there."""
    assign = TocTreeCollector.assign_section_numbers

    def assign_section_numbers(collector, env):
        pages, root = env.tocs, app.config.root_doc
        env.tocs = {
            name: toc
            for name, toc in pages.items()
            if name == root or env.doc2path(name).endswith(".ipynb")
        }
        try:
            return assign(collector, env)
        finally:
            env.tocs = pages

    TocTreeCollector.assign_section_numbers = assign_section_numbers


def leave_out_of_count(app, doctree):
    """LaTeX counts chapters by itself; between these two lines it does not."""
    docname = app.env.docname
    parts = app.env.external_site_map.root.subtrees
    numbered = {name for part in parts if part.numbered for name in part.items}
    notebook = app.env.doc2path(docname).endswith(".ipynb")
    if docname in numbered and not notebook:
        set_depth = r"\setcounter{secnumdepth}"
        off = r"\edef\kbdepth{\the\value{secnumdepth}}" + set_depth + "{-1}"
        on = set_depth + r"{\kbdepth}"
        doctree.insert(0, nodes.raw("", off, format="latex"))
        doctree.append(nodes.raw("", on, format="latex"))


def setup(app):
    app.connect("html-page-context", wrap, priority=900)
    app.connect("builder-inited", number_notebooks_only)
    app.connect("doctree-read", leave_out_of_count)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The numbers of the parts, where the pages list them.

The text says "part II"; the PDF numbers its parts, the theme's list of contents
does not.  The parts whose chapters are numbered get their Roman numbers here.
"""

import re
from html import escape

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


def setup(app):
    app.connect("html-page-context", wrap, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

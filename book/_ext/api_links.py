"""Code and text side by side: names of the library lead to their entries.

In a chapter each public name, in a code cell that imports it or in the text, is
a link to its entry in the API reference, which has the source beside it; each
entry lists the chapters that use it.  Nothing is configured: the names are
those that the reference documents, wherever their files are.
"""

import ast
import json
import re
from html import escape
from pathlib import Path

PACKAGE = "kernelbook."
IN_CODE = re.compile(r'<span class="(n|nc)">(\w+)</span>')
IN_TEXT = re.compile(
    r'(?<!">)<code class="docutils literal notranslate">'
    r'<span class="pre">([\w.]+)(\([^<]*\))?</span></code>'
)
ENTRY = re.compile(
    r'(<dt class="sig[^>]* id="kernelbook\.(\w+)">.*?</dt>\s*<dd>)', re.DOTALL
)
BLOCK = re.compile(r'<div class="highlight">.*?</div>', re.DOTALL)


def entries(env):
    """Where each documented name stands: {name: (page, identifier)}."""
    found = env.domaindata["py"]["objects"]
    return {
        name.removeprefix(PACKAGE): (entry.docname, entry.node_id)
        for name, entry in found.items()
        if name.startswith(PACKAGE)
    }


def imported(notebook):
    """The names that the cells of a notebook import from the library."""
    names = set()
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        try:
            tree = ast.parse("".join(cell["source"]))
        except SyntaxError:  # a magic, or an error that the cell is to show
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "kernelbook":
                names.update(alias.name for alias in node.names)
    return names


def chapters(env):
    """{chapter: the names it imports}, in the order of the contents."""
    if not hasattr(env, "kernelbook_imports"):
        pages = [
            str(page)
            for part in env.external_site_map.root.subtrees
            for page in part.items
        ]
        paths = {p: Path(env.doc2path(p)) for p in pages if p in env.found_docs}
        env.kernelbook_imports = {
            page: imported(path)
            for page, path in paths.items()
            if path.suffix == ".ipynb"
        }
    return env.kernelbook_imports


def link_names(app, pagename, templatename, context, doctree):
    if "body" not in context:
        return
    known = entries(app.env)
    uses = chapters(app.env)
    if pagename in uses:
        context["body"] = linked(app, pagename, context["body"], known, uses)
    elif any(page == pagename for page, _ in known.values()):
        context["body"] = ENTRY.sub(
            lambda m: m[1] + used_in(app, pagename, m[2], uses), context["body"]
        )


def linked(app, pagename, body, known, uses):
    seen = set()

    def link(name, inside):
        page, identifier = known[name]
        address = f"{app.builder.get_relative_uri(pagename, page)}#{identifier}"
        # The tab key meets each name once.
        again = ' tabindex="-1"' if name in seen else ""
        seen.add(name)
        return f'<a class="kb-api" href="{address}"{again}>{inside}</a>'

    def in_code(match):
        name = match[2]
        if name in known and name in uses[pagename]:
            return link(name, match[0])
        return match[0]

    def in_text(match):
        return link(match[1], match[0]) if match[1] in known else match[0]

    body = BLOCK.sub(lambda block: IN_CODE.sub(in_code, block[0]), body)
    return IN_TEXT.sub(in_text, body)


def used_in(app, pagename, name, uses):
    links = [
        f'<a href="{app.builder.get_relative_uri(pagename, chapter)}">'
        f"{escape(app.env.titles[chapter].astext())}</a>"
        for chapter, names in uses.items()
        if name in names
    ]
    if not links:
        return ""
    return f'<p class="kb-used">Used in: {" · ".join(links)}</p>'


def forget(app, env, docnames):
    """Notebooks may have changed; so may what the reference says of them."""
    if hasattr(env, "kernelbook_imports"):
        del env.kernelbook_imports


def reference(app, env):
    return sorted({page for page, _ in entries(env).values()})


def setup(app):
    app.connect("env-before-read-docs", forget)
    app.connect("env-updated", reference)
    # Before names get places at which they may break.
    app.connect("html-page-context", link_names, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

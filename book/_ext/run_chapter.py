"""Under each chapter: how to run it on your own machine."""

from html import escape

NOTE = """
<aside class="run-chapter admonition tip" aria-label="Run this chapter">
<p class="admonition-title">Run this chapter</p>
<p>In a checkout of the project, <code>make live</code> sets everything up and
opens the book with buttons that run each cell on this page, and
<code>make lab</code> opens JupyterLab; the chapter is <code>{path}</code>.
Change a number and run the cell again. <code>make run NB={path}</code>
executes it as it stands, and <code>git diff</code> then shows what came out
differently. The notebook alone is behind the download sign at the top of this
page.</p>
</aside>
"""


def add_note(app, page, template, context, doctree):
    if page == "genindex" or page not in app.env.found_docs:
        return
    path = app.env.doc2path(page, base=False)
    if str(path).endswith(".ipynb"):
        context["body"] += NOTE.format(path=escape(str(path)))


def setup(app):
    app.connect("html-page-context", add_note)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Playgrounds: the directive that places one, and the script they share.

The playgrounds are JavaScript modules in `book/_playgrounds`, one idea a file;
`bundling` joins them.

    ```{playground} regression
    :alt: what the picture shows
    A sentence for readers without JavaScript.
    ```

`:start: degree=-1;width=0.4` sets controls as a link to a state does (sliders
by their positions), `:compact:` leaves out all but the plot and the controls,
`:without: printed` the controls that it names, where the text has not explained
them yet.

Without JavaScript, in the PDF and in the EPUB, a picture and the sentence
stand in its place: `book/_static/playgrounds/<name>.png`, made by
`tools/playground_pictures.py`.
"""

import html
from pathlib import Path

from bundling import bundle
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

MODULES = Path(__file__).resolve().parents[1] / "_playgrounds"
SCRIPT = "playgrounds.js"


class Playground(SphinxDirective):
    required_arguments = 1
    option_spec = {  # noqa: RUF012
        "alt": directives.unchanged_required,
        "start": directives.unchanged_required,
        "compact": directives.flag,
        "without": directives.unchanged_required,
    }
    has_content = True

    def run(self):
        name, alt = self.arguments[0], self.options["alt"]
        sentence = " ".join(self.content)
        self.env.metadata[self.env.docname]["playground"] = name
        up = "../" * self.env.docname.count("/")
        picture = f"{up}_static/playgrounds/{name}.png"
        figure = (
            f'<figure><img src="{picture}" alt="{html.escape(alt)}">'
            f"<figcaption>{html.escape(sentence)}</figcaption></figure>"
        )
        place = (
            f'<div class="playground" data-playground="{name}" role="group" '
        )
        if "compact" in self.options:
            place += "data-compact "
        if "without" in self.options:
            place += f'data-without="{html.escape(self.options["without"])}" '
        if "start" in self.options:
            start = html.escape("".join(self.options["start"].split()))
            place += f'data-start="{start}" '
        place += f'aria-label="Playground: {name.replace("-", " ")}">'
        live = nodes.raw(
            "", f"{place}<noscript>{figure}</noscript></div>", format="html"
        )
        still = addnodes.only(expr="not html or epub")
        still += nodes.figure(
            "",
            nodes.image(
                uri=f"/book/_static/playgrounds/{name}.png",
                alt=alt,
                width="80%",
            ),
            nodes.caption("", sentence),
        )
        return [live, still]


def load_where_needed(app, pagename, templatename, context, doctree):
    if "playground" in app.env.metadata.get(pagename, {}):
        app.add_css_file("playground.css")
        app.add_js_file(SCRIPT, loading_method="defer")


def write_script(app):
    if app.builder.format == "html":
        target = Path(app.outdir) / "_static" / SCRIPT
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(bundle(MODULES), encoding="utf-8")


def setup(app):
    app.add_directive("playground", Playground)
    app.connect("html-page-context", load_where_needed)
    app.connect("builder-inited", write_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Playgrounds: the directive that places one, and the script they share.

The playgrounds are JavaScript modules in `book/_playgrounds`, one idea a file.
Browsers refuse to load modules from `file://`, where the book must work too, so
the build joins them into one classic script: each module becomes a function
that returns what it exports.  Only three forms are allowed in them, `import
{ a, b } from "./file.mjs";`, `export function` (or `function*`) and `export
const` (or `class`); anything else is an error here, not a broken page.

    ```{playground} regression
    :alt: what the picture shows
    A sentence for readers without JavaScript.
    ```

Without JavaScript, and in the PDF, a picture and the sentence stand in its
place: `book/_static/playgrounds/<name>.png`, made by
`tools/playground_pictures.py`.
"""

import html
import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

MODULES = Path(__file__).resolve().parents[1] / "_playgrounds"
SCRIPT = "playgrounds.js"
IMPORT = re.compile(
    r'^import\s*\{([^}]*)\}\s*from\s*"\./([\w-]+)\.mjs";$', re.MULTILINE
)
EXPORT = re.compile(
    r"^export (?=(?:function\*?|const|class) (\w+))", re.MULTILINE
)
LEFT_OVER = re.compile(r"^\s*(?:import|export)\b.*", re.MULTILINE)


def bundle(folder=MODULES, entry="main"):
    """All modules that `entry` needs as one classic script."""
    done, parts = [], []

    def add(name, path=()):
        if name in done:
            return
        if name in path:
            raise ExtensionError(
                f"playgrounds: {' → '.join([*path, name])} import each other"
            )
        source = (folder / f"{name}.mjs").read_text(encoding="utf-8")
        imports = IMPORT.findall(source)
        for _, other in imports:
            add(other, (*path, name))
        body = EXPORT.sub("", IMPORT.sub("", source))
        wrong = LEFT_OVER.search(body)
        if wrong:
            raise ExtensionError(
                f"playgrounds: {name}.mjs: cannot join "
                f"{wrong.group().strip()!r}"
            )
        needs = [
            f"const {{ {listed(names)} }} = modules.{variable(other)};"
            for names, other in imports
        ]
        exports = ", ".join(EXPORT.findall(source))
        parts.append(
            f"modules.{variable(name)} = (() => {{\n"
            + "\n".join([*needs, body.strip(), f"return {{ {exports} }};"])
            + "\n})();\n"
        )
        done.append(name)

    add(entry)
    return (
        '"use strict";\n(() => {\nconst modules = {};\n'
        + "\n".join(parts)
        + "})();\n"
    )


def listed(names):
    """`a, b as c` as the parts of a destructuring: a, b: c."""
    parts = [name.strip() for name in names.split(",") if name.strip()]
    return ", ".join(parts).replace(" as ", ": ")


def variable(name):
    return name.replace("-", "_")


class Playground(SphinxDirective):
    required_arguments = 1
    option_spec = {"alt": directives.unchanged_required}  # noqa: RUF012
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
        place += f'aria-label="Playground: {name.replace("-", " ")}">'
        live = nodes.raw(
            "", f"{place}<noscript>{figure}</noscript></div>", format="html"
        )
        still = addnodes.only(expr="not html")
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


def write_script(app, exception):
    if exception is None and app.builder.format == "html":
        (Path(app.outdir) / "_static" / SCRIPT).write_text(
            bundle(), encoding="utf-8"
        )


def setup(app):
    app.add_directive("playground", Playground)
    app.connect("html-page-context", load_where_needed)
    app.connect("build-finished", write_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""What the HTML of Sphinx still lacks, put right on its way out.

The bibliography is a list whose entries carry the role `doc-biblioentry`, which
ARIA has withdrawn: a list has list items.

Who reads on a dark page prints on a white one: for the printer the page turns
light, or its letters would be white on white.

Names in code are long for a phone.  They may break after a dot, an underscore
or a slash and before a capital, so that no line has to break within a word.

Code cells have names, which a screen reader says before it reads the code and
what it printed: "Code cell 3" and "Output of code cell 3", numbered as the
buttons of `make live` number them.  What unfolds hidden code says of what, by
its words alone: "Show the code of figure 2".
"""

import re

PRINT = """(() => {
  const page = document.documentElement;
  let theme;
  addEventListener("beforeprint", () => {
    theme = page.dataset.theme;
    page.dataset.theme = "light";
  });
  addEventListener("afterprint", () => { page.dataset.theme = theme; });
})();"""
NAME = re.compile(r'(<span class="pre">)([^<]*)(</span>)')
JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[._/=,(])(?=\w)")
CELL = re.compile(r'(?=<div class="cell[ "])')
CODE = '<div class="cell_input docutils container"'
OUTPUT = '<div class="cell_output docutils container"'
SUMMARY = '<summary aria-label="Toggle hidden content">'
NUMBER = re.compile(r'<span class="caption-number">Fig\. ([\d.]+) </span>')


def breakable(match):
    before, name, after = match.groups()
    # Entities such as &lt; are words of their own.
    parts = re.split(r"(&\w+;)", name)
    parts[::2] = [JOINT.sub("<wbr>", part) for part in parts[::2]]
    return before + "".join(parts) + after


def named_cells(body):
    """The cells of a notebook's page, with names."""
    before, *cells = CELL.split(body)
    count = 0
    for k, cell in enumerate(cells):
        if CODE not in cell:
            continue
        count += 1
        code = f'{CODE} role="group" aria-label="Code cell {count}"'
        output = (
            f'{OUTPUT} role="group" aria-label="Output of code cell {count}"'
        )
        cell = cell.replace(CODE, code, 1).replace(OUTPUT, output)
        figure = NUMBER.search(cell)
        drawn = f"the code of figure {figure[1]}" if figure else "the code"
        cells[k] = (
            cell.replace(SUMMARY, "<summary>")
            .replace("code cell source", drawn)
            .replace("code cell content", "the computation")
        )
    return before + "".join(cells)


def mend(app, pagename, templatename, context, doctree):
    if "body" in context:
        body = context["body"].replace(
            'role="doc-biblioentry"', 'role="listitem"'
        )
        body = NAME.sub(breakable, body)
        context["body"] = named_cells(body)


def setup(app):
    app.connect("html-page-context", mend)
    app.add_js_file(None, body=PRINT)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""What the HTML of Sphinx still lacks, put right on its way out.

The bibliography is a list whose entries carry the role `doc-biblioentry`, which
ARIA has withdrawn: a list has list items.

Who reads on a dark page prints on a white one: for the printer the page turns
light, or its letters would be white on white.

Names in code are long for a phone.  They may break after a dot, an underscore
or a slash and before a capital, so that no line has to break within a word.
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


def breakable(match):
    before, name, after = match.groups()
    # Entities such as &lt; are words of their own.
    parts = re.split(r"(&\w+;)", name)
    parts[::2] = [JOINT.sub("<wbr>", part) for part in parts[::2]]
    return before + "".join(parts) + after


def mend(app, pagename, templatename, context, doctree):
    if "body" in context:
        body = context["body"].replace(
            'role="doc-biblioentry"', 'role="listitem"'
        )
        context["body"] = NAME.sub(breakable, body)


def setup(app):
    app.connect("html-page-context", mend)
    app.add_js_file(None, body=PRINT)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

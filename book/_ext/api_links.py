"""Code and text side by side: names of the library lead to their entries.

In a chapter each name of the library, in a code cell or in the text, is a link
to its entry in the API reference, or to its source where the reference has no
entry; under the cell that imports names a list has the source of each.  An
entry lists the chapters that use its name.  Nothing is configured: the entries
are those of the reference, the names those that the chapters import or write.
"""

import ast
import json
import posixpath
import re
from functools import cache
from html import escape
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from sphinx.ext.viewcode import OUTPUT_DIRNAME
from sphinx.pycode import ModuleAnalyzer

PACKAGE = "kernelbook"
IN_CODE = re.compile(
    r'(?<!<span class="o">\.</span>)<span class="(n|nc)">(\w+)</span>'
)
IN_TEXT = re.compile(
    r'(?<!">)<code class="docutils literal notranslate">'
    r'<span class="pre">([\w.]+)(\([^<]*\))?</span></code>'
)
WRITTEN = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)(?:\([^`]*\))?`(?!`)")
ENTRY = re.compile(
    r'(<dt class="sig[^>]* id="kernelbook\.([\w.]+)">.*?</dt>\s*<dd>)',
    re.DOTALL,
)
BLOCK = re.compile(r'<div class="highlight">.*?</div>', re.DOTALL)


def entries(env):
    """Where each documented name stands: {name: (page, identifier)}."""
    found = env.domaindata["py"]["objects"]
    return {
        name.removeprefix(PACKAGE + "."): (entry.docname, entry.node_id)
        for name, entry in found.items()
        if name.startswith(PACKAGE + ".") and not entry.aliased
    }


def by_last_name(known):
    """`plot_map` for `plotting.plot_map`, where only one entry is so called."""
    found = {}
    for name in known:
        if "." in name and name.split(".")[-2][:1].islower():
            found.setdefault(name.rpartition(".")[2], []).append(name)
    return {
        last: names[0]
        for last, names in found.items()
        if len(names) == 1 and last not in known
    }


def parsed(cell):
    try:
        return ast.parse("".join(cell))
    except SyntaxError:  # a magic, or an error that the cell is to show
        return ast.Module([], [])


def imported(source):
    """{name in the cell: (module, name)} of what a cell imports from us."""
    return {
        local: (node.module, alias.name)
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").partition(".")[0] == PACKAGE
        for alias in node.names
        for local in (alias.name, alias.asname or alias.name)
    }


@cache
def tree_of(module):
    path = Path(find_spec(module).origin)
    return ast.parse(path.read_text(encoding="utf-8")), path


@cache
def home(module, name):
    """Where a name is defined, imports followed; a module has the name ''."""
    if module == PACKAGE:
        from kernelbook import _MODULE_OF

        if name in _MODULE_OF:
            return home(f"{PACKAGE}.{_MODULE_OF[name]}", name)
    tree, path = tree_of(module)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return home(node.module, alias.name)
    if path.name == "__init__.py" and find_spec(f"{module}.{name}"):
        return f"{module}.{name}", ""
    return module, name


def read(path):
    """What a notebook imports, by cell and in all, and what its text names."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    found, text = {}, set()
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            found.update(imported(source))
        else:
            text.update(WRITTEN.findall(source))
    return {"imports": found, "text": text}


def chapters(env):
    """{chapter: what `read` finds in it}, in the order of the contents."""
    if not hasattr(env, "kernelbook_uses"):
        pages = [
            str(page)
            for part in env.external_site_map.root.subtrees
            for page in part.items
        ]
        paths = {p: Path(env.doc2path(p)) for p in pages if p in env.found_docs}
        env.kernelbook_uses = {
            page: read(path)
            for page, path in paths.items()
            if path.suffix == ".ipynb"
        }
    return env.kernelbook_uses


def entry_of(module, name, known):
    """The key of a name's entry, from whichever module it was imported."""
    for key in (name, by_last_name(known).get(name)):
        if key in known:
            owner, _, last = f"{PACKAGE}.{key}".rpartition(".")
            if home(owner, last) == home(module, name):
                return key
    return None


def used_entries(use, known):
    """The keys of the entries that a chapter imports, or names in its text."""
    short = by_last_name(known)
    found = {entry_of(*where, known) for where in use["imports"].values()}
    for name in use["text"]:
        name = name.removeprefix(PACKAGE + ".")
        while name and name not in known and name not in short:
            name = name.rpartition(".")[0]  # a method without an entry
        key = short.get(name, name)
        while key:
            found.add(key)
            key = key.rpartition(".")[0]  # a method counts for its class
    return found & known.keys()


def show_sources(app, env):
    """Sphinx shows the source of each entry; here, of every name used."""
    if not hasattr(env, "_viewcode_modules"):
        env._viewcode_modules = {}
    for page, use in chapters(env).items():
        for where in use["imports"].values():
            module, name = home(*where)
            entry = env._viewcode_modules.get(module)
            if not entry:
                analyzer = ModuleAnalyzer.for_module(module)
                analyzer.find_tags()
                entry = (analyzer.code, analyzer.tags, {}, module)
                env._viewcode_modules[module] = entry
            _, tags, used, _ = entry
            if name in tags and name not in used:
                used[name] = page
            # Sphinx keeps a page that is younger than its module.
            shown = source_file(app, module)
            if name in used and shown.exists():
                if f'id="{name}"' not in shown.read_text(encoding="utf-8"):
                    shown.unlink()
    return sorted({page for page, _ in entries(env).values()})


def source_page(module):
    return posixpath.join(OUTPUT_DIRNAME, module.replace(".", "/"))


def source_file(app, module):
    return Path(app.outdir) / f"{source_page(module)}.html"


def source(app, pagename, where):
    """The address of the lines that define a name, or of its file."""
    module, name = home(*where)
    used = app.env._viewcode_modules[module][2]
    page = app.builder.get_relative_uri(pagename, source_page(module))
    return page + (f"#{name}" if name in used else "")


def shown_path(module):
    root = Path(find_spec(PACKAGE).origin).parents[1]
    return str(tree_of(module)[1].relative_to(root))


def list_sources(app, doctree, docname):
    """Under each cell that imports from the library: entries and sources."""
    if app.builder.name != "html" or docname not in chapters(app.env):
        return
    known, anchors = entries(app.env), set()
    cells = doctree.findall(
        lambda n: isinstance(n, nodes.container) and "cell" in n["classes"]
    )
    for cell in list(cells):
        code = next(cell.findall(nodes.literal_block), None)
        names = imported(code.astext()) if code is not None else {}
        names = {w: local for local, w in reversed(names.items())}
        if not names:
            continue
        items = []
        for where in sorted(names, key=lambda w: w[1].lower()):
            module, name = home(*where)
            shown = f"<code>{escape(where[1])}</code>"
            key, back = entry_of(*where, known), ""
            *_, used, refname = app.env._viewcode_modules[module]
            if key:
                page, identifier = known[key]
                there = app.builder.get_relative_uri(docname, page)
                shown = f'<a href="{there}#{identifier}">{shown}</a>'
            elif used.get(name) == docname and name not in anchors:
                # Its page of sources leads back to here.
                back = f' id="{refname}.{name}"'
                anchors.add(name)
            there = source(app, docname, where)
            link = f'<a href="{there}">{escape(shown_path(module))}</a>'
            items.append(f"<li{back}>{shown}: {link}</li>")
        words = "1 name" if len(items) == 1 else f"{len(items)} names"
        html = (
            '<details class="kb-names"><summary>'
            f"{words} from the library: entries and sources</summary>"
            f"<ul>{''.join(items)}</ul></details>"
        )
        place = cell.parent.index(cell) + 1
        cell.parent.insert(place, nodes.raw("", html, format="html"))


def link_names(app, pagename, templatename, context, doctree):
    if "body" not in context:
        return
    known = entries(app.env)
    uses = chapters(app.env)
    if pagename in uses:
        context["body"] = linked(app, pagename, context["body"], known, uses)
    elif any(page == pagename for page, _ in known.values()):
        used = {page: used_entries(use, known) for page, use in uses.items()}
        context["body"] = ENTRY.sub(
            lambda m: m[1] + used_in(app, pagename, m[2], used), context["body"]
        )


def linked(app, pagename, body, known, uses):
    seen, here = set(), uses[pagename]["imports"]
    short = by_last_name(known)

    def address(key):
        page, identifier = known[key]
        there = app.builder.get_relative_uri(pagename, page)
        return f"{there}#{identifier}"

    def link(name, where, inside):
        # The tab key meets each name once.
        again = ' tabindex="-1"' if name in seen else ""
        seen.add(name)
        return f'<a class="kb-api" href="{where}"{again}>{inside}</a>'

    def target(name):
        """Of a name that the page imports."""
        if key := entry_of(*here[name], known):
            return address(key)
        # The EPUB has no pages of sources.
        return (
            source(app, pagename, here[name])
            if app.builder.name == "html"
            else None
        )

    def in_code(match):
        where = target(match[2]) if match[2] in here else None
        return link(match[2], where, match[0]) if where else match[0]

    def in_text(match):
        name = match[1].removeprefix(PACKAGE + ".")
        if name in known or name in short:
            return link(name, address(short.get(name, name)), match[0])
        where = target(name) if name in here else None
        return link(name, where, match[0]) if where else match[0]

    body = BLOCK.sub(lambda block: IN_CODE.sub(in_code, block[0]), body)
    return IN_TEXT.sub(in_text, body)


def used_in(app, pagename, name, used):
    links = [
        f'<a href="{app.builder.get_relative_uri(pagename, chapter)}">'
        f"{escape(app.env.titles[chapter].astext())}</a>"
        for chapter, names in used.items()
        if name in names
    ]
    if not links:
        return ""
    return f'<p class="kb-used">Used in: {" · ".join(links)}</p>'


def forget(app, env, docnames):
    """Notebooks may have changed; so may what the reference says of them."""
    if hasattr(env, "kernelbook_uses"):
        del env.kernelbook_uses


def setup(app):
    app.connect("env-before-read-docs", forget)
    app.connect("env-updated", show_sources)
    app.connect("doctree-resolved", list_sources)
    # Before names get places at which they may break.
    app.connect("html-page-context", link_names, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

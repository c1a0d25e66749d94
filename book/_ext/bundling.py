"""JavaScript modules joined into one classic script.

Browsers refuse to load modules from `file://`, where the book must work too.
So each module becomes a function that returns what it exports.  Only three
forms are allowed in them, `import { a, b } from "./file.mjs";`, `export
function` (or `function*`) and `export const` (or `class`); anything else is an
error here, not a broken page.
"""

import re

from sphinx.errors import ExtensionError

IMPORT = re.compile(
    r'^import\s*\{([^}]*)\}\s*from\s*"\./([\w-]+)\.mjs";$', re.MULTILINE
)
EXPORT = re.compile(
    r"^export (?=(?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE
)
LEFT_OVER = re.compile(r"^\s*(?:import|export)\b.*", re.MULTILINE)


def bundle(folder, entry="main"):
    """All modules that `entry` needs as one classic script."""
    done, parts = [], []

    def add(name, path=()):
        if name in done:
            return
        if name in path:
            cycle = " → ".join([*path, name])
            raise ExtensionError(f"{folder.name}: {cycle} import each other")
        source = (folder / f"{name}.mjs").read_text(encoding="utf-8")
        imports = IMPORT.findall(source)
        for _, other in imports:
            add(other, (*path, name))
        body = EXPORT.sub("", IMPORT.sub("", source))
        wrong = LEFT_OVER.search(body)
        if wrong:
            raise ExtensionError(
                f"{folder.name}: {name}.mjs: cannot join "
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

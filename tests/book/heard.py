"""A page as a screen reader has it: the browser's accessibility tree, as lines of text in order.

A line is `role: name`, with what belongs to it (a value, whether it is expanded); running text is
a line a paragraph, in which a formula stands between ⟨ and ⟩ and a link between [ and ].  Two
spaces a level say which group, list or landmark a line is in.
"""

import re

INLINE = set(
    "StaticText InlineTextBox emphasis strong code subscript superscript mark Abbr time LineBreak "
    "insertion deletion".split()
)
MATH = {"math", "MathMLMath"}
SILENT = {"none", "generic", "InlineTextBox", "ListMarker", "LabelText", "Pre", "pre"}
# One line each: what they contain is their name.
WHOLE = set(
    "heading button slider spinbutton combobox textbox searchbox checkbox image img "
    "DisclosureTriangle option MenuListPopup status".split()
)
BLOCKS = set("paragraph listitem term definition cell columnheader rowheader caption".split())
STATES = ("expanded", "checked", "pressed", "invalid", "disabled")


def tree(page):
    """The nodes by their identifiers, and the root's."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return {n["nodeId"]: n for n in nodes}, nodes[0]["nodeId"]


def role(node):
    return node.get("role", {}).get("value", "")


def name(node):
    return re.sub(r"\s+", " ", str(node.get("name", {}).get("value", ""))).strip()


def properties(node):
    return {p["name"]: p["value"].get("value") for p in node.get("properties", [])}


def heard(nodes, root):
    """The lines of a page, from its tree."""
    lines, words = [], []

    def text(node):
        """All that is read inside a node, as running text."""
        kind = role(node)
        if kind == "InlineTextBox" or (node.get("ignored") and kind in MATH):
            return ""
        if kind in MATH:
            return f"⟨{''.join(letters(node)).strip()}⟩"
        if kind == "StaticText":
            return str(node.get("name", {}).get("value", ""))
        inside = "".join(map(text, children(node)))
        return f"[{name(node)}]" if kind == "link" else inside

    def letters(node):
        if role(node) == "StaticText":
            yield str(node.get("name", {}).get("value", ""))
        else:
            for child in children(node):
                yield from letters(child)

    def children(node):
        return [nodes[i] for i in node.get("childIds", []) if i in nodes]

    def flush(depth):
        said = re.sub(r"[ \t]+", " ", "".join(words)).strip()
        words.clear()
        for line in filter(str.strip, said.splitlines()):
            lines.append("  " * depth + line.strip())

    def visit(node, depth):
        kind = role(node)
        if node.get("ignored") or kind in SILENT:
            for child in children(node):
                visit(child, depth)
            if kind in ("Pre", "pre"):
                flush(depth)
        elif kind in INLINE or kind in MATH or kind == "link":
            words.append(text(node))
        elif kind in WHOLE:
            flush(depth)
            lines.append("  " * depth + whole(node, kind))
        else:
            flush(depth)
            title = name(node) if kind not in BLOCKS else ""
            blocks = [c for c in children(node) if c]
            if kind in BLOCKS:
                mark = {"paragraph": "", "listitem": "- "}.get(kind, f"{kind}: ")
                at = len(lines)
                for child in blocks:
                    visit(child, depth + (kind != "paragraph"))
                flush(depth + (kind != "paragraph"))
                if mark and len(lines) > at:
                    lines[at] = "  " * depth + mark + lines[at].strip()
                return
            if kind != "RootWebArea":
                lines.append("  " * depth + f"{kind}: {title}".rstrip(": "))
                depth += 1
            for child in blocks:
                visit(child, depth)
            flush(depth)

    def whole(node, kind):
        has = properties(node)
        level = f" {has['level']}" if kind == "heading" else ""
        said = f"{kind}{level}: {name(node) or text(node).strip()}"
        value = has.get("valuetext") or node.get("value", {}).get("value")
        if kind in ("slider", "spinbutton", "combobox", "textbox", "searchbox"):
            said += f" = {value}"
        states = [
            f"{s} {has[s]}" for s in STATES if s in has and has[s] not in (False, "false", None)
        ]
        states += ["collapsed"] * (has.get("expanded") is False)
        if description := node.get("description", {}).get("value"):
            states.append(f"description {description}")
        return said + (f" ({', '.join(states)})" if states else "")

    visit(nodes[root], 0)
    flush(0)
    return lines

"""What a page loads, made little: one style sheet, one script, small pictures.

Sphinx, the theme and their extensions bring a dozen style sheets and as many
scripts that hold up the page, all icons of a family, and a MathJax that sets
every formula before anything else happens.  When the pages are written, this
joins the sheets and the scripts, puts the few icons that are used into the
page, drops the rest, sets formulas later (`book/_page/math.js`), and stores
pictures as lossless WebP where that is smaller, figures once for light pages
and once for dark ones (`inks.py`), of which a page loads one.  Nothing is lost:
what has changed is counted in `tests/book/test_weight.py`.

Drawn as SVG with letters as outlines, the six figures of chapters representer
and incremental take 1.8 to 4.9 times the bytes of their WebP: 23 to 161 kB
beside 9 to 55 kB.  Nothing compresses a page that is opened as a file, and with
letters as text, which depend on the reader's fonts, five of the six are larger
still.  So figures stay pictures.
"""

import base64
import io
import json
import logging
import re
from pathlib import Path

from fontTools import subset, ttLib
from inks import INKS, inked
from PIL import Image

PAGE_SCRIPTS = Path(__file__).resolve().parents[1] / "_page"
DONE = "<!-- made lighter -->"
SHEET = re.compile(r'<link [^>]*?href="([^"]*?_static/[^"]+\.css)[^"]*"[^>]*/>')
SCRIPT = re.compile(
    r'<script (?:defer(?:="defer")? )?(?:data-sd[^>]*? )?'
    r'src="([^"]*?)(_static/[^"?]+|searchindex\.js)(?:\?[^"]*)?"></script>\n?'
)
SEARCH = ("searchtools.js", "language_data.js", "searchindex.js")
ALONE = ("live.js", "playgrounds.js", "search.js", "searchtexts.js")
ICON = re.compile(
    r'<(i|span) class="([^"]*\bfa(?:s|r|-solid|-regular)\b[^"]*)"([^>]*)></\1>'
)
ICON_RULE = re.compile(
    r'(?:\.fa-[\w-]+(?:::?before)?,?)+\{content:"[^"]*"(?:[^{}]*)\}'
)
FONT_FACE = re.compile(r"@font-face\{[^}]*\}")
URL = re.compile(r"url\((?!data:)['\"]?([^)'\"]+)['\"]?\)")
PRELOAD = re.compile(r'<link rel="preload"[^>]*/>\n?')
IMAGE = re.compile(
    r'<img ([^>]*?)src="([^"]*_images/)([^"/]+)\.png"([^>]*?)/?>'
)


def joined_sheets(static, names):
    parts = []
    for name in names:
        path = static / name
        css = path.read_text(encoding="utf-8")
        if "@import" in css:
            css = (static / "basic.css").read_text(encoding="utf-8")
        folder = path.parent.relative_to(static).as_posix()
        up = "" if folder == "." else f"{folder}/"
        css = URL.sub(lambda m, up=up: f"url({up}{m.group(1)})", css)
        parts.append(css)
    css = re.sub(r"/\*.*?\*/", "", "\n".join(parts), flags=re.DOTALL)
    css = FONT_FACE.sub("", ICON_RULE.sub("", css))
    return re.sub(r"\s*\n\s*", "\n", css) + icon_font(static, css)


def icon_font(static, css):
    """The glyphs that the sheets still name, in a font inside the sheet."""
    codes = {int(c, 16) for c in re.findall(r'"\\([ef][0-9a-f]{3})"', css)}
    codes |= {ord(c) for c in re.findall("[\ue000-\uf8ff]", css)}
    where = static / "vendor/fontawesome/webfonts/fa-solid-900.ttf"
    font = ttLib.TTFont(where)
    logging.getLogger("fontTools.subset").setLevel(logging.WARNING)
    tool = subset.Subsetter()
    tool.populate(unicodes=codes)
    tool.subset(font)
    font.flavor = "woff"
    out = io.BytesIO()
    font.save(out)
    data = base64.b64encode(out.getvalue()).decode()
    return (
        '\n@font-face{font-family:"Font Awesome 6 Free";font-weight:900;'
        f"font-display:block;src:url(data:font/woff;base64,{data})}}\n"
    )


def icons(static):
    """The drawing of an icon by its name."""
    source = (static / "scripts/fontawesome.js").read_text(encoding="utf-8")
    shape = re.compile(
        r'"?([\w-]+)"?:\[(\d+),(\d+),(\[[^\]]*\]),"\w+",(?:"([^"]*)"|\[)'
    )
    found = {}
    for name, width, height, others, path in shape.findall(source):
        if path:
            for each in [name, *re.findall(r'"([\w-]+)"', others)]:
                found.setdefault(each, (width, height, path))
    return found


def drawn(match, shapes):
    _, classes, attributes = match.groups()
    names = re.findall(r"\bfa-([\w-]+)", classes)
    shape = next((shapes[n] for n in names if n in shapes), None)
    if shape is None:
        return match.group()
    width, height, path = shape
    kept = " ".join(classes.split())
    hidden = "" if "aria-" in attributes else ' aria-hidden="true"'
    return (
        f'<svg class="kb-icon {kept}"{attributes}{hidden} '
        f'viewBox="0 0 {width} {height}"><path d="{path}"/></svg>'
    )


class Lighter:
    def __init__(self, out):
        self.out, self.static = Path(out), Path(out) / "_static"
        # A build of a few pages keeps what the other pages need.
        self.known = self.static / "joined.json"
        known = (
            json.loads(self.known.read_text()) if self.known.exists() else {}
        )
        self.sheets = known.get("sheets", [])
        self.scripts = known.get("scripts", [])
        self.pictures = {}
        self.shapes = icons(self.static)

    def page(self, path):
        html = path.read_text(encoding="utf-8")
        if DONE in html:
            return
        up = "../" * len(path.relative_to(self.out).parent.parts)
        here = [m.rpartition("_static/")[2] for m in SHEET.findall(html)]
        self.sheets += [n for n in here if n not in self.sheets]
        html = SHEET.sub("", PRELOAD.sub("", html))
        mathjax = None

        def script(match):
            nonlocal mathjax
            name = match.group(2).removeprefix("_static/")
            if name in ALONE:
                return f'<script defer src="{up}_static/{name}"></script>\n'
            if name == "documentation_options.js":
                code = (self.static / name).read_text(encoding="utf-8")
                return f"<script>{code}</script>\n"
            if name.startswith("tex-svg"):
                mathjax = name
            elif name not in (*SEARCH, "scripts/fontawesome.js"):
                if name not in self.scripts:
                    self.scripts.append(name)
            return ""

        html = SCRIPT.sub(script, html)
        math = f'data-mathjax="{up}_static/{mathjax}" ' if mathjax else ""
        head = (
            f'<link rel="stylesheet" href="{up}_static/book.css" />\n'
            f'<script defer {math}src="{up}_static/book.js"></script>\n{DONE}\n'
        )
        html = html.replace("</title>", f"</title>\n{head}", 1)
        html = ICON.sub(lambda m: drawn(m, self.shapes), html)
        html = IMAGE.sub(self.picture, html)
        path.write_text(html, encoding="utf-8")

    def picture(self, match):
        before, folder, name, after = match.groups()
        if name not in self.pictures:
            self.pictures[name] = lighter_pictures(
                self.out / "_images" / f"{name}.png"
            )
        files, (width, height) = self.pictures[name]
        size = f' width="{width}" height="{height}"'
        if re.search(r"\b(width|height|style)=", before + after):
            size = ""
        rest = f'{after.rstrip()}{size} loading="lazy" />'
        if "both" in files:
            return f'<img {before}src="{folder}{files["both"]}"{rest}'
        first, second = (
            f"<img {classed(before, f'only-{theme}')}"
            f'src="{folder}{files[theme]}"{rest}'
            for theme in INKS
        )
        return first + second

    def write(self):
        kept = {"sheets": self.sheets, "scripts": self.scripts}
        self.known.write_text(json.dumps(kept), encoding="utf-8")
        if self.sheets:
            css = joined_sheets(self.static, self.sheets)
            (self.static / "book.css").write_text(css, encoding="utf-8")
        if self.scripts:
            # The theme's own two stand at the end of its pages.
            last = [n for n in self.scripts if n.startswith("scripts/")]
            order = [n for n in self.scripts if n not in last] + last
            files = [self.static / name for name in order]
            files += sorted(PAGE_SCRIPTS.glob("*.js"))
            code = [file.read_text(encoding="utf-8") for file in files]
            target = self.static / "book.js"
            # It begins with no "use strict", which would hold for all.
            target.write_text(";\n" + "\n;\n".join(code), encoding="utf-8")


def classed(attributes, name):
    """The attributes of an element, with one more class."""
    if 'class="' in attributes:
        return attributes.replace('class="', f'class="{name} ', 1)
    return f'{attributes}class="{name}" '


def lighter_pictures(path):
    """The files of a picture, by theme or for "both", and its size."""
    with Image.open(path) as image:
        image.load()
    files = {}
    for theme in INKS:
        name = path.with_name(f"{path.stem}-{theme}")
        if file := known_picture(name, path):
            files[theme] = file
        elif found := inked(image, theme):
            files[theme] = smaller_picture(found, name)
    if not files:
        name = path.with_suffix("")
        file = known_picture(name, path) or smaller_picture(image, name)
        files["both"] = file
    return files, image.size


def known_picture(name, source):
    """The file that an earlier build made of a picture, if it still stands."""
    for suffix in (".webp", ".png"):
        file = name.with_name(name.name + suffix)
        if file != source and file.exists():
            if file.stat().st_mtime >= source.stat().st_mtime:
                return file.name
    return None


def smaller_picture(image, name):
    """Store a picture as lossless WebP, or as PNG where that is smaller."""
    webp, png = io.BytesIO(), io.BytesIO()
    image.save(webp, "WEBP", lossless=True, quality=80, method=4)
    image.save(png, "PNG")
    suffix, data = min(
        ((".webp", webp), (".png", png)), key=lambda k: k[1].tell()
    )
    file = name.with_name(name.name + suffix)
    file.write_bytes(data.getvalue())
    return file.name


def make_lighter(app, exception):
    if exception is not None or app.builder.name != "html":
        return
    lighter = Lighter(app.outdir)
    for path in sorted(Path(app.outdir).rglob("*.html")):
        if "_static" not in path.relative_to(app.outdir).parts:
            lighter.page(path)
    lighter.write()


def setup(app):
    app.connect("build-finished", make_lighter, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

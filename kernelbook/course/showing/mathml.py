r"""TeX formulas as MathML, which browsers set without any script.

This covers what students write in derivations: scripts, fractions, roots, accents, matrices, cases,
aligned equations, Greek and the usual symbols and fonts.  A formula outside this language raises
`NotSet`, and the caller shows its source.  Commands that could reach outside the formula, such as
\href, \class and \require, are not part of the language, so they are shown, never obeyed.

Only the elements written out below can appear in a result, none with an attribute taken from the
formula, and every character of it is escaped.
"""

import re
from html import escape

from kernelbook.course.showing.tex_symbols import (
    ACCENTS,
    ALIGNED,
    BOLD_GREEK,
    FONTS,
    GREEK,
    LARGE,
    LIMITS,
    MATRICES,
    NAMED,
    OPERATORS,
    SIZES,
    SPACES,
    STYLES,
)

__all__ = ["NotSet", "mathml"]

LONGEST, DEEPEST = 4000, 40
NOTHING = "<mrow></mrow>"
# Behind these a minus is a sign; elsewhere it is set apart, as in a difference.
SIGN_FOLLOWS = set(
    "( [ , ; = < > : / \\le \\ge \\ne \\approx \\in \\to \\cdot \\mapsto \\quad \\qquad \\,".split()
)
GAP = '<mspace width="0.17em"></mspace>'


class NotSet(ValueError):
    """This formula is not in the language."""


TOKEN = re.compile(r"\\([A-Za-z]+|.)|(\s+)|(%[^\n]*)|(.)", re.DOTALL)


def mathml(tex: str, display: bool = False) -> str:
    """A <math> element for a formula; raises NotSet where that is not possible."""
    if len(tex) > LONGEST:
        raise NotSet("the formula is too long")
    parser = _Parser(tex)
    body = parser.row(stop=())
    if parser.peek() is not None:
        raise NotSet(f"an unexpected {parser.peek()}")
    return f'<math display="{"block" if display else "inline"}">{body}</math>'


def _tokens(tex):
    for command, space, comment, char in TOKEN.findall(tex):
        if command:
            yield "\\" + command
        elif space or comment:
            yield " "
        else:
            yield char


def _mi(text):
    return f"<mi>{escape(text)}</mi>"


def _mo(text, stretchy=None):
    """An operator.  Browsers would set bars and slashes apart, as between numbers; TeX does not."""
    tight = ' lspace="0" rspace="0"' if text in ("|", "‖", "/", "′") else ""
    how = "" if stretchy is None else f' stretchy="{"true" if stretchy else "false"}"'
    return f"<mo{how}{tight}>{escape(text)}</mo>"


def _table(rows, left="", right="", how="center"):
    """Rows of cells; `how` is the alignment of columns, by a word of ours."""
    style = {"center": "", "cases": ' style="text-align:left"', "aligned": ""}[how]
    body = ""
    for row in rows:
        cells = ""
        for k, cell in enumerate(row):
            side = ("right", "left")[k % 2] if len(row) > 1 else "left"
            mine = f' style="text-align:{side}"' if how == "aligned" else style
            cells += f"<mtd{mine}>{cell}</mtd>"
        body += f"<mtr>{cells}</mtr>"
    table = f"<mtable>{body}</mtable>"
    if how == "aligned":
        table = f'<mtable displaystyle="true">{body}</mtable>'
    if not left and not right:
        return table
    return f"<mrow>{_mo(left, True)}{table}{_mo(right, True) if right else ''}</mrow>"


class _Parser:
    def __init__(self, tex):
        self.tokens = list(_tokens(tex))
        self.at = 0
        self.depth = 0

    def peek(self):
        while self.at < len(self.tokens) and self.tokens[self.at] == " ":
            self.at += 1
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def next(self):
        token = self.peek()
        if token is None:
            raise NotSet("the formula ends too early")
        self.at += 1
        return token

    def expect(self, token):
        if self.next() != token:
            raise NotSet(f"{token} is missing")

    def row(self, stop):
        """Everything up to one of the tokens in `stop`, which is left in place."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise NotSet("the formula is nested too deeply")
        parts, before = [], None
        while (token := self.peek()) is not None and token not in stop:
            if token in ("-", "+", "\\pm", "\\mp") and before in SIGN_FOLLOWS:
                parts.append(self.atom().replace("<mo", '<mo form="prefix"', 1))
                before = token
                continue
            before = token
            if token in ("}", "&", "\\\\", "\\end", "\\right"):
                raise NotSet(f"an unexpected {token}")
            parts.append(self.scripted())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"

    def scripted(self):
        """One atom with its sub- and superscripts; behind a function's name, space."""
        function = self.peek() == "\\operatorname" or (self.peek() or "")[1:] in NAMED | LIMITS
        made = self.atom_with_scripts()
        return f"<mrow>{made}{GAP}</mrow>" if function and self.argument_follows() else made

    def argument_follows(self):
        """Whether what comes is an argument without parentheses: in log x, not in log(x)."""
        token = self.peek()
        if token is None or not token.startswith("\\"):
            return token is not None and (token.isalnum() or token == "{")
        name = token[1:]
        others = (OPERATORS, SPACES, SIZES, LARGE, "{}|%_", ("\\", "left", "right", "end"))
        return not any(name in other for other in others)

    def atom_with_scripts(self):
        token = self.peek()
        over = token[1:] in LIMITS or (token[1:] in LARGE and token[1:] not in ("int", "oint"))
        over = over or token in ("\\underbrace", "\\overbrace")
        base = NOTHING if token in ("^", "_", "'") else self.atom()
        below = above = mark = None
        while (token := self.peek()) in ("^", "_", "'", "\\limits", "\\nolimits"):
            self.next()
            if token == "_" and below is None:
                below = self.argument()
            elif token == "^" and (above is None or above == mark):
                primes = "" if above is None else mark
                above = f"<mrow>{primes}{self.argument()}</mrow>" if primes else self.argument()
            elif token == "'":
                primes = 1
                while self.peek() == "'":
                    self.next()
                    primes += 1
                mark = _mo("′" * primes)
                above = mark if above is None else f"<mrow>{above}{mark}</mrow>"
            elif token in ("^", "_"):
                raise NotSet(f"two {token} in a row")
        kind = ("munder", "mover", "munderover") if over else ("msub", "msup", "msubsup")
        if below is not None and above is not None:
            return f"<{kind[2]}>{base}{below}{above}</{kind[2]}>"
        if below is not None:
            return f"<{kind[0]}>{base}{below}</{kind[0]}>"
        return base if above is None else f"<{kind[1]}>{base}{above}</{kind[1]}>"

    def argument(self):
        """A group in braces, or one atom; of a number that is its first digit."""
        if (self.peek() or "").isdigit():
            return f"<mn>{escape(self.next())}</mn>"
        return self.group() if self.peek() == "{" else self.atom()

    def group(self):
        self.expect("{")
        body = self.row(stop=("}",))
        self.expect("}")
        return body

    def words(self):
        """The text of a group, spaces included."""
        self.expect("{")
        text, open_ = "", 1
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            open_ += (token == "{") - (token == "}")
            if not open_:
                return text
            if token not in "{}$":
                text += {"\\ ": " ", "~": " "}.get(token, token)
        raise NotSet("} is missing")

    def atom(self):
        token = self.next()
        if token == "{":
            self.at -= 1
            return self.group()
        if token in ("^", "_", "}", "&", "#", "$", "%"):
            raise NotSet(f"an unexpected {token}")
        if token.isdigit() or token == ".":
            while self.at < len(self.tokens) and re.fullmatch(r"[0-9.]", self.tokens[self.at]):
                token += self.tokens[self.at]
                self.at += 1
            return f"<mn>{escape(token)}</mn>"
        if token.startswith("\\"):
            return self.command(token[1:])
        if token == "~":
            return "<mtext>\u00a0</mtext>"
        if token.isalpha():
            return _mi(token)
        return _mo({"-": "−", "*": "∗"}.get(token, token), False if token in "()[]|/" else None)

    def command(self, name):
        if name in GREEK:
            return _mi(GREEK[name])
        if name in OPERATORS:
            if name.endswith("quad"):
                return f"<mtext>{OPERATORS[name]}</mtext>"
            return _mo(OPERATORS[name], False)
        if name in LARGE:
            return _mo(LARGE[name])
        if name in NAMED or name in LIMITS:
            return _mi(name)
        if name in SPACES:
            return f"<mtext>{SPACES[name]}</mtext>"
        if name in STYLES:
            return NOTHING
        if name in SIZES:
            return self.delimiter()
        if name in ("{", "}", "|", "%", "#", "$", "&", "_"):
            return _mo("‖" if name == "|" else name, False)
        if name in ACCENTS:
            accent = _mo(ACCENTS[name], name in ("overline", "widehat", "widetilde"))
            return f'<mover accent="true">{self.argument()}{accent}</mover>'
        if name in FONTS:
            return self.font(name)
        handler = getattr(self, f"command_{name}", None)
        if handler is None:
            raise NotSet(f"the command \\{name} is not known here")
        return handler()

    def font(self, name):
        upper, lower, digits, exceptions = FONTS[name]
        start = self.at
        try:
            text = self.words() if self.peek() == "{" else self.next()
        except NotSet:
            self.at = start
            return self.argument()
        text = "".join(GREEK.get(t[1:], t) if t[:1] == "\\" else t for t in _tokens(text))
        if not re.fullmatch(r"[A-Za-z0-9α-ωΑ-Ω]+", text):
            self.at = start  # a longer expression: set as it is
            return self.argument()
        made = ""
        for c in text:
            if c in exceptions:
                made += exceptions[c]
            elif c.isascii() and c.isupper():
                made += chr(upper + ord(c) - ord("A"))
            elif c.isascii() and c.islower():
                made += chr(lower + ord(c) - ord("a"))
            elif c.isdigit() and digits:
                made += chr(digits + int(c))
            elif name in ("mathbf", "boldsymbol", "bm") and not c.isascii():
                first = "α" if c >= "α" else "Α"
                made += chr(BOLD_GREEK[first] + ord(c) - ord(first))
            else:
                made += c
        return _mi(made)

    def delimiter(self, stretchy=None):
        token = self.next()
        named = {"\\{": "{", "\\}": "}", "\\|": "‖", ".": "", "<": "⟨", ">": "⟩"}
        if token.startswith("\\") and token[1:] in OPERATORS:
            token = OPERATORS[token[1:]]
        token = named.get(token, token)
        if len(token) > 1:
            raise NotSet(f"{token} is no delimiter")
        return _mo(token, stretchy) if token else NOTHING

    def command_left(self):
        left = self.delimiter(True)
        body = ""
        while True:
            body += self.row(stop=("\\right", "\\middle"))
            if self.next() == "\\right":
                return f"<mrow>{left}{body}{self.delimiter(True)}</mrow>"
            body += self.delimiter(True)

    def command_frac(self):
        above, below = self.argument(), self.argument()
        return f"<mfrac>{above}{below}</mfrac>"

    command_dfrac = command_tfrac = command_frac

    def command_binom(self):
        above, below = self.argument(), self.argument()
        return f'<mrow><mo>(</mo><mfrac linethickness="0">{above}{below}</mfrac><mo>)</mo></mrow>'

    def command_sqrt(self):
        if self.peek() == "[":
            self.next()
            degree = self.row(stop=("]",))
            self.expect("]")
            return f"<mroot>{self.argument()}{degree}</mroot>"
        return f"<msqrt>{self.argument()}</msqrt>"

    def command_text(self):
        words = self.words().replace(" ", "\u00a0")  # spaces at the ends would be dropped
        return f"<mtext>{escape(words)}</mtext>"

    command_mbox = command_textrm = command_textbf = command_textit = command_texttt = command_text

    def command_mathrm(self):
        return f'<mi mathvariant="normal">{escape(self.words())}</mi>'

    command_mathit = command_mathrm

    def command_operatorname(self):
        if self.peek() == "*":
            self.next()
        return f"<mi>{escape(self.words())}</mi>"

    def command_underbrace(self):
        return f"<munder>{self.argument()}{_mo('⏟', True)}</munder>"

    def command_overbrace(self):
        return f"<mover>{self.argument()}{_mo('⏞', True)}</mover>"

    def command_phantom(self):
        self.argument()
        return "<mspace width='0.8em'></mspace>"

    def command_underline(self):
        return f"<munder>{self.argument()}{_mo('_', True)}</munder>"

    def command_overset(self):
        above, base = self.argument(), self.argument()
        return f"<mover>{base}{above}</mover>"

    command_stackrel = command_overset

    def command_underset(self):
        below, base = self.argument(), self.argument()
        return f"<munder>{base}{below}</munder>"

    def command_substack(self):
        self.expect("{")
        rows = [[self.row(stop=("\\\\", "}"))]]
        while self.next() == "\\\\":
            rows.append([self.row(stop=("\\\\", "}"))])
        return _table(rows)

    def command_not(self):
        token = self.next()
        text = OPERATORS.get(token[1:], token) if token.startswith("\\") else token
        if len(text) != 1:
            raise NotSet("\\not must precede a relation")
        return _mo(text + "\u0338")

    def command_pmod(self):
        return (
            f"<mrow><mo>(</mo><mi>mod</mi><mtext>\u2009</mtext>{self.argument()}<mo>)</mo></mrow>"
        )

    def command_tag(self):
        return f"<mtext>\u2003({escape(self.words())})</mtext>"

    def command_label(self):
        self.words()
        return NOTHING

    def command_begin(self):
        name = self.words()
        if name not in MATRICES and name not in ALIGNED:
            raise NotSet(f"the environment {name} is not known here")
        if name == "array" and self.peek() == "{":
            self.words()
        rows, cells = [], []
        stop = ("&", "\\\\", "\\end", "\\hline")
        while True:
            cells.append(self.row(stop=stop))
            token = self.next()
            if token == "&":
                continue
            if token == "\\hline":
                cells.pop()
                continue
            rows.append(cells)
            cells = []
            if token == "\\end":
                break
            if self.peek() == "[":
                while self.next() != "]":
                    pass
        if self.words() != name:
            raise NotSet(f"the environment {name} does not end")
        if rows and rows[-1] == [NOTHING]:
            rows.pop()
        if name in ALIGNED:
            return _table(rows, how="aligned")
        left, right = MATRICES[name]
        return _table(rows, left, right, how="cases" if name == "cases" else "center")

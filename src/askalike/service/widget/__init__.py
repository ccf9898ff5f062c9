"""The widget: a script for pages of any site, which shows similar questions below a field."""

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

SCRIPTS = files("askalike.service.widget")
SPACED_OPERATOR = re.compile(r"""("[^"\n]*"|`[^`]*`|/\S+/u)| *(=>|[=?:,{}()&|<>%;]+|[+-](?! *[+-])) *""")
"""A literal, which is kept, or an operator with the spaces around it."""
TRUTH = re.compile(r"""("[^"\n]*"|`[^`]*`)|\b(?:(true)|false)\b""")
"""A literal, which is kept, or a truth value, for which `!0` and `!1` are shorter."""
ONE_PARAMETER = re.compile(r"(?<=\W)\((\w+)\)=>")
NEEDLESS_BREAK = re.compile(r",?\n(?=[\]}):;])|([\[{(,;=>&|])\n")
"""A line break that does not end a statement, and a comma that nothing follows; the other breaks are kept."""


def formula_files() -> dict[str, Traversable]:
    """Return the files that draw formulas, by their paths below the folder of `widget.js`: a script and KaTeX."""
    vendor = files("askalike.service.pages") / "static" / "vendor" / "katex"
    katex = {f"static/vendor/katex/{name}": vendor / name for name in ("katex.min.js", "katex.LICENSE")}
    return {"formulas.js": SCRIPTS / "formulas.js", **katex}


def build_widget(source: Traversable) -> str:
    """Return a script for a page of any site, in a scope of its own: the list of similar questions, then `source`.

    source: what this widget asks for, and what it tells, by means of the functions in `suggestions.js`.
    """
    shared = (SCRIPTS / "suggestions.js").read_text(encoding="utf-8")
    return f"(() => {{\n{shared}\n{source.read_text(encoding='utf-8')}}})()\n"


@cache
def load_script() -> bytes:
    """Return the minified script: without comments, and needless white space and brackets."""
    text = build_widget(SCRIPTS / "widget.js")
    lines = (line.strip() for line in text.splitlines())
    script = "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))
    script = SPACED_OPERATOR.sub(lambda match: match[1] or match[2], script)
    script = TRUTH.sub(lambda match: match[1] or ("!0" if match[2] else "!1"), script)
    return ONE_PARAMETER.sub(r"\1=>", NEEDLESS_BREAK.sub(r"\1", script)).encode()

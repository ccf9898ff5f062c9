"""Scripts for pages of any site: a field with a list of similar questions, which widgets share."""

from importlib.resources import files
from importlib.resources.abc import Traversable

SCRIPTS = files("askalike.service") / "static"


def build_widget(source: Traversable) -> str:
    """Return a script for a page of any site, in a scope of its own: the list of similar questions, then `source`.

    source: what this widget asks for, and what it tells, by means of the functions in `static/suggestions.js`.
    """
    shared = (SCRIPTS / "suggestions.js").read_text(encoding="utf-8")
    return f"(() => {{\n{shared}\n{source.read_text(encoding='utf-8')}}})()\n"

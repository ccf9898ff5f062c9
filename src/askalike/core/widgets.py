"""Scripts that put a list of similar questions below a field of any page."""

from importlib.resources import files
from importlib.resources.abc import Traversable


def build_widget(source: Traversable) -> str:
    """Return a widget's script: the list below a field, which all widgets share, then what this one asks and tells."""
    shared = (files("askalike.core") / "suggestions.js").read_text(encoding="utf-8")
    return f"(() => {{\n{shared}\n{source.read_text(encoding='utf-8')}}})()\n"

"""Pages from templates: one HTML file each, with inline style and script, and all text escaped."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askalike.plugin.commands import format_count

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def render(template: Path, **values: Any) -> str:
    """Return the page that a template renders from the values; it may extend those of this folder."""
    return _environment(template.parent).get_template(template.name).render(values)


@cache
def _environment(folder: Path) -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([folder, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"plain": format_plain, "counted": format_count}
    return environment


def format_plain(value: Any) -> str:
    """Return a value of provenance or settings as plain text."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {format_plain(each)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(format_plain, value))
    return f"{value:.1f}" if isinstance(value, float) and abs(value) >= 10 else str(value)

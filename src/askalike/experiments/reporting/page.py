"""Pages from templates: one file each, style and script inside, every text escaped."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askalike.errors import InputError

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **values: Any) -> str:
    """The page that a template makes of the values."""
    return _environment().get_template(template).render(values)


def write_file(path: Path, text: str) -> Path:
    """Writes a text so that the file appears whole or not at all. Raises InputError where it cannot."""
    partial = path.with_name(f".{path.name}.part")
    try:
        partial.write_text(text, encoding="utf-8", errors="replace")
        partial.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    return path


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["plain"] = format_plain
    return environment


def format_plain(value: Any) -> str:
    """A value of provenance or settings as a person reads it."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {format_plain(each)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(format_plain, value))
    return f"{value:.1f}" if isinstance(value, float) and abs(value) >= 10 else str(value)

"""Writes the page of all settings, docs/settings.md, from the settings classes.

python tools/write_settings.py           writes the page
python tools/write_settings.py --check   writes nothing; exits with 1 if page and code differ
"""

import importlib
import re
import sys
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from askalike.core import registry
from askalike.core.config import Settings

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
HEAD = """# Settings

Every setting with its type, default and meaning, generated from the code by `python tools/write_settings.py`. On the
command line a setting is `--set KEY=VALUE`; in an [experiment](../packages/research/docs/experiments.md) it is a key of
`settings`; in Python a dictionary: `askalike.build("bm25", {"k1": 0.9})`. A setting of one part of a
[hybrid](vectors.md) is `PART.KEY`, as in `--set bm25.k1=0.9`; one of a recipe's table is `TABLE.KEY`, as in
`--set training.epochs=3`. An unknown key or a wrong value is an error that names the valid ones.
"""
KINDS = {
    "similarity": "The own settings of each lexical ranker. See [Similarities](researcher.md#similarities).",
    "ranker": "Lexical rankers also take the settings of *lexical*; `static`, `pretrained` and trained models take "
    "those of *dense* as well. See [Better hits](vectors.md).",
    "encoder": "See [Better hits](vectors.md). Those of encoders that are trained: "
    "[Settings of training](../packages/learning/docs/settings.md).",
    "features": "What networks read: keys of a recipe's table `[features]`; the network decides which kind applies.",
}
"""Kind of the registry with settings → the text below its heading."""
RECORDS = {("encoder", "lookup")}
"""Settings that are stored with a model, and not set by users."""
HEADINGS = {"similarity": "Similarities", "features": "Features", "loss": "Losses"}
"""Headings that are no kind's name with an s."""
OTHERS = {
    "The command distil": ("askalike.learning.distil", "Settings of `askalike distil`."),
    "The command serve": (
        "askalike.service.settings",
        "`askalike serve --set KEY=VALUE`. See [The service](service.md).",
    ),
}


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([HEAD, *sections("askalike", KINDS, OTHERS)])


def sections(package: str, kinds: Mapping[str, str], others: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Yield the tables of a package's entries of these kinds, and those of other modules.

    kinds: kind → the text below its heading. others: heading → module, and the text below the heading.
    """
    for kind, note in kinds.items():
        yield f"## {HEADINGS.get(kind, kind.capitalize() + 's')}\n\n{note}\n"
        for name in registry.names(kind):
            entry = registry.load(kind, name)
            if (kind, name) in RECORDS or not entry.__module__.startswith(f"{package}."):
                continue
            of_file = _models(entry.__module__)[-1:] if name in registry.builtin_names(kind) else [entry.Settings]
            for model in of_file:
                yield from _table(name, model)
    for heading, (module, note) in others.items():
        yield f"## {heading}\n\n{note}\n" if note else f"## {heading}\n"
        for model in _models(module):
            yield from _table(_table_name(model), model)


def _models(module: str) -> list[type[Settings]]:
    """Return the settings classes of a module that have settings; the last one derives from those before it."""
    classes = vars(importlib.import_module(module)).values()
    own = [c for c in classes if isinstance(c, type) and issubclass(c, Settings) and c.__module__ == module]
    return [model for model in own if model.model_fields]


def _table_name(model: type[Settings]) -> str:
    name = model.__name__.removesuffix("Settings").removesuffix("Learning")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower().replace("embedding", "embeddings")


def _table(name: str, model: type[Settings]) -> Iterator[str]:
    yield f"### {name}\n\n| setting | type | default | meaning |\n|---|---|---|---|"
    for key, field in model.model_fields.items():
        shown = (f"`{field.validation_alias or key}`", _type(field.annotation), default_of(field), _meaning(model, key))
        yield "| " + " | ".join(text.replace("|", "\\|") for text in shown) + " |"
    yield ""


def _meaning(model: type[Settings], key: str) -> str:
    """Return the description of a setting, which a subclass with another default does not repeat."""
    fields = (base.model_fields.get(key) for base in model.__mro__ if issubclass(base, Settings))
    return next((field.description for field in fields if field and field.description), "")


def _type(annotation: Any) -> str:
    """Return an annotation in words: `Literal["a", "b"]` as its values, a class by its name."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(inner[0])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin in (Union, types.UnionType):
        return " or ".join(_type(part) for part in inner if part is not types.NoneType)
    if annotation in NAMES:
        return NAMES[annotation]
    if inner:
        return f"list of {_type(inner[0])}" if origin in (tuple, list) else "table"
    return "table" if isinstance(annotation, type) and issubclass(annotation, Settings) else "value"


NAMES = {bool: "true, false", int: "integer", float: "number", str: "text", Path: "path"}


def default_of(field: FieldInfo) -> str:
    """Return the default of a setting as it is shown."""
    value = field.get_default(call_default_factory=True)
    return "required" if value is PydanticUndefined else show(value)


def show(value: Any) -> str:
    """Return a value as it is shown."""
    if value is None or value in ((), "", {}) or isinstance(value, Settings):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def names_of(page: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each heading of a page that has settings, with their names."""
    heading, keys = "", []
    for line in [*page.splitlines(), "# end"]:
        if line.startswith("#"):
            if keys:
                yield heading, keys
            heading, keys = line.strip("# "), []
        elif line.startswith("| `"):
            keys.append(line.split("`")[1])


def main(page: str, path: Path) -> None:
    """Write a page, or exit with 1 if it differs from the file and `--check` is given."""
    if "--check" not in sys.argv:
        path.write_text(page, encoding="utf-8")
    elif path.read_text(encoding="utf-8") != page:
        sys.exit(f"{path.name} differs; run this without --check")


if __name__ == "__main__":
    main(page(), PAGE)

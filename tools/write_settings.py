"""Writes the page of all settings, docs/settings.md, from the settings classes.

python tools/write_settings.py           writes the page
python tools/write_settings.py --check   writes nothing; exits with 1 if page and code differ
"""

import importlib
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from askalike.core import registry
from askalike.core.config import Settings
from askalike.learning.recipe_files import list_recipes, read_recipe
from askalike.learning.recipes import TABLE_NAMES, Recipe

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
HEAD = """# Settings

Every setting with its type, default and meaning, generated from the code by `python tools/write_settings.py`. On the
command line a setting is `--set KEY=VALUE`; in an [experiment](experiments.md) it is a key of `settings`; in Python a
dictionary: `askalike.build("bm25", {"k1": 0.9})`. A setting of one part of a [hybrid](vectors.md) is `PART.KEY`, as
in `--set bm25.k1=0.9`; one of a recipe's table is `TABLE.KEY`, as in `--set training.epochs=3`. An unknown key or a
wrong value is an error that names the valid ones.
"""
KINDS = {
    "similarity": "The own settings of each lexical ranker. See [Similarities](similarities.md).",
    "ranker": "Lexical rankers also take the settings of *lexical*; `static`, `pretrained` and trained models take "
    "those of *dense* as well. See [Vectors and hybrids](vectors.md).",
    "encoder": "See [Vectors](vectors.md) and [Trained encoders](encoders.md).",
    "network": "Keys of the table `[network]` of a recipe, by its `name`. See [Trained encoders](encoders.md).",
    "features": "Keys of the table `[features]`; the network decides which kind applies.",
    "loss": "Keys of the table `[loss]` of a recipe, by its `name`.",
}
"""Kind of the registry with settings → the text below its heading."""
RECORDS = {("encoder", "lookup")}
"""Settings that are stored with a model, and not set by users."""
HEADINGS = {"similarity": "Similarities", "features": "Features", "loss": "Losses"}
OTHERS = {
    "Distillation": ("askalike.learning.distil", "Settings of `askalike distil`."),
    "Tables of recipes": ("askalike.learning.recipes", "All recipes share them."),
    "Service": ("askalike.service.settings", "`askalike serve --set KEY=VALUE`. See [The service](service.md)."),
}
RECIPES = """## Recipes

`askalike train --recipe NAME` begins with the values of a recipe; `--set TABLE.KEY=VALUE` changes one. The tables list
each value that differs from the default above. See [Trained encoders](encoders.md).
"""


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([HEAD, *_sections(), RECIPES, *_recipes()])


def _sections() -> Iterator[str]:
    for kind, note in KINDS.items():
        yield f"## {HEADINGS.get(kind, kind.capitalize() + 's')}\n\n{note}\n"
        for name in registry.names(kind):
            entry = registry.load(kind, name)
            if (kind, name) in RECORDS or not entry.__module__.startswith("askalike."):
                continue
            of_file = _models(entry.__module__)[-1:] if name in registry.builtin_names(kind) else [entry.Settings]
            for model in of_file:
                yield from _table(name, model)
    for heading, (module, note) in OTHERS.items():
        yield f"## {heading}\n\n{note}\n" if note else f"## {heading}\n"
        for model in _models(module):
            yield from _table(_table_name(model), model)


def _recipes() -> Iterator[str]:
    """Yield a table for each packaged recipe, with its values that differ from the defaults."""
    for name in list_recipes():
        text = read_recipe(name)
        if "[network]" not in text:
            continue
        recipe, summary = Recipe.read(name), text.splitlines()[0].removeprefix("# ")
        yield f"### `--recipe {name}`\n\n{summary}\n\n| setting | value | default |\n|---|---|---|"
        yield f"| `network.name` | {recipe.name} | |\n| `loss.name` | {recipe.loss_name} | |"
        for table in TABLE_NAMES:
            settings = getattr(recipe, table)
            for key, field in type(settings).model_fields.items():
                value, default = _show(getattr(settings, key)), _default(field)
                if value != default:
                    yield f"| `{table}.{field.validation_alias or key}` | {value} | {default} |"
        yield ""


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
        shown = (f"`{field.validation_alias or key}`", _type(field.annotation), _default(field), _meaning(model, key))
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


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    return "required" if value is PydanticUndefined else _show(value)


def _show(value: Any) -> str:
    if value is None or value in ((), "", {}) or isinstance(value, Settings):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else f"{value}"


if __name__ == "__main__":
    text = page()
    if "--check" in sys.argv:
        sys.exit(
            0 if PAGE.read_text(encoding="utf-8") == text else "docs/settings.md differs; run this without --check"
        )
    PAGE.write_text(text, encoding="utf-8")

"""Writes the page of the settings of training, docs/settings.md of this package, from the settings classes.

python packages/learning/tools/write_training_settings.py           writes the page
python packages/learning/tools/write_training_settings.py --check   writes nothing; exits with 1 if page and code differ
"""

import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PACKAGE.parents[1] / "tools"))

from write_settings import default_of, main, sections, show  # noqa: E402

from askalike_learning.recipe_files import list_recipes, read_recipe  # noqa: E402
from askalike_learning.recipes import TABLE_NAMES, Recipe  # noqa: E402

PAGE = PACKAGE / "docs" / "settings.md"
HEAD = """# Settings of training

Every setting of networks, losses and recipes with its type, default and meaning, generated from the code by
`python packages/learning/tools/write_training_settings.py`. One of a recipe's table is `TABLE.KEY`, as in
`--set training.epochs=3`, or `KEY` if only one table has it. See [Trained encoders](encoders.md), and
[Settings](../../../docs/settings.md) for the features `hashed_ngrams`.
"""
KINDS = {
    "features": "What networks read: keys of the table `[features]` of a recipe; the network decides on the kind.",
    "encoder": "See [Trained encoders](encoders.md).",
    "network": "Keys of the table `[network]` of a recipe, by its `name`. See [Trained encoders](encoders.md).",
    "loss": "Keys of the table `[loss]` of a recipe, by its `name`.",
}
OTHERS = {"Tables of recipes": ("askalike_learning.recipes", "All recipes share them.")}
RECIPES = """## Recipes

`askalike train --recipe NAME` begins with the values of a recipe; `--set TABLE.KEY=VALUE` changes one. The tables list
each value that differs from the default above. See [Trained encoders](encoders.md).
"""


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([HEAD, *sections("askalike_learning", KINDS, OTHERS), RECIPES, *_recipes()])


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
                value, default = show(getattr(settings, key)), default_of(field)
                if value != default:
                    yield f"| `{table}.{field.validation_alias or key}` | {value} | {default} |"
        yield ""


if __name__ == "__main__":
    main(page(), PAGE)

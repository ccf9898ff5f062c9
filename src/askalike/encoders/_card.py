"""A model's card: what it is, what it was taught, how good it was on dev, and under which licence its data stand."""

from collections.abc import Mapping, Sequence
from typing import Any

from askalike.encoders._provenance import describe_held_out_splits, describe_licence, read_metadata
from askalike.encoders._recipe import Recipe
from askalike.store.view import View
from askalike.training.checkpoint import Epoch


def render_card(
    name: str, recipe: Recipe, trained: Mapping[str, Any], view: View, epochs: Sequence[Epoch], coverage: str
) -> str:
    """The card as Markdown."""
    lines = [
        f"# {name}",
        "",
        f"A `{recipe.name}` network, trained by askalike on the archive {read_metadata(view).get('name', view.archive)!r}. "
        f"All its settings are in `model.toml`; it has {trained['parameters']:,} parameters.",
        "",
        "## Data",
        "",
        f"- {_describe_training_data(recipe, trained['pairs'])}, at change {view.change}{describe_held_out_splits(view)}.",
        f"- Licence of the archive's texts: {describe_licence(view)}. The model is made from them.",
        *([f"- {coverage[0].upper()}{coverage[1:]}."] if coverage else []),
        "",
        "## Measures",
        "",
        f"{trained['measure']} on {trained['dev_queries']} dev queries over {trained['dev_documents']} documents. The "
        f"best epoch, {trained['best_epoch']}, was chosen by them: they are no test. For one: "
        f"`askalike evaluate ARCHIVE --ranker {name}`.",
        "",
        f"| epoch | loss | {trained['measure']} | examples a second |",
        "|---|---|---|---|",
        *(f"| {e.number} | {e.loss:.4f} | {100 * e.value:.1f} | {e.examples_per_second:,.0f} |" for e in epochs),
        "",
    ]
    return "\n".join(lines)


def _describe_training_data(recipe: Recipe, pairs: int) -> str:
    teacher = recipe.teacher
    if not teacher.encoder:
        return f"{pairs} pairs by the signals {', '.join(recipe.data.signals)}"
    spared = f", none of the queries of {', '.join(teacher.not_taught)}" if teacher.not_taught else ""
    name = " ".join(filter(None, (teacher.encoder, teacher.model)))
    return f"{pairs} texts, whole and unfinished, as the encoder {name} has them, and what it has seen{spared}"

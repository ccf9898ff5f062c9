"""The card of a trained network: its data, its measures, and the licence of what it was made from."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from askalike import Archive, View
from askalike.plugin.models import CARD_FILE, LearnedLabels, describe_licence, describe_name, find_model
from askalike.plugin.training import format_count, unlearned_splits
from askalike_learning.checkpoint import Epoch
from askalike_learning.recipes import Recipe


def render_card(
    name: str,
    recipe: Recipe,
    trained: Mapping[str, Any],
    view: View,
    learned: LearnedLabels,
    epochs: Sequence[Epoch],
    coverage: str,
) -> str:
    """Return the card of a trained network as Markdown. trained: the table of that name in model.toml."""
    data = f"{format_count(trained['pairs'], 'pair')} by the signals {', '.join(recipe.data.signals)}"
    held_out = f"; hidden from training: {', '.join(view.held_out_splits)}" if view.held_out_splits else ""
    parts = [
        f"# {name}",
        f"A `{recipe.name}` network, trained by askalike on the archive {describe_name(view)!r}. "
        f"All its settings are in `model.toml`; it has {trained['parameters']:,} parameters.",
        f"## Data\n\n- {data}, at change {view.change}{held_out}.\n{describe_licence(view)}"
        + (f"\n- {coverage[0].upper()}{coverage[1:]}." if coverage else "")
        + _describe_base(getattr(recipe.network, "encoder", "")),
        "## Measures",
        f"{trained['measure']} on {format_count(trained['dev_queries'], 'dev query')} over "
        f"{format_count(trained['dev_documents'], 'document')}. The best epoch, {trained['best_epoch']}, was chosen by "
        f"them, so they are not a test. {_describe_test(name, view, learned)}",
        f"| epoch | loss | {trained['measure']} | examples a second |\n|---|---|---|---|",
    ]
    rows = (f"| {e.number} | {e.loss:.4f} | {e.value:.4f} | {e.examples_per_second:,.0f} |\n" for e in epochs)
    return "\n\n".join(parts) + "\n" + "".join(rows)


def _describe_test(name: str, view: View, learned: LearnedLabels) -> str:
    """Return how to evaluate the model on labels that it was not trained on."""
    with Archive.open(view.path) as archive:
        tests = unlearned_splits(learned, archive)
    if tests:
        return f"For one: `askalike evaluate ARCHIVE --ranker {name} --split {tests[0]}`."
    return "The model has learned from every split of the archive: make a new one (`askalike split`) and train again."


def _describe_base(base: str) -> str:
    """Return the pre-trained model that a network was initialised from, with the licence that its own card states."""
    if not base:
        return ""
    card = find_model(base, "network.encoder") / CARD_FILE
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    stated = re.search(r"^license: *[\"']?([^\"'\n]+)", text, re.MULTILINE)
    licence = f"licence as stated by its card: {stated[1].strip()}" if stated else "its files state no licence"
    return f"\n- It began as the pre-trained model {base!r}; {licence}."

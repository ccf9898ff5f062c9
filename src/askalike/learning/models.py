"""The folder of a trained model: its description, and its card, with the licence of the data that it was made from."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askalike.core.config import Tables
from askalike.core.files import replace_folder
from askalike.core.model_folders import LearnedLabels, find_model
from askalike.core.values import format_count
from askalike.encoders import MODEL_FILE
from askalike.labels.splits import unlearned_splits
from askalike.learning.recipes import Recipe, format_toml
from askalike.store import Archive, View, count_questions_by

if TYPE_CHECKING:  # it needs torch, which models trained on texts alone do not need
    from askalike.learning.checkpoint import Epoch

CARD_FILE = "README.md"


def partial_folder(folder: Path) -> Path:
    """Return the folder of a model's checkpoint, until its training is finished."""
    return folder.with_name(f".training-{folder.name}")


@contextmanager
def write_text_model(folder: Path, encoder: str, tables: Tables, view: View) -> Iterator[Path]:
    """Write a model of a view's texts to `folder`, atomically. The context writes its files into the folder yielded.

    encoder: the registered name of the encoder that opens it. tables: those of model.toml.
    """
    trained = {"texts": len(view), "change": view.change, "trained_until": view.latest_date}
    with replace_folder(folder) as new:
        yield new
        (new / CARD_FILE).write_text(_render_text_model_card(folder.name, encoder, view), encoding="utf-8")
        toml = format_toml({**tables, "trained": trained})
        (new / MODEL_FILE).write_text(f'encoder = "{encoder}"\n\n{toml}', encoding="utf-8")


def render_card(
    name: str,
    recipe: Recipe,
    trained: Mapping[str, Any],
    view: View,
    learned: LearnedLabels,
    epochs: "Sequence[Epoch]",
    coverage: str,
) -> str:
    """Return the card of a trained network as Markdown. trained: the table of that name in model.toml."""
    data = f"{format_count(trained['pairs'], 'pair')} by the signals {', '.join(recipe.data.signals)}"
    held_out = f"; hidden from training: {', '.join(view.held_out_splits)}" if view.held_out_splits else ""
    parts = [
        f"# {name}",
        f"A `{recipe.name}` network, trained by askalike on the archive {_archive_name(view)!r}. "
        f"All its settings are in `model.toml`; it has {trained['parameters']:,} parameters.",
        f"## Data\n\n- {data}, at change {view.change}{held_out}.\n{_describe_licence(view)}"
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


def _render_text_model_card(name: str, kind: str, view: View) -> str:
    """Return the card of a model trained on texts alone as Markdown."""
    return (
        f"# {name}\n\nA `{kind}` model of the texts of the archive {_archive_name(view)!r}, made by askalike. "
        f"All its settings are in `model.toml`.\n\n## Data\n\n- The texts of {len(view)} questions, at change "
        f"{view.change}; no labels were read.\n{_describe_licence(view)}\n"
    )


def _describe_test(name: str, view: View, learned: LearnedLabels) -> str:
    """Return how to evaluate the model on labels that it was not trained on."""
    with Archive.open(view.path) as archive:
        tests = unlearned_splits(learned, archive)
    if tests:
        return f"For one: `askalike evaluate ARCHIVE --ranker {name} --split {tests[0]}`."
    return "The model has learned from every split of the archive: make a new one (`askalike split`) and train again."


def _archive_name(view: View) -> str:
    name = view.meta.get("name")
    return name if isinstance(name, str) else str(view.path)


def _describe_licence(view: View) -> str:
    licences = ", ".join(
        f"{name} ({format_count(n, 'question')})" for name, n in count_questions_by(view, "license", 5).items()
    )
    licences = licences or view.meta.get("license") or "not stated"
    return f"- Licence of the archive's texts: {licences}. The model is made from them."


def _describe_base(base: str) -> str:
    """Return the pre-trained model that a network was initialised from, with the licence that its own card states."""
    if not base:
        return ""
    card = find_model(base, "network.encoder") / CARD_FILE
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    stated = re.search(r"^license: *[\"']?([^\"'\n]+)", text, re.MULTILINE)
    licence = f"licence as stated by its card: {stated[1].strip()}" if stated else "its files state no licence"
    return f"\n- It began as the pre-trained model {base!r}; {licence}."

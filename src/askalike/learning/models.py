"""The folder of a trained model: its description, and its card, with the licence of the data that it was made from."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tomli_w

from askalike.core.config import Tables
from askalike.core.files import replace_folder
from askalike.core.values import format_count
from askalike.encoders import MODEL_FILE
from askalike.store import View, count_questions_by

CARD_FILE = "README.md"


def partial_folder(folder: Path) -> Path:
    """Return the folder of a model's checkpoint, until its training is finished."""
    return folder.with_name(f".training-{folder.name}")


def format_toml(tables: Tables) -> str:
    """Return tables as TOML; None values are left out."""
    return tomli_w.dumps({t: {k: v for k, v in row.items() if v is not None} for t, row in tables.items()})


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


def _render_text_model_card(name: str, kind: str, view: View) -> str:
    """Return the card of a model trained on texts alone as Markdown."""
    return (
        f"# {name}\n\nA `{kind}` model of the texts of the archive {describe_name(view)!r}, made by askalike. "
        f"All its settings are in `model.toml`.\n\n## Data\n\n- The texts of {len(view)} questions, at change "
        f"{view.change}; no labels were read.\n{describe_licence(view)}\n"
    )


def describe_name(view: View) -> str:
    """Return the name of a view's archive, else its directory."""
    name = view.meta.get("name")
    return name if isinstance(name, str) else str(view.path)


def describe_licence(view: View) -> str:
    """Return a line of a card on the licence of the texts that a model is made from."""
    licences = ", ".join(
        f"{name} ({format_count(n, 'question')})" for name, n in count_questions_by(view, "license", 5).items()
    )
    licences = licences or view.meta.get("license") or "not stated"
    return f"- Licence of the archive's texts: {licences}. The model is made from them."

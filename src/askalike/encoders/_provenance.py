"""Where a model's knowledge comes from, as its card and its description say it."""

from askalike.store.statistics import count_questions_by
from askalike.store.view import View

CARD_FILE = "README.md"


def find_latest_date(view: View) -> str | None:
    """The date of the view's latest text or link."""
    return view.latest_date


def find_change_date(view: View, change: int) -> str | None:
    """When a change was made, which tells archives apart; empty where that is not known, None where it is not there."""
    return view.change_date(change)


def read_metadata(view: View) -> dict[str, str]:
    """What is stored about the whole archive, as far as it is text."""
    return {key: value for key, value in view.meta.items() if isinstance(value, str)}


def describe_held_out_splits(view: View) -> str:
    """The splits that nothing was learned from, as the end of a sentence."""
    return f"; hidden from training: {', '.join(view.held_out_splits)}" if view.held_out_splits else ""


def describe_licence(view: View) -> str:
    """Under which licences the archive's texts stand."""
    counts = count_questions_by(view, "license", 5)
    stated = ", ".join(f"{name} ({n} questions)" for name, n in counts.items())
    return stated or read_metadata(view).get("license") or "none is stated"


def render_text_model_card(name: str, kind: str, view: View) -> str:
    """The card of a model that has learned from texts alone, as Markdown."""
    lines = [
        f"# {name}",
        "",
        f"A `{kind}` model of the texts of the archive {read_metadata(view).get('name', view.archive)!r}, made by askalike. "
        "All its settings are in `model.toml`.",
        "",
        "## Data",
        "",
        f"- The texts of {len(view)} questions, at change {view.change}; no label was read.",
        f"- Licence of the archive's texts: {describe_licence(view)}. The model is made from them.",
        "",
    ]
    return "\n".join(lines)

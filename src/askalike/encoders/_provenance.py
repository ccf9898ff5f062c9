"""Where a model's knowledge comes from, as its card and its description say it."""

from askalike.archive.view import View

CARD = "README.md"


def latest(view: View) -> str | None:
    """The date of the view's latest text or link."""
    tables = " UNION ALL ".join(f"SELECT created_at FROM {table}" for table in ("questions", "answers", "links"))
    row = view.connection.execute(
        f"SELECT MAX(created_at) FROM ({tables}) WHERE created_at < COALESCE(?, '9999')", (view.before,)
    )
    return row.fetchone()[0]  # type: ignore[no-any-return]


def made_at(view: View, change: int) -> str | None:
    """When a change was made, which tells archives apart; empty where that is not known, None where it is not there."""
    row = view.connection.execute("SELECT made_at FROM changes WHERE number = ?", (change,)).fetchone()
    return (row[0] or "") if row else None


def meta(view: View) -> dict[str, str]:
    """What is stored about the whole archive, as far as it is text."""
    return dict(
        view.connection.execute("SELECT key, json_extract(value, '$') FROM meta WHERE json_type(value) = 'text'")
    )


def hidden(view: View) -> str:
    """The splits that nothing was learned from, as the end of a sentence."""
    return f"; hidden from training: {', '.join(view.hidden)}" if view.hidden else ""


def licence(view: View) -> str:
    """Under which licences the archive's texts stand."""
    rows = view.connection.execute(
        "SELECT license, COUNT(*) FROM questions WHERE license IS NOT NULL GROUP BY 1 ORDER BY 2 DESC LIMIT 5"
    )
    stated = ", ".join(f"{name} ({n} questions)" for name, n in rows)
    return stated or meta(view).get("license") or "none is stated"


def plain_card(name: str, kind: str, view: View) -> str:
    """The card of a model that has learned from texts alone, as Markdown."""
    lines = [
        f"# {name}",
        "",
        f"A `{kind}` model of the texts of the archive {meta(view).get('name', view.archive)!r}, made by askalike. "
        "All its settings are in `model.toml`.",
        "",
        "## Data",
        "",
        f"- The texts of {len(view)} questions, at change {view.change}; no label was read.",
        f"- Licence of the archive's texts: {licence(view)}. The model is made from them.",
        "",
    ]
    return "\n".join(lines)

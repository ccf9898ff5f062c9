"""How similar questions are shown: as text for a person, as JSON for a program."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from askalike.cli._output import format_score
from askalike.engines import Precedent
from askalike.types import Explanation, SearchHit

MATCH_STYLE = "bold yellow"
MIN_SHOWN_SCORE = 0.005
"""Words that add less to a score are not shown."""
NO_RESULT_MESSAGE = "nothing similar: no question of the archive is like this one"


def matches_as_json(matches: Sequence[SearchHit], model: str, took_ms: float) -> dict[str, Any]:
    """Return the hits in the shape that the HTTP service gives."""
    return {
        "results": [_match_as_json(m) for m in matches],
        "abstained": not matches,
        "model": model,
        "took_ms": round(took_ms, 2),
    }


def _match_as_json(match: SearchHit) -> dict[str, Any]:
    question, reason = match.question, match.explanation or Explanation(match.score)
    return {
        "id": question.id,
        "title": question.title,
        "url": question.url,
        "tags": list(question.tags),
        "snippet": match.snippet,
        "score": match.score,
        "probability": match.probability,
        "calibrated": match.probability is not None,
        "parts": dict(reason.parts),
        "matched": [{"word": c.word, "fields": list(c.fields), "score": c.score} for c in reason.contributions],
    }


def print_matches(
    console: Console,
    matches: Sequence[SearchHit],
    explain: bool,
    calibrated: bool = False,
    precedents: Mapping[str, Sequence[Precedent]] | None = None,
) -> None:
    """Print each match in two lines or three. explain: the words that matched, and its `precedents`, by id, follow."""
    if not matches:
        console.print("nothing similar yet" if calibrated else NO_RESULT_MESSAGE, soft_wrap=True)
        return
    for rank, match in enumerate(matches, 1):
        console.print(
            Text.assemble(
                f"{rank:2}. ", _highlight_title(match), "  ", (format_score(match.score, match.probability), "dim")
            ),
            soft_wrap=True,
        )
        about = " · ".join(x for x in (match.question.id, " ".join(match.question.tags), match.question.url) if x)
        console.print(Text(f"    {about}", "dim"), soft_wrap=True)
        if match.snippet:
            console.print(Text(f"    {match.snippet}"), soft_wrap=True)
        if explain and match.explanation:
            console.print(Text.assemble("    why: ", _format_contributions(match.explanation)), soft_wrap=True)
            if match.explanation.parts:
                console.print(Text(f"    of which: {_format_parts(match.explanation)}", "dim"), soft_wrap=True)
        for precedent in (precedents or {}).get(match.id, ()):
            line = f"    called the same before: {precedent.duplicate.title} = {precedent.original.title}"
            console.print(Text(line, "dim"), soft_wrap=True)


def _highlight_title(match: SearchHit) -> Text:
    """Return the title with the matched words marked."""
    text = Text(match.question.title, "bold")
    reason = match.explanation
    if reason and reason.text.get("title") == match.question.title:
        for span in reason.spans:
            if span.field == "title":
                text.stylize(MATCH_STYLE, span.start, span.end)
    return text


def _format_contributions(explanation: Explanation) -> Text:
    parts: list[str | tuple[str, str]] = []
    for c in explanation.contributions:
        if abs(c.score) >= MIN_SHOWN_SCORE:
            where = f" ({', '.join(c.fields)})" if c.fields else ""
            parts += [(c.word, MATCH_STYLE), f" {c.score:+.2f}{where}", "  "]
    return Text.assemble(*parts[:-1])


def _format_parts(explanation: Explanation) -> str:
    return "  ".join(f"{name} {score:+.2f}" for name, score in explanation.parts.items())

"""Formats of similar questions and answers: text for people, JSON for programs."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from askalike.core import registry
from askalike.core.types import Explanation, SearchHit
from askalike.core.values import format_count
from askalike.search.answering.replies import AnswerSource, Reply
from askalike.search.explain import corrected_words, sum_fields
from askalike.search.precedents import Precedent
from askalike.text.passages import extract_snippet, find_formulas

BAR_LENGTH = 5
"""Length of the bar that shows the similarity of two questions on a scale common to all queries and rankers."""
MATCH_STYLE = "bold yellow"
MIN_SHOWN_SCORE = 0.005
"""Minimum contribution to a score for a word to be shown."""
MAX_ANSWER_CHARACTERS = 600
NO_RESULT_MESSAGE = "nothing similar: no question of the archive is like this one"


def matches_as_json(matches: Sequence[SearchHit], ranker: str, took_ms: float) -> dict[str, Any]:
    """Return the output of `search --json`: the hits, whether there are none, the ranker and the milliseconds."""
    results = [match.as_dict() | _explanation_as_json(match) for match in matches]
    return {"results": results, "abstained": not matches, "ranker": ranker, "took_ms": round(took_ms, 2)}


def _explanation_as_json(match: SearchHit) -> dict[str, Any]:
    reason = match.explanation or Explanation(match.score)
    contributions = [{"word": c.word, "fields": list(c.fields), "score": c.score} for c in reason.contributions]
    return {"parts": dict(reason.parts), "fields": dict(reason.fields), "contributions": contributions}


def reply_as_json(reply: Reply, ranker: str, took_ms: float) -> dict[str, Any]:
    """Return the output of `answer --json`: the text, its sources, the ranker, the model that wrote, milliseconds."""
    return {
        "text": reply.text,
        "generated": reply.generated,
        "grounded": reply.grounded,
        "abstained": reply.abstained,
        "removed_sentences": reply.removed,
        "sources": [_source_as_json(source) for source in reply.sources],
        "ranker": ranker,
        "model": reply.model,
        "took_ms": round(took_ms, 2),
    }


def _source_as_json(source: AnswerSource) -> dict[str, Any]:
    return {
        "id": source.answer.id,
        "text": source.text,
        "question": {"id": source.question.id, "title": source.question.title},
        "author": source.answer.author,
        "license": source.license,
        "url": source.url,
        "score": source.score,
        "probability": source.probability,
        "calibrated": source.probability is not None,
    }


def match_lines(
    matches: Sequence[SearchHit],
    explain: bool,
    precedents: Mapping[str, Sequence[Precedent]],
    verbose: bool = False,
) -> Iterator[Text]:
    """Yield the corrections of misspelt words, then two or three lines per match.

    explain: add the words that matched, and the match's `precedents`, by id. verbose: name the parts of the score as
    rankers are named, instead of words and meaning.
    """
    if corrected := corrected_words(matches):
        yield Text(f"read as: {', '.join(corrected)}", "dim")
    for rank, match in enumerate(matches, 1):
        yield _title_line(rank, _highlight_title(match), match.score, match.probability, match.similarity)
        yield _about_line(match.id, _describe_states(match), " ".join(match.question.tags), match.question.url)
        if match.matched_duplicate:
            yield Text(f"    asked before as: {match.matched_duplicate.title}", "dim")
        if match.snippet:
            yield Text(f"    {match.snippet}")
        if explain and match.explanation:
            yield Text.assemble("    why: ", _format_contributions(match.explanation))
            named = match.explanation.parts if verbose else _sum_parts(match.explanation.parts)
            fields = sum_fields(match.explanation)
            for prefix, shares in (("of which:", named), ("found in:", fields if len(fields) > 1 else {})):
                if listed := "  ".join(f"{name} {score:+.2f}" for name, score in shares.items()):
                    yield Text(f"    {prefix} {listed}", "dim")
        for precedent in precedents.get(match.id, ()):
            titles = f"{precedent.duplicate.title} = {precedent.original.title}"
            yield Text(f"    called the same before: {titles}", "dim")


def _sum_parts(parts: Mapping[str, float]) -> Mapping[str, float]:
    """Return the score that comes from words, from meaning, and from votes."""
    sums: dict[str, float] = defaultdict(float)
    lexical = registry.names("similarity")
    for name, score in parts.items():
        sums["words" if name in lexical else name if name == "votes" else "meaning"] += score
    return sums


def reply_lines(reply: Reply) -> Iterator[Text]:
    """Yield generated text under its label, then the stored answers, each under its question."""
    if reply.generated:
        yield Text(f"GENERATED by {reply.model}: a machine wrote this, and it may be wrong.", "bold red")
        yield Text(reply.text or "")
        if reply.removed:
            yield Text(describe_removed(reply), "dim")
        yield Text("Stored answers that it cites:" if reply.grounded else "Stored answers nearest to it:", "dim")
    for rank, source in enumerate(reply.sources, 1):
        yield _title_line(rank, Text(source.question.title, "bold"), source.score, source.probability)
        yield Text(f"    {extract_snippet(source.text, (), MAX_ANSWER_CHARACTERS)}")
        yield _about_line(source.answer.id, source.answer.author, source.license, source.url)


def describe_removed(reply: Reply) -> str:
    """Return how many sentences of a model were left out."""
    sentences, verb = format_count(reply.removed, "sentence"), "was" if reply.removed == 1 else "were"
    return f"{sentences} of {reply.model} {verb} left out: no stored answer that it cites says so"


def _title_line(
    rank: int, title: Text, score: float, probability: float | None, similarity: float | None = None
) -> Text:
    """Return the title with `83% (12.31)`, or with a bar and `12.31 (uncalibrated)` without a probability."""
    shown = f"{score:.2f} (uncalibrated)" if probability is None else f"{probability:.0%} ({score:.2f})"
    if similarity is not None:
        full = round(similarity * BAR_LENGTH)
        shown = f"{'▰' * full}{'▱' * (BAR_LENGTH - full)} {shown}"
    return Text.assemble(f"{rank:2}. ", title, "  ", (shown, "dim"))


def _describe_states(match: SearchHit) -> str:
    """Return the states of a hit, and when it was solved; empty if it is open."""
    duplicate = f"duplicate of {match.duplicate_of}, which is not here" if match.duplicate_of else None
    states = [state for state in match.question.states if state != "open"]
    return ", ".join(filter(None, (*states, duplicate, match.solution)))


def _about_line(*details: str | None) -> Text:
    return Text(f"    {' · '.join(filter(None, details))}", "dim")


def _highlight_title(match: SearchHit) -> Text:
    text = Text(match.title, "bold")
    if match.explanation and match.explanation.text.get("title") == match.title:
        formulas = find_formulas(match.title)
        for span in match.explanation.spans:
            if span.field == "title" and not any(start < span.end <= end for start, end in formulas):
                text.stylize(MATCH_STYLE, span.start, span.end)
    return text


def _format_contributions(explanation: Explanation) -> Text:
    parts: list[str | tuple[str, str]] = []
    for c in explanation.contributions:
        if abs(c.score) >= MIN_SHOWN_SCORE:
            where = f" ({', '.join(c.fields)})" if c.fields else ""
            parts += [(c.word, MATCH_STYLE), f" {c.score:+.2f}{where}", "  "]
    return Text.assemble(*parts[:-1])

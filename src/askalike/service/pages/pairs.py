"""Two questions side by side: what they have in common, what differs, and why they may ask the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from askalike.core.types import Answer, Question
from askalike.service.pages.display import display_title
from askalike.service.pages.marking import Stretch, compare_texts
from askalike.service.pages.reasons import function_words, summarise_explanation
from askalike.service.state.served_archive import ServedArchive
from askalike.text.clean import TextBlock, readable_blocks, truncate

MAX_SHOWN_BODY_LENGTH = 900
"""Maximum number of characters of a body that are shown."""
AnswersById = Mapping[str, Sequence[Answer]]


@dataclass(frozen=True, slots=True)
class PairSide:
    """One question of a pair, with what it has in common with the other."""

    question: Question
    answers: Sequence[Answer]
    blocks: Sequence[tuple[TextBlock, int]]
    """The parts of its body, each with its place in the text that `stretches` refers to; the title's place is 0."""
    stretches: Sequence[Stretch]
    """Its words and sentences that the other question has too, and those that differ there."""


async def compare_pair(archive: ServedArchive, pair: Sequence[Question], answers: AnswersById) -> dict[str, Any]:
    """Return what a page shows of two questions: their sides, why they may ask the same, and how similar they are."""
    question, other = pair
    explanation, similarity = await archive.run_on_engine(
        lambda engine: (engine.explain(question, [other.id]).get(other.id), engine.similarity(question, other.id))
    )
    why = summarise_explanation(explanation, other.language)
    return {"sides": _build_sides(pair, answers), "why": why, "similarity": similarity}


def _build_sides(pair: Sequence[Question], answers: AnswersById) -> list[PairSide]:
    blocks = [_place_blocks(question) for question in pair]
    texts = [
        "\n".join([display_title(question), *(block.text for block, _ in placed)])
        for question, placed in zip(pair, blocks, strict=True)
    ]
    replies, words = [answers[question.id] for question in pair], function_words(pair[1].language)
    return list(map(PairSide, pair, replies, blocks, compare_texts(texts[0], texts[1], words)))


def _place_blocks(question: Question) -> list[tuple[TextBlock, int]]:
    """Return the first parts of a body, each with its place after the title and the parts before it."""
    placed, at, room = [], len(display_title(question)) + 1, MAX_SHOWN_BODY_LENGTH
    for block in readable_blocks(question.body, question.markup):
        if room <= 0:
            break
        shown = block._replace(text=truncate(block.text, room))
        placed.append((shown, at))
        at, room = at + len(shown.text) + 1, room - len(shown.text)
    return placed

"""*Why* and parts of *Queue*: two questions side by side, what they have in common, and why they may ask the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from askalike.core.types import Answer, Question
from askalike.service.pages.auth import VisitedArchive
from askalike.service.pages.display import display_title
from askalike.service.pages.marking import Stretch, compare_texts
from askalike.service.pages.reasons import function_words, summarise_explanation
from askalike.service.pages.rendering import render_page
from askalike.service.state.served_archive import ServedArchive
from askalike.store import Archive, MissingRecordError
from askalike.text.clean import TextBlock, readable_blocks, truncate

router = APIRouter()
MAX_SHOWN_BODY_LENGTH = 900
AnswersById = Mapping[str, Sequence[Answer]]
QuestionId = Annotated[str, Query(max_length=300)]


@dataclass(frozen=True, slots=True)
class PairSide:
    """One question of a pair, with what it has in common with the other."""

    question: Question
    answers: Sequence[Answer]
    blocks: Sequence[tuple[TextBlock, int]]
    """The parts of its body, each with its place in the text that `stretches` refers to; the title's place is 0."""
    stretches: Sequence[Stretch]
    """Its words and sentences that the other question has too, and those that differ there."""


@router.get("/a/{archive}/why")
async def get_why(archive: VisitedArchive, request: Request, one: QuestionId, other: QuestionId) -> Response:
    """Show two questions and why they may ask the same."""
    pair, answers = await archive.run_on_store(lambda store: _load_pair(store, one, other))
    return render_page(request, "why.html", **await compare_pair(archive, pair, answers))


def _load_pair(archive: Archive, one: str, other: str) -> tuple[list[Question], AnswersById]:
    view = archive.view()
    found = view.get_questions([one, other])
    if missing := next((id for id in (one, other) if id not in found), None):
        raise MissingRecordError(f"no question {missing!r}")
    return [found[one], found[other]], view.get_answers_to([one, other])


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

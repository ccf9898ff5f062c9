"""`answer` and `feedback`: a question that somebody has settled on, and what came of it."""

from typing import Annotated

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from askalike.archive.asked import Asked, Verdict, judge, keep
from askalike.engines.local import Local
from askalike.service import metrics
from askalike.service.desk import Desk
from askalike.service.places import Readable
from askalike.service.records import Id, WholeAnswer
from askalike.service.schema import Body, Result, Shape, Title
from askalike.service.similar import results
from askalike.types import Answer, Match

LOOKED_AT = 5
"""As many similar questions are looked through for one that has an answer."""

router = APIRouter(tags=["asking"])


CHOSEN: JsonDict = {
    "if": {"properties": {"verdict": {"enum": ["accept", "reject"]}}},
    "then": {"required": ["chosen"], "properties": {"chosen": {"type": "string"}}},
    "else": {"properties": {"chosen": {"type": "null"}}},
}
"""For the API's description: which verdicts are of one question."""


class Question(Shape):
    """A question that somebody has settled on."""

    title: Annotated[Title, Field(min_length=1)]
    body: Body = ""


class Given(BaseModel):
    """The stored answer of the most similar question that has one; null where there is none."""

    answer: WholeAnswer | None
    question: Result | None
    abstained: bool
    model: str


class Feedback(Question):
    """What somebody said of the questions that were shown: of one that was chosen, or of all of them."""

    model_config = ConfigDict(json_schema_extra=CHOSEN)

    shown: Annotated[list[Id], Field(max_length=100)]
    verdict: Verdict
    chosen: Id | None = None


@router.post("/answer")
async def post_answer(desk: Readable, asked: Question) -> Given:
    """Answers with the stored answer of the nearest question. Keeps the question as asked, as long as is configured."""
    best, answer, settled = await desk.search(lambda engine: _nearest(engine, asked))
    await desk.store(lambda archive: keep(archive, settled, desk.keep_days))
    return Given(
        answer=WholeAnswer.of(answer) if answer else None,
        question=results([best])[0] if best else None,
        abstained=answer is None,
        model=settled.model,
    )


@router.post("/feedback", status_code=204)
async def post_feedback(desk: Readable, given: Feedback) -> None:
    """Keeps what somebody said. `accept` and `reject` are of one question, which has to be among those shown."""
    await judged(desk, given)


async def judged(desk: Desk, given: Feedback) -> None:
    """Keeps a piece of feedback; 422 where it does not say of what it is."""
    if (given.verdict in ("accept", "reject")) != (given.chosen is not None):
        raise HTTPException(422, "body.chosen: accept and reject say which question they are of, the others do not")
    if given.chosen is not None and given.chosen not in given.shown:
        raise HTTPException(422, f"body.chosen: {given.chosen!r} is not among those shown")
    asked = Asked(given.title, given.body, given.shown, desk.model)
    await desk.store(lambda archive: judge(archive, asked, given.verdict, given.chosen))
    metrics.FEEDBACK.labels(desk.name, given.verdict).inc()


def _nearest(engine: Local, asked: Question) -> tuple[Match | None, Answer | None, Asked]:
    """The most similar question that has an answer, that answer, and what is kept of the asking."""
    matches = engine.search(asked.title, LOOKED_AT, body=asked.body)
    answers = engine.archive.view().answers_to(m.question.id for m in matches)
    best = next((m for m in matches if answers[m.question.id]), None)
    probability = matches[0].probability if matches else None
    settled = Asked(asked.title, asked.body, [m.question.id for m in matches], engine.ranker.name, probability)
    return best, answers[best.question.id][0] if best else None, settled

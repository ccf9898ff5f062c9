"""`answer` and `feedback`: a question that somebody has settled on, and what came of it."""

from typing import Annotated

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from askalike.answering.nearest import has_answers
from askalike.answering.reply import Mode, Reply, Source
from askalike.answering.writers import writers
from askalike.archive.asked import Asked, Verdict, judge, keep
from askalike.engines.local import Local
from askalike.service import metrics
from askalike.service.desk import Desk
from askalike.service.places import Readable
from askalike.service.records import Id, WholeAnswer
from askalike.service.schema import Body, Result, Shape, Title
from askalike.service.similar import results, web_address

LOOKED_AT = 5
"""So many similar questions are kept with what was asked."""

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


class Put(Question):
    """A question to be answered, and how."""

    mode: Annotated[Mode, Field(description="stored answers, text that a model writes, or as its probability says")] = (
        "nearest"
    )
    k: Annotated[int, Field(ge=1, le=20, description="how many stored answers are wanted")] = 3


class Stored(BaseModel):
    """A stored answer, and where it comes from."""

    id: str
    text: str
    question: str
    title: str
    author: str | None
    license: str | None
    url: str | None
    score: float
    probability: float | None


class Given(BaseModel):
    """The reply: a stored answer, or text that a model wrote, which `generated` says; `text` is null where none is.

    `answer` and `question` are the stored answer of the most similar question that has one; null beside generated text.
    """

    text: str | None
    generated: bool
    sources: list[Stored]
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
async def post_answer(desk: Readable, asked: Put) -> Given:
    """Answers from the archive. Keeps the question as asked, as long as is configured."""
    reply, settled = await desk.search(lambda engine: _replied(engine, asked))
    await desk.store(lambda archive: keep(archive, settled, desk.keep_days))
    first = reply.sources[0] if reply.sources and not reply.generated else None
    match = next((m for m in reply.matches if first and m.question.id == first.question.id), None)
    return Given(
        text=reply.text,
        generated=reply.generated,
        sources=[_stored(source) for source in reply.sources],
        answer=WholeAnswer.of(first.answer) if first else None,
        question=results([match])[0] if match else None,
        abstained=reply.abstained,
        model=reply.model or settled.model,
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


def _replied(engine: Local, asked: Put) -> tuple[Reply, Asked]:
    """The reply, and what is kept of the asking; 409 for what this archive cannot do."""
    name = engine.archive.path.name
    if asked.mode == "auto" and engine.calibration is None:
        raise HTTPException(409, f"mode: auto needs probabilities; {engine.ranker.name} is not calibrated on {name}")
    if asked.mode != "nearest" and len(writers(engine.archive.path)) != 1:
        raise HTTPException(409, f"mode: {name} has no model that writes answers, or several")
    if has_answers(engine.archive.view()):
        reply = engine.answer(asked.title, asked.mode, asked.k, body=asked.body)
    else:
        reply = Reply(None, False, (), matches=tuple(engine.search(asked.title, body=asked.body)))
    probability = reply.matches[0].probability if reply.matches else None
    shown = [match.question.id for match in reply.matches[:LOOKED_AT]]
    return reply, Asked(asked.title, asked.body, shown, engine.ranker.name, probability)


def _stored(source: Source) -> Stored:
    return Stored(
        id=source.answer.id,
        text=source.text,
        question=source.question.id,
        title=source.question.title,
        author=source.author,
        license=source.license,
        url=web_address(source.url),
        score=source.score,
        probability=source.probability,
    )

"""`answer` and `feedback`: a question that somebody has settled on, and what came of it."""

from typing import Annotated

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from askalike.answering.nearest import has_answers
from askalike.answering.reply import AnswerMode, AnswerSource, Reply
from askalike.answering.writers import writer_folders
from askalike.engines.local import LocalEngine
from askalike.service.requests.auth import ReadableArchive
from askalike.service.requests.records import AnswerRecord, Id
from askalike.service.requests.schema import Body, RequestModel, SimilarQuestion, Title
from askalike.service.routes import metrics
from askalike.service.routes.similar import safe_web_url, to_similar_questions
from askalike.service.state.served_archive import ServedArchive
from askalike.store.query_log import FeedbackVerdict, LoggedQuery, insert_feedback, log_query

MAX_LOGGED_HITS = 5
"""So many similar questions are kept with what was asked."""

router = APIRouter(tags=["asking"])


FEEDBACK_SCHEMA: JsonDict = {
    "if": {"properties": {"verdict": {"enum": ["accept", "reject"]}}},
    "then": {"required": ["chosen"], "properties": {"chosen": {"type": "string"}}},
    "else": {"properties": {"chosen": {"type": "null"}}},
}
"""For the API's description: which verdicts are of one question."""


class QuestionText(RequestModel):
    """A question that somebody has settled on."""

    title: Annotated[Title, Field(min_length=1)]
    body: Body = ""


class AnswerRequest(QuestionText):
    """A question to be answered, and how."""

    mode: Annotated[
        AnswerMode, Field(description="stored answers, text that a model writes, or as its probability says")
    ] = "nearest"
    k: Annotated[int, Field(ge=1, le=20, description="how many stored answers are wanted")] = 3


class AnswerSourceResponse(BaseModel):
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


class AnswerResponse(BaseModel):
    """The reply: a stored answer, or text that a model wrote, which `generated` says; `text` is null where none is.

    `answer` and `question` are the stored answer of the most similar question that has one; null beside generated text.
    """

    text: str | None
    generated: bool
    sources: list[AnswerSourceResponse]
    answer: AnswerRecord | None
    question: SimilarQuestion | None
    abstained: bool
    model: str


class FeedbackRequest(QuestionText):
    """What somebody said of the questions that were shown: of one that was chosen, or of all of them."""

    model_config = ConfigDict(json_schema_extra=FEEDBACK_SCHEMA)

    shown: Annotated[list[Id], Field(max_length=100)]
    verdict: FeedbackVerdict
    chosen: Id | None = None


@router.post("/answer")
async def post_answer(served_archive: ReadableArchive, query: AnswerRequest) -> AnswerResponse:
    """Answers from the archive. Keeps the question as asked, as long as is configured."""
    reply, settled = await served_archive.run_on_engine(lambda engine: _answer(engine, query))
    await served_archive.run_on_archive(lambda archive: log_query(archive, settled, served_archive.keep_days))
    first = reply.sources[0] if reply.sources and not reply.generated else None
    match = next((m for m in reply.matches if first and m.question.id == first.question.id), None)
    return AnswerResponse(
        text=reply.text,
        generated=reply.generated,
        sources=[_to_source_response(source) for source in reply.sources],
        answer=AnswerRecord.from_answer(first.answer) if first else None,
        question=to_similar_questions([match])[0] if match else None,
        abstained=reply.abstained,
        model=reply.model or settled.model,
    )


@router.post("/feedback", status_code=204)
async def post_feedback(served_archive: ReadableArchive, feedback: FeedbackRequest) -> None:
    """Keeps what somebody said. `accept` and `reject` are of one question, which has to be among those shown."""
    await record_feedback(served_archive, feedback)


async def record_feedback(served_archive: ServedArchive, feedback: FeedbackRequest) -> None:
    """Keeps a piece of feedback; 422 where it does not say of what it is."""
    if (feedback.verdict in ("accept", "reject")) != (feedback.chosen is not None):
        raise HTTPException(422, "body.chosen: accept and reject say which question they are of, the others do not")
    if feedback.chosen is not None and feedback.chosen not in feedback.shown:
        raise HTTPException(422, f"body.chosen: {feedback.chosen!r} is not among those shown")
    asked = LoggedQuery(feedback.title, feedback.body, feedback.shown, served_archive.model)
    await served_archive.run_on_archive(
        lambda archive: insert_feedback(archive, asked, feedback.verdict, feedback.chosen)
    )
    metrics.FEEDBACK.labels(served_archive.name, feedback.verdict).inc()


def _answer(engine: LocalEngine, query: AnswerRequest) -> tuple[Reply, LoggedQuery]:
    """The reply, and what is kept of the asking; 409 for what this archive cannot do."""
    name = engine.archive.path.name
    if query.mode == "auto" and engine.calibration is None:
        raise HTTPException(409, f"mode: auto needs probabilities; {engine.ranker.name} is not calibrated on {name}")
    if query.mode != "nearest" and len(writer_folders(engine.archive.path)) != 1:
        raise HTTPException(409, f"mode: {name} has no model that writes answers, or several")
    if has_answers(engine.archive.view()):
        reply = engine.answer(query.title, query.mode, query.k, body=query.body)
    else:
        reply = Reply(None, False, (), matches=tuple(engine.search(query.title, body=query.body)))
    probability = reply.matches[0].probability if reply.matches else None
    shown = [match.question.id for match in reply.matches[:MAX_LOGGED_HITS]]
    return reply, LoggedQuery(query.title, query.body, shown, engine.ranker.name, probability)


def _to_source_response(source: AnswerSource) -> AnswerSourceResponse:
    return AnswerSourceResponse(
        id=source.answer.id,
        text=source.text,
        question=source.question.id,
        title=source.question.title,
        author=source.author,
        license=source.license,
        url=safe_web_url(source.url),
        score=source.score,
        probability=source.probability,
    )

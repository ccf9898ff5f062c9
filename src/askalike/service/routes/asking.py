"""`similar`, `answer` and `feedback`: for a question being typed, a complete one, and a verdict on the results."""

import time
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import BaseModel, Field, TypeAdapter

from askalike.core.records import Question
from askalike.core.values import safe_url
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.search.grounded import write_grounded
from askalike.search.replies import AnswerMode, AnswerSource, Reply, writer_folders
from askalike.service.actions import record_feedback, record_query, search_similar
from askalike.service.authorization import GuardedRoute, ReadableArchive, SearchableArchive, may_count
from askalike.service.request_state import add_log_fields
from askalike.service.schema import AnswerRecord, FeedbackRequest, QuestionText, SimilarQuestion, SimilarRequest
from askalike.store.contents import has_content
from askalike.store.query_log import LoggedQuery

MAX_LOGGED_HITS = 5

MODE_DESCRIPTION = (
    "nearest: stored answers; generate: a model's text; auto: either, by probability; "
    "grounded: an endpoint's text from stored answers"
)


router = APIRouter(route_class=GuardedRoute)


@dataclass(slots=True)
class SimilarResponse:
    """The similar questions, best first; `abstained` is true if there are none."""

    results: list[SimilarQuestion]
    abstained: bool
    ranker: str
    took_ms: float


_SIMILAR_RESPONSE = TypeAdapter(SimilarResponse)


class AnswerRequest(QuestionText):
    """A question to be answered, and the way to answer it."""

    mode: Literal[AnswerMode, "grounded"] = Field("nearest", description=MODE_DESCRIPTION)
    k: Annotated[int, Field(ge=1, le=20, description="number of stored answers")] = 3


class AnswerSourceResponse(BaseModel):
    """A stored answer, and its source."""

    id: str
    text: str
    question_id: str
    title: str
    author: str | None
    license: str | None
    url: str | None
    score: float
    probability: float | None


class AnswerResponse(BaseModel):
    """The reply: a stored answer, or, if `generated` is true, text from a model; `text` is null if there is neither.

    `answer` and `question`: the stored answer and its question, the most similar one that has an answer; null for
    generated text.
    """

    text: str | None
    generated: bool
    grounded: bool
    removed_sentences: int = Field(description="sentences of a model that were left out, as no stored answer says so")
    sources: list[AnswerSourceResponse]
    answer: AnswerRecord | None
    question: SimilarQuestion | None
    abstained: bool
    ranker: str
    model: str | None


@router.get("/similar", summary="Find similar questions", tags=["search"], response_model=SimilarResponse)
async def get_similar(
    archive: SearchableArchive, request: Request, query: Annotated[SimilarRequest, Query()]
) -> Response:
    """Return the questions most similar to the one being typed, best first."""
    if query.count_shown and not may_count(request):
        query = query.model_copy(update={"count_shown": False})
    start = time.perf_counter()
    ranker, hits = await search_similar(archive, query)
    took_ms = round(1000 * (time.perf_counter() - start), 2)
    add_log_fields(request, archive=archive.name, found=len(hits))
    results = [SimilarQuestion.from_hit(hit, query.explain) for hit in hits]
    response = SimilarResponse(results, not hits, ranker, took_ms)
    return Response(_SIMILAR_RESPONSE.dump_json(response), media_type="application/json")


@router.post(
    "/similar",
    summary="Find similar questions, by a longer text",
    tags=["search"],
    response_model=SimilarResponse,
)
async def post_similar(archive: SearchableArchive, request: Request, query: SimilarRequest) -> Response:
    """Return the same for texts that are too long or too private for a URL. Changes nothing."""
    return await get_similar(archive, request, query)


@router.post("/answer", summary="Answer a question", tags=["asking"])
async def post_answer(archive: ReadableArchive, query: AnswerRequest) -> AnswerResponse:
    """Answer a question from the archive. The question is logged for the configured number of days."""
    endpoint = archive.endpoint if query.mode == "grounded" else None
    if query.mode == "grounded" and endpoint is None:
        raise HTTPException(
            409, "mode: the service has no endpoint for grounded answers; start it with --set endpoint=URL"
        )
    reply, logged_query = await archive.run_on_retriever(lambda retriever: _answer(retriever, query))
    if endpoint:
        stored = reply
        question = Question("", query.title, query.body)
        reply = await endpoint.run(lambda chat: write_grounded(question, stored, chat).reply)
    await record_query(archive, logged_query)
    first = reply.sources[0] if reply.sources and not reply.generated else None
    match = next((m for m in reply.matches if first and m.question.id == first.question.id), None)
    return AnswerResponse(
        text=reply.text,
        generated=reply.generated,
        grounded=reply.grounded,
        removed_sentences=reply.removed,
        sources=[_to_source_response(source) for source in reply.sources],
        answer=AnswerRecord.from_answer(first.answer) if first else None,
        question=SimilarQuestion.from_hit(match) if match else None,
        abstained=reply.abstained,
        ranker=logged_query.ranker,
        model=reply.model,
    )


@router.post("/feedback", summary="Say whether a hit helped", tags=["asking"], status_code=204)
async def post_feedback(archive: SearchableArchive, request: Request, feedback: FeedbackRequest) -> None:
    """Store feedback. `accept` and `reject` are on one question, which must be one of those shown."""
    await record_feedback(archive, request, feedback)


def _answer(retriever: ArchiveRetriever, query: AnswerRequest) -> tuple[Reply, LoggedQuery]:
    """Return the reply and the question's log entry. Raises HTTPException (409) for a mode that is not available."""
    name = retriever.archive.path.name
    mode: AnswerMode = "nearest" if query.mode == "grounded" else query.mode
    if mode != "nearest" and len(writer_folders(retriever.archive.path)) != 1:
        raise HTTPException(409, f"mode: {name} has no model that writes answers, or several")
    if has_content(retriever.archive, "answers"):
        reply = retriever.answer(query.title, mode, query.k, body=query.body)
    else:
        reply = Reply(None, False, (), matches=tuple(retriever.search(query.title, body=query.body)))
    probability = reply.matches[0].probability if reply.matches else None
    shown_ids = [match.question.id for match in reply.matches[:MAX_LOGGED_HITS]]
    return reply, LoggedQuery(query.title, query.body, shown_ids, retriever.ranker.name, probability)


def _to_source_response(source: AnswerSource) -> AnswerSourceResponse:
    return AnswerSourceResponse(
        id=source.answer.id,
        text=source.text,
        question_id=source.question.id,
        title=source.question.title,
        author=source.answer.author,
        license=source.license,
        url=safe_url(source.url),
        score=source.score,
        probability=source.probability,
    )

"""The APIs of Apache Answer: the one that its plug-in for ChromaDB vector search calls, and `question/similar`.

Only the plug-in's settings have to change. It gets a text's embedding from one address and sends it to another one as
the query. No vector is computed here: the embedding of a text is its bytes as numbers, which the search decodes.
`question/similar` is what Answer's Ask page shows below the title while somebody types.
"""

import json
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from pydantic import BaseModel, FailFast, Field

from askalike.core.records import Answer, Question
from askalike.core.values import safe_url
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.service.actions import commit
from askalike.service.authorization import GuardedRoute, ReadableArchive, WritableArchive
from askalike.service.routes.embeddings import EncodingResponse, EncodingUsage, TextVector
from askalike.service.schema import MAX_BODY_LENGTH, MAX_RESULTS, MAX_TITLE_LENGTH, Id
from askalike.store import Archive
from askalike.store.editing import delete_answers

MAX_TEXT_BYTES = 2_000
"""Maximum number of bytes of a text that are encoded; real questions are shorter."""
MAX_QUESTIONS = 10
"""The number of similar questions that Answer returns; its page shows the first five."""
SECTION_MARKERS = ("\n\nAnswer: ", "\n\nComment: ", "\n\nComment on answer: ")
"""Headings of the sections that Answer appends to the text of a question or an answer."""

router = APIRouter(  # another software's API, documented there
    route_class=GuardedRoute, prefix="/apache-answer", include_in_schema=False
)
ask_page_router = APIRouter(route_class=GuardedRoute, tags=["drop-in"])
CollectionName = Annotated[str, Path(max_length=200, description="the collection's name; there is one per archive")]
TypedTitle = Annotated[str, Query(max_length=MAX_TITLE_LENGTH, description="the title as typed so far")]


class EmbeddingRequest(BaseModel):
    """Texts to be embedded, in the shape of OpenAI's API."""

    input: list[Annotated[str, Field(max_length=10 * MAX_BODY_LENGTH)]] = Field(max_length=MAX_RESULTS)
    model: str = ""


class CreateCollectionRequest(BaseModel):
    """A collection to be created; in fact the archive."""

    name: str


class CollectionResponse(BaseModel):
    """A collection: the archive, under the name in the request."""

    id: str
    name: str
    metadata: dict[str, str] = {"hnsw:space": "cosine"}


class DocumentMetadata(BaseModel):
    """A document as Answer describes it. `metadata` is JSON with the ids of the question, its answers and comments."""

    object_type: Literal["question", "answer"]
    title: Annotated[str, Field(max_length=MAX_TITLE_LENGTH)] = ""
    metadata: Annotated[str, Field(max_length=MAX_BODY_LENGTH)] = "{}"


class UpsertRequest(BaseModel):
    """Documents to add or replace. Their embeddings are ignored, as their texts are included."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=MAX_RESULTS)]
    metadatas: Annotated[list[DocumentMetadata], Field(max_length=MAX_RESULTS)]
    documents: Annotated[list[str], Field(max_length=MAX_RESULTS)]


class CollectionQuery(BaseModel):
    """Questions to search for, each as its embedding."""

    query_embeddings: Annotated[
        list[Annotated[list[float], Field(max_length=MAX_TEXT_BYTES), FailFast()]],
        Field(min_length=1, max_length=MAX_RESULTS),
    ]
    n_results: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = 10


class CollectionQueryResult(BaseModel):
    """For each text, the ids of similar questions, best first, their distances (0 to 2), and their metadata."""

    ids: list[list[str]]
    distances: list[list[float]]
    metadatas: list[list[DocumentMetadata]]


class DeleteRequest(BaseModel):
    """Documents to delete."""

    ids: Annotated[list[Id], Field(max_length=MAX_RESULTS)]


@router.post("/v1/embeddings")
async def embeddings(archive: ReadableArchive, request: EmbeddingRequest) -> EncodingResponse:
    """Return the bytes of each text as numbers."""
    data = [TextVector(index=n, embedding=encode_text(text)) for n, text in enumerate(request.input)]
    usage = EncodingUsage(prompt_tokens=0, total_tokens=0)
    return EncodingResponse(data=data, model=request.model, usage=usage)


@router.get("/api/v1/collections/{name}")
async def collection(archive: ReadableArchive, name: CollectionName) -> CollectionResponse:
    """Return the archive as a collection."""
    return CollectionResponse(id=name, name=name)


@router.post("/api/v1/collections")
async def new_collection(archive: ReadableArchive, request: CreateCollectionRequest) -> CollectionResponse:
    """Return the archive as a collection, which exists already."""
    return CollectionResponse(id=request.name, name=request.name)


@router.post("/api/v1/collections/{name}/upsert")
async def upsert(
    archive: WritableArchive, name: CollectionName, request: UpsertRequest, http_request: Request, response: Response
) -> bool:
    """Add or replace questions and answers; 409 for an answer whose question does not exist."""
    if not len(request.ids) == len(request.metadatas) == len(request.documents):
        raise HTTPException(422, "body: ids, metadatas and documents must have the same length")
    documents = list(zip(request.ids, request.metadatas, request.documents, strict=True))
    questions = [to_question(*document) for document in documents if document[1].object_type == "question"]
    answers = [to_answer(*document) for document in documents if document[1].object_type == "answer"]
    if questions:
        await commit(archive, http_request, questions, response)
    if answers:
        await commit(archive, http_request, answers, response)
    response.status_code = 200
    return True


@router.post("/api/v1/collections/{name}/query")
async def query(archive: ReadableArchive, name: CollectionName, request: CollectionQuery) -> CollectionQueryResult:
    """Return the questions most similar to each text."""
    texts = [decode_text(numbers) for numbers in request.query_embeddings]
    results = await archive.run_on_retriever(
        lambda retriever: [_search(retriever, text, request.n_results) for text in texts]
    )
    ids, distances, metadatas = zip(*results, strict=True)
    return CollectionQueryResult(ids=list(ids), distances=list(distances), metadatas=list(metadatas))


@router.post("/api/v1/collections/{name}/delete")
async def delete(archive: WritableArchive, name: CollectionName, request: DeleteRequest) -> list[str]:
    """Delete questions, with their answers, and answers."""
    return await archive.write(lambda store: _delete(store, request.ids))


def encode_text(text: str) -> list[float]:
    """Return a text's first bytes, each as a number."""
    return list(map(float, text.encode(errors="replace")[:MAX_TEXT_BYTES]))


def decode_text(embedding: list[float]) -> str:
    """Return the text of an embedding. Raises HTTPException (422) for numbers that are not bytes."""
    if not all(0 <= n <= 255 and n == int(n) for n in embedding):
        raise HTTPException(422, "body.query_embeddings: not of this service; set the plug-in's API host to it, too")
    return bytes(map(int, embedding)).decode(errors="replace")


def to_question(id: str, metadata: DocumentMetadata, text: str) -> Question:
    """Return the question in a document of Answer: its title and text, then its answers and comments."""
    return Question(id, metadata.title, strip_appended_sections(_remove_title(metadata.title, text)))


def to_answer(id: str, metadata: DocumentMetadata, text: str) -> Answer:
    """Return the answer in a document of Answer: its question's title, its text, then its comments."""
    try:
        question_id = str(json.loads(metadata.metadata)["question_id"])
    except (ValueError, KeyError, TypeError):
        raise HTTPException(422, "body.metadatas: an answer's metadata is JSON that names its question_id") from None
    body = _remove_title(metadata.title, text).removeprefix("Answer: ")
    return Answer(id, question_id, strip_appended_sections(body))


def strip_appended_sections(text: str) -> str:
    """Return a text without the sections that Answer appends."""
    return text[: min((text.find(marker) for marker in SECTION_MARKERS if marker in text), default=len(text))]


def _remove_title(title: str, text: str) -> str:
    return text.removeprefix(f"Question: {title}").lstrip("\n")


def _search(retriever: ArchiveRetriever, text: str, k: int) -> tuple[list[str], list[float], list[DocumentMetadata]]:
    hits = retriever.search(text, k)
    ids = [hit.question.id for hit in hits]
    answers = retriever.archive.view().get_answers_to(ids)
    metadatas = [_to_metadata(hit.question, answers[hit.question.id]) for hit in hits]
    return ids, [2 - 2 * to_similarity(hit.score, hit.probability) for hit in hits], metadatas


def to_similarity(score: float, probability: float | None) -> float:
    """Return a value from 0 to 1: the probability if it is known, else a monotonic function of the score."""
    return probability if probability is not None else max(score, 0.0) / (1 + max(score, 0.0))


def _to_metadata(question: Question, answers: list[Answer]) -> DocumentMetadata:
    ids: dict[str, Any] = {"question_id": question.id, "answers": [{"answer_id": a.id} for a in answers]}
    metadata = json.dumps(ids, ensure_ascii=False)
    return DocumentMetadata.model_construct(object_type="question", title=question.title, metadata=metadata)


def _delete(archive: Archive, ids: list[str]) -> list[str]:
    if questions := archive.view().docids(ids).keys():
        archive.delete(questions)
    return [id for id in ids if id in questions or delete_answers(archive, [id])]


class ListedQuestion(BaseModel):
    """A question as the Ask page lists it. Counts that an archive does not know are 0."""

    id: str
    title: str
    url_title: str
    view_count: int = 0
    answer_count: int
    collection_count: int = 0
    follow_count: int = 0
    status: Literal["available", "closed"]
    accepted_answer: bool


class ListEnvelope(BaseModel):
    """The envelope of every response of Answer; `data` has the similar questions, best first."""

    code: int = 200
    reason: str = "base.success"
    msg: str = "Success."
    data: list[ListedQuestion]


@ask_page_router.get("/answer/api/v1/question/similar", summary="Similar questions, for Apache Answer")
async def question_similar(archive: ReadableArchive, title: TypedTitle = "") -> ListEnvelope:
    """Return the questions most similar to a title, in the shape of Apache Answer's own response."""
    return ListEnvelope(data=await archive.run_on_retriever(lambda retriever: _search_questions(retriever, title)))


def _search_questions(retriever: ArchiveRetriever, title: str) -> list[ListedQuestion]:
    hits = retriever.search(title, MAX_QUESTIONS, prefix=True, explain=False)
    answers = retriever.archive.view().get_answers_to(hit.id for hit in hits)
    return [_to_listed(hit.question, len(answers[hit.id])) for hit in hits]


def _to_listed(question: Question, n_answers: int) -> ListedQuestion:
    return ListedQuestion(
        id=question.id,
        title=question.title,
        url_title=url_title(question.url),
        answer_count=n_answers,
        status="closed" if "closed" in question.states else "available",
        accepted_answer="answered" in question.states,
    )


def url_title(url: str | None) -> str:
    """Return the part of a question's URL (`…/questions/ID/TITLE`) that is made from its title; empty without one."""
    parts = (safe_url(url) or "").partition("?")[0].split("/")
    after = parts[parts.index("questions") + 2 :] if "questions" in parts else []
    return unquote(after[0]) if after else ""

"""What Apache Answer's plug-in for the ChromaDB vector search calls, so that its settings alone point it here.

That plug-in asks one address for a text's embedding and sends this to another one, to search with. Here no vector is
made: the embedding of a text is the text itself, its bytes as numbers, and what comes back is read again.
"""

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Response
from pydantic import BaseModel, Field

from askalike.engines.local import LocalEngine
from askalike.service.requests.auth import ReadableArchive, WritableArchive
from askalike.service.requests.records import Id, commit
from askalike.service.requests.schema import MAX_BODY_LENGTH, MAX_RESULTS, MAX_TITLE_LENGTH
from askalike.store.archive import Archive
from askalike.store.editing import delete_answer
from askalike.types import Answer, Question

MAX_TEXT_BYTES = 2_000
"""As many bytes of a text are spelled as numbers: a question that somebody asks is shorter."""
SECTION_MARKERS = ("\n\nAnswer: ", "\n\nComment: ", "\n\nComment on answer: ")
"""What begins the parts that Answer appends to a question's or an answer's own text."""

router = APIRouter(prefix="/apache-answer", include_in_schema=False)  # another software's API, described by that
CollectionName = Annotated[str, Path(max_length=200, description="the collection's name; there is one an archive")]


class EmbeddingRequest(BaseModel):
    """Texts to be embedded, as OpenAI's API takes them."""

    input: list[Annotated[str, Field(max_length=10 * MAX_BODY_LENGTH)]] = Field(max_length=MAX_RESULTS)
    model: str = ""


class Embedding(BaseModel):
    """A text as numbers."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float]


class EmbeddingResponse(BaseModel):
    """Each text as numbers, in their order."""

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: dict[str, int] = {"prompt_tokens": 0, "total_tokens": 0}


class CreateCollectionRequest(BaseModel):
    """A collection that somebody wants; the archive is it."""

    name: str


class CollectionResponse(BaseModel):
    """A collection: the archive, under the name that it was asked for by."""

    id: str
    name: str
    metadata: dict[str, str] = {"hnsw:space": "cosine"}


class DocumentMetadata(BaseModel):
    """What Answer says of a document. `metadata` is JSON with the ids of the question and of what belongs to it."""

    object_type: Literal["question", "answer"]
    title: Annotated[str, Field(max_length=MAX_TITLE_LENGTH)] = ""
    metadata: Annotated[str, Field(max_length=MAX_BODY_LENGTH)] = "{}"


class UpsertRequest(BaseModel):
    """Documents to put. Their embeddings are not needed: the texts are there."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=MAX_RESULTS)]
    metadatas: list[DocumentMetadata]
    documents: list[str]


class CollectionQuery(BaseModel):
    """Questions to search for, each as its embedding."""

    query_embeddings: Annotated[list[list[float]], Field(min_length=1, max_length=MAX_RESULTS)]
    n_results: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = 10


class CollectionQueryResult(BaseModel):
    """For each question the ids found, best first, how far they are (0 to 2), and what they are."""

    ids: list[list[str]]
    distances: list[list[float]]
    metadatas: list[list[DocumentMetadata]]


class DeleteRequest(BaseModel):
    """Documents to delete."""

    ids: Annotated[list[Id], Field(max_length=MAX_RESULTS)]


@router.post("/v1/embeddings")
async def embeddings(served_archive: ReadableArchive, request: EmbeddingRequest) -> EmbeddingResponse:
    """The bytes of each text, as numbers."""
    data = [Embedding(index=n, embedding=encode_text(text)) for n, text in enumerate(request.input)]
    return EmbeddingResponse(data=data, model=request.model)


@router.get("/api/v1/collections/{name}")
async def collection(served_archive: ReadableArchive, name: CollectionName) -> CollectionResponse:
    """The archive as a collection."""
    return CollectionResponse(id=name, name=name)


@router.post("/api/v1/collections")
async def new_collection(served_archive: ReadableArchive, request: CreateCollectionRequest) -> CollectionResponse:
    """The archive as a collection, which is there already."""
    return CollectionResponse(id=request.name, name=request.name)


@router.post("/api/v1/collections/{name}/upsert")
async def upsert(
    served_archive: WritableArchive, name: CollectionName, request: UpsertRequest, response: Response
) -> bool:
    """Puts questions and answers; 409 for an answer whose question is not there."""
    if not len(request.ids) == len(request.metadatas) == len(request.documents):
        raise HTTPException(422, "body: ids, metadatas and documents have to be as many")
    documents = list(zip(request.ids, request.metadatas, request.documents, strict=True))
    questions = [to_question(id, meta, text) for id, meta, text in documents if meta.object_type == "question"]
    answers = [to_answer(id, meta, text) for id, meta, text in documents if meta.object_type == "answer"]
    if questions:
        await commit(served_archive, questions, response)
    if answers:
        await commit(served_archive, answers, response)
    response.status_code = 200
    return True


@router.post("/api/v1/collections/{name}/query")
async def query(
    served_archive: ReadableArchive, name: CollectionName, request: CollectionQuery
) -> CollectionQueryResult:
    """The questions most like each text."""
    texts = [decode_text(numbers) for numbers in request.query_embeddings]
    found = await served_archive.run_on_engine(
        lambda engine: [_search(engine, text, request.n_results) for text in texts]
    )
    ids, distances, metadatas = zip(*found, strict=True)
    return CollectionQueryResult(ids=list(ids), distances=list(distances), metadatas=list(metadatas))


@router.post("/api/v1/collections/{name}/delete")
async def delete(served_archive: WritableArchive, name: CollectionName, request: DeleteRequest) -> list[str]:
    """Deletes questions, with their answers, and answers."""
    return await served_archive.run_on_archive(lambda archive: _delete(archive, request.ids))


def encode_text(text: str) -> list[float]:
    """A text's first bytes, each as a number."""
    return list(map(float, text.encode(errors="replace")[:MAX_TEXT_BYTES]))


def decode_text(embedding: list[float]) -> str:
    """The text that was spelled so. Raises HTTPException for numbers that spell none."""
    if not all(0 <= n <= 255 and n == int(n) for n in embedding):
        raise HTTPException(422, "body.query_embeddings: not of this service; set the plug-in's API host to it, too")
    return bytes(map(int, embedding)).decode(errors="replace")


def to_question(id: str, meta: DocumentMetadata, text: str) -> Question:
    """The question in what Answer makes of it: its title and text, then its answers and comments."""
    return Question(id, meta.title, strip_appended_sections(text.removeprefix(f"Question: {meta.title}").lstrip("\n")))


def to_answer(id: str, meta: DocumentMetadata, text: str) -> Answer:
    """The answer in what Answer makes of it: its question's title, its text, then its comments."""
    body = text.removeprefix(f"Question: {meta.title}").lstrip("\n").removeprefix("Answer: ")
    return Answer(id, _parse_question_id(meta), strip_appended_sections(body))


def strip_appended_sections(text: str) -> str:
    """A text without what was appended to it."""
    return text[: min((text.find(mark) for mark in SECTION_MARKERS if mark in text), default=len(text))]


def _parse_question_id(meta: DocumentMetadata) -> str:
    try:
        return str(json.loads(meta.metadata)["question_id"])
    except (ValueError, KeyError, TypeError):
        raise HTTPException(422, "body.metadatas: an answer's metadata is JSON that names its question_id") from None


def _search(engine: LocalEngine, text: str, k: int) -> tuple[list[str], list[float], list[DocumentMetadata]]:
    matches = engine.search(text, k)
    ids = [match.question.id for match in matches]
    answers = engine.archive.view().get_answers_to(ids)
    metadatas = [_to_metadata(match.question, answers[match.question.id]) for match in matches]
    return ids, [2 - 2 * to_similarity(match.score, match.probability) for match in matches], metadatas


def to_similarity(score: float, probability: float | None) -> float:
    """From 0 to 1: the probability where it is known, else the score on a scale that keeps its order."""
    return probability if probability is not None else max(score, 0.0) / (1 + max(score, 0.0))


def _to_metadata(question: Question, answers: list[Answer]) -> DocumentMetadata:
    ids: dict[str, Any] = {"question_id": question.id, "answers": [{"answer_id": a.id} for a in answers]}
    told = json.dumps(ids, ensure_ascii=False)
    return DocumentMetadata.model_construct(object_type="question", title=question.title, metadata=told)


def _delete(archive: Archive, ids: list[str]) -> list[str]:
    questions = archive.view().docids(ids).keys()
    if questions:
        archive.delete(questions)
    return [id for id in ids if id in questions or delete_answer(archive, id)]

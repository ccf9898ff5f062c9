"""What Apache Answer's plug-in for the ChromaDB vector search calls, so that its settings alone point it here.

That plug-in asks one address for a text's embedding and sends this to another one, to search with. Here no vector is
made: the embedding of a text is the text itself, its bytes as numbers, and what comes back is read again.
"""

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Response
from pydantic import BaseModel, Field

from askalike.archive.editing import delete_answer
from askalike.archive.store import Archive
from askalike.engines.local import Local
from askalike.service.places import Readable, Writable
from askalike.service.records import Id
from askalike.service.schema import LONGEST_BODY, LONGEST_TITLE, MOST
from askalike.service.writing import commit
from askalike.types import Answer, Question

LONGEST = 2_000
"""As many bytes of a text are spelled as numbers: a question that somebody asks is shorter."""
MARKS = ("\n\nAnswer: ", "\n\nComment: ", "\n\nComment on answer: ")
"""What begins the parts that Answer appends to a question's or an answer's own text."""

router = APIRouter(prefix="/apache-answer", include_in_schema=False)  # another software's API, described by that
Collection = Annotated[str, Path(max_length=200, description="the collection's name; there is one an archive")]


class EmbeddingRequest(BaseModel):
    """Texts to be embedded, as OpenAI's API takes them."""

    input: list[Annotated[str, Field(max_length=10 * LONGEST_BODY)]] = Field(max_length=MOST)
    model: str = ""


class Embedding(BaseModel):
    """A text as numbers."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float]


class Embeddings(BaseModel):
    """Each text as numbers, in their order."""

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: dict[str, int] = {"prompt_tokens": 0, "total_tokens": 0}


class NewCollection(BaseModel):
    """A collection that somebody wants; the archive is it."""

    name: str


class Known(BaseModel):
    """A collection: the archive, under the name that it was asked for by."""

    id: str
    name: str
    metadata: dict[str, str] = {"hnsw:space": "cosine"}


class Metadata(BaseModel):
    """What Answer says of a document. `metadata` is JSON with the ids of the question and of what belongs to it."""

    object_type: Literal["question", "answer"]
    title: Annotated[str, Field(max_length=LONGEST_TITLE)] = ""
    metadata: Annotated[str, Field(max_length=LONGEST_BODY)] = "{}"


class Upsert(BaseModel):
    """Documents to put. Their embeddings are not needed: the texts are there."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=MOST)]
    metadatas: list[Metadata]
    documents: list[str]


class Asked(BaseModel):
    """Questions to search for, each as its embedding."""

    query_embeddings: Annotated[list[list[float]], Field(min_length=1, max_length=MOST)]
    n_results: Annotated[int, Field(ge=1, le=MOST)] = 10


class Found(BaseModel):
    """For each question the ids found, best first, how far they are (0 to 2), and what they are."""

    ids: list[list[str]]
    distances: list[list[float]]
    metadatas: list[list[Metadata]]


class Gone(BaseModel):
    """Documents to delete."""

    ids: Annotated[list[Id], Field(max_length=MOST)]


@router.post("/v1/embeddings")
async def embeddings(desk: Readable, asked: EmbeddingRequest) -> Embeddings:
    """The bytes of each text, as numbers."""
    data = [Embedding(index=n, embedding=spelled(text)) for n, text in enumerate(asked.input)]
    return Embeddings(data=data, model=asked.model)


@router.get("/api/v1/collections/{name}")
async def collection(desk: Readable, name: Collection) -> Known:
    """The archive as a collection."""
    return Known(id=name, name=name)


@router.post("/api/v1/collections")
async def new_collection(desk: Readable, wanted: NewCollection) -> Known:
    """The archive as a collection, which is there already."""
    return Known(id=wanted.name, name=wanted.name)


@router.post("/api/v1/collections/{name}/upsert")
async def upsert(desk: Writable, name: Collection, given: Upsert, response: Response) -> bool:
    """Puts questions and answers; 409 for an answer whose question is not there."""
    if not len(given.ids) == len(given.metadatas) == len(given.documents):
        raise HTTPException(422, "body: ids, metadatas and documents have to be as many")
    documents = list(zip(given.ids, given.metadatas, given.documents, strict=True))
    questions = [question(id, meta, text) for id, meta, text in documents if meta.object_type == "question"]
    answers = [answer(id, meta, text) for id, meta, text in documents if meta.object_type == "answer"]
    if questions:
        await commit(desk, questions, response)
    if answers:
        await commit(desk, answers, response)
    response.status_code = 200
    return True


@router.post("/api/v1/collections/{name}/query")
async def query(desk: Readable, name: Collection, asked: Asked) -> Found:
    """The questions most like each text."""
    texts = [read(numbers) for numbers in asked.query_embeddings]
    found = await desk.search(lambda engine: [_search(engine, text, asked.n_results) for text in texts])
    ids, distances, metadatas = zip(*found, strict=True)
    return Found(ids=list(ids), distances=list(distances), metadatas=list(metadatas))


@router.post("/api/v1/collections/{name}/delete")
async def delete(desk: Writable, name: Collection, gone: Gone) -> list[str]:
    """Deletes questions, with their answers, and answers."""
    return await desk.store(lambda archive: _delete(archive, gone.ids))


def spelled(text: str) -> list[float]:
    """A text's first bytes, each as a number."""
    return list(map(float, text.encode(errors="replace")[:LONGEST]))


def read(numbers: list[float]) -> str:
    """The text that was spelled so. Raises HTTPException for numbers that spell none."""
    if not all(0 <= n <= 255 and n == int(n) for n in numbers):
        raise HTTPException(422, "body.query_embeddings: not of this service; set the plug-in's API host to it, too")
    return bytes(map(int, numbers)).decode(errors="replace")


def question(id: str, meta: Metadata, text: str) -> Question:
    """The question in what Answer makes of it: its title and text, then its answers and comments."""
    return Question(id, meta.title, own(text.removeprefix(f"Question: {meta.title}").lstrip("\n")))


def answer(id: str, meta: Metadata, text: str) -> Answer:
    """The answer in what Answer makes of it: its question's title, its text, then its comments."""
    body = text.removeprefix(f"Question: {meta.title}").lstrip("\n").removeprefix("Answer: ")
    return Answer(id, _question_id(meta), own(body))


def own(text: str) -> str:
    """A text without what was appended to it."""
    return text[: min((text.find(mark) for mark in MARKS if mark in text), default=len(text))]


def _question_id(meta: Metadata) -> str:
    try:
        return str(json.loads(meta.metadata)["question_id"])
    except (ValueError, KeyError, TypeError):
        raise HTTPException(422, "body.metadatas: an answer's metadata is JSON that names its question_id") from None


def _search(engine: Local, text: str, most: int) -> tuple[list[str], list[float], list[Metadata]]:
    matches = engine.search(text, most)
    ids = [match.question.id for match in matches]
    answers = engine.archive.view().answers_to(ids)
    metadatas = [_metadata(match.question, answers[match.question.id]) for match in matches]
    return ids, [2 - 2 * likeness(match.score, match.probability) for match in matches], metadatas


def likeness(score: float, probability: float | None) -> float:
    """From 0 to 1: the probability where it is known, else the score on a scale that keeps its order."""
    return probability if probability is not None else max(score, 0.0) / (1 + max(score, 0.0))


def _metadata(question: Question, answers: list[Answer]) -> Metadata:
    ids: dict[str, Any] = {"question_id": question.id, "answers": [{"answer_id": a.id} for a in answers]}
    told = json.dumps(ids, ensure_ascii=False)
    return Metadata.model_construct(object_type="question", title=question.title, metadata=told)


def _delete(archive: Archive, ids: list[str]) -> list[str]:
    questions = archive.view().numbers(ids).keys()
    if questions:
        archive.delete(questions)
    return [id for id in ids if id in questions or delete_answer(archive, id)]

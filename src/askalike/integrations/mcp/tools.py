"""The tools of an assistant: search an archive, fetch a question, and find similar questions.

`search` and `fetch` have the signatures that ChatGPT expects, as in OpenAI's guide "Building MCP servers for ChatGPT
and API integrations" (2026).
"""

from threading import Lock
from typing import Annotated, Any

from pydantic import BaseModel, Field

from askalike.core.errors import InputError
from askalike.core.filters import Filter
from askalike.core.types import Answer, Question, SearchHit
from askalike.core.values import safe_url
from askalike.search.engine import LocalEngine
from askalike.search.explain import found_words
from askalike.store import View
from askalike.text.clean import readable_text

SEARCH_RESULTS = 10
SIMILAR_QUESTIONS = 5
MAX_TITLE_LENGTH, MAX_BODY_LENGTH = 1_000, 100_000

QuestionTitle = Annotated[str, Field(max_length=MAX_TITLE_LENGTH, description="the question in one sentence")]
QuestionBody = Annotated[str, Field(max_length=MAX_BODY_LENGTH, description="more of the question, as plain text")]
RequiredTags = Annotated[list[str], Field(max_length=50, description="only questions that have all of these tags")]
BeforeDate = Annotated[str | None, Field(description="only questions asked before this ISO date, in UTC")]
MinProbability = Annotated[
    float | None, Field(ge=0, le=1, description="minimum probability; an error if the ranker is not calibrated")
]


class FoundQuestion(BaseModel):
    """A question that was found. `url` is empty if it has none."""

    id: str
    title: str
    url: str


class SearchOutput(BaseModel):
    """The questions found, best first."""

    results: list[FoundQuestion]


class FetchedQuestion(FoundQuestion):
    """A question as a document: its text with its answers, the accepted one first."""

    text: str
    metadata: dict[str, Any]


class AcceptedAnswer(BaseModel):
    """The answer that the question's author, or a moderator, accepted."""

    id: str
    text: str
    author: str | None
    license: str | None
    url: str | None


class SimilarQuestionOutput(BaseModel):
    """A similar question. `probability`: that it asks the same; null if the archive is not calibrated.

    `similarity` is then the similarity, from 0 to 1. `matched_words`: the words of the question that were found in it.
    `fields`: the contribution of each of its fields to the score, text being title and body. `passage`: what matched.
    `states`: open, answered, closed, locked or outdated. `solution`: the release or date of the solution.
    """

    id: str
    title: str
    url: str | None
    probability: float | None
    similarity: float | None
    states: list[str]
    solution: str | None
    matched_words: list[str]
    fields: dict[str, float]
    passage: str
    accepted_answer: AcceptedAnswer | None


class SimilarOutput(BaseModel):
    """The similar questions, best first. `abstained`: nothing in the archive is similar enough."""

    questions: list[SimilarQuestionOutput]
    abstained: bool
    ranker: str


class ArchiveTools:
    """The tools of one engine. They are read-only, and not called concurrently."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self._lock = Lock()

    def search(self, query: QuestionTitle) -> SearchOutput:
        """Search the questions that people asked before. Returns those most similar to the query, best first."""
        with self._lock:
            hits = self._engine.search(query, SEARCH_RESULTS, explain=False)
        found = [FoundQuestion(id=hit.id, title=hit.title, url=safe_url(hit.question.url) or "") for hit in hits]
        return SearchOutput(results=found)

    def fetch(
        self, id: Annotated[str, Field(description="the id of a question, as search returns it")]
    ) -> FetchedQuestion:
        """Fetch one question of the archive with all its answers, by its id."""
        with self._lock:
            view = self._engine.archive.view()
            question, answers = view.get_questions([id]).get(id), view.get_answers_to([id])
        if question is None:
            raise InputError(f"no question {id!r}; expected an id that search returned")
        return _to_document(question, answers[id])

    def similar_questions(
        self,
        title: QuestionTitle,
        body: QuestionBody = "",
        tags: RequiredTags = [],  # noqa: B006  # the argument's default in its schema; nothing writes to it
        before: BeforeDate = None,
        min_probability: MinProbability = None,
    ) -> SimilarOutput:
        """Find questions that ask the same, with probability, matched words and accepted answer; none if unsure."""
        with self._lock:
            hits = self._engine.search(
                title, SIMILAR_QUESTIONS, body=body, filter=Filter(tuple(tags), None, before),
                min_probability=min_probability,
            )  # fmt: skip
            accepted = _accepted_answers(self._engine.archive.view(), [hit.question for hit in hits])
        questions = [_to_similar(hit, accepted.get(hit.id)) for hit in hits]
        return SimilarOutput(questions=questions, abstained=not hits, ranker=self._engine.ranker.name)


def _to_document(question: Question, answers: list[Answer]) -> FetchedQuestion:
    parts = [question.title, readable_text(question.body, question.markup)]
    for answer in answers:
        kind = "Accepted answer" if answer.accepted else "Answer"
        parts.append(f"{kind} {answer.id}:\n{readable_text(answer.body, answer.markup)}")
    metadata = {
        "tags": list(question.tags),
        "created_at": question.created_at,
        "closed_at": question.closed_at,
        "states": list(question.states),
        "author": question.author,
        "license": question.license,
        "answers": len(answers),
        "accepted_answer": question.accepted_answer_id,
    }
    return FetchedQuestion(
        id=question.id,
        title=question.title,
        url=safe_url(question.url) or "",
        text="\n\n".join(filter(None, parts)),
        metadata=metadata,
    )


def _accepted_answers(view: View, questions: list[Question]) -> dict[str, AcceptedAnswer]:
    """Return question id → its accepted answer, for the questions that have one."""
    answers = view.get_answers(q.accepted_answer_id for q in questions if q.accepted_answer_id)
    return {
        question.id: AcceptedAnswer(
            id=answer.id,
            text=readable_text(answer.body, answer.markup),
            author=answer.author,
            license=answer.license or question.license,
            url=safe_url(answer.url or question.url),
        )
        for question in questions
        if (answer := answers.get(question.accepted_answer_id or ""))
    }


def _to_similar(hit: SearchHit, accepted: AcceptedAnswer | None) -> SimilarQuestionOutput:
    return SimilarQuestionOutput(
        id=hit.id,
        title=hit.title,
        url=safe_url(hit.question.url),
        probability=hit.probability,
        similarity=hit.similarity,
        states=list(hit.states),
        solution=hit.solution,
        matched_words=found_words(hit),
        fields=dict(hit.explanation.fields) if hit.explanation else {},
        passage=hit.snippet,
        accepted_answer=accepted,
    )

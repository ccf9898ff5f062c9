"""The fields of a question that a ranker compares, and the documents with them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from askalike.core.config import FieldNames, NumberList, Settings
from askalike.core.iteration import chunks
from askalike.core.records import Answer, AnsweredQuestion, Question
from askalike.core.values import check_field_weights, check_weights
from askalike.index.rows import DocAttributes
from askalike.store import Snapshot
from askalike.text.words import title_key

TITLE_FACTOR = 0.1
"""Factor of the title's weight, beside other fields, in a query that is no title, see `is_title`.

Measured on duplicates among whole questions of cs.stackexchange.com (n = 210).
"""
ANSWER_WEIGHT = 0.5
"""Weight of accepted answers beside title and text; measured on an FAQ (n = 664), see commit f7867fc0."""


class FieldSettings(Settings):
    """The fields of a question that a ranker compares. Each ranker has its own default of `fields`."""

    fields: FieldNames
    field_weights: Annotated[NumberList, AfterValidator(check_weights)] | None = None
    title_factor: float = Field(
        TITLE_FACTOR,
        gt=0,
        le=1,
        description="factor of the title's weight, with several fields, in queries with bodies or pasted from code",
    )
    rephrasings: bool = True

    @model_validator(mode="after")
    def _check_field_weights(self) -> Self:
        check_field_weights(self.field_names, self.field_weights)
        return self

    @property
    def field_names(self) -> tuple[str, ...]:
        """The fields in their order in the index."""
        return tuple(self.fields.split(","))

    def reads(self, part: Literal["title", "body"]) -> bool:
        """Return whether titles or bodies are among the fields, alone or as a part of the whole text."""
        return not {part, "text"}.isdisjoint(self.field_names)

    @property
    def finds_titles(self) -> bool:
        """Whether a question with exactly the typed title comes first: titles are a field beside others."""
        return "title" in self.field_names and len(self.field_names) > 1

    def titles(self, question: Question) -> Sequence[str]:
        """Return the titles by which a question is found first: its own, and its rephrasings."""
        if not self.finds_titles:
            return ()
        return (question.title, *(question.rephrasings if self.rephrasings else ()))


def changed_documents(
    view: Snapshot, since: int, settings: FieldSettings
) -> Iterator[tuple[int, Question | Answer, DocAttributes]]:
    """Yield docid, document and the attributes of those added or changed after a change number.

    With the field `answer`, questions come with their accepted answers.
    """
    if view.kind == "answers":
        for docid, answer in view.answers(since):
            yield docid, answer, DocAttributes()
        return
    names = settings.field_names
    for batch in chunks(view.questions(since, "answer" in names)):
        questions = dict(batch)
        for docid, question in (add_answers(view, questions) if "answer" in names else questions).items():
            keys = tuple(map(title_key, settings.titles(question)))
            yield docid, question, DocAttributes(question.tags, question.created_at, question.states, keys)


def add_answers(view: Snapshot, questions: Mapping[int, Question]) -> Mapping[int, Question]:
    """Return questions by docid, with their accepted answers."""
    answers = view.accepted_answers(questions)
    return {docid: AnsweredQuestion.of_question(question, answers.get(docid)) for docid, question in questions.items()}

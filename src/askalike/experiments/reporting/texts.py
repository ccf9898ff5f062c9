"""What an archive says of ids: the texts that reports show beside them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from askalike.labels.splits import DocumentKind
from askalike.store.archive import Archive
from askalike.text.clean import plain_text
from askalike.text.snippet import extract_snippet
from askalike.types import Question

TITLE_LENGTH, BODY_LENGTH = 160, 280
"""Characters shown of a text at most."""


@dataclass(frozen=True, slots=True)
class ReportTexts:
    """Texts of queries and documents; an id without a text stands for itself."""

    queries: Mapping[str, Question] = field(default_factory=dict)
    documents: Mapping[str, Question] = field(default_factory=dict)

    def query(self, id: str) -> str:
        """A query's title, or the opening of its body."""
        return display_text(self.queries.get(id), id)

    def query_body(self, id: str) -> str:
        """The opening of a query's body, if it has a title too."""
        question = self.queries.get(id)
        if question is None or not question.title:
            return ""
        return extract_snippet(plain_text(question.body, question.markup, links="keep"), (), BODY_LENGTH)

    def document(self, id: str) -> str:
        """A document's title, or the opening of its body."""
        return display_text(self.documents.get(id), id)


def display_text(question: Question | None, id: str) -> str:
    """One line that stands for a question."""
    if question is None:
        return id
    title = extract_snippet(plain_text(question.title, "text", links="keep"), (), TITLE_LENGTH)
    return title or extract_snippet(plain_text(question.body, question.markup, links="keep"), (), TITLE_LENGTH) or id


def load_texts(
    archive: Path, queries: Mapping[str, Question], documents: Iterable[str], kind: DocumentKind = "questions"
) -> ReportTexts:
    """The texts of these queries and documents; of documents none where the archive is no longer there."""
    if not (archive / "archive.sqlite").is_file():
        return ReportTexts(queries)
    with Archive.open(archive) as opened:
        view, ids = opened.view(kind=kind), dict.fromkeys(documents)
        if kind == "questions":
            return ReportTexts(queries, view.get_questions(ids))
        found = view.get_answers(ids).values()
        return ReportTexts(
            queries, {answer.id: Question(answer.id, "", answer.body, answer.markup) for answer in found}
        )

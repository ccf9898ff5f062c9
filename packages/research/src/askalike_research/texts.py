"""The texts that reports show of queries and documents."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from askalike import Archive, Question
from askalike.plugin.exports import extract_snippet, plain_text
from askalike.plugin.measuring import DocumentKind

TITLE_LENGTH = 160
"""Maximum number of characters shown of a title."""
BODY_LENGTH = 280
"""Maximum number of characters shown of a body."""


@dataclass(frozen=True, slots=True)
class ReportTexts:
    """Texts of queries and documents by id. An id without a text is shown as it is."""

    queries: Mapping[str, Question] = field(default_factory=dict)
    documents: Mapping[str, Question] = field(default_factory=dict)

    def query(self, id: str) -> str:
        """Return a query's title, or the opening of its body."""
        return display_text(self.queries.get(id), id)

    def query_body(self, id: str) -> str:
        """Return the opening of a query's body; an empty text for a query without a title."""
        question = self.queries.get(id)
        if question is None or not question.title:
            return ""
        return extract_snippet(plain_text(question.body, question.markup, links="keep"), (), BODY_LENGTH)

    def document(self, id: str) -> str:
        """Return a document's title, or the opening of its body."""
        return display_text(self.documents.get(id), id)


def display_text(question: Question | None, id: str) -> str:
    """Return one line for a question: its title, else the opening of its body, else the id."""
    if question is None:
        return id
    title = extract_snippet(plain_text(question.title, "text", links="keep"), (), TITLE_LENGTH)
    return title or extract_snippet(plain_text(question.body, question.markup, links="keep"), (), TITLE_LENGTH) or id


def load_texts(
    archive: Path, queries: Mapping[str, Question], documents: Iterable[str], kind: DocumentKind
) -> ReportTexts:
    """Return the texts of queries and documents; of queries only if the archive is gone."""
    if not (archive / "archive.sqlite").is_file():
        return ReportTexts(queries)
    with Archive.open(archive) as opened:
        view = opened.view(kind=kind)
        ids = dict.fromkeys(documents)
        if kind == "questions":
            return ReportTexts(queries, view.get_questions(ids))
        answers = view.get_answers(ids).values()
        return ReportTexts(queries, {a.id: Question(a.id, "", a.body, a.markup) for a in answers})

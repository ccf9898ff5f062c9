"""What an archive says of ids: the texts that reports show beside them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from askalike.archive.splits import Of
from askalike.archive.store import Archive
from askalike.text.clean import plain_text
from askalike.text.snippet import snippet
from askalike.types import Question

TITLE, BODY = 160, 280
"""Characters shown of a text at most."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of queries and documents; an id without a text stands for itself."""

    queries: Mapping[str, Question] = field(default_factory=dict)
    documents: Mapping[str, Question] = field(default_factory=dict)

    def query(self, id: str) -> str:
        """A query's title, or the opening of its body."""
        return shown(self.queries.get(id), id)

    def query_body(self, id: str) -> str:
        """The opening of a query's body, if it has a title too."""
        question = self.queries.get(id)
        if question is None or not question.title:
            return ""
        return snippet(plain_text(question.body, question.markup, links="keep"), (), BODY)

    def document(self, id: str) -> str:
        """A document's title, or the opening of its body."""
        return shown(self.documents.get(id), id)


def shown(question: Question | None, id: str) -> str:
    """One line that stands for a question."""
    if question is None:
        return id
    title = snippet(plain_text(question.title, "text", links="keep"), (), TITLE)
    return title or snippet(plain_text(question.body, question.markup, links="keep"), (), TITLE) or id


def texts_of(archive: Path, queries: Mapping[str, Question], documents: Iterable[str], of: Of = "questions") -> Texts:
    """The texts of these queries and documents; of documents none where the archive is no longer there."""
    if not (archive / "archive.sqlite").is_file():
        return Texts(queries)
    with Archive.open(archive) as opened:
        view, ids = opened.view(of=of), dict.fromkeys(documents)
        if of == "questions":
            return Texts(queries, view.get(ids))
        found = view.get_answers(ids).values()
        return Texts(queries, {answer.id: Question(answer.id, "", answer.body, answer.markup) for answer in found})

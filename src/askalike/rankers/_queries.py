"""Queries as rankers read them: cleaned, corrected, and with the documents that each must not find."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from askalike.core.config import FieldNames, NumberList, Settings
from askalike.core.types import TYPED_QUERY_ID, Question
from askalike.core.values import check_field_weights, check_weights
from askalike.store import View

TITLE_FACTOR = 0.1
"""Factor of the title's weight, beside other fields, in a query that is no title, see `is_title`.

Measured on duplicates among whole questions of cs.stackexchange.com; see experiments/log/2026-11.md.
"""
ANSWER_WEIGHT = 0.5
"""Weight of accepted answers beside title and text; measured on an FAQ, see experiments/log/2026-11.md."""
CODE_SHARE = 1 / 3
"""Share of words with a sign of code from which a query was pasted from code; one title in a hundred has it."""
_FORMULA = re.compile(r"\$[^$]*\$?")
_SIGN_OF_CODE = re.compile(r"[^\w\s'’\"“”?!.,:&/\u2010-\u2015-]")
PHRASING_NUMBER = re.compile("[1-9][0-9]{0,4}")


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

    @property
    def finds_titles(self) -> bool:
        """Whether a question with exactly the typed title comes first: titles are a field beside others."""
        return "title" in self.field_names and len(self.field_names) > 1

    def titles(self, question: Question) -> Sequence[str]:
        """Return the titles by which a question is found first: its own, and its rephrasings."""
        if not self.finds_titles:
            return ()
        return (question.title, *(question.rephrasings if self.rephrasings else ()))


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """A query, the docid of a question that it must not find (−1: none), and the one phrasing of it (−1: all).

    id: its id in the run. text: the plain text of its title. language: None if unknown. prefix: whether its last word
    may be unfinished. corrections: misspelt or unfinished word as typed → the word that replaces it in `query` and
    `text`. finished: the query with its unfinished word completed, for rankers that read whole words; None if it has
    none.
    """

    query: Question
    excluded_docid: int = -1
    excluded_phrasing: int = -1
    id: str = ""
    text: str = ""
    language: str | None = None
    prefix: bool = False
    corrections: Mapping[str, str] = field(default_factory=dict)
    finished: Question | None = None


def is_title(query: Question) -> bool:
    """Return whether a query is a title as people type it: it has no body, and was not pasted from code.

    A formula between dollar signs counts as one plain word.
    """
    text = _FORMULA.sub(" formula ", query.title) if "$" in query.title else query.title
    if query.body or not _SIGN_OF_CODE.search(text):
        return not query.body
    words = text.split()
    return sum(map(bool, map(_SIGN_OF_CODE.search, words))) < CODE_SHARE * len(words)


def exclude_own(view: View, queries: Sequence[ResolvedQuery]) -> list[ResolvedQuery]:
    """Return the queries with the questions of another view that they must not find."""
    excluded = find_excluded(view, [one.query for one in queries])
    rows = [(one, *excluded.get(one.query.id, (-1, -1))) for one in queries]
    return [replace(one, excluded_docid=docid, excluded_phrasing=phrasing) for one, docid, phrasing in rows]


def find_excluded(view: View, queries: Collection[Question]) -> dict[str, tuple[int, int]]:
    """Return the id of a query → the docid of the question that it is, and the number of its phrasing (−1: all)."""
    ids = {query.id for query in queries if not query.id.startswith(TYPED_QUERY_ID)}
    if not ids or view.kind == "answers":
        return {}
    own = view.docids(ids)
    parts = {id: id.rpartition("#") for id in ids if id not in own}
    phrased = {id: (base, int(n)) for id, (base, _, n) in parts.items() if base and PHRASING_NUMBER.fullmatch(n)}
    bases = view.docids({base for base, _ in phrased.values()}) if phrased else {}
    excluded = {id: (docid, -1) for id, docid in own.items()}
    return excluded | {id: (bases[base], n) for id, (base, n) in phrased.items() if base in bases}

"""Queries with their known answers: given splits, those an archive's own labels make, and parts of partitions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeVar

from askalike.errors import ArchiveError
from askalike.iteration import chunks
from askalike.store import labels
from askalike.store.archive import Archive
from askalike.store.labels import ANSWERS_SPLIT
from askalike.store.view import QUESTION_SQL, question_from_row
from askalike.types import Question, Split

DocumentKind = Literal["questions", "answers"]
T = TypeVar("T")


def imported_splits(archive: Archive) -> list[str]:
    """The names of the splits whose queries an evaluation set gave: train, dev, test, then by name."""
    return labels.imported_splits(archive.connection)


def labelled_splits(archive: Archive, kind: DocumentKind = "questions") -> list[str]:
    """The names of the splits that have judged or offered documents of this kind.

    First the given ones or, where there is none, the derived ones that are not empty: `duplicates`,
    `rephrasings`; of answers, `answers`. Then the parts of partitions, `PARTITION/PART`.
    """
    whole = uncut_splits(archive, kind)
    judged = {*whole, *DERIVED_SPLITS} if kind == "questions" else set(whole)
    return whole + [
        name for name, part in labels.partition_parts(archive.connection).items() if part.source_split in judged
    ]


def document_kind(archive: Archive, name: str) -> DocumentKind:
    """What the queries of a split look for: answers if it is `answers` or was cut from that, else questions."""
    return "answers" if labels.ranks_answers(archive.connection, name) else "questions"


def uncut_splits(archive: Archive, kind: DocumentKind = "questions") -> list[str]:
    """The names of the labelled splits without the parts of partitions."""
    sql = "SELECT DISTINCT split FROM judgements WHERE of = ?"
    judged = {name for (name,) in archive.connection.execute(sql, (kind,))}
    names = [name for name in imported_splits(archive) if name in judged]
    if names:
        return names
    if kind == "answers":
        return [ANSWERS_SPLIT] * labels.split_exists(archive.connection, ANSWERS_SPLIT)
    return [name for name, found in DERIVED_SPLITS.items() if next(found(archive), None)]


def splits_to_hold_out(archive: Archive, name: str) -> list[str]:
    """The splits that a ranker which is measured on the split `name` must not have learned from.

    Of a part: the dev and test parts of its partition (of folds: that fold alone), and what is held out beside the
    split that was cut. Of a given split: every given one but train. Of any other: itself.
    """
    part = labels.partition_parts(archive.connection).get(name)
    if name in imported_splits(archive):
        return [split for split in imported_splits(archive) if split != "train"]
    if part is None:
        return [name]
    own = [f"{part.partition}/{other}" for other in ("dev", "test")] if part.name in labels.SPLIT_ORDER else [name]
    known = labels.partition_parts(archive.connection)
    return [split for split in own if split in known] + [
        s for s in splits_to_hold_out(archive, part.source_split) if s != part.source_split
    ]


def load_split(archive: Archive, name: str, kind: DocumentKind = "questions") -> Split:
    """The queries, judgements and candidates of one split: a given one, else the derived one or the part of that name.

    Of a given split every query is there, in the order it was imported; its candidates, where any are given, are in
    their given order, and a query without one has none. A candidate that is not judged is not in the qrels. A part has
    what the split has that it was cut from, of its own queries.
    Raises ArchiveError where there is no such split.
    """
    queries = labels.imported_queries(archive.connection, name)
    if queries:
        return Split(
            queries, _imported_qrels(archive, name, kind, queries), _imported_candidates(archive, name, kind, queries)
        )
    if kind == "questions" and name in DERIVED_SPLITS and (derived := _load_derived(archive, name)).queries:
        return derived
    if kind == "answers" and name == ANSWERS_SPLIT and (answered := load_answers_split(archive)).queries:
        return answered
    if part := labels.partition_parts(archive.connection).get(name):
        return _restrict(load_split(archive, part.source_split, kind), labels.part_query_ids(archive.connection, part))
    there = ", ".join(labelled_splits(archive, kind)) or "none; import an evaluation set, or duplicate links"
    raise ArchiveError(f"{archive.path}: no split {name!r} with judged {kind}; there are: {there}")


def duplicate_queries(archive: Archive) -> Iterator[tuple[Question, str]]:
    """Each question that was closed as a duplicate, with the id of the original: once for each of its own links.

    Only links with both ends in the archive count; a query keeps its question's id, so that it never finds itself.
    """
    view = archive.view()
    for links in chunks(link for link in view.links("duplicate") if link.source != link.target):
        questions = view.get_questions({link.source for link in links})
        yield from ((questions[link.source], link.target) for link in links)


def rephrasing_queries(archive: Archive) -> Iterator[tuple[Question, str]]:
    """Each rephrasing as a query `QUESTION_ID#N`, N from 1 as the question lists them, with its question's id."""
    for row in archive.connection.execute(f"{QUESTION_SQL} WHERE rephrasings != '[]' ORDER BY number"):
        question = question_from_row(row)
        for n, text in enumerate(question.rephrasings, 1):
            yield Question(f"{question.id}#{n}", text, language=question.language), question.id


def load_answers_split(archive: Archive) -> Split:
    """Every question that has an answer which no data set calls bad; right are its own, and those of its twins.

    Twins are questions with the very same text.
    """
    queries: dict[str, Question] = {}
    right: dict[tuple[str, str], dict[str, int]] = {}
    view = archive.view()
    for chunk in chunks(question for _, question in view.questions()):
        found = view.get_answers_to([question.id for question in chunk])
        for question in chunk:
            if good := [a.id for a in found[question.id] if a.body.strip() and a.label in (None, "Good")]:
                queries[question.id] = question
                right.setdefault((question.title, question.body), {}).update(dict.fromkeys(good, 1))
    return Split(queries, {id: right[question.title, question.body] for id, question in queries.items()})


DERIVED_SPLITS: Mapping[str, Callable[[Archive], Iterator[tuple[Question, str]]]] = {
    "duplicates": duplicate_queries,
    "rephrasings": rephrasing_queries,
}
"""Splits made of what an archive itself knows: each yields a query with the id of a relevant question."""


def _load_derived(archive: Archive, name: str) -> Split:
    queries: dict[str, Question] = {}
    qrels: dict[str, dict[str, int]] = {}
    for query, relevant in DERIVED_SPLITS[name](archive):
        queries[query.id] = query
        qrels.setdefault(query.id, {})[relevant] = 1
    return Split(queries, qrels)


def _restrict(parent: Split, query_ids: set[str]) -> Split:
    """A split of some of the queries of another."""

    def own(rows: Mapping[str, T]) -> dict[str, T]:
        return {id: row for id, row in rows.items() if id in query_ids}

    return Split(
        own(parent.queries), own(parent.qrels), own(parent.candidates) if parent.candidates is not None else None
    )


def _imported_qrels(
    archive: Archive, name: str, kind: DocumentKind, queries: Mapping[str, Question]
) -> dict[str, dict[str, int]]:
    sql = (
        "SELECT query_id, document_id, relevance FROM judgements "
        "WHERE split = ? AND of = ? AND relevance IS NOT NULL ORDER BY query_id, document_id"
    )
    qrels: dict[str, dict[str, int]] = {}
    for query, document, relevance in archive.connection.execute(sql, (name, kind)):
        if query in queries:
            qrels.setdefault(query, {})[document] = relevance
    return qrels


def _imported_candidates(
    archive: Archive, name: str, kind: DocumentKind, queries: Mapping[str, Question]
) -> dict[str, list[str]] | None:
    sql = (
        "SELECT query_id, document_id FROM judgements "
        "WHERE split = ? AND of = ? AND position IS NOT NULL ORDER BY query_id, position, document_id"
    )
    candidates: dict[str, list[str]] = {id: [] for id in queries}
    for query, document in archive.connection.execute(sql, (name, kind)):
        if query in candidates:
            candidates[query].append(document)
    return candidates if any(candidates.values()) else None

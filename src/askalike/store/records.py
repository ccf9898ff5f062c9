"""The tables of the archive's records: as rows and back; originals of duplicates; the rows that a filter selects."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from askalike.core.arrays import Ints
from askalike.core.errors import InputError, SettingsError
from askalike.core.filters import Filter, LeftOut
from askalike.core.records import Answer, DocumentKind, EvaluationQuery, Judgement, Link, Question
from askalike.store.database import Database, fetch_int

encode_json = json.JSONEncoder(ensure_ascii=False).encode

QUESTION_COLUMNS = (
    "title", "body", "markup", "tags", "category", "language", "created_at", "closed_at", "author", "url", "license",
    "votes", "accepted_answer_id", "rephrasings", "marks", "solved_in",
)  # fmt: skip
ANSWER_COLUMNS = ("question_id", "body", "markup", "created_at", "author", "url", "license", "votes", "label")

QUESTION_SQL = f"SELECT number, id, {', '.join(QUESTION_COLUMNS)} FROM questions"
ANSWER_SQL = f"""SELECT a.number, a.id, {", ".join("a." + c for c in ANSWER_COLUMNS)}, q.accepted_answer_id IS a.id
    FROM answers a LEFT JOIN questions q ON q.id = a.question_id"""
ACCEPTED_SQL = "a.id = q.accepted_answer_id AND a.question_id = q.id"

StoredRecord = Question | Answer | Link | EvaluationQuery | Judgement
NUMBERS: Mapping[type, Sequence[str]] = {
    Question: ("votes",), Answer: ("votes",), Link: (), EvaluationQuery: (), Judgement: ("relevance", "position"),
}  # fmt: skip
"""The numeric fields of each record type."""
DATES: Mapping[type, Sequence[str]] = {
    Question: ("created_at", "closed_at"), Answer: ("created_at",), Link: ("created_at",), EvaluationQuery: (),
    Judgement: (),
}  # fmt: skip
"""The fields of each record type that are dates in ISO 8601: filters compare them as texts."""
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
MIN_NUMBER = -(2**63)
MAX_NUMBER = 2**63 - 1
Row = tuple[Any, ...]
TARGETS_SQL = """SELECT l.source, l.target, t.number FROM json_each(?) k
    CROSS JOIN links l ON l.source = k.value AND l.kind = 'duplicate' AND l.target != l.source
    LEFT JOIN questions t ON t.id = l.target ORDER BY l.source, t.number, l.target"""


class RecordTable(NamedTuple):
    """A table of records. Each has the column `import_number`: the number of the import that last wrote the row."""

    name: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    """The columns except the keys."""
    key_of: Callable[[Any], tuple[str, ...]]
    row_of: Callable[[Any], Row]
    """Returns the values of `columns`."""
    is_document: bool = False
    """Whether rows have a docid and the number of their last change."""
    text_columns: tuple[str, ...] = ()
    """The columns that count as a changed text: the row's text, and its question id."""


def number_problem(record: Any) -> str | None:
    """Return what is wrong with a number of a record that SQLite cannot hold; None if it can hold all."""
    for name in NUMBERS[type(record)]:
        number = getattr(record, name)
        if number is not None and not MIN_NUMBER <= number <= MAX_NUMBER:
            return f"{name}: the number is too large; expected one from {MIN_NUMBER} to {MAX_NUMBER}"
    return None


def question_row(q: Question) -> Row:
    """Return the values of QUESTION_COLUMNS."""
    return (
        q.title, q.body, q.markup, encode_strings(q.tags), q.category, q.language, q.created_at, q.closed_at, q.author,
        q.url, q.license, q.votes, q.accepted_answer_id, encode_strings(q.rephrasings),
        encode_strings(q.marks), q.solved_in,
    )  # fmt: skip


def answer_row(a: Answer) -> Row:
    """Return the values of ANSWER_COLUMNS."""
    return (a.question_id, a.body, a.markup, a.created_at, a.author, a.url, a.license, a.votes, a.label)


def question_from_row(row: Sequence[Any]) -> Question:
    """Return the question in a row of QUESTION_SQL."""
    fields: tuple[Any, ...] = (*row[1:5], decode_strings(row[5]), *row[6:15], *map(decode_strings, row[15:17]), row[17])
    return Question(*fields)


def answer_from_row(row: Sequence[Any]) -> Answer:
    """Return the answer in a row of ANSWER_SQL."""
    fields: tuple[Any, ...] = (*row[1:5], bool(row[11]), *row[5:11])
    return Answer(*fields)


def query_row(q: EvaluationQuery) -> Row:
    """Return the values of the columns of `queries` except the keys."""
    x = q.question
    return (x.title, x.body, x.markup, x.language, x.category, x.created_at)


def encode_strings(tags: Sequence[str]) -> str:
    """Return tags, rephrasings or marks as one JSON text."""
    return encode_json(tags) if tags else "[]"


def decode_strings(text: str) -> tuple[str, ...]:
    """Return the tags, rephrasings or marks in a text from `encode_strings`."""
    return tuple(json.loads(text)) if text != "[]" else ()


TABLES: Mapping[type, RecordTable] = {
    Question: RecordTable(
        "questions", ("id",), QUESTION_COLUMNS, lambda q: (q.id,), question_row, True, ("title", "body")
    ),
    Answer: RecordTable(
        "answers", ("id",), ANSWER_COLUMNS, lambda a: (a.id,), answer_row, True, ("question_id", "body")
    ),
    Link: RecordTable(
        "links", ("source", "target", "kind"), ("created_at",),
        lambda x: (x.source, x.target, x.kind), lambda x: (x.created_at,),
    ),
    EvaluationQuery: RecordTable(
        "queries", ("split", "id"), ("title", "body", "markup", "language", "category", "created_at"),
        lambda x: (x.split, x.question.id), query_row,
    ),
    Judgement: RecordTable(
        "judgements", ("split", "record_type", "query_id", "document_id"), ("relevance", "position"),
        lambda x: (x.split, x.record_type, x.query_id, x.document_id), lambda x: (x.relevance, x.position),
    ),
}  # fmt: skip
"""Record type → its table, in write order."""


Check = Callable[[Any], bool]


def check_record(record: object) -> None:
    """Raise InputError if the object is not a record, or for the first field with a wrong type or out of range."""
    kind = type(record)
    if kind not in TABLES:
        kinds = ", ".join(sorted(known.__name__ for known in TABLES))
        raise InputError(f"{record!r}: expected a record, one of {kinds}")
    for name, expected, is_right in _field_checks()[kind]:
        if not is_right(value := getattr(record, name)):
            raise InputError(f"{kind.__name__}: {name} is {value!r}; expected {expected}")
    if problem := number_problem(record):
        raise InputError(f"{kind.__name__}: {problem}")
    for name in DATES[kind]:
        if (date := getattr(record, name)) is not None and not DATE.match(date):
            raise InputError(f"{kind.__name__}: {name} is {date!r}; expected a date such as 2014-01-21T20:26:05")


@cache
def _field_checks() -> Mapping[type, Sequence[tuple[str, str, Check]]]:
    """Return, for each type of record, the name, description and check of each field."""
    fields = {kind: get_type_hints(kind) for kind in TABLES}
    return {
        kind: [(name, _describe(hint), _make_check(hint)) for name, hint in of.items()] for kind, of in fields.items()
    }


def _make_check(hint: Any) -> Check:
    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin is Literal:
        return lambda value: value in arguments
    if origin is UnionType:
        checks = [_make_check(argument) for argument in arguments]
        return lambda value: any(check(value) for check in checks)
    if origin is tuple:
        check = _make_check(arguments[0])
        return lambda value: isinstance(value, tuple | list) and all(map(check, value))
    if hint is int:
        return lambda value: isinstance(value, int) and not isinstance(value, bool)
    return lambda value: isinstance(value, hint)


def _describe(hint: Any) -> str:
    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin is Literal:
        return f"one of {', '.join(arguments)}"
    if origin is UnionType:
        return " or ".join(map(_describe, arguments))
    if origin is tuple:
        return f"a tuple, each {_describe(arguments[0])}"
    words = {str: "a string", int: "a whole number", bool: "True or False", type(None): "None"}
    return words.get(hint) or f"a {hint.__name__}"


@dataclass(slots=True)
class Originals:
    """The originals of some questions. in_archive: duplicate → original. absent: duplicate → a missing original."""

    in_archive: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)


def find_originals(database: Database, ids: Iterable[str]) -> Originals:
    """Follow the duplicate links of these questions, through duplicates of duplicates, to their originals.

    Of several originals, the first in the archive counts. In a cycle of duplicates, the first one is the original.
    """
    wanted = list(dict.fromkeys(ids))
    targets: dict[str, list[str]] = {}
    docids: dict[str, int] = {}
    originals = Originals()
    unread = wanted
    read = set[str]()
    while unread:
        rows = database._connection.read(TARGETS_SQL, (json.dumps(unread),))
        for source, target, docid in rows:
            if docid is None:
                originals.absent.setdefault(source, target)
            else:
                targets.setdefault(source, []).append(target)
                docids[target] = docid
        read.update(unread)
        unread = sorted({target for _, target, docid in rows if docid is not None} - read)
    for id in wanted:
        if id in targets and (original := _first_end(id, targets, docids)) != id:
            originals.in_archive[id] = original
    originals.absent = {id: target for id, target in originals.absent.items() if id not in targets}
    return originals


def _first_end(id: str, targets: dict[str, list[str]], docids: dict[str, int]) -> str:
    """Return the reachable question with the smallest docid that has no original itself; in a cycle the smallest."""
    reached: dict[str, None] = {}
    waiting = list(targets[id])
    while waiting:
        if (target := waiting.pop()) not in reached:
            reached[target] = None
            waiting += targets.get(target, ())
    ends = [target for target in reached if target not in targets] or list(reached)
    return min(ends, key=lambda target: docids[target])


HAS_ORIGINAL_SQL = """SELECT s.number FROM links l JOIN questions s ON s.id = l.source
    JOIN questions t ON t.id = l.target WHERE l.kind = 'duplicate' AND l.source != l.target"""
"""SQL for the docids of duplicates whose original is in the archive."""
LEFT_OUT_SQL: dict[LeftOut, str] = {
    "closed": """(instr(q.marks, '"closed"') OR (q.marks = '[]' AND (q.closed_at IS NOT NULL)))""",
    "locked": """instr(q.marks, '"locked"')""",
    "outdated": """instr(q.marks, '"outdated"')""",
    "unanswered": """NOT (instr(q.marks, '"answered"') OR (q.accepted_answer_id IS NOT NULL))""",
}
"""Excluded state → SQL condition, consistent with `Question.states`.

A duplicate with its original in the archive is never left out: the original is shown instead, and its states count.
"""


def select_filtered_docids(database: Database, kind: DocumentKind, filter: Filter) -> Ints:
    """Return the docids of the questions that satisfy a filter, or of the answers to them, ascending (int64)."""
    values: list[Any] = []
    sql = "SELECT q.number FROM questions q WHERE 1"
    if kind == "answers":
        sql = "SELECT a.number FROM answers a JOIN questions q ON q.id = a.question_id WHERE 1"
    for tag in filter.tags:
        sql += " AND q.number IN (SELECT question_number FROM question_tags WHERE tag = ?)"
        values.append(escape_surrogates(tag))
    for sign, date in ((">=", filter.after), ("<", filter.before)):
        if date:
            sql += f" AND q.created_at {sign} ?"
            values.append(escape_surrogates(date))
    for left_out in filter.without:
        sql += f" AND (NOT ({LEFT_OUT_SQL[left_out]}) OR q.number IN ({HAS_ORIGINAL_SQL}))"
    rows = database._connection.execute(f"{sql} ORDER BY 1", values)
    return np.fromiter((n for (n,) in rows), np.int64)


def escape_surrogates(text: str) -> str:
    """Escape lone surrogates, which SQLite rejects and no stored text contains."""
    return text.encode(errors="backslashreplace").decode()


class UnknownTagError(SettingsError):
    """A filter requires a tag that no question of the archive has."""


def require_tags(database: Database, tags: Sequence[str]) -> None:
    """Raise UnknownTagError for a tag that no question of the archive has."""
    for tag in tags:
        sql = "SELECT EXISTS (SELECT 1 FROM question_tags WHERE tag = ?)"
        if not fetch_int(database, sql, escape_surrogates(tag)):
            known = [name for (name,) in database._connection.execute("SELECT DISTINCT tag FROM question_tags")]
            similar = get_close_matches(tag.lower(), known, 3)
            advice = f"; similar ones: {', '.join(similar)}" if similar else ""
            raise UnknownTagError(f"tag {tag!a}: no question has it{advice}")

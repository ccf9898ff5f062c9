"""Rows of an archive that refer to rows which do not exist, contradict each other, or lack what others have."""

from typing import NamedTuple

from askalike.store.database import Database, fetch_int
from askalike.types import LinkKind

NO_QUESTION_SQL = "NOT EXISTS (SELECT 1 FROM questions q WHERE q.id = {})"
BOTH_ENDS_SQL = "FROM links l JOIN questions s ON s.id = l.source JOIN questions t ON t.id = l.target WHERE l.kind = "


class Matches(NamedTuple):
    """How many rows satisfy a condition, of how many in all, and a few of them by id."""

    matching: int
    total: int
    examples: tuple[str, ...]


def unanswered_questions(database: Database, limit: int) -> Matches:
    """Find questions without an answer; none in an archive without any answer."""
    total = fetch_int(database, "SELECT COUNT(*) FROM questions")
    if not fetch_int(database, "SELECT EXISTS (SELECT 1 FROM answers)"):
        return Matches(0, total, ())
    rows = "FROM questions q WHERE NOT EXISTS (SELECT 1 FROM answers a WHERE a.question_id = q.id) ORDER BY number"
    return _find(database, total, "id", rows, limit)


def absent_accepted_answers(database: Database, limit: int) -> Matches:
    """Find questions whose accepted answer is not in the archive, among those with an accepted answer."""
    accepted = "FROM questions q WHERE accepted_answer_id IS NOT NULL"
    total = fetch_int(database, f"SELECT COUNT(*) {accepted}")
    absent = "AND NOT EXISTS (SELECT 1 FROM answers a WHERE a.id = q.accepted_answer_id) ORDER BY number"
    return _find(database, total, "id", f"{accepted} {absent}", limit)


def answers_without_question(database: Database, limit: int) -> Matches:
    """Find answers whose question is not in the archive."""
    total = fetch_int(database, "SELECT COUNT(*) FROM answers")
    rows = f"FROM answers a WHERE {NO_QUESTION_SQL.format('a.question_id')} ORDER BY number"
    return _find(database, total, "id", rows, limit)


def broken_links(database: Database, kind: LinkKind, limit: int) -> Matches:
    """Find links of a kind with an end that is not in the archive."""
    total = fetch_int(database, "SELECT COUNT(*) FROM links WHERE kind = ?", kind)
    no_source, no_target = NO_QUESTION_SQL.format("source"), NO_QUESTION_SQL.format("target")
    rows = f"FROM links WHERE kind = ? AND ({no_source} OR {no_target})"
    return _find(database, total, "source || ' → ' || target", rows, limit, kind)


def broken_judgements(database: Database, limit: int) -> Matches:
    """Find imported judgements whose query or document is not in the archive."""
    total = fetch_int(database, "SELECT COUNT(*) FROM judgements")
    no_query = "NOT EXISTS (SELECT 1 FROM queries x WHERE x.split = j.split AND x.id = j.query_id)"
    no_answer = "NOT EXISTS (SELECT 1 FROM answers x WHERE x.id = j.document_id)"
    no_document = f"CASE j.of WHEN 'answers' THEN {no_answer} ELSE {NO_QUESTION_SQL.format('j.document_id')} END"
    rows = f"FROM judgements j WHERE {no_query} OR {no_document}"
    return _find(database, total, "j.split || ': ' || j.query_id || ' → ' || j.document_id", rows, limit)


def related_duplicate_links(database: Database, limit: int) -> Matches:
    """Find duplicate links whose two ends a related link joins as well, in either direction."""
    total = fetch_int(database, f"SELECT COUNT(*) {BOTH_ENDS_SQL}'duplicate'")
    related = "EXISTS (SELECT 1 FROM links r WHERE r.kind = 'related' AND r.source = l.{} AND r.target = l.{})"
    rows = (
        f"{BOTH_ENDS_SQL}'duplicate' AND ({related.format('source', 'target')} OR {related.format('target', 'source')})"
    )
    return _find(database, total, "l.source || ' → ' || l.target", rows, limit)


def questions_without_language(database: Database, limit: int) -> Matches:
    """Find questions without a language of their own."""
    total = fetch_int(database, "SELECT COUNT(*) FROM questions")
    return _find(database, total, "id", "FROM questions WHERE language IS NULL ORDER BY number", limit)


def question_in_language(database: Database, language: str, default: str | None) -> str | None:
    """Return the id of the first question in a language; `default` is the language of questions without one."""
    sql = "SELECT id FROM questions WHERE COALESCE(language, ?) = ? ORDER BY number LIMIT 1"
    row = database._connection.execute(sql, (default, language)).fetchone()
    return row[0] if row else None


def _find(database: Database, total: int, name_sql: str, rows_sql: str, limit: int, *values: object) -> Matches:
    """Count the rows of `FROM … WHERE …` and name the first of them."""
    count = fetch_int(database, f"SELECT COUNT(*) {rows_sql}", *values)
    named = database._connection.execute(f"SELECT {name_sql} {rows_sql} LIMIT {limit}", values)
    return Matches(count, total, tuple(str(row[0]) for row in named))

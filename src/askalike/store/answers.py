"""Answers by their questions, and the questions of answers."""

from collections.abc import Iterable

from askalike.core.records import Answer
from askalike.store.database import IN_JSON_SQL, Database, select_in_chunks
from askalike.store.records import ANSWER_SQL, answer_from_row


def get_answer(database: Database, id: str) -> Answer | None:
    """Return the answer with that id, or None."""
    row = database._connection.execute(f"{ANSWER_SQL} WHERE a.id = ?", (id,)).fetchone()
    return answer_from_row(row) if row else None


def get_answers(database: Database, question_id: str, limit: int = -1, offset: int = 0) -> list[Answer]:
    """Return a question's answers: the accepted one first, then by votes, then in the order in which they were added.

    limit, offset: return at most that many, after the first ones; -1 for no limit.
    """
    sql = f"""{ANSWER_SQL} WHERE a.question_id = ? ORDER BY (q.accepted_answer_id IS a.id) DESC,
        COALESCE(a.votes, 0) DESC, a.number LIMIT ? OFFSET ?"""
    return [answer_from_row(row) for row in database._connection.read(sql, (question_id, limit, offset))]


def docids_of_answers(database: Database, question_docids: Iterable[int]) -> dict[int, list[int]]:
    """Map each question's docid to those of its answers: accepted first, then by votes."""
    sql = f"""SELECT q.number, a.number FROM questions q JOIN answers a ON a.question_id = q.id WHERE q.number
        {IN_JSON_SQL} ORDER BY q.accepted_answer_id IS NOT a.id, COALESCE(a.votes, 0) DESC, a.number"""
    answers: dict[int, list[int]] = {}
    for question, answer in select_in_chunks(database, sql, question_docids):
        answers.setdefault(question, []).append(answer)
    return answers


def docids_of_questions(database: Database, answer_docids: Iterable[int]) -> dict[int, int]:
    """Map each answer's docid to that of its question, if the question exists."""
    sql = "SELECT a.number, q.number FROM answers a JOIN questions q ON q.id = a.question_id WHERE a.number"
    return dict(select_in_chunks(database, f"{sql} {IN_JSON_SQL}", answer_docids))

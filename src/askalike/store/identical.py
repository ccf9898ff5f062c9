"""Questions with identical texts."""

import json
from collections.abc import Iterator

from askalike.store.database import Database


def find_identical_questions(database: Database) -> Iterator[list[str]]:
    """Yield the sorted ids of each group of questions with the same title (ignoring case) and the same body."""
    sql = """SELECT json_group_array(id) FROM questions GROUP BY lower(trim(title)), trim(body)
        HAVING COUNT(*) > 1 ORDER BY MIN(number)"""
    for (ids,) in database._connection.execute(sql):
        yield sorted(json.loads(ids))

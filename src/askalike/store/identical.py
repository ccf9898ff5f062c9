"""Questions that are worded the same."""

import json
from collections.abc import Iterator

from askalike.store.database import Database


def find_identical_questions(database: Database) -> Iterator[list[str]]:
    """Yield the ids of questions with the same title (letter case aside) and the same body, two and more, sorted."""
    sql = """SELECT json_group_array(id) FROM questions GROUP BY lower(trim(title)), trim(body)
        HAVING COUNT(*) > 1 ORDER BY MIN(number)"""
    for (ids,) in database._connection.execute(sql):
        yield sorted(json.loads(ids))

"""What a model records to have learned."""

from askalike.core.types import Question, Split
from askalike.labels.learned import collect_learned


def test_a_dev_query_that_finds_its_own_question_is_no_label():
    """Titles that find their bodies choose among epochs, and say nothing of what asks the same."""
    queries = {id: Question(id, id) for id in "abc"}
    dev = Split(queries, {"a": {"a": 1}, "b": {"b": 1, "d": 1}, "c": {"c": 1}})
    assert collect_learned((), dev, dev_ranks_answers=False).duplicates == {"b", "d"}

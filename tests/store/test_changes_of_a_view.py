from askalike.core.types import Question
from askalike.store import Archive


def test_what_has_changed_is_found_without_reading_the_whole_table(tmp_path):
    with Archive.create(tmp_path / "a") as archive:
        archive.upsert(Question(f"q{n}", f"title {n}") for n in range(50))
        since = archive.view().change
        archive.upsert([Question("q7", "another title"), Question("new", "a new title"), Question("q3", "changed")])
        view = archive.view()
        assert [question.id for _, question in view.questions(since)] == ["q3", "q7", "new"]
        assert view.count_changed(since) == 3
        statements: list[str] = []
        view._connection.set_trace_callback(statements.append)
        list(view.questions(since))
        view._connection.set_trace_callback(None)
        plan = view._connection.execute(f"EXPLAIN QUERY PLAN {statements[0]}").fetchall()
        assert not [row for row in plan if row[3].startswith(("SCAN", "USE TEMP"))]

"""What has changed since a view was last indexed, and what a search sees meanwhile."""

from pathlib import Path

import pytest

from askalike import rankers
from askalike.core.records import Answer, Question
from askalike.encoders import PACKAGED_ENCODERS, find_package
from askalike.store import Archive
from askalike.store.editing import delete_answers


def test_changes_are_found_without_a_full_read(archive):
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


def test_question_changes_with_its_answer_if_read(archive):
    archive.upsert([
        *(Question(f"q{n}", "title", accepted_answer_id=f"a{n}") for n in range(9)),
        *(Answer(f"a{n}", f"q{n}", "text", created_at=f"2020-0{n + 1}-01") for n in range(8)),
        Answer("b", "q1", "not accepted"),
    ])  # fmt: skip
    view, dated = archive.view(), archive.view(before="2020-04-15")
    docids = view.docids([f"q{n}" for n in range(9)])
    assert {docid: a.id for docid, a in view.accepted_answers(docids.values()).items()} == {
        docids[f"q{n}"]: f"a{n}" for n in range(8)
    }
    assert {a.id for a in dated.accepted_answers(docids.values()).values()} == {f"a{n}" for n in range(4)}
    since = view.change
    archive.upsert([Answer("a2", "q2", "edited"), Answer("b", "q1", "edited"), Answer("a3", "q7", "moved")])
    delete_answers(archive, ["a5", "b", "nothing"])
    archive.upsert([Answer("a8", "q8", "new")])
    assert [q.id for _, q in view.questions(since, with_answers=True)] == ["q2", "q3", "q5", "q8"]
    assert [q.id for _, q in view.questions(since)] == ["q3", "q5"]


NEED_A_MODEL = {"pretrained"}


@pytest.mark.parametrize("name", sorted({*rankers.names()} - NEED_A_MODEL))
def test_committed_view_retrieves_what_was_last_indexed(name: str, tmp_path: Path) -> None:
    if name in PACKAGED_ENCODERS and not find_package(name).is_installed:
        pytest.skip(f"needs the extra {find_package(name).extra}")
    far = {"z"} if name in PACKAGED_ENCODERS else set()  # these have no minimum score
    with Archive.create(tmp_path / "a") as archive:
        indexing, serving = rankers.create(name), rankers.create(name)

        def retrieved() -> set[str]:
            searcher = rankers.open_committed(serving, archive.committed_view())
            return {hit.id for hit in rankers.rank(searcher, {"q": Question("q", "egg")}, 10)["q"]}

        archive.upsert([Question("a", "an egg"), Question("z", "some toast")])
        assert retrieved() == set()
        assert not list((tmp_path / "a").glob("index/*/*"))
        indexing.build(archive.view())
        assert retrieved() == {"a"} | far
        archive.upsert([Question("b", "another egg")])
        assert retrieved() == {"a"} | far
        indexing.build(archive.view())
        assert retrieved() == {"a", "b"} | far

"""What became of questions: which of them stand for their duplicates, and which are left out."""

from itertools import product

import pytest

from askalike import Answer, Archive, ArchiveRetriever, Filter, Link, Question, SettingsError, load, rankers
from askalike.rankers import create, open_current
from askalike.store.records import find_originals

QUESTIONS = (
    Question("o", "Reset a forgotten password", accepted_answer_id="oa"),
    Question("d", "I cannot remember my secret word", closed_at="2024-01-02T00:00:00"),
    Question("dd", "My secret word is gone", closed_at="2024-01-03T00:00:00", marks=("closed",)),
    Question("x", "The secret word for the cellar", closed_at="2024-01-04T00:00:00"),
    Question("l", "Which word opens the secret door?", marks=("locked",)),
    Question("u", "Who has the secret word list?", created_at="2020-05-05T00:00:00"),
    Question("s", "Secret word box is empty after update", closed_at="2024-03-04T00:00:00", marks=("answered",)),
    Question("t", "Secret word box flickers", marks=("answered", "outdated"), solved_in="v2.1"),
    Question("a", "Where is the manual of the secret word safe?", closed_at="2024-01-05T00:00:00"),
)
LINKS = (Link("d", "o"), Link("dd", "d"), Link("a", "elsewhere"))
ANSWERED = {"o", "s", "t"}


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    path = tmp_path_factory.mktemp("states") / "desk"
    with Archive.create(path) as archive:
        archive.upsert([*QUESTIONS, Answer("oa", "o", "Ask at the desk."), *LINKS])
    with load(path, "bm25") as engine:
        yield engine


def found(engine, text, *without, k=9, **options):
    return [hit.id for hit in engine.search(text, k, filter=Filter(without=without), min_similarity=0, **options)]


def test_states_follow_marks_dates_and_answers() -> None:
    states = {q.id: q.states for q in QUESTIONS}
    assert states["u"] == ("open",)
    assert states["o"] == ("answered",)
    assert states["x"] == ("closed",)
    assert states["s"] == ("answered",)  # closed because it is solved
    assert states["t"] == ("answered", "outdated")
    assert Question("q", "?", closed_at="2024", accepted_answer_id="a").states == ("answered", "closed")


def test_an_original_stands_for_its_duplicates(desk) -> None:
    hits = desk.search("cannot remember my secret word", 9, min_similarity=0)
    first = hits[0]
    assert (first.id, first.matched_duplicate and first.matched_duplicate.id) == ("o", "d")
    assert first.score == pytest.approx(
        rankers.rank(desk.searcher(), {"q": Question("q", "cannot remember my secret word")}, 1)["q"][0].score
    )
    assert {c.word for c in first.explanation.contributions} >= {"remember", "secret"}
    assert not {"d", "dd"} & {hit.id for hit in hits}
    assert len({hit.id for hit in hits}) == len(hits)


def test_too_few_hits_are_looked_for_deeper(desk) -> None:
    assert found(desk, "my secret word", k=2)[0] == "o"  # d and dd are the first two
    assert len(found(desk, "my secret word", k=2)) == 2


def test_asked_question_is_not_shown_for_its_duplicates(desk) -> None:
    assert "o" not in [hit.id for hit in desk.find_similar(QUESTIONS[0], 9)]


def test_duplicate_of_an_absent_question_stays(desk) -> None:
    hit = desk.search("manual of the safe", 1, min_similarity=0)[0]
    assert (hit.id, hit.duplicate_of, hit.states) == ("a", "elsewhere", ("closed", "duplicate"))


def test_solved_ones_say_when(desk) -> None:
    solutions = {hit.id: hit.solution for hit in desk.search("secret word box", 9, min_similarity=0)}
    assert (solutions["s"], solutions["t"], solutions["u"]) == ("was solved on 2024-03-04", "was solved in v2.1", None)


def test_what_is_left_out(desk) -> None:
    everything = {"o", "x", "l", "u", "s", "t", "a"}
    assert set(found(desk, "secret word")) == everything
    assert set(found(desk, "secret word", "closed")) == everything - {"x", "a"}
    assert set(found(desk, "secret word", "locked", "outdated")) == everything - {"l", "t"}
    assert set(found(desk, "secret word", "unanswered")) <= ANSWERED
    assert Filter(without=["closed", "closed"]).without == ("closed",)
    with pytest.raises(SettingsError, match="'shut': expected closed, locked, outdated or unanswered"):
        Filter(without=("shut",))


def test_an_engine_has_a_filter_of_its_own(desk) -> None:
    strict = ArchiveRetriever(desk.archive, create("bm25"), filter=Filter(without=("closed",)))
    assert set(found(strict, "secret word", "locked")) == {"o", "u", "s", "t"}
    assert (Filter(("a",), "2020", None) & Filter(("b",), "2021", "2024", ("locked",))) == Filter(
        ("a", "b"), "2021", "2024", ("locked",)
    )


def test_an_original_that_is_shown_satisfies_the_filter(tmp_path) -> None:
    old, new = "2020-01-01T00:00:00", "2024-01-01T00:00:00"
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert([Question("o", "Reset a forgotten password", tags=("login",), created_at=old)])
        archive.upsert([Question("d", "My secret word is gone", tags=("login", "web"), created_at=new), Link("d", "o")])
        archive.upsert([Question("e", "My secret word is wrong", tags=("login", "web"), created_at=new)])
    with load(tmp_path / "desk", "bm25") as engine:
        for filter, expected in (
            (Filter(), {"o", "e"}),
            (Filter(tags=("login",)), {"o", "e"}),
            (Filter(tags=("web",)), {"e"}),
            (Filter(after="2022"), {"e"}),
            (Filter(before="2022"), set()),  # its own words do not match
        ):
            hits = engine.search("my secret word is gone", 1 + len(expected), filter=filter, min_similarity=0)
            assert {hit.id for hit in hits} == expected


def test_a_filter_allows_what_the_store_selects(archive) -> None:
    """Both decide the same, whether of a hit or of the original of one."""
    dates = (None, "2021-01-01T00:00:00", "2022-01-01T00:00:00")
    tags, marks = ((), ("a",), ("a", "b")), ((), ("closed",), ("answered",))
    questions = [
        Question(f"{n}", "?", tags=of[0], created_at=of[1], marks=of[2])
        for n, of in enumerate(product(tags, dates, marks))
    ]
    archive.upsert(questions)
    for tag, after, before, without in product(
        ((), ("a",)), (None, "2021-06"), (None, "2022"), ((), ("closed",), ("unanswered",))
    ):
        filter = Filter(tag, after, before, without)
        allowed = [n for n, q in enumerate(questions, 1) if filter.allows(q.tags, q.created_at, q.states)]
        assert archive.view().filtered_docids(filter).tolist() == allowed


def test_a_filter_follows_the_archive(archive) -> None:
    archive.upsert([Question("1", "one egg"), Question("2", "two egg")])
    view = archive.view()
    kept = Filter(without=("closed",))
    assert view.filtered_docids(kept).tolist() == [1, 2]
    archive.upsert([Question("2", "two egg", marks=("closed",))])
    assert view.filtered_docids(kept).tolist() == [1]
    archive.upsert([Link("2", "1")])
    assert view.filtered_docids(kept).tolist() == [1, 2]


def test_rankers_are_measured_without_any_of_this(desk) -> None:
    run = rankers.rank(open_current(create("bm25"), desk.archive.view()), {"q": Question("q", "my secret word")}, 9)
    assert {"d", "dd"} <= {hit.id for hit in run["q"]}


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ([("2", "1"), ("3", "2")], {"2": "1", "3": "1"}),
        ([("1", "2"), ("2", "1")], {"2": "1"}),  # a circle
        ([("3", "2"), ("2", "1"), ("1", "2")], {"3": "1", "2": "1"}),
        ([("1", "1"), ("2", "gone")], {}),
        ([("3", "1"), ("3", "2")], {"3": "1"}),
        ([("3", "2"), ("3", "1"), ("1", "2")], {"3": "2", "1": "2"}),
    ],
)
def test_originals_are_at_the_ends_of_links(tmp_path, links, expected) -> None:
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([Question(id, "?") for id in "123"])
        archive.upsert([Link(*link) for link in links])
        found = find_originals(archive, "123")
    assert found.in_archive == expected
    assert found.absent == {source: target for source, target in links if target == "gone"}


@pytest.fixture
def shut(tmp_path):
    """An archive whose first question is closed and whose second is unanswered."""
    with Archive.create(tmp_path / "shut") as archive:
        archive.upsert(
            [
                Question("shut", "Reset password quickly", closed_at="2024-01-02T00:00:00"),
                Question("open", "Reset password today"),
                Question("good", "Reset password again", accepted_answer_id="a"),
                Question("old", "Reset password once", marks=("answered", "outdated")),
                Answer("a", "good", "Ask at the desk."),
            ]
        )
        yield archive


def test_answered_question_precedes_similar_closed_ones(shut) -> None:
    engine, by_score = ArchiveRetriever(shut, create("bm25")), ArchiveRetriever(shut, create("bm25"), answered_first=0)
    assert found(engine, "reset password") == ["good", "shut", "open", "old"]
    assert found(by_score, "reset password") == ["shut", "open", "good", "old"]
    scores = [
        {hit.id: hit.score for hit in e.search("reset password", 9, min_similarity=0)} for e in (engine, by_score)
    ]
    assert scores[0] == scores[1]
    assert found(engine, "reset password", k=1) == ["shut"]  # of what was retrieved


def test_what_is_clearly_more_similar_stays_first(shut) -> None:
    assert found(ArchiveRetriever(shut, create("bm25")), "quickly reset it")[0] == "shut"
    assert found(ArchiveRetriever(shut, create("bm25"), answered_first=0.99), "quickly reset it")[0] == "good"


def test_a_question_whose_title_is_typed_stays_first(shut) -> None:
    engine = ArchiveRetriever(shut, create("bm25"), answered_first=0.99)
    assert found(engine, "reset password, QUICKLY!")[:2] == ["shut", "good"]


def test_answered_original_replaces_its_closed_duplicate(shut) -> None:
    shut.upsert([Link("shut", "good")])
    assert found(ArchiveRetriever(shut, create("bm25")), "reset password") == ["good", "open", "old"]

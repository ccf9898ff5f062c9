"""A replay asks each duplicate at its own time, against exactly what existed then."""

import json
import random
from xml.etree import ElementTree

import pytest

from askalike import rankers
from askalike.core import registry
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.records import Link, Question
from askalike.evaluation.trec import read_qrels, read_run
from askalike.rankers.lexical import LexicalRanker
from askalike.store import Archive
from askalike.store.archive import PointInTimeArchive
from askalike_research.replay.replay import group_into_periods, quarter_name, replay, select_queries, write_replay

WORDS = [f"w{n}" for n in range(40)]


def dated(id, title, date):
    return Question(id, title, created_at=date and f"{date}T00:00:00")


@pytest.fixture
def kitchen(tmp_path):
    """Asked out of order: `late` is the better match, but did not exist when `copy` was asked."""
    with Archive.create(tmp_path / "kitchen") as archive:
        archive.upsert(
            [
                dated("late", "boil egg long", "2013-03-01"),
                dated("old", "boil an egg", "2012-01-01"),
                dated("other", "rice egg", "2012-02-01"),
                dated("copy", "boil egg long", "2013-01-01"),
                dated("twin", "boil egg long", "2013-01-01"),
                dated("rice", "sticky rice", "2013-02-01"),
                dated("undated", "boil egg", None),
            ]
        )
        archive.upsert([Link("copy", "old"), Link("rice", "late"), Link("twin", "copy"), Link("late", "undated")])
        archive.upsert([Link("undated", "old"), Link("old", "old"), Link("late", "rice")])
        yield archive


@pytest.fixture(scope="module")
def forum(tmp_path_factory):
    """150 questions of random words on 50 days in any order, and 60 links between them."""
    rng = random.Random(5)
    days = [f"201{rng.randint(2, 3)}-{rng.randint(1, 12):02}-{rng.randint(1, 2):02}" for _ in range(150)]
    with Archive.create(tmp_path_factory.mktemp("replay") / "forum") as archive:
        archive.upsert(
            Question(f"q{n}", " ".join(rng.choices(WORDS, k=5)), " ".join(rng.choices(WORDS, k=9)),
                     created_at=f"{day}T00:00:00", rephrasings=("w1 w2",) if n % 9 == 0 else ())
            for n, day in enumerate(days)
        )  # fmt: skip
        archive.upsert(Link(f"q{rng.randrange(150)}", f"q{rng.randrange(150)}") for _ in range(60))
        yield archive


def test_only_older_originals_count(kitchen):
    selection = select_queries(kitchen, "2012-01-01")
    assert selection.originals == {"copy": ["old"], "late": ["rice"]}
    assert (selection.newer_links, selection.undated_links) == (2, 2)


def test_what_did_not_exist_is_not_found(kitchen):
    result = replay(kitchen, {"bm25": {}}, "2012-01-01", k=1)
    [bm25] = result.results
    assert bm25.ranks == {"copy": 1, "late": None}
    assert set(bm25.run.columns("copy")[0]) == {"old", "other"}
    assert bm25.describe() == (
        "of 2 questions later closed as duplicate of an older one, the original was among the first 1 at asking time: "
        "1 (50 %, 9–91)"
    )


@pytest.mark.parametrize(
    ("since", "until", "queries"),
    [
        ("2012-06-01", "2013-01-01", None), ("2013-01-01", "2013-01-01T00:00:01", {"copy"}),
        ("2013-01-02", None, {"late"}), ("2013-03-02", None, None),
    ],
)  # fmt: skip
def test_since_and_until(kitchen, since, until, queries):
    if queries is None:
        with pytest.raises(ArchiveError, match="no question from .* was later linked as duplicate of an older one"):
            replay(kitchen, {"bm25": {}}, since, until)
    else:
        assert {q.id for q in replay(kitchen, {"bm25": {}}, since, until).selection.queries} == queries


@pytest.mark.parametrize(
    "settings",
    [{}, *(pytest.param(own, marks=pytest.mark.long) for own in ({"fields": "title"}, {"fields": "title,text"}))],
)
def test_it_equals_a_fresh_index_each_time(forum, settings):
    names = registry.names("similarity")
    result = replay(forum, dict.fromkeys(names, settings), "2012-03-01", k=5)
    assert len(result.selection.queries) > 20
    for each in result.results:
        for query in result.selection.queries[::4]:
            view = forum.view(before=query.created_at)
            ranker = rankers.create(each.ranker, settings)
            rankers.delete_indexes(ranker, view)
            fresh = rankers.rank(rankers.open_current(ranker, view), {query.id: query}, 100).columns(query.id)
            ids, scores = each.run.columns(query.id)
            assert list(ids) == list(fresh[0])
            assert scores.tolist() == fresh[1].tolist()


@pytest.mark.parametrize(("date", "refused"), [("2013-01-01T00:00:00", True), ("2012-12-31T23:59:59", False)])
def test_a_ranker_that_knows_the_future_is_refused(kitchen, monkeypatch, date, refused):
    class Trained(LexicalRanker):
        trained_until = date

    trained = Trained.from_settings("bm25", {})
    monkeypatch.setattr("askalike_research.replay.replay.build", lambda name, settings, archive: trained)
    if refused:
        refusal = r"bm25 knows data up to 2013-01-01.*know the future.*another ranker with --ranker"
        with pytest.raises(SettingsError, match=refusal):
            replay(kitchen, {"bm25": {}}, "2012-01-01")
    else:
        assert replay(kitchen, {"bm25": {}}, "2012-01-01").results


def test_hybrid_follows_the_archive_as_its_parts(kitchen):
    first_alone = {"parts": ["bm25", "tfidf"], "weights": [1, 0]}
    [alone, both] = replay(kitchen, {"bm25": {}, "hybrid": first_alone}, "2012-01-01").results
    assert both.ranks == alone.ranks


def test_packaged_vectors_know_nothing_of_the_archive(kitchen):
    [result] = replay(kitchen, {"hybrid": {}}, "2012-01-01").results
    assert result.ranks["copy"] == 1


def test_impossible_date_is_a_clear_error(kitchen):
    with pytest.raises(SettingsError, match="replay: date 'yesterday': expected a date such as"):
        replay(kitchen, {"bm25": {}}, "yesterday")


def test_quarters_are_joined_until_there_is_enough(forum):
    result = replay(forum, {"bm25": {}}, "2012-03-01")
    parts = group_into_periods([(str(q.created_at), q.id) for q in result.selection.queries], min_queries=8)
    assert sorted(q for part in parts for q in part.queries) == sorted(q.id for q in result.selection.queries)
    assert all(len(part.queries) >= 8 for part in parts)
    assert [quarter_name(f"2013-{month:02}") for month in (1, 3, 4, 12)] == ["2013 Q1", "2013 Q1", "2013 Q2", "2013 Q4"]


def test_folder_holds_results_runs_judgements_and_plot(forum, tmp_path):
    result = replay(forum, {"bm25": {}, "tfidf": {}}, "2012-03-01")
    written = write_replay(result, tmp_path / "out" / "folder")
    assert [p.name for p in written] == ["replay.json", "replay.svg", "qrels.txt", "run-bm25.trec", "run-tfidf.trec"]
    record = json.loads(written[0].read_text())
    assert record["rankers"][0]["found"] == result.results[0].found.count
    assert record["queries"][0]["ranks"] == {"bm25": record["queries"][0]["ranks"]["bm25"],
                                           "tfidf": record["queries"][0]["ranks"]["tfidf"]}  # fmt: skip
    assert "today's wording" in record["remark"]
    assert ElementTree.parse(written[1]).getroot().tag.endswith("svg")
    originals = result.selection.originals
    assert read_qrels(written[2]) == {query: dict.fromkeys(ids, 1) for query, ids in originals.items()}
    assert list(read_run(written[3])) == [q for q in result.results[0].run if len(result.results[0].run[q])]
    before = written[1].read_bytes()
    write_replay(result, tmp_path / "out" / "folder")
    assert written[1].read_bytes() == before


def test_without_matplotlib_the_folder_has_no_plot(forum, tmp_path, monkeypatch):
    monkeypatch.setattr("askalike_research.replay.replay.can_plot", lambda: False)
    written = write_replay(replay(forum, {"bm25": {}}, "2012-03-01"), tmp_path)
    assert [p.name for p in written] == ["replay.json", "qrels.txt", "run.trec"]
    assert {p.name for p in tmp_path.iterdir()} == {p.name for p in written}


def searched(monkeypatch):
    """The dates up to which the archive was moved forward, as they are added by later replays."""
    dates = []
    advance = PointInTimeArchive.advance_to
    monkeypatch.setattr(PointInTimeArchive, "advance_to", lambda past, date: dates.append(date) or advance(past, date))
    return dates


def columns(result):
    return [
        {query: (list(ids), scores.tolist()) for query in each.run for ids, scores in [each.run.columns(query)]}
        for each in result.results
    ]


def test_replay_resumed(forum, monkeypatch):
    settings = {"lm_jelinek_mercer": {}, "hybrid": {}}
    since, last_step = "2013-09-01", 2

    def interrupt(done, total):
        if done == last_step:
            raise KeyboardInterrupt

    whole = replay(forum, settings, since)
    moments = sorted({str(q.created_at) for q in whole.selection.queries})
    for name in settings:
        (forum.path / "index" / f"replay-{name}.jsonl").unlink()
    with pytest.raises(KeyboardInterrupt):
        replay(forum, settings, since, progress=interrupt)
    dates = searched(monkeypatch)
    resumed = replay(forum, settings, since)
    assert columns(resumed) == columns(whole)
    assert dates == [f"{since}T00:00:00", *(moment for moment in moments[last_step:] for _ in settings)]


def test_replay_saved_hits_with_another_k(kitchen, monkeypatch):
    first = replay(kitchen, {"bm25": {}}, "2012-01-01", k=1)
    dates = searched(monkeypatch)
    other = replay(kitchen, {"bm25": {}}, "2012-01-01", k=5)
    assert (other.results[0].k, columns(other)) == (5, columns(first))
    assert len(dates) == 1
    both = replay(kitchen, {"bm25": {}, "tfidf": {}}, "2012-01-01", k=5)
    assert (columns(both)[0], len(dates)) == (columns(first)[0], 4)
    kitchen.upsert([dated("better", "boil an egg", "2012-01-02")])
    assert replay(kitchen, {"bm25": {}}, "2012-01-01").results[0].run.columns("copy")[0][1] == "better"


def test_a_replay_refuses_votes_of_a_later_day(tmp_path):
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert(
            [
                Question("a", "boil an egg", votes=3, created_at="2020-01-01"),
                Question("b", "egg boiling", votes=1, created_at="2020-02-01"),
                Link("b", "a", "duplicate", "2020-02-02"),
            ]
        )
        settings = {"parts": "lm_jelinek_mercer,votes", "weights": [4, 1]}
        with pytest.raises(SettingsError, match="it would know the future"):
            replay(archive, {"hybrid": settings}, since="2020-01-15")

"""What every ranker keeps to, whoever wrote it: a new one in the registry is tested here without another line."""

from dataclasses import replace

import pytest

from askalike import rankers
from askalike.core.errors import NotFittedError, SettingsError
from askalike.core.filters import Filter
from askalike.core.records import Question
from askalike.encoders import PACKAGED_ENCODERS, find_package
from askalike.rankers import explain_retrieved
from askalike.store import Archive

TITLES = (
    "how do I boil an egg", "how long does an egg boil", "boil rice", "boil an egg", "boil an egg",
    "why is rice sticky", "salt in water", "water for rice", "pasta water", "how much salt for pasta", "???",
    "an egg in a microwave",
)  # fmt: skip
REPHRASED = {0: ("egg boiling time", "eggs, boiled"), 5: ("sticky rice",)}
EVEN = ("even",)
QUERIES = {
    "q1": Question("q1", "boil egg"),
    "q2": Question("q2", "how much water for rice", "and how much salt"),
    "03": Question("03", "boil an egg"),
    "00#1": Question("00#1", "egg boiling time"),
    "none": Question("none", ""),
    "unknown": Question("unknown", "xylophone zither"),
}


def archived(path, titles=TITLES):
    archive = Archive.create(path)
    archive.upsert(
        Question(f"{n:02}", title, "body of " + title, tags=EVEN[n % 2 :], rephrasings=REPHRASED.get(n, ()))
        for n, title in enumerate(titles)
    )
    return archive


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    with archived(tmp_path_factory.mktemp("contracts") / "archive") as archive:
        yield archive


WITH_SETTINGS = {"pretrained"}
"""These need a model, and have a test of their own."""
SEMANTIC = {"static", "cascade", "hybrid"}


@pytest.fixture(scope="module", params=sorted(set(rankers.names()) - WITH_SETTINGS))
def name(request):
    if request.param in PACKAGED_ENCODERS and not find_package(request.param).is_installed:
        pytest.skip(f"needs the extra {find_package(request.param).extra}")
    return request.param


@pytest.fixture(scope="module")
def searcher(name, archive):
    return opened(name, archive)


def opened(name, archive):
    return rankers.open_current(rankers.create(name).fit(archive.training_view(())), archive.view())


def columns(run):
    return {q: [(h.id, h.score) for h in run[q]] for q in run}


def test_it_goes_by_its_name(name, searcher):
    assert rankers.create(name).name == searcher.name == name


def test_its_values_make_it_again(name, archive):
    ranker = rankers.create(name)
    again = rankers.create(ranker.name, ranker.values)
    assert again.values == ranker.values
    assert again.index_paths(archive.view()) == ranker.index_paths(archive.view())


def test_an_unfinished_word_is_taken(searcher):
    hits = rankers.rank(searcher, {"q": Question("q", "an egg in a micr")}, 1, prefix=True)["q"]
    assert [h.id for h in hits] == ["11"]


def test_best_come_first_and_ties_in_archive_order(searcher):
    run = rankers.rank(searcher, QUERIES, 100)
    assert list(run) == list(QUERIES)
    for hits in run.values():
        assert [(h.id, h.score) for h in hits] == sorted(((h.id, h.score) for h in hits), key=lambda h: (-h[1], h[0]))
        assert len({h.id for h in hits}) == len(hits)
    scores = dict(columns(run)["q1"])
    assert scores["03"] == scores["04"]


@pytest.mark.parametrize("k", [1, 2, 5])
def test_at_most_k_are_found_whatever_k(searcher, k):
    whole = columns(rankers.rank(searcher, QUERIES, 100))
    assert columns(rankers.rank(searcher, QUERIES, k)) == {q: hits[:k] for q, hits in whole.items()}


def test_all_candidates_are_ranked_and_nothing_else(searcher):
    pool = [f"{n:02}" for n in (7, 10, 2, 1, 6)]
    whole = columns(rankers.rank(searcher, QUERIES, 100))
    run = columns(rankers.rank(searcher, QUERIES, 100, candidates={q: [*pool, "nowhere", "07"] for q in QUERIES}))
    for query, hits in run.items():
        assert sorted(id for id, _ in hits) == sorted(pool)
        assert [s for _, s in hits] == sorted((s for _, s in hits), reverse=True)
        assert set(whole[query]) >= {(id, score) for id, score in hits if id in dict(whole[query])}
    assert [id for id, _ in run["none"]] == pool  # equal scores: the order given
    first = rankers.rank(searcher, QUERIES, 2, candidates=dict.fromkeys(QUERIES, pool))
    assert columns(first) == {q: hits[:2] for q, hits in run.items()}
    assert columns(rankers.rank(searcher, {"q1": QUERIES["q1"]}, 5, candidates={})) == {"q1": []}


def test_a_filter_comes_before_the_ranking(searcher):
    even = [h.id for h in rankers.rank(searcher, QUERIES, 3, filter=Filter(("even",)))["q1"]]
    assert even == [h.id for h in rankers.rank(searcher, QUERIES, 100)["q1"] if int(h.id) % 2 == 0][:3]
    assert all(not hits for hits in rankers.rank(searcher, QUERIES, 3, filter=Filter(("odd",))).values())


def test_batch_is_its_queries_one_by_one(searcher, name, archive):
    together = columns(rankers.rank(searcher, QUERIES, 10))
    assert (
        together
        == columns(rankers.rank(searcher, QUERIES, 10))
        == columns(rankers.rank(opened(name, archive), QUERIES, 10))
    )
    assert together == {q: columns(rankers.rank(searcher, {q: QUERIES[q]}, 10))[q] for q in reversed(QUERIES)}


def test_finds_neither_itself_nor_its_rephrasings(searcher):
    run = columns(rankers.rank(searcher, QUERIES, 100))
    assert "03" not in dict(run["03"])
    assert "00" in dict(run["00#1"])
    alone = columns(rankers.rank(searcher, {"new": replace(QUERIES["00#1"], id="new")}, 100))["new"]
    assert dict(run["00#1"])["00"] < dict(alone)["00"]


def test_nothing_in_common_finds_nothing(searcher, name):
    """Encoders of words in context have no minimum score: they find something for any words."""
    run = rankers.rank(searcher, QUERIES, 10)
    assert run["none"] == []
    assert bool(run["unknown"]) == (name in PACKAGED_ENCODERS)


def test_opening_what_was_never_built_is_refused(name, tmp_path):
    with archived(tmp_path / "new") as new, pytest.raises(NotFittedError, match=r"not indexed yet.*build\(view\)"):
        rankers.create(name).open(new.view())


def test_an_unknown_setting_is_a_clear_error(name):
    with pytest.raises(SettingsError, match=f"{name}: nonsense is not a setting"):
        rankers.create(name, {"nonsense": 1})


def test_explanation_ignores_what_else_is_explained(searcher):
    retrieved = rankers.search(searcher, QUERIES, 10)
    nothing = [docids[:0] for docids in retrieved.docids]
    together, checked = explain_retrieved(searcher, retrieved, retrieved.docids), 0
    for row, docids in enumerate(retrieved.docids):
        for docid in docids.tolist():
            alone = explain_retrieved(
                searcher, retrieved, [*nothing[:row], docids[docids == docid], *nothing[row + 1 :]]
            )
            assert alone[row] == {docid: together[row][docid]}
            checked += 1
    assert checked > 3


def test_retrieved_documents_keep_their_scores_when_scored(searcher):
    retrieved = rankers.search(searcher, QUERIES, 10)
    for known in (None, retrieved):
        scored = searcher.score(retrieved.queries, retrieved.docids, known)
        assert [s.tolist() for s in scored.scores] == [s.tolist() for s in retrieved.scores]
        assert [len(a) for a in scored.absolute] == [len(docids) for docids in retrieved.docids]


def test_an_empty_archive_answers_with_nothing(name, tmp_path):
    with Archive.create(tmp_path / "empty") as empty:
        run = rankers.rank(opened(name, empty), QUERIES, 10)
        assert columns(run) == {q: [] for q in QUERIES}


def test_contributions_add_up_to_the_score(searcher, name):
    """With an encoder of words in context a contribution is what the score loses without the word: no share of it."""
    n_explained = 0
    for query in QUERIES.values():
        hits = rankers.rank(searcher, {query.id: query}, 100)[query.id]
        reasons = rankers.explain_ids(searcher, query, [h.id for h in hits])
        n_explained += len(hits)
        for hit in hits:
            reason = reasons[hit.id]
            assert reason.score == pytest.approx(hit.score, rel=1e-9)
            if name not in PACKAGED_ENCODERS:
                assert sum(c.score for c in reason.contributions) == pytest.approx(hit.score, rel=1e-9)
            assert all(0 <= s.start < s.end <= len(reason.text[s.field]) for s in reason.spans)
    assert n_explained >= len(QUERIES) - 1


def test_incremental_equals_rebuilt_and_reopened(name, tmp_path):
    with archived(tmp_path / "grown", TITLES[:5]) as grown, Archive.create(tmp_path / "fresh") as fresh:
        ranker = rankers.create(name).fit(grown.training_view(()))
        ranker.build(grown.view())
        grown.upsert([Question("gone", "boil boil boil"), Question("01", "boil rice in milk")])
        ranker.build(grown.view())
        grown.delete(["gone", "04"])
        archived(tmp_path / "grown").close()
        changed = columns(rankers.rank(rankers.open_current(ranker, grown.view()), QUERIES, 100))
        grown._connection.backup(fresh._connection)
        ranker.start_rebuild(grown.view())
        for rebuilt in (grown, fresh):
            assert changed == columns(rankers.rank(rankers.open_current(ranker, rebuilt.view()), QUERIES, 100))
        assert {h for h, _ in changed["q1"]} >= {"00", "01", "04"}


def test_an_index_follows_the_database_that_is_there(name, tmp_path):
    (tmp_path / "archive").mkdir()
    for titles in ("raw fish", "onions"), ("onions", "raw fish"):  # the second database takes the place of the first
        with archived(tmp_path / titles[0]) as archive:
            archive.upsert([Question(title, title) for title in titles])
        (tmp_path / titles[0] / "archive.sqlite").rename(tmp_path / "archive" / "archive.sqlite")
        with Archive.open(tmp_path / "archive") as archive:
            ranker = rankers.create(name).fit(archive.training_view(()))
            run = rankers.rank(rankers.open_current(ranker, archive.view()), {"q": Question("q", "onions")}, 1)
            assert [hit.id for hit in run["q"]] == ["onions"]

"""Abstention without labels: what has nothing to do with the archive finds nothing, what has finds it."""

import json

import numpy as np
import pytest

from askalike import rankers
from askalike.calibration.abstention import (
    AbstentionRule,
    AbstentionThreshold,
    GradeLimits,
    LanguageRule,
    everyday_questions,
    find_level,
    find_rule,
    fit_abstention,
    is_titled,
    make_placed_rule,
)
from askalike.cli.search import index_command
from askalike.core.records import Question
from askalike.rankers import ResolvedQuery, Retrieved
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.store import Archive
from calibration.riverside import riverside

OFF_TOPIC = (
    "Can you freeze cooked lasagne?",
    "What do hedgehogs eat?",
    "How do I sew on a button?",
    "Who was the first man on the moon?",
    "Why do onions make you cry?",
    "Können Pferde im Stehen schlafen?",
    "Quel bus va au zoo ?",
    "¿Qué comen los erizos?",
    "Какая высота у Эйфелевой башни?",
    "asdf qwer zxcv",
    "a",
)
ON_TOPIC = ("somebody took my bike", "lost my libary card", "how long may I keep a book", "is it quiet anywhere")


@pytest.fixture(scope="module", params=["lm_jelinek_mercer", "hybrid"])
def engine(request, tmp_path_factory):
    path = riverside(tmp_path_factory.mktemp("abstention") / "archive")
    with ArchiveRetriever.open(path, request.param) as engine:
        yield engine


def test_everyday_questions_nonsense_and_other_languages_get_nothing(engine):
    shown = [text for text in OFF_TOPIC if engine.search(text)]
    assert len(shown) <= 1, shown


def test_what_the_archive_knows_is_shown(engine):
    assert all(engine.search(text) for text in ON_TOPIC)


def test_thresholds_of_an_outdated_searcher_are_not_kept(tmp_path, monkeypatch):
    """The indexer commits while a worker looks for thresholds, in the index that it had opened before."""
    path, ranker = riverside(tmp_path / "archive"), rankers.create("lm_jelinek_mercer")
    with Archive.open(path) as archive:

        def find_while_another_process_commits(searcher):
            ranker.build(archive.view())
            return find_rule(searcher)

        threshold, view = AbstentionThreshold(archive, ranker), archive.committed_view()
        monkeypatch.setattr("askalike.calibration.abstention.find_rule", find_while_another_process_commits)
        assert threshold.prepare(view).usual.limits.related == 0  # nothing was found in an empty index
        assert threshold.saved_rule is None
        assert threshold.current_rule(archive.view()).usual.limits.related > 0.2
        assert threshold.saved_rule


@pytest.mark.parametrize("size", [0, 40, 100])
def test_truncated_rule_file_is_written_again(tmp_path, size):
    path, ranker = riverside(tmp_path / "archive"), rankers.create("lm_jelinek_mercer")
    with Archive.open(path) as archive:
        ranker.build(archive.view())
        fit_abstention(archive, ranker)
        [file] = path.glob("calibration/*.abstention.json")
        whole = file.read_bytes()
        file.write_bytes(whole[:size])
        assert AbstentionThreshold(archive, ranker).saved_rule is None
        fit_abstention(archive, ranker)
        assert file.read_bytes() == whole


def test_everything_is_shown_on_demand(engine):
    assert engine.search("What do hedgehogs eat?", min_similarity=0)
    assert not engine.search(ON_TOPIC[0], min_similarity=1.0)


def test_threshold_is_saved_and_renewed_after_a_change(tmp_path):
    path = riverside(tmp_path / "archive")
    with ArchiveRetriever.open(path, "lm_jelinek_mercer") as engine:
        engine.search(ON_TOPIC[0])
    [saved] = path.glob("calibration/*.abstention.json")
    values = json.loads(saved.read_text(encoding="utf-8"))
    assert set(values["rule"]["languages"]) == {"de", "en"}
    values["rule"] = {"usual": {"limits": (2.0, 2.0, 2.0)}, "languages": {}, "whole": 0}
    saved.write_text(json.dumps(values), encoding="utf-8")
    with ArchiveRetriever.open(path, "lm_jelinek_mercer") as engine:
        assert not engine.search(ON_TOPIC[0])
        engine.archive.upsert(Question(f"new {n}", f"Where is room {n}?") for n in range(30))
    with ArchiveRetriever.open(path, "lm_jelinek_mercer") as engine:
        assert engine.search(ON_TOPIC[0])
    saved.write_text("{", encoding="utf-8")
    with ArchiveRetriever.open(path, "lm_jelinek_mercer") as engine:
        assert engine.search(ON_TOPIC[0])


def rule_files(path):
    return [file.read_bytes() for file in path.glob("calibration/*.abstention.json")]


def test_open_engine_follows_archives_like_a_new_one(tmp_path, monkeypatch):
    path, found = riverside(tmp_path / "archive"), []
    monkeypatch.setattr(
        "askalike.calibration.abstention.find_rule", lambda searcher: found.append(find_rule(searcher)) or found[-1]
    )
    with ArchiveRetriever.open(path, "lm_jelinek_mercer") as engine:
        engine.search(ON_TOPIC[0])
        engine.archive.upsert([Question("one more", "Where is the room?")])
        engine.search(ON_TOPIC[0])
        assert len(found) == 1  # little has changed
        engine.archive.upsert(Question(f"new {n}", f"Where is room {n}?") for n in range(30))
        for text in ON_TOPIC:
            engine.search(text)
        assert len(found) == 2
    with ArchiveRetriever.open(path, "lm_jelinek_mercer") as engine:
        engine.search(ON_TOPIC[0])
    assert len(found) == 2


def test_no_rule_before_the_archive_is_indexed(tmp_path):
    """A service's workers search an index that is behind while its indexer is at work."""
    path, ranker = riverside(tmp_path / "archive"), rankers.create("lm_jelinek_mercer")
    with Archive.open(path) as archive:
        ranker.build(archive.view())
        engine = ArchiveRetriever(archive, ranker, archive.committed_view())
        engine.search(ON_TOPIC[0])
        before = rule_files(path)
        archive.upsert(Question(f"new {n}", f"Where is room {n}?") for n in range(30))
        engine.search(ON_TOPIC[0])
        assert rule_files(path) == before
        ranker.build(archive.view())
        engine.search(ON_TOPIC[0])
        assert rule_files(path) != before


def test_indexing_finds_thresholds_and_search_does_not(tmp_path, monkeypatch):
    path = riverside(tmp_path / "archive")
    index_command(path, "lm_jelinek_mercer")
    assert len(list(path.glob("calibration/*.abstention.json"))) == 1
    monkeypatch.setattr("askalike.calibration.abstention.find_rule", None)
    with ArchiveRetriever.open(path, "lm_jelinek_mercer") as engine:
        assert engine.search(ON_TOPIC[0])


def test_limits_lie_above_the_level():
    assert GradeLimits.above(0.5, 0.06) == pytest.approx((0.53, 0.65, 0.48))
    assert GradeLimits.above(0.5, 0) == pytest.approx((0.5, 0.65, 0.45))


def find_limits(rule, *vectors):
    queries = [ResolvedQuery(Question("query", "Where is it?"))] * len(vectors)
    found = Retrieved(queries, [], [], vectors=np.array(vectors, np.float32))
    return AbstentionRule(usual=rule, whole=0).limits(found)


def test_a_query_like_the_archives_own_needs_less():
    everyday, own = (np.array([[x, 0.8], [x, -0.8]], np.float32) for x in (-0.6, 0.6))
    rule = make_placed_rule(0.5, everyday, own)
    limits = find_limits(rule, *([x, 0.3] for x in (-0.6, 0, 0.6, 1.2, -6)))
    assert [one.related for one in limits[:4]] == pytest.approx([0.5875, 0.5, 0.4125, 0.325], abs=1e-4)
    assert all(one.related - one.listed == pytest.approx(0.05) for one in limits)
    assert limits[4].same == limits[4].related > 1  # what asks the same is related
    assert rule.limits == GradeLimits.above(0.5, 0)


def test_vectors_without_a_way_between_them_change_nothing():
    same = np.ones((3, 2), np.float32)
    assert find_limits(make_placed_rule(0.5, same, same), same[0]) == [GradeLimits.above(0.5, 0)]


def test_level_leaves_out_the_closest_topic():
    topics = ["food"] * 10 + ["pets"] * 10
    scores = np.concatenate([np.full(10, 0.8), np.linspace(0, 0.2, 10)])
    assert find_level(scores, topics, np.array([0.9])) == pytest.approx(0.18)
    assert find_level(scores, topics, np.empty(0)) == pytest.approx(0.18)


def test_level_is_at_most_what_own_questions_reach():
    assert find_level(np.linspace(0.5, 1, 20), ["food", "pets"] * 10, np.array([0.1, 0.2, 0.3])) == pytest.approx(0.2)


def test_each_language_of_an_archive_has_limits(engine):
    rule = find_rule(engine.searcher())
    assert set(rule.languages) == {"de", "en"}
    assert all(0 < one.limits.related < one.limits.same < 1 for one in (rule.usual, *rule.languages.values()))


def test_own_whole_questions_limit_what_is_same(archive):
    queries = [ResolvedQuery(Question("query", "Where is it?", body)) for body in ("", "The room.")]
    rule = AbstentionRule(usual=LanguageRule(limits=GradeLimits(0.2, 0.4, 0.1)), whole=0.6)
    assert rule.limits(Retrieved(queries, [], [])) == [(0.2, 0.4, 0.1), (0.2, 0.6, 0.1)]
    archive.upsert(Question(str(n), f"Where is room {n}?", "It is near the stairs." * (n % 2)) for n in range(40))
    searcher = rankers.open_current(rankers.create("lm_jelinek_mercer"), archive.view())
    assert 0.1 < find_rule(searcher).whole < 1
    archive.upsert(Question(str(n), f"Where is room {n}?") for n in range(40))
    assert find_rule(rankers.open_current(rankers.create("lm_jelinek_mercer"), archive.view())).whole == 0


def test_what_asks_the_same_is_graded(engine):
    grades = {hit.grade for hit in engine.search("I have lost my library card", k=3)}
    assert "same" in grades
    assert None not in grades
    everything = engine.search("What do hedgehogs eat?", min_similarity=0)
    assert {hit.grade for hit in everything} <= {None, "related"}


def test_what_follows_a_related_hit_needs_less(archive, monkeypatch):
    archive.upsert([Question("1", "Where can I park my bicycle?"), Question("2", "Where is the bicycle shop in town?")])
    for related, shown in ((0.3, {"1", "2"}), (0.9, set())):
        rule = AbstentionRule(usual=LanguageRule(limits=GradeLimits(related, 2.0, 0.02)), whole=0)
        monkeypatch.setattr(AbstentionThreshold, "current_rule", lambda *_, rule=rule: rule)
        with ArchiveRetriever.open(archive.path, "lm_jelinek_mercer") as engine:
            assert {hit.id for hit in engine.search("park a bicycle")} == shown


def test_an_archive_about_everything_does_not_abstain(archive):
    archive.upsert(Question(f"{n}", row.text) for n, row in enumerate(everyday_questions()))
    searcher = rankers.open_current(rankers.create("lm_jelinek_mercer"), archive.view())
    assert find_rule(searcher).usual.limits.related < 0.9


def test_everyday_questions_in_six_languages_are_packaged():
    rows = everyday_questions()
    assert len({row.text for row in rows}) == len(rows) == 1_060
    assert len({row.topic for row in rows}) == 20
    assert {row.language for row in rows} == {"de", "en", "es", "fr", "it", "ru"}


def test_title_with_a_slip_is_the_title():
    question = Question("q", "Complexity of queries", rephrasings=("How hard is asking?",))
    titled = [
        is_titled(question, ResolvedQuery(Question("t", text))) for text in ("complexiyt of queries!", "How hard")
    ]
    assert titled == [True, False]

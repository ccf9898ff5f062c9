"""Abstention without labels: what has nothing to do with the archive finds nothing, what has finds it."""

import json

import numpy as np
import pytest

from askalike import rankers
from askalike.calibration.abstention import (
    AbstentionRule,
    AbstentionThreshold,
    BackgroundSimilarity,
    choose_thresholds,
    find_rule,
    fit_abstention,
    off_topic_questions,
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
    if request.param == "hybrid":
        pytest.importorskip("wordllama", reason="needs the extra vectors")
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
        assert threshold.prepare(view).threshold == 0  # nothing was found in an empty index
        assert threshold.saved_rule is None
        found = rankers.search(ranker.open(archive.view()), {"q": Question("q", ON_TOPIC[0])}, 1)
        [least] = threshold.current_rule(archive.view()).min_scores(found)
        assert least > 0.2
        assert threshold.saved_rule


@pytest.mark.parametrize("size", [0, 40, 100])
def test_truncated_rule_file_is_written_again(tmp_path, size):
    path, ranker = riverside(tmp_path / "archive"), rankers.create("lm_jelinek_mercer")
    with Archive.open(path) as archive:
        ranker.build(archive.view())
        fit_abstention(archive, ranker)
        [file] = path.glob("calibration/*.abstention.npy")
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
    assert set(values["languages"]) == {"de", "en"}
    saved.write_text(json.dumps({**values, "languages": {"de": (2.0, 2.0), "en": (2.0, 2.0)}}), encoding="utf-8")
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


def test_everyday_queries_must_score_more(engine):
    searcher = engine.searcher()
    rule = find_rule(searcher)
    queries = ("What do hedgehogs eat in winter?", "Was fressen Igel im Winter?", "renewing a loan at the library")
    least = rule.min_scores(rankers.search(searcher, {text: Question(text, text) for text in queries}, 1))
    if engine.ranker.name == "hybrid":
        assert least[2] < min(least[:2])
        assert rule.lenient < rule.typical
    else:  # words alone have no vectors to compare
        assert least.tolist() == [rule.languages[code][0] for code in ("en", "de", "en")]
        assert rule.lenient == rule.typical


def test_everyday_questions_are_compared_across_topics():
    vectors = np.eye(4, dtype=np.float32)[[0, 0, 1, 1, 2, 3]]
    background = BackgroundSimilarity(vectors)
    own = background.measure_across_topics(["food", "food", "food", "pets", "pets", "cars"])
    np.testing.assert_allclose(own, [0, 0, 1 / 3, 1 / 3, 0, 0])
    assert len(background.select(np.array([True, False, False, False, False, True])).vectors) == 2


def test_an_archive_about_everything_does_not_abstain(archive):
    texts = [row.text for row in off_topic_questions(archive.view())]
    archive.upsert(Question(f"{n}", text) for n, text in enumerate(texts))
    searcher = rankers.open_current(rankers.create("lm_jelinek_mercer"), archive.view())
    assert find_rule(searcher).threshold < 0.9


def test_a_thousand_questions_in_five_languages_are_packaged(tmp_path):
    with Archive.create(tmp_path / "archive") as archive:
        rows = off_topic_questions(archive.view())
    assert len({row.text for row in rows}) == len(rows) == 1_000
    assert len({row.topic for row in rows}) == 20


def test_titles_need_more_than_unfinished_ones_and_questions():
    """Both say less of what is asked, or share less of it with a title."""
    background = BackgroundSimilarity(np.empty((0, 0), np.float32))
    rule = AbstentionRule(0.4, 0.3, 0.3, background, {"de": (0.2, 0.1)})
    queries = (
        ResolvedQuery(Question("title", "Where is it?"), language="en"),
        ResolvedQuery(Question("typed", "Where is"), language="en", prefix=True),
        ResolvedQuery(Question("whole", "Where is it?", "I lost it."), language="en"),
        ResolvedQuery(Question("titel", "Wo ist es?"), language="de"),
    )
    retrieved = Retrieved(queries, [np.empty(0, np.int64)] * 4, [np.empty(0)] * 4)
    assert rule.min_scores(retrieved).tolist() == [0.4, 0.3, 0.3, 0.2]


def test_repetitive_archives_say_less_of_new_questions():
    everyday, own = np.linspace(0, 0.2, 200), np.linspace(0, 1, 201)
    found = [choose_thresholds(everyday, own, True, size) for size in (100, 200, 4_000)]
    assert found == [pytest.approx((titles, 0.186)) for titles in (0.186, (0.186 + 0.36) / 2, 0.36)]
    similar, lenient = choose_thresholds(everyday, 0.4 + 0.4 * own, True, 4_000)
    assert similar == pytest.approx(np.sqrt(0.34 * 0.6))
    assert lenient == pytest.approx(0.198)
    assert choose_thresholds(everyday, own / 4, True, 4_000) == pytest.approx((0.15, 0.15))

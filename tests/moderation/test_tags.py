"""Tags come from the questions most similar to a new one."""

import json

import pytest

from askalike import rankers
from askalike.cli.moderation import suggest_tags_command
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.records import Question
from askalike.moderation.tags import evaluate_suggestions, suggest_tags
from askalike.store.archive import Archive
from calibration.riverside import DEFAULT_RANKER, riverside


@pytest.fixture
def archive(archive):
    archive.upsert(
        [
            Question("a", "boil an egg", tags=("eggs", "boiling")),
            Question("b", "fry an egg", tags=("eggs", "frying")),
            Question("c", "boil rice", tags=("rice", "boiling")),
        ]
    )
    return archive


def test_the_nearest_questions_tags_come_first(archive):
    tags = suggest_tags(archive, rankers.create(DEFAULT_RANKER), "how to boil an egg")
    assert {tags[0].name, tags[1].name} == {"eggs", "boiling"}
    assert 0 < tags[-1].share <= tags[0].share <= 1
    assert len(suggest_tags(archive, rankers.create(DEFAULT_RANKER), "how to boil an egg", k=1)) == 1


def test_nothing_similar_has_no_tags(archive):
    assert suggest_tags(archive, rankers.create(DEFAULT_RANKER), "qwertz") == []


def test_shares_by_hand(archive):
    """Only b is similar, so all votes are b's."""
    assert [(t.name, t.share) for t in suggest_tags(archive, rankers.create(DEFAULT_RANKER), "fry")] == [
        ("eggs", 1.0),
        ("frying", 1.0),
    ]


def test_an_archive_without_tags_is_one_line(tmp_path):
    with Archive.create(tmp_path / "none") as archive:
        archive.upsert([Question("a", "boil an egg")])
        with pytest.raises(ArchiveError, match="no question has a tag"):
            suggest_tags(archive, rankers.create(DEFAULT_RANKER), "egg")


def test_neighbours_are_better_than_the_most_frequent_tags(tmp_path):
    with Archive.open(riverside(tmp_path / "riverside")) as archive:
        evaluation = evaluate_suggestions(archive, rankers.create(DEFAULT_RANKER))
    assert evaluation.query_count == evaluation.precision_at_1.n > 200
    assert evaluation.precision_at_1.value > 2 * evaluation.baseline_precision_at_1.value
    assert evaluation.recall_at_k.interval[0] > evaluation.baseline_recall_at_k.interval[1]


def test_the_command_prints_and_refuses(archive, capsys):
    suggest_tags_command(archive.path, "fry an egg", ranker=DEFAULT_RANKER, json=True)
    assert json.loads(capsys.readouterr().out)["tags"][0]["name"] == "eggs"
    suggest_tags_command(archive.path, "fry an egg", ranker=DEFAULT_RANKER)
    assert "eggs" in capsys.readouterr().out
    suggest_tags_command(archive.path, evaluate=True, ranker=DEFAULT_RANKER)
    assert "the most frequent tags" in capsys.readouterr().out
    with pytest.raises(SettingsError, match="expected a question, or --evaluate"):
        suggest_tags_command(archive.path)

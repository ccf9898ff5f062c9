"""Tags come from the questions most like a new one."""

import json

import pytest

from askalike import rankers
from askalike.archive.store import Archive
from askalike.cli import suggest_tags
from askalike.curation.tags import suggest, worth
from askalike.errors import ArchiveError, SettingsError
from askalike.types import Question
from curation.riverside import riverside

WORDS = "lm_jelinek_mercer"


@pytest.fixture
def archive(tmp_path):
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert(
            [
                Question("a", "boil an egg", tags=("eggs", "boiling")),
                Question("b", "fry an egg", tags=("eggs", "frying")),
                Question("c", "boil rice", tags=("rice", "boiling")),
            ]
        )
        yield archive


def test_the_nearest_questions_tags_come_first(archive):
    tags = suggest(archive, rankers.build(WORDS), "how to boil an egg")
    assert {tags[0].name, tags[1].name} == {"eggs", "boiling"}
    assert 0 < tags[-1].share <= tags[0].share <= 1
    assert len(suggest(archive, rankers.build(WORDS), "how to boil an egg", k=1)) == 1


def test_nothing_similar_has_no_tags(archive):
    assert suggest(archive, rankers.build(WORDS), "qwertz") == []


def test_shares_by_hand(archive):
    """b alone is like it: all say is b's."""
    assert [(t.name, t.share) for t in suggest(archive, rankers.build(WORDS), "fry")] == [
        ("eggs", 1.0),
        ("frying", 1.0),
    ]


def test_an_archive_without_tags_is_one_line(tmp_path):
    with Archive.create(tmp_path / "none") as archive:
        archive.upsert([Question("a", "boil an egg")])
        with pytest.raises(ArchiveError, match="no question has a tag"):
            suggest(archive, rankers.build(WORDS), "egg")


def test_neighbours_know_more_than_fashion(tmp_path):
    with Archive.open(riverside(tmp_path / "riverside")) as archive:
        found = worth(archive, rankers.build(WORDS))
    assert found.queries == found.first.n > 200
    assert found.first.value > 2 * found.fashion_first.value
    assert found.found.interval[0] > found.fashion_found.interval[1]


def test_the_command_prints_and_refuses(archive, capsys):
    suggest_tags.suggest_tags(archive.path, "fry an egg", ranker=WORDS, json=True)
    assert json.loads(capsys.readouterr().out)["tags"][0]["name"] == "eggs"
    suggest_tags.suggest_tags(archive.path, "fry an egg", ranker=WORDS)
    assert "eggs" in capsys.readouterr().out
    suggest_tags.suggest_tags(archive.path, evaluate=True, ranker=WORDS)
    assert "the most frequent tags" in capsys.readouterr().out
    with pytest.raises(SettingsError, match="expected a question, or --evaluate"):
        suggest_tags.suggest_tags(archive.path)

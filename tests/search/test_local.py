"""The embedded engine: what it finds for a question of the archive, and for one that is not finished."""

import shutil

import pytest

import askalike
from askalike import Question
from askalike.calibration.abstention import AbstentionRule, GradeLimits
from askalike.core.errors import ArchiveError


@pytest.fixture
def desk(tmp_path):
    with askalike.Archive.create(tmp_path / "desk") as made:
        titles = (
            "My bicycle was stolen",
            "A stolen bike: what now?",
            "How long do I boil an egg?",
            "Where is my bike?",
        )
        made.upsert([Question(f"q{n}", title) for n, title in enumerate(titles)])
    with askalike.load(tmp_path / "desk", "lm_jelinek_mercer") as opened:
        yield opened


def test_a_question_is_not_like_itself(desk) -> None:
    question = desk.archive.view().get_questions(["q1"])["q1"]
    assert desk.search(question.title, 1)[0].question.id == "q1"
    assert {m.question.id for m in desk.find_similar(question, 9, min_similarity=0)} == {"q0", "q3"}


def test_a_closed_engine_says_so_in_one_line(desk) -> None:
    desk.close()
    question = Question("q", "Where is my bike?")
    for use in (
        lambda: desk.search(question.title),
        lambda: desk.find_similar(question),
        lambda: len(desk.archive.view()),
        lambda: list(desk.archive.view().titles()),
        lambda: desk.archive.upsert([question]),
        lambda: desk.archive.delete(["q1"]),
    ):
        with pytest.raises(ArchiveError, match="desk: the archive is closed; open it again"):
            use()


def test_searcher_is_opened_again_only_after_a_change(desk) -> None:
    """Of the archive, through this connection or another, or of an index that another process writes or removes."""
    path, opened = desk.archive.path, [desk.searcher()]
    assert desk.searcher() is opened[0]
    desk.archive.upsert([Question("new", "Where do I rent a bike?")])
    opened.append(desk.searcher())
    with askalike.Archive.open(path) as other:
        other.delete(["q3"])
    opened.append(desk.searcher())
    shutil.rmtree(path / "index")
    opened.append(desk.searcher())
    assert len(set(map(id, opened))) == 4
    assert desk.searcher() is opened[-1]
    assert {hit.id for hit in desk.search("rent a bike where", min_similarity=0)} == {"new", "q1"}


def test_single_word_finds_titles_with_it(desk, monkeypatch) -> None:
    """However unlike a question of many words it is; a threshold that was asked for stays."""
    monkeypatch.setattr(AbstentionRule, "limits", lambda *_: [GradeLimits(0.99, 0.99, 0.99)])
    for word, titles in {"bikes": ["Where is my bike?", "A stolen bike: what now?"], "now": [], "what": []}.items():
        assert [hit.title for hit in desk.search(word)] == titles, word
    assert desk.search("where bike").hits == []
    assert desk.search("bike", body="Where is it?").hits == []
    assert desk.search("bike", min_similarity=0.99).hits == []


def test_unfinished_word_is_explained_as_found(desk) -> None:
    match = desk.search("bicyc sto", 1, prefix=True)[0]
    assert match.question.id == "q0"
    assert {c.word for c in match.explanation.contributions} == {"bicyc → bicycle", "sto"}
    spans = {match.explanation.text[s.field][s.start : s.end] for s in match.explanation.spans}
    assert spans == {"bicycle", "stolen"}
    assert match.explanation.score == pytest.approx(match.score)


def test_function_words_find_nothing_without_a_limit(calibrated_riverside) -> None:
    with askalike.load(calibrated_riverside, "lm_jelinek_mercer") as desk:
        assert desk.calibration
        for words in ("the", "how do I", "what is", "can I"):
            assert desk.search(words).hits == [], words
            assert desk.search(words, min_probability=0).hits, words
        assert desk.search("how do I renew a card?").hits
        assert desk.search("how do I", body="renew a card").hits

"""Stored answers to a question, with where they come from."""

import json

import pytest

from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.records import Answer, Question
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.search.replies import nearest_reply
from askalike.store.archive import Archive
from commands import askalike

RANKER = "lm_jelinek_mercer"


@pytest.fixture
def path(tmp_path):
    with Archive.create(tmp_path / "kitchen") as made:
        made.upsert(
            [
                Question("egg", "How long do I boil an egg?", license="CC BY-SA 4.0", accepted_answer_id="egg2"),
                Question("eggs", "How do I boil many eggs?", url="https://example.org/eggs"),
                Question("rice", "How do I boil rice?"),
                Question("salt", "How much salt do I boil rice with?"),
                Question("bike", "How do I mend a tyre?"),
                Answer("egg1", "egg", "It depends.", votes=30),
                Answer(
                    "egg2", "egg", "<p>Seven <b>minutes</b>.</p>", "html", author="Ada", url="https://example.org/2"
                ),
                Answer("eggs1", "eggs", "In a large pot.", votes=1, author="Ben", license="CC BY 4.0"),
                Answer("eggs2", "eggs", "One after another.", votes=3),
                Answer("rice1", "rice", " \n"),
                Answer("rice2", "rice", "Badly.", label="Bad"),
                Answer("salt1", "salt", "One after another."),
                Answer("bike1", "bike", "Take the wheel off."),
            ]
        )
    return tmp_path / "kitchen"


def test_best_answer_of_each_question_with_origin(path):
    with ArchiveRetriever.open(path, RANKER) as desk:
        reply = desk.answer("boil an egg")
        everything = nearest_reply(desk.archive.view(), desk.search("boil an egg", 15), 3, any_grade=True)
    assert (reply.text, reply.generated, reply.abstained) == ("Seven minutes.", False, False)
    [first] = reply.sources
    [_, second] = everything.sources
    assert (first.answer.id, first.question.id) == ("egg2", "egg")  # accepted, though another has more votes
    assert (first.author, first.license, first.url) == ("Ada", "CC BY-SA 4.0", "https://example.org/2")
    assert second.answer.id == "eggs2"  # of most votes; rice has none that is usable; salt's is the same
    assert second.url == "https://example.org/eggs"


def test_as_many_as_asked_for(path):
    with ArchiveRetriever.open(path, RANKER) as desk:
        assert len(desk.answer("boil an egg", k=1).sources) == 1


def test_nothing_like_it_has_no_answer(path):
    with ArchiveRetriever.open(path, RANKER) as desk:
        reply = desk.answer("zither")
    assert reply.abstained
    assert not reply.generated


def test_archive_without_answers_is_refused(tmp_path):
    with Archive.create(tmp_path / "bare") as made:
        made.upsert([Question("q", "How?"), Answer("a", "q", "")])
    for mode in ("nearest", "generate", "auto"):
        with (
            ArchiveRetriever.open(tmp_path / "bare", RANKER) as desk,
            pytest.raises(ArchiveError, match="has no answers"),
        ):
            desk.answer("How?", mode)


def test_auto_without_calibration_gives_stored_answers(path):
    with ArchiveRetriever.open(path, RANKER) as desk:
        assert desk.answer("How long do I boil an egg?", "auto").sources[0].question.id == "egg"
        assert desk.answer("Which vaccinations do I need for Tanzania?", "auto").abstained
    with (
        ArchiveRetriever.open(path, RANKER) as desk,
        pytest.raises(SettingsError, match="sure=7: expected a probability"),
    ):
        desk.answer("boil an egg", "auto", sure=7)


@pytest.mark.parametrize(
    ("mode", "option"),
    [("nearest", {"sure": 0.5}), ("generate", {"sure": 0.5}), ("nearest", {"model": "mine"}),
     ("generate", {"min_probability": 0.5})],
)  # fmt: skip
def test_what_a_mode_does_not_read_is_refused(path, mode, option):
    [name] = option
    with (
        ArchiveRetriever.open(path, RANKER) as desk,
        pytest.raises(SettingsError, match=f"{name}=.* needs mode .*{mode}"),
    ):
        desk.answer("boil an egg", mode, **option)
    with (
        ArchiveRetriever.open(path, RANKER) as desk,
        pytest.raises(SettingsError, match="expected nearest, generate or auto"),
    ):
        desk.answer("boil an egg", "guess")  # type: ignore[arg-type]


def test_ten_thousand_words_are_an_answer(path):
    with Archive.open(path) as archive:
        archive.upsert([Question("long", "What is a xylophone?"), Answer("all", "long", "word " * 10_000)])
    with ArchiveRetriever.open(path, RANKER) as desk:
        assert len((desk.answer("what is a xylophone").text or "").split()) == 10_000


def test_in_russian(tmp_path):
    with Archive.create(tmp_path / "кухня") as made:
        made.set_meta(language="ru")
        made.upsert(
            [
                Question("1", "Сколько минут варить яйца?", language="ru"),
                Question("2", "Как починить велосипедное колесо?", language="ru"),
                Answer("a", "1", "Семь минут после закипания воды.", author="Ада", license="CC BY-SA 4.0"),
                Answer("b", "2", "Снимите покрышку и заклейте камеру."),
            ]
        )
    with ArchiveRetriever.open(tmp_path / "кухня", RANKER) as desk:
        reply = desk.answer("как варят яйцо")  # other endings: found by stems
    assert reply.text == "Семь минут после закипания воды."
    assert reply.sources[0].author == "Ада"


def test_the_command_prints_them(path):
    shown = askalike("answer", path, "boil an egg", "-k", 1, "--ranker", RANKER).stdout
    assert "How long do I boil an egg?" in shown
    assert "Seven minutes." in shown
    assert "egg2 · Ada · CC BY-SA 4.0 · https://example.org/2" in shown


def test_the_command_gives_json(path):
    found = json.loads(askalike("answer", path, "boil an egg", "--json", "--ranker", RANKER).stdout)
    assert found["generated"] is False
    assert found["sources"][0]["license"] == "CC BY-SA 4.0"
    assert found["sources"][0]["question"] == {"id": "egg", "title": "How long do I boil an egg?"}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("???", "--ranker", RANKER), "no word in it to search for"),
        (("egg", "--mode", "generate"), "no model of this archive can write answers"),
    ],
)
def test_what_cannot_be_done_is_one_line(path, words, line):
    done = askalike("answer", path, *words)
    assert done.returncode == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1

"""What a hit's explanation names: content words, shared ones as such, and all words exactly if that is asked for."""

import pytest

from askalike import Archive, Question, load
from askalike.core.hits import PAIR
from askalike.search.explain import found_words, main_words
from askalike.text.language import ENGLISH, find_function_languages, mark_languages, stem
from askalike.text.words import WORD
from needs import need
from small_models import write_encoder

QUERY = "What should I do after somebody has stolen the bike that I had hired from shops?"
TEXTS = {
    "bike": ("My hired bicycle was stolen, what do I have to do?", "It stood in front of a shop."),
    "book": ("How long may I keep the books?", "They are for somebody who is ill."),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    need("wordllama")
    path = tmp_path_factory.mktemp("explained")
    words = sorted({word for texts in (*TEXTS.values(), [QUERY]) for text in texts for word in text.lower().split()})
    model = write_encoder(path / "model", words)
    with Archive.create(path / "desk") as archive:
        archive.set_meta(language="en")
        archive.upsert([Question(id, *texts) for id, texts in TEXTS.items()])
    parts = {"parts": "lm_jelinek_mercer,pretrained", "pretrained.encoder": str(model)}
    with load(path / "desk", "hybrid", **parts) as opened:
        yield opened


def is_function(word):
    return bool(find_function_languages(word) & mark_languages([ENGLISH]))


def search(engine, explain):
    return {hit.id: hit for hit in engine.search(QUERY, min_similarity=0, explain=explain)}


def test_an_explanation_names_no_function_word(engine):
    reasons = [hit.explanation for hit in search(engine, True).values()]
    marked = [reason.text[span.field][span.start : span.end] for reason in reasons for span in reason.spans]
    named = [part for reason in reasons for row in reason.contributions for part in row.word.split(PAIR)]
    assert len(named) > 2
    assert len(marked) > 2
    assert [word for word in (*named, *marked) if is_function(word)] == []


def test_shared_words_are_shared_and_similar_similar(engine):
    hit = search(engine, True)["bike"]
    text = {stem(word.lower(), "en") for word in WORD.findall(" ".join(TEXTS["bike"]))}
    shared = [word for word in found_words(hit) if PAIR not in word]
    assert {*shared} == {"stolen", "hired", "shops"}
    assert {stem(word.lower(), "en") for word in shared} <= text
    assert "bike ≈ bicycle" in found_words(hit)
    assert {*main_words(hit)} <= {*found_words(hit)} != set()


def test_full_names_all_words_and_adds_up(engine):
    usual, full = (search(engine, explain)["bike"].explanation for explain in (True, "full"))
    words = {row.word.partition(PAIR)[0].lower() for row in full.contributions}
    assert {"what", "do", "the", "hired"} <= words
    assert sum(row.score for row in full.contributions) == pytest.approx(full.score)
    assert full.score == pytest.approx(usual.score)
    assert full.parts == pytest.approx(usual.parts)

"""A question in another language than the archive finds by meaning alone, and is silent like any other."""

import numpy as np
import pytest

from askalike import rankers
from askalike.calibration.abstention import find_rule
from askalike.core.arrays import VectorPart, Vectors
from askalike.core.records import Question
from askalike.encoders import Encoder
from askalike.rankers.dense import DenseRanker, DenseSettings
from askalike.rankers.hybrid import HybridRanker, HybridSettings
from askalike.search.archive_retriever import ArchiveRetriever

CONCEPTS = ("lost verloren", "library bibliothek", "card ausweis karte", "cancel stornieren", "room raum", "die stirbt")
ENGLISH = {
    "card": "I have lost my library card",
    "room": "How can I cancel a room?",
    "battery": "Does the battery die at night?",
    "other": "When is it open on public holidays?",
}


class DictionaryEncoder(Encoder):
    """Knows some words in two languages; all vectors have a large part in common."""

    unrelated_texts = ("Where is the sea?", "Warum ist das so?")

    @classmethod
    def from_settings(cls, values):
        return cls()

    @property
    def fingerprint(self):
        return "dictionary"

    def encode_queries(self, texts):
        rows = np.array([self.read(f"{text.title} {text.body}".lower()) for text in texts], np.float32)
        return Vectors((VectorPart(rows, "cosine"),))

    def read(self, text):
        words = text.replace("?", "").split()
        known = [float(any(word in words for word in concept.split())) for concept in CONCEPTS]
        return [*known, 3.0]


def make_ranker():
    dense = DenseRanker(DictionaryEncoder(), DenseSettings(fields="title,text"), "dictionary")
    words = rankers.create("lm_jelinek_mercer", {"fields": "title,text"})
    return HybridRanker([words, dense], HybridSettings(parts=("lm_jelinek_mercer", "dictionary")))


@pytest.fixture
def retriever(archive):
    archive.set_meta(language="en")
    archive.upsert(Question(id, title) for id, title in ENGLISH.items())
    return ArchiveRetriever(archive, make_ranker())


def resolve(retriever, title):
    [one] = rankers.resolve(retriever.searcher(), {"q": Question("q", title)})
    return one


@pytest.mark.parametrize(
    ("title", "language"),
    [
        ("Ich habe meinen Ausweis der Bibliothek verloren", "de"),
        ("я потерял читательский билет в библиотеке", "ru"),
        ("i lost my librery card", None),
        ("library card", None),
    ],
)
def test_foreign_queries_are_recognised(retriever, title, language):
    one = resolve(retriever, title)
    assert (one.is_foreign, one.language) == (language is not None, language or "en")


def test_foreign_words_are_not_corrected(retriever):
    assert resolve(retriever, "Wie kann ich meine Karte der Libary bekommen?").corrections == {}
    assert resolve(retriever, "i have lost my libary card").corrections == {"libary": "library"}


def test_foreign_query_finds_and_names_the_language(retriever):
    hit, *others = retriever.search("Ich habe meinen Ausweis der Bibliothek verloren")
    assert (hit.id, hit.language, hit.grade) == ("card", "en", "same")
    assert {other.grade for other in others} == {"related"}
    assert hit.as_dict()["language"] == "en"
    assert hit.similarity == pytest.approx(1, abs=1e-3)


def test_own_language_names_no_language(retriever):
    assert {hit.language for hit in retriever.search("my library card is lost", min_similarity=0.0)} == {None}


def test_words_of_another_language_say_nothing(retriever):
    words, _ = rankers.search(retriever.searcher(), {"q": Question("q", "Warum die Batterie nachts?")}, 4).parts
    assert words.absolute[0].max() > 0  # "die" is in both
    hits = retriever.search("Wie wird die Batterie in der Nacht geladen?", min_similarity=0.0)
    assert all(hit.explanation.parts["lm_jelinek_mercer"] == 0 for hit in hits)


def test_everyday_questions_in_other_languages_get_nothing(retriever):
    assert not retriever.search("Comment enlever une tache de vin rouge ?")
    assert find_rule(retriever.searcher()).foreign is not None


def test_scores_begin_at_unrelated_texts(retriever):
    foreign = Question("q", "Ich habe meinen Ausweis der Bibliothek verloren")
    _, dense = rankers.search(retriever.searcher(), {"q": foreign}, 4).parts
    unrelated = 3 / np.sqrt(3 + 9)  # three words are known, and the texts have none of them
    expected = np.maximum((dense.scores[0] - unrelated) / (1 - unrelated), 0)
    assert dense.absolute[0].tolist() == pytest.approx(expected.tolist(), abs=1e-3) != []

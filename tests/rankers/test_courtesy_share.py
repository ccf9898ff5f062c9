"""What a document shares with courtesies counts less in hybrids, if the encoder says so."""

import numpy as np
import pytest

from askalike import rankers
from askalike.core.arrays import VectorPart, Vectors
from askalike.core.records import Question
from askalike.encoders import Encoder
from askalike.rankers.dense import DenseRanker, DenseSettings
from askalike.text.talk import list_courtesies

POLITE = {*" ".join(list_courtesies("en")).lower().split(), "wondering"}
TITLES = {"card": "My card is lost", "chatty": "Hello, I was wondering, many thanks"}
CHATTY = "Good morning all, wondering: my card, kind regards and thanks"
UNRELATED, SHARE = 0.5, 0.5


class CountingEncoder(Encoder):
    """Counts polite words and cards; all vectors have a part in common."""

    unrelated_score = UNRELATED

    def __init__(self, share):
        self.courtesy_share = share

    @classmethod
    def from_settings(cls, values):
        return cls(SHARE)

    @property
    def fingerprint(self):
        return "counting"

    def encode_queries(self, texts):
        words = [f"{text.title} {text.body}".lower().replace(",", "").split() for text in texts]
        rows = [[len(POLITE.intersection(own)), 4 * ("card" in own), 2.0 * bool(own)] for own in words]
        return Vectors((VectorPart(np.array(rows, np.float32), "cosine"),))


def search(archive, share, title, fields="title,text"):
    ranker = DenseRanker(CountingEncoder(share), DenseSettings(fields=fields), "counting")
    ranker.build(archive.view())
    searcher = ranker.open(archive.view())
    [ids] = rankers.rank(searcher, {"q": Question("q", title)}, 2).values()
    found = rankers.search(searcher, {"q": Question("q", title)}, 2)
    return [hit.id for hit in ids], found


@pytest.fixture
def archive(archive):
    archive.set_meta(language="en")
    archive.upsert(Question(id, title) for id, title in TITLES.items())
    return archive


def test_polite_query_finds_what_it_asks(archive):
    assert search(archive, 0.0, CHATTY)[0][0] == "chatty"
    assert search(archive, SHARE, CHATTY)[0][0] == "card"


def test_scores_begin_at_unrelated_texts(archive):
    _, found = search(archive, SHARE, "lost card")
    expected = (found.scores[0] - UNRELATED * (1 - SHARE)) / (1 - UNRELATED)
    assert found.absolute[0].tolist() == pytest.approx(np.maximum(expected, 0).tolist()) != []


def test_query_without_words_finds_nothing(archive):
    assert search(archive, SHARE, "")[0] == []


def test_single_field_keeps_its_cosine(archive):
    [plain, usual] = [search(archive, share, CHATTY, "text")[1].scores[0].tolist() for share in (0.0, SHARE)]
    assert plain == usual != []


def test_share_is_part_of_the_fingerprint():
    plain, polite = (DenseRanker(CountingEncoder(share)).fingerprint for share in (0.0, SHARE))
    assert plain == "counting" != polite

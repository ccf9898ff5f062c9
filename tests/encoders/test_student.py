"""Students: some of a teacher's layers, which read queries beside a lookup."""

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("onnxruntime", reason="needs ONNX Runtime")

from askalike import encoders, rankers  # noqa: E402
from askalike.core.errors import SettingsError, TrainingError  # noqa: E402
from askalike.core.types import Question  # noqa: E402
from askalike.encoders.learning import student  # noqa: E402
from askalike.encoders.learning.student import Student, choose_layers, compute_losses  # noqa: E402
from askalike.encoders.learning.student_network import StudentNetwork, save_student  # noqa: E402
from askalike.encoders.learning.text_vectors import concatenate_parts  # noqa: E402
from askalike.encoders.onnx.architectures import Transformer  # noqa: E402
from askalike.encoders.onnx.model import OnnxModel  # noqa: E402
from askalike.encoders.onnx.modules import read_json, read_steps  # noqa: E402
from askalike.encoders.onnx.weights import map_tensors  # noqa: E402
from askalike.encoders.pretrained import PretrainedEncoder  # noqa: E402
from askalike.experiments.models import distil  # noqa: E402
from askalike.store import Archive  # noqa: E402
from small_models import WORDS, make_model_folder, write_encoder  # noqa: E402

THINGS = ("rice", "bike", "pot", "police", "night")
WAYS = ("how do i cook {}", "my {} was stolen", "why {} at night", "{} in a pot without burning it")
TEXTS = [way.format(thing) for thing in THINGS for way in WAYS]
SMALL = {"subwords": 0, "words": 512, "bigrams": 512, "layers": 1, "epochs": 2}


@pytest.fixture(scope="module")
def teacher_folder(tmp_path_factory):
    return write_encoder(tmp_path_factory.mktemp("small") / "teacher", [*dict.fromkeys(WORDS)], layers=3)


@pytest.fixture(scope="module")
def archive(tmp_path_factory, teacher_folder):
    with Archive.create(tmp_path_factory.mktemp("student") / "archive") as archive:
        archive.upsert(Question(str(n), text) for n, text in enumerate(TEXTS))
        distil(archive, str(teacher_folder), "fast", SMALL)
        yield archive


def open_transformer(folder):
    place, _ = read_steps(folder)
    return Transformer(read_json(place / "config.json"), map_tensors(place), place), place


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert"])
def test_all_layers_are_the_teacher_and_the_saved_folder_is_what_it_was(name, tmp_path):
    pytest.importorskip("sentence_transformers", reason="needs sentence-transformers")
    folder = make_model_folder(tmp_path, name)
    teacher = OnnxModel(folder, 32)
    transformer, place = open_transformer(folder)
    network = StudentNetwork(transformer, range(2))
    ids = np.array(teacher.tokenize(["how do i cook rice", "my bike was stolen at"])[:1], np.int64)
    with torch.no_grad():
        states = network(torch.from_numpy(ids)).numpy()
    np.testing.assert_allclose(states, teacher.run(ids), atol=1e-4)
    last = StudentNetwork(transformer, [1])
    last.shift(torch.full((32,), 0.5))
    save_student(last, place, "query: ", tmp_path / "student")
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(tmp_path / "student"), device="cpu").encode(TEXTS, prompt="")
    np.testing.assert_allclose(OnnxModel(tmp_path / "student", 32).encode(TEXTS), expected, atol=1e-4)
    assert not np.allclose(expected, teacher.encode(TEXTS), atol=1e-2)
    assert PretrainedEncoder.from_settings({"model": str(tmp_path / "student")}).prompt("query") == "query: "


def test_a_student_has_the_first_and_the_last_layers():
    assert [[*choose_layers(n, 6)] for n in (1, 2, 3, 6)] == [[5], [0, 5], [0, 4, 5], [0, 1, 2, 3, 4, 5]]


def test_the_loss_by_hand():
    taught, common = torch.tensor([[[2.0, 1.0], [4.0, 1.0]]]), torch.tensor([0.0, 1.0])
    assert compute_losses(taught - common, taught, common).tolist() == pytest.approx([0])
    states = torch.tensor([[[0.0, 2.0], [0.0, 4.0]]])
    distance = (2**2 + 2**2 + 4**2 + 4**2) / (2**2 + 1 + 4**2 + 1)
    assert compute_losses(states, taught, common).tolist() == pytest.approx([distance + 1])


def test_an_untaught_student_of_all_layers_is_the_teacher_less_what_all_texts_have_in_common(teacher_folder, tmp_path):
    teacher = PretrainedEncoder.from_settings({"model": str(teacher_folder), "precision": 32})
    texts = [Question(t, t) for t in TEXTS]
    Student(teacher, 3, texts, 1, tmp_path, print).save(tmp_path / "student")
    saved = PretrainedEncoder.from_settings({"model": str(tmp_path / "student"), "precision": 32})
    means = teacher.encode(texts, "query").parts[0].values
    centred = means - means.mean(0)
    expected = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    np.testing.assert_allclose(saved.encode(texts, "query").parts[0].values, expected, atol=1e-4)


def test_an_interrupted_training_ends_as_a_whole_one_does(teacher_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(student, "STEP_SIZE", 4)
    monkeypatch.setattr(student, "LEARNING_RATE", 0.01)
    teacher, texts = PretrainedEncoder.from_settings({"model": str(teacher_folder)}), [Question(t, t) for t in TEXTS]

    def start(place, log=lambda line: None):
        return Student(teacher, 2, texts, 3, tmp_path / place, log)

    whole = start("whole")
    whole.train(3)
    lines = []

    def interrupt(line):
        lines.append(line)
        if len(lines) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start("part", interrupt).train(3)
    resumed = start("part", lines.append)
    resumed.train(3)
    losses = [float(line.split("loss ")[1].split(",")[0]) for line in lines]
    assert losses[0] > losses[1] == losses[2] > losses[3]
    assert [line.split(":")[0] for line in lines] == [f"epoch {n} of 3" for n in (1, 2, 2, 3)]
    whole.save(tmp_path / "a")
    resumed.save(tmp_path / "b")
    assert (tmp_path / "a/model.safetensors").read_bytes() == (tmp_path / "b/model.safetensors").read_bytes()


def test_queries_are_the_sum_of_the_student_and_the_lookup(archive, teacher_folder):
    folder = archive.path / "models" / "fast"
    fast, teacher = encoders.open_encoder(folder), PretrainedEncoder.from_settings({"model": str(teacher_folder)})
    reader = PretrainedEncoder.from_settings({"model": str(folder / "student")})
    texts = [Question(t, t) for t in ("how do i cook police", "stolen rice", "")]
    taught = concatenate_parts(teacher.encode(texts, "query"))
    read = concatenate_parts(reader.encode(texts, "query"))
    looked_up = concatenate_parts(fast.queries.encode(texts, "query"))
    vectors = fast.encode(texts, "query").parts[0].values
    np.testing.assert_allclose(vectors, read + looked_up / 2, atol=1e-5)
    assert not vectors[2].any()
    documents = fast.encode(texts, "document").parts[0].values
    np.testing.assert_allclose(documents, taught + concatenate_parts(fast.look_up(texts)) / 2, atol=1e-5)
    assert reader.fingerprint in fast.fingerprint
    assert fast.fingerprint in fast.document_fingerprint


def test_the_model_names_its_layers_and_what_they_began_as(archive, teacher_folder):
    folder = archive.path / "models" / "fast"
    assert encoders.read_model_file(folder)["student"] == {"layers": 1, "lookup_weight": 0.5}
    assert f"It began as the pre-trained model '{teacher_folder}'" in (folder / "README.md").read_text()
    assert not folder.with_name(".training-fast").exists()


def test_words_add_up_to_what_the_student_and_the_lookup_read(archive):
    fast = encoders.open_encoder(archive.path / "models" / "fast")
    texts = ["how do i cook police", "", "stolen rice?"]
    words = fast.words(texts)
    assert [words.words[row] for row in words.rows] == ["how", "do", "i", "cook", "police", "stolen", "rice?"]
    assert words.starts.tolist() == [0, 4, 7, 9, 14, 0, 7]
    assert words.ends.tolist() == [0, 5, 5, 7]
    whole = fast.encode([Question(t, t) for t in texts], "query").parts[0].values
    for text in (0, 2):
        total = words.vectors[words.ends[text] : words.ends[text + 1]].sum(0)
        assert total @ whole[text] > 0.8 * np.linalg.norm(total) * np.linalg.norm(whole[text])


def test_it_ranks_and_explains(archive):
    searcher = rankers.open_current(rankers.create("fast", {}, archive), archive.view())
    session = searcher.search({"q": Question("q", "my rice was stolen")}, 3)
    [best, *_] = session.topdocs[0].docids.tolist()
    fast = encoders.open_encoder(archive.path / "models" / "fast")
    roles = (("query", ["my rice was stolen"]), ("document", TEXTS))
    query, documents = (concatenate_parts(fast.encode([Question(t, t) for t in own], role)) for role, own in roles)
    assert session.texts[best].title == TEXTS[int((documents @ query[0]).argmax())]
    explained = {c.word.split(" ≈ ")[0] for c in session.explain(0, [best])[best].contributions}
    assert explained == {"my", "rice", "was", "stolen"}


def test_serving_needs_no_torch(archive):
    script = (
        "import sys; from pathlib import Path; from askalike import encoders; from askalike.core.types import Question;"
        "encoders.open_encoder(Path(sys.argv[1])).encode([Question('q', 'cook rice')], 'query');"
        "print('torch' in sys.modules, 'onnxruntime' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(archive.path / "models" / "fast")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == ["False", "True"]


def test_what_cannot_be_cut_is_one_line(archive, tmp_path, monkeypatch):
    teacher = archive.path / "models" / "fast"
    with pytest.raises(SettingsError, match="layers=4: expected at most the 1 layer of"):
        distil(archive, str(write_encoder(tmp_path / "one", WORDS)), "other", {"layers": 4})
    with pytest.raises(SettingsError, match="layers=1: expected a pre-trained encoder as the teacher"):
        distil(archive, teacher.name, "other", {"layers": 1})
    with pytest.raises(TrainingError, match="no text with a word"):
        Student(
            PretrainedEncoder.from_settings({"model": str(tmp_path / "one")}),
            1,
            [Question("q", "")],
            1,
            tmp_path,
            print,
        )
    monkeypatch.delitem(sys.modules, "askalike.encoders.learning.student")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        SettingsError, match=r"layers=1: torch is not installed; pip install 'askalike\[encoder,neural\]'"
    ):
        distil(archive, str(write_encoder(tmp_path / "two", WORDS)), "other", {"layers": 1})

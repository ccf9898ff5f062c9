"""A researcher's workflow: from a folder in BEIR's layout to a run of another library."""

import json

import numpy as np
import pandas
import pytest

import askalike
from askalike import encoders
from askalike.core.hits import Hit
from askalike.store import Archive
from commands import run_command as run
from planted import plant

CORPUS = ["boil an egg", "bake some bread", "brew good coffee", "plant a rose", "mend a bicycle", "tune a guitar"]
QUERIES = ["brew coffee well", "egg boiling", "bread baking at home", "guitar tune", "a rose to plant", "bicycle mend"]
RELEVANT = [2, 0, 1, 5, 3, 4]


@pytest.fixture
def beir(tmp_path):
    """A folder whose queries and documents are numbered apart: query 2 has nothing to do with document 2."""
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    write = {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES}
    for name, texts in write.items():
        rows = ({"_id": str(n), "title": "", "text": text} for n, text in enumerate(texts))
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = (f"{query}\t{document}\t1\n" for query, document in enumerate(RELEVANT))
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
    return folder


@pytest.fixture
def imported(beir, tmp_path):
    """The folder as an archive."""
    assert run("import", "beir", beir, "-o", tmp_path / "archive")[0] == 0
    return tmp_path / "archive"


def test_two_number_spaces_are_two(beir, imported, tmp_path):
    words = [imported, "--ranker", "bm25"]
    code, printed, said = run("evaluate", *words, "--json")
    assert code == 0, said
    assert json.loads(printed)["measures"]["Success@1"]["mean"] == 1
    ranked = tmp_path / "bm25.trec"
    assert run("rank", *words, "--queries", beir / "queries.jsonl", "-o", ranked)[0] == 0
    assert askalike.read_run(ranked)["2"][0].id == "1"
    assert "0" in [hit.id for hit in askalike.read_run(ranked)["1"]]


def test_query_that_is_a_document_misses_itself(beir, tmp_path):
    texts = [*CORPUS[:2], QUERIES[2], *CORPUS[3:]]  # query 2 is document 2
    rows = ({"_id": str(n), "title": "", "text": text} for n, text in enumerate(texts))
    (beir / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("import", "beir", beir, "-o", tmp_path / "archive")[0] == 0
    with Archive.open(tmp_path / "archive") as archive:
        labels = askalike.load_split(archive, "test")
        assert [query.id == id for id, query in labels.queries.items()] == [False, False, True, False, False, False]
    ranked = tmp_path / "bm25.trec"
    for queries in ("split:test", beir / "queries.jsonl"):
        words = [tmp_path / "archive", "--ranker", "bm25", "--queries", queries, "-o", ranked]
        assert run("rank", *words)[0] == 0
        assert "2" not in [hit.id for hit in askalike.read_run(ranked)["2"]]


def test_an_export_has_the_ids_of_the_set(imported, tmp_path):
    assert run("export", imported, "--format", "beir", "-o", tmp_path / "again")[0] == 0
    ids = [json.loads(line)["_id"] for line in (tmp_path / "again/queries.jsonl").read_text().splitlines()]
    assert ids == list("012345")


def test_values_of_each_query_are_a_file(imported, tmp_path):
    words = ["evaluate", imported, "--ranker", "bm25", "--measures", "RR Success@1"]
    assert run(*words, "--per-query", tmp_path / "queries.csv")[0] == 0
    lines = (tmp_path / "queries.csv").read_text().splitlines()
    assert lines == ["query,RR,Success@1", *(f"{n},1.0,1.0" for n in range(6))]


def test_runs_are_frames_and_frames_are_runs():
    frame = askalike.Run({"q": (["a", "b"], np.array([2.0, 1.5])), "r": (["c"], np.array([1.0]))}).to_frame()
    assert frame.columns.tolist() == ["qid", "docno", "rank", "score"]
    assert frame.values.tolist() == [["q", "a", 0, 2.0], ["q", "b", 1, 1.5], ["r", "c", 0, 1.0]]
    again = askalike.Run.from_frame(frame.sample(frac=1, random_state=1).drop(columns="rank"))
    assert again.to_frame().sort_values(["qid", "rank"]).values.tolist() == frame.values.tolist()
    named = pandas.DataFrame({"query_id": [1], "doc_id": [7], "score": [3]})  # as ir_measures names them
    assert dict(askalike.Run.from_frame(named)) == {"1": [Hit("7", 3.0)]}
    with pytest.raises(askalike.SettingsError, match="has no column score"):
        askalike.Run.from_frame(named[["query_id", "doc_id"]])
    assert askalike.Run({}).to_frame().empty


def test_any_encoder_gives_one_array(tmp_path):
    vectors = askalike.encode_texts(["boil an egg", "boiling eggs", ""])
    assert vectors.shape == (3, 256)
    assert vectors.dtype == np.float32
    scores = vectors @ vectors.T
    assert 0.5 < scores[0, 1] < scores[0, 0] == pytest.approx(1, abs=1e-5)
    assert not vectors[2].any()
    for wrong in ("boil an egg", [1, 2]):
        with pytest.raises(askalike.InputError, match="expected a list of strings"):
            askalike.encode_texts(wrong)
    folder = tmp_path / "model"
    folder.mkdir()
    # the model itself is opened only for a text
    (folder / "modules.json").write_text('[{"type": "models.Transformer", "path": ""}]')
    for encoder in (encoders.build("static"), encoders.build("pretrained", {"encoder": str(folder)})):
        with pytest.raises(askalike.InputError, match="'boil an egg': expected a Question or an Answer; for strings"):
            encoder.encode_queries(["boil an egg"])


def test_wrong_directory_or_string_is_one_line():
    with pytest.raises(askalike.ArchiveError, match="use askalike.Retriever"):
        Archive.create(":memory:")
    with pytest.raises(askalike.InputError, match="are strings, got 1; expected '1'"):
        askalike.evaluate({1: {2: 1.0}}, {1: {2: 1}}, ["RR"])


def test_every_split_is_a_task_for_other_libraries(tmp_path):
    with Archive.open(plant(tmp_path / "planted")) as archive:
        archive.upsert([askalike.Question("q0", "first", "<p>see <code>x</code></p>", "html")])
        labels = askalike.load_split(archive, "halves/test")
    out = tmp_path / "out"
    code, _, said = run("export", tmp_path / "planted", "--format", "retrieval", "-o", out)
    assert code == 0, said
    corpus = [json.loads(line) for line in (out / "corpus.jsonl").read_text().splitlines()]
    assert corpus[0] == {"_id": "q0", "title": "first", "text": "see x"}
    assert {file.name for file in (out / "qrels").iterdir()} == {
        "duplicates.tsv",
        "halves-train.tsv",
        "halves-test.tsv",
    }
    assert askalike.read_qrels(out / "qrels/halves-test.tsv") == labels.qrels
    queries = dict(map(dict.values, map(json.loads, (out / "queries.jsonl").read_text().splitlines())))
    assert {id: queries[id] for id in labels.queries} == {id: query.title for id, query in labels.queries.items()}
    words = ("export", tmp_path / "planted", "--html", "-o", tmp_path / "marked", "--format")
    assert run(*words, "retrieval")[0] == 0
    first = json.loads((tmp_path / "marked/corpus.jsonl").read_text().partition("\n")[0])
    assert first == {"_id": "q0", "title": "first", "text": "<p>see <code>x</code></p>"}
    code, _, said = run(*words, "csv")
    assert (code, "--html needs --format retrieval" in said) == (2, True)

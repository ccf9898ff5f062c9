"""A researcher's first day: from a folder in BEIR's layout to a table."""

import json

import pytest

import askalike
from askalike.store import Archive

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


def test_two_number_spaces_are_two(beir, tmp_path, command):
    assert command("import", "beir", beir, "-o", tmp_path / "archive")[0] == 0
    words = [tmp_path / "archive", "--ranker", "bm25"]
    code, printed, said = command("evaluate", *words, "--json")
    assert code == 0, said
    assert json.loads(printed)["measures"]["Success@1"]["mean"] == 1
    run = tmp_path / "bm25.trec"
    assert command("rank", *words, "--queries", beir / "queries.jsonl", "-o", run)[0] == 0
    assert askalike.read_run(run)["2"][0].id == "1"
    assert "0" in [hit.id for hit in askalike.read_run(run)["1"]]


def test_a_query_that_is_a_document_does_not_find_itself(beir, tmp_path, command):
    texts = [*CORPUS[:2], QUERIES[2], *CORPUS[3:]]  # query 2 is document 2
    rows = ({"_id": str(n), "title": "", "text": text} for n, text in enumerate(texts))
    (beir / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert command("import", "beir", beir, "-o", tmp_path / "archive")[0] == 0
    with Archive.open(tmp_path / "archive") as archive:
        labels = askalike.load_split(archive, "test")
        assert [query.id == id for id, query in labels.queries.items()] == [False, False, True, False, False, False]
    run = tmp_path / "bm25.trec"
    for queries in ("split:test", beir / "queries.jsonl"):
        words = [tmp_path / "archive", "--ranker", "bm25", "--queries", queries, "-o", run]
        assert command("rank", *words)[0] == 0
        assert "2" not in [hit.id for hit in askalike.read_run(run)["2"]]


def test_an_export_has_the_ids_of_the_set(beir, tmp_path, command):
    assert command("import", "beir", beir, "-o", tmp_path / "archive")[0] == 0
    assert command("export", tmp_path / "archive", "--format", "beir", "-o", tmp_path / "again")[0] == 0
    ids = [json.loads(line)["_id"] for line in (tmp_path / "again/queries.jsonl").read_text().splitlines()]
    assert ids == list("012345")

"""Evaluation sets in small: BEIR and pairs."""

import gzip
from pathlib import Path

from imported import Importing, Refusing


def files(folder: Path, **contents: str) -> Path:
    for name, text in contents.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name(path.name.replace("_jsonl", ".jsonl").replace("_tsv", ".tsv")).write_text(text)
    return folder


CORPUS = '{"_id": "1", "title": "Why?", "text": "It is."}\n{"_id": "2", "text": "How?"}\n{"title": "no id"}\n'
QUERIES = '{"_id": "q1", "text": "Wherefore?"}\n{"_id": "q2", "text": "Whence?"}\n{"_id": "q3", "text": "Unjudged?"}\n'
TEST = "query-id\tcorpus-id\tscore\nq1\t1\t1\nq1\t2\t0\n"
DEV = "query-id\tcorpus-id\tscore\nq2\t1\t2\nq2\tx\n"


def beir(folder: Path) -> Path:
    return files(folder, corpus_jsonl=CORPUS, queries_jsonl=QUERIES, qrels__test_tsv=TEST, qrels__dev_tsv=DEV)


def test_beir(imported: Importing, tmp_path: Path) -> None:
    done = imported("beir", beir(tmp_path / "set"))
    assert {id: (q.title, q.body) for id, q in done.questions.items()} == {"1": ("Why?", "It is."), "2": ("How?", "")}
    assert done.rows("SELECT split, id, title FROM queries ORDER BY 1") == [
        ("dev", "q2", "Whence?"), ("test", "q1", "Wherefore?"),
    ]  # fmt: skip
    assert done.rows("SELECT split, query_id, document_id, relevance, position FROM judgements ORDER BY 1, 3") == [
        ("dev", "q2", "1", 2, None), ("test", "q1", "1", 1, None), ("test", "q1", "2", 0, None),
    ]  # fmt: skip
    assert done.summary.rejected == 2
    assert done.summary.notes == {"queries without a judgement left out": 1}


def test_number_out_of_range_rejects_its_row_alone(imported: Importing, tmp_path: Path) -> None:
    folder = beir(tmp_path / "set")
    (folder / "qrels/test.tsv").write_text(f"{TEST}q1\t3\t{2**63}\n")
    done = imported("beir", folder)
    assert done.rows("SELECT document_id FROM judgements WHERE split = 'test' ORDER BY 1") == [("1",), ("2",)]
    assert done.summary.rejected == 3
    assert "relevance: the number is too large" in (done.archive.path / "rejected.jsonl").read_text()


def test_beir_folders_get_prefixes(imported: Importing, tmp_path: Path) -> None:
    beir(tmp_path / "cqa/android")
    beir(tmp_path / "cqa/english")
    corpus = tmp_path / "cqa/english/corpus.jsonl"
    (tmp_path / "cqa/english/corpus.jsonl.gz").write_bytes(gzip.compress(corpus.read_bytes()))
    corpus.unlink()
    done = imported("beir", tmp_path / "cqa")
    assert set(done.questions) == {"android/1", "android/2", "english/1", "english/2"}
    assert done.archive.meta["groups"] == ["android", "english"]
    assert done.rows("SELECT DISTINCT query_id FROM judgements ORDER BY 1")[0] == ("android/q1",)


def test_beir_queries_of_a_split_need_no_judgement(imported: Importing, tmp_path: Path) -> None:
    folder = files(tmp_path / "set", corpus_jsonl=CORPUS)
    (folder / "queries-test.jsonl").write_text(QUERIES)
    done = imported("beir", folder)
    assert done.rows("SELECT DISTINCT split, COUNT(*) FROM queries") == [("test", 3)]


def test_pairs(imported: Importing, tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(
        "query,candidate,label,candidate_id\n"
        "Why?,Wherefore?,0,c1\nWhy?,How come?,1,c2\nWhy?,Wherefore?,1,c1\n"  # the third repeats the first, relabelled
        "Why?,Another text,0,c1\nHow?,How come?,true,c2\nHow?,,1,c3\nHow?,Odd label,good,c4\nHow?,Unjudged,,c5\n"
    )
    done = imported("pairs", path, split="dev")
    assert done.summary.counts == "4 questions, 0 answers, 0 duplicate links, 2 rejected"
    judged = done.rows(
        "SELECT q.title, d.title, relevance, position FROM judgements j JOIN queries q ON q.id = query_id "
        "JOIN questions d ON d.id = document_id WHERE j.split = 'dev' ORDER BY q.title DESC, position"
    )
    assert judged == [
        ("Why?", "Wherefore?", 1, 1), ("Why?", "How come?", 1, 2), ("Why?", "Another text", 0, 3),
        ("How?", "How come?", 1, 1), ("How?", "Unjudged", None, 2),
    ]  # fmt: skip
    assert done.summary.notes == {
        "repeated rows merged": 1,
        "repeated rows with another label (the higher one kept)": 1,
        "texts of a candidate under an id that another text has (kept with ids of their own)": 1,
    }


def test_pairs_name_the_columns_that_are_there(expect_refusal: Refusing, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("query,candidate,verdict\na,b,1\n")
    message = "no column is known to hold the label; there are: query, candidate, verdict"
    expect_refusal(message, "pairs", tmp_path / "p.csv")

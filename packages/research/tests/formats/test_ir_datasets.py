"""Data sets of the package ir_datasets 0.6, made of local files: nothing is fetched."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from imported import Importing, Refusing

ir_datasets = pytest.importorskip("ir_datasets", reason="needs the extra ir_datasets")


@pytest.fixture
def forum(tmp_path: Path) -> Iterator[str]:
    """Two groups with documents of their own, as CQADupStack has, under the name `askalike-forum`."""
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.datasets.beir import BeirCqaDoc
    from ir_datasets.formats import JsonlDocs, TrecQrels, TsvQueries
    from ir_datasets.util import LocalDownload

    names = []
    for group in ("cooks", "bikes"):
        docs, queries, qrels = (tmp_path / f"{group}.{end}" for end in ("jsonl", "tsv", "qrels"))
        rows = [
            {"doc_id": "1", "title": f"How do {group} start?", "text": "With a pan.", "tags": ["first", group]},
            {"doc_id": "2", "title": "", "text": f"Why {group}?\u0000", "tags": []},
        ]
        docs.write_text("".join(json.dumps(row) + "\n" for row in rows))
        queries.write_text("q1\tstarting\nq2\tnever judged\n")
        qrels.write_text("q1 0 1 3\nq1 0 2 -1\n")
        name = f"askalike-forum/{group}/dev"
        ir_datasets.registry.register(name, Dataset(
            JsonlDocs(LocalDownload(docs), doc_cls=BeirCqaDoc, namespace=f"askalike-forum/{group}"),
            TsvQueries(LocalDownload(queries)), TrecQrels(LocalDownload(qrels), {}),
        ))  # fmt: skip
        names.append(name)
    yield "askalike-forum"
    for name in names:
        del ir_datasets.registry._registered[name]


def test_documents_queries_and_judgements(imported: Importing, forum: str) -> None:
    done = imported("ir_datasets", Path(f"{forum}/cooks/dev"))
    one, two = done.questions.values()
    assert (one.id, one.title, one.body, one.tags) == ("1", "How do cooks start?", "With a pan.", ("first", "cooks"))
    assert (two.title, two.body) == ("Why cooks?\ufffd", "")
    assert done.rows("SELECT split, id, title FROM queries") == [("dev", "q1", "starting")]
    assert done.rows("SELECT query_id, document_id, relevance FROM judgements ORDER BY 2") == [
        ("q1", "1", 3), ("q1", "2", 0),
    ]  # fmt: skip
    assert done.summary.notes["queries without a judgement left out"] == 1


def test_names_with_documents_of_their_own_are_groups(imported: Importing, forum: str) -> None:
    done = imported("ir_datasets", Path(f"{forum}/cooks/dev"), Path(f"{forum}/bikes/dev"), min_relevance=4)
    assert set(done.questions) == {"cooks/1", "cooks/2", "bikes/1", "bikes/2"}
    assert done.archive.meta["groups"] == ["cooks", "bikes"]
    assert {row[0] for row in done.rows("SELECT relevance FROM judgements")} == {0}


def test_unknown_names_and_missing_files(expect_refusal: Refusing, forum: str, tmp_path: Path) -> None:
    expect_refusal("no-such-set: ir_datasets has no such data set", "ir_datasets", "no-such-set")
    (tmp_path / "bikes.jsonl").unlink()
    expect_refusal("askalike-forum/bikes/dev: cannot be fetched or read", "ir_datasets", f"{forum}/bikes/dev")

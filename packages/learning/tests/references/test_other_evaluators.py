"""An export is measured by sentence-transformers' evaluator as askalike measures the archive."""

import csv
import json
import random

import pytest

from askalike import rankers
from askalike.core.records import Link, Question
from askalike.export import export_archive
from askalike.labels.partitions import create_partition
from askalike.measuring import evaluate_ranker
from needs import need
from small_models import WORDS
from torch_models import make_model_folder

need("onnxruntime", "onnx", "sentence_transformers")
pytestmark = pytest.mark.long  # it loads torch
N = 120


@pytest.fixture
def archive(archive):
    """Questions of five words, the newer of a pair with four of the older one's; a split that is derived."""
    draw = random.Random(0)
    for n in range(0, N, 2):
        *words, last, other = draw.sample(list(dict.fromkeys(WORDS)), 6)
        texts = (" ".join([*words, word]) for word in (last, other))
        archive.upsert(Question(f"q{n + i}", text) for i, text in enumerate(texts))
    archive.upsert(Link(f"q{n}", f"q{n - 1}") for n in range(1, N, 2))
    create_partition(archive, "cluster", {"shares": [0.5, 0.5]}, name="halves")
    return archive


def test_sentence_transformers_measures_the_same(archive, tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    model = make_model_folder(tmp_path / "small", "bert")
    exact = {"precision": "32", "storage": "f32"}  # the cosines of a small model are all near 1
    ranker = rankers.create("pretrained", {"encoder": str(model), **exact})
    ours = evaluate_ranker(archive, ranker, "halves/test", ["Success@1", "Success@10"])
    out = tmp_path / "out"
    export_archive(archive, "retrieval", out)
    with open(out / "qrels/halves-test.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    relevant = {row["query-id"]: {row["corpus-id"]} for row in rows}
    corpus, queries = (
        {record["_id"]: record for record in map(json.loads, (out / name).read_text(encoding="utf-8").splitlines())}
        for name in ("corpus.jsonl", "queries.jsonl")
    )
    evaluator = InformationRetrievalEvaluator(
        {id: queries[id]["text"] for id in relevant},
        {id: record["title"] for id, record in corpus.items()},
        relevant,
        accuracy_at_k=[2, 11],  # a query is a document, and that evaluator lets it find itself: it comes first
        write_csv=False,
    )
    theirs = evaluator(SentenceTransformer(str(model), device="cpu"))
    assert ours.n == len(relevant) == N // 4
    assert 0.1 < ours.means["Success@10"] < 0.9
    assert ours.means["Success@1"] == pytest.approx(theirs["cosine_accuracy@2"])
    assert ours.means["Success@10"] == pytest.approx(theirs["cosine_accuracy@11"])

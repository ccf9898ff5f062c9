"""Diagnostics of rankers of answers: the triplet loss by hand, perplexity, written answers in every report."""

import json

import numpy as np
import pytest

from askalike import rankers
from askalike.core.records import Answer
from askalike.measuring import RankingTask
from askalike_research.experiments.answer_measures import MARGIN, relevant_pairs, triplet_loss
from askalike_research.experiments.declaration import read_experiment
from askalike_research.experiments.run import run_experiment
from experiments.small import categorised_questions, toml_at

torch = pytest.importorskip("torch", reason="needs the extra neural")
TINY = {
    "dim": 8, "hidden": 8, "latent": 6, "min_texts": 1, "training.epochs": 2, "accelerator": "cpu", "init_epochs": 1,
    "min_pairs": 4, "batch_size": 8,
}  # fmt: skip
WRITER = {**TINY, "writer": 16, "cutoffs": [10]}


@pytest.fixture
def archive(archive):
    questions = categorised_questions()
    archive.upsert([*questions, *(Answer(f"a{q.id}", q.id, f"On {q.category}: {q.title}.") for q in questions)])
    return archive


def test_the_triplet_loss_is_the_mean_over_pairs(archive):
    task = RankingTask.from_archive(archive, "answers")
    labels = task.labels("answers")
    ranker = rankers.create("dssm", TINY, archive.path).fit(archive.training_view((), kind="answers"))
    pairs = relevant_pairs(task, labels)
    assert len(pairs) == 40
    query = np.asarray(ranker.encoder.encode_queries([q for q, _ in pairs]).parts[0].values)
    answer = np.asarray(ranker.encoder.encode_documents([a for _, a in pairs]).parts[0].values)
    distances = np.linalg.norm(query[:, None] - answer[None], axis=2)
    right = np.diag(distances)
    bounds = [np.maximum(MARGIN + right - np.where(np.eye(40, dtype=bool), np.nan, distances).T, 0)]
    low, high = np.nanmin(bounds[0], 0).mean(), np.nanmax(bounds[0], 0).mean()
    assert low <= triplet_loss(ranker, task, labels) <= high


def test_cosines_have_no_margin_of_ten(archive):
    task = RankingTask.from_archive(archive, "answers")
    cosine = {**TINY, "metric": "cosine", "loss": "multiple_negatives", "negatives.random": 0, "in_batch": True}
    ranker = rankers.create("dssm", cosine, archive.path).fit(archive.training_view((), kind="answers"))
    assert triplet_loss(ranker, task, task.labels("answers")) is None


@pytest.mark.long
def test_every_report_has_what_was_written(archive, tmp_path):
    systems = [
        {"ranker": "bm25"},
        {"ranker": "dssm", "label": "DSSM", "settings": TINY},
        {"ranker": "dssm_writer", "label": "DSSM + generation", "settings": WRITER},
        {
            "ranker": "hybrid",
            "label": "both",
            "settings": {"parts": ["bm25", "dssm"], "dssm": TINY},
            "tune": {"weights": [[1, 1], [2, 1]]},
        },
    ]
    values = {
        "task": "answers", "fields": None, "system": systems, "seeds": [1, 2],
        "split": "topic/test", "dev": "topic/dev",
        "partition": {"method": "category", "source_split": "answers", "name": "topic", "shares": [0.6, 0.2, 0.2]},
    }  # fmt: skip
    outcome = run_experiment(
        read_experiment(toml_at(tmp_path / "written.toml", archive.path, **values)), tmp_path / "out"
    )
    report = json.loads((tmp_path / "out/report.json").read_text())
    diagnostics = {system["label"]: system["diagnostics"] for system in report["systems"]}
    assert diagnostics["bm25"] == diagnostics["both"] == {}
    assert set(diagnostics["DSSM"]) == {"validation triplet loss"}
    assert set(diagnostics["DSSM + generation"]) == {
        "validation triplet loss",
        "perplexity",
        "distinct-1",
        "distinct-2",
    }
    assert diagnostics["DSSM + generation"]["perplexity"]["mean"] > 1
    samples = report["samples"]["DSSM + generation"]
    assert len(samples) == 8  # all of them; 50 where there are more
    assert all(set(sample) == {"question", "written", "right"} for sample in samples)
    page = (tmp_path / "out/report.html").read_text()
    assert "A machine wrote these" in page
    assert "DSSM + generation: 8 answers" in page
    assert len(outcome.systems[3].seed_results) == 2  # a hybrid of what learns has seeds, too
    models = [path.name for path in (archive.path / "models").glob("dssm-*")]
    assert len(models) == 4  # two seeds of either; the hybrid's part is the DSSM itself

"""Rankers as mteb's models, measured by mteb itself on a task made here."""

import json
from pathlib import Path
from typing import Any

import pytest

from askalike.core.errors import InputError, SettingsError

mteb = pytest.importorskip("mteb", reason="needs the extra mteb")

from datasets import Dataset  # noqa: E402
from mteb.abstasks.retrieval import AbsTaskRetrieval  # noqa: E402
from mteb.abstasks.task_metadata import TaskMetadata  # noqa: E402

from askalike_research.mteb import ArchiveSearch  # noqa: E402

CORPUS = [
    {"id": "d1", "title": "reset a forgotten password", "text": "Where is the link?"},
    {"id": "d2", "title": "", "text": "opening hours on sunday"},
    {"id": "d3", "title": "printer jam", "text": "The paper is stuck."},
    {"id": "q1", "title": "how do I reset my password", "text": ""},
]
QUERIES = [{"id": "q1", "text": "how do I reset my password"}, {"id": "q2", "text": "sunday hours"}]


class DeskTask(AbsTaskRetrieval):
    """Two questions about a library."""

    ignore_identical_ids = True
    metadata = TaskMetadata(
        name="DeskRetrieval", dataset={"path": "made/here", "revision": "1"}, description="made here", reference=None,
        type="Retrieval", category="t2t", modalities=["text"], eval_splits=["test"], eval_langs=["eng-Latn"],
        main_score="ndcg_at_10", date=("2026-01-01", "2026-01-02"), domains=["Written"], task_subtypes=[],
        license="cc0-1.0", annotations_creators="derived", dialect=[], sample_creation="created", bibtex_citation="",
    )  # fmt: skip

    def load_data(self, *_: Any, **__: Any) -> None:
        split = {
            "corpus": Dataset.from_list(CORPUS), "queries": Dataset.from_list(QUERIES),
            "relevant_docs": {"q1": {"d1": 1}, "q2": {"d2": 1}}, "top_ranked": None,
        }  # fmt: skip
        self.dataset = {"default": {"test": split}}
        self.data_loaded = True


def test_mteb_measures_a_ranker_and_saves_its_results(tmp_path: Path) -> None:
    model = ArchiveSearch("bm25", {"fields": "text"})
    done = mteb.evaluate(
        model, DeskTask(), cache=mteb.ResultCache(tmp_path), show_progress_bar=False, co2_tracker=False
    )
    assert done.task_results[0].get_score() == pytest.approx(1.0)
    [saved] = tmp_path.rglob("DeskRetrieval.json")
    assert "askalike__bm25" in str(saved)
    assert json.loads(saved.read_text())["scores"]["test"][0]["ndcg_at_10"] == pytest.approx(1.0)
    model.close()


def test_query_finds_a_document_with_its_own_id() -> None:
    model = ArchiveSearch("bm25")
    model.index(CORPUS)
    assert next(iter(model.search(QUERIES, top_k=2)["q1"])) == "q1"
    model.close()


def test_reranking_ranks_the_given_candidates_alone() -> None:
    model = ArchiveSearch("bm25")
    model.index(CORPUS)
    found = model.search(QUERIES[:1], top_k=10, top_ranked={"q1": ["d1", "d3"]})
    assert list(found["q1"]) == ["d1", "d3"]
    model.close()


def test_it_follows_the_protocol_and_names_its_settings() -> None:
    from mteb.models.models_protocols import SearchProtocol

    model = ArchiveSearch("bm25", {"b": 0.4})
    assert isinstance(model, SearchProtocol)
    assert model.mteb_model_meta.experiment_kwargs["settings"]["b"] == 0.4


def test_mistakes_are_clear() -> None:
    with pytest.raises(SettingsError, match="no ranker is called 'bm52'"):
        ArchiveSearch("bm52")
    with pytest.raises(InputError, match="search before index"):
        ArchiveSearch("bm25").search(QUERIES, top_k=1)

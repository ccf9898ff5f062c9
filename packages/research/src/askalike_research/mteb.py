"""Any ranker as a model of mteb: `mteb.evaluate(ArchiveSearch("bm25"), tasks)`, with results as mteb's JSON.

From a shell, where there is a network for the tasks' data:

    python -P -m askalike_research.mteb CQADupstackAndroid-PL QuoraRetrieval --ranker hybrid -o results
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mteb  # type: ignore[import-untyped, import-not-found, unused-ignore]
from mteb.models.model_meta import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
    ModelMeta,
    ScoringFunction,
)

import askalike
from askalike import Archive, AskalikeError, InputError, Question, build, import_archive, rank
from askalike.plugin.rankers import DEFAULT_NAME, open_current, settings_json

QUERY_ID = " mteb "
"""Begins the id of a query, so that no question of the corpus is taken for the query itself: mteb has its own rule."""
Row = Mapping[str, Any]


class ArchiveSearch:
    """Searches the corpus of a task with a ranker (mteb's `SearchProtocol`).

    The corpus becomes an archive in a temporary folder: a document without a title has its text as the title. A query
    is a typed title. A reranking task's candidates are all that is ranked.
    """

    def __init__(
        self, ranker: str | None = None, settings: Mapping[str, Any] | None = None, models: Archive | Path | None = None
    ) -> None:
        """ranker: a name, by default that of an archive without labels. models: the archive whose models it may use.

        Raises SettingsError for an unknown ranker or setting.
        """
        self._ranker = build(ranker or DEFAULT_NAME, settings or {}, models)
        self._folder: TemporaryDirectory[str] | None = None
        self._archive: Archive | None = None

    @property
    def mteb_model_meta(self) -> ModelMeta:
        """The name, `askalike/RANKER`, the version, and the ranker's settings."""
        values = json.loads(settings_json(self._ranker.values))
        overwrites = {
            "name": f"askalike/{self._ranker.name}",
            "revision": askalike.__version__,
            "experiment_kwargs": {"settings": values} if values else None,
            "similarity_fn_name": ScoringFunction.CUSTOM,
        }
        return ModelMeta.create_empty(overwrites)

    def index(self, corpus: Iterable[Row], **_: Any) -> None:
        """Import a corpus with the columns id, text and maybe title. Raises InputError for one without texts."""
        self.close()
        self._folder = TemporaryDirectory(prefix="askalike-mteb-")
        file = Path(self._folder.name) / "corpus.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in _documents(corpus))
        import_archive("table", file, Path(self._folder.name) / "archive")
        self._archive = Archive.open(Path(self._folder.name) / "archive")

    def search(
        self, queries: Iterable[Row], *, top_k: int, top_ranked: Mapping[str, Sequence[str]] | None = None, **_: Any
    ) -> dict[str, dict[str, float]]:
        """Return query id → document id → score of the `top_k` best documents, or of a reranking task's candidates."""
        if self._archive is None:
            raise InputError("mteb: search before index; expected a corpus first")
        typed = {str(row["id"]): Question(QUERY_ID + str(row["id"]), str(row["text"])) for row in queries}
        candidates = {id: list(map(str, top_ranked[id])) for id in typed} if top_ranked else None
        searcher = open_current(self._ranker, self._archive.view())
        run = rank(searcher, typed, top_k, candidates=candidates)
        return {id: {hit.id: float(hit.score) for hit in run[id]} if id in run else {} for id in typed}

    def close(self) -> None:
        """Remove the corpus."""
        if self._archive is not None:
            self._archive.close()
        if self._folder is not None:
            self._folder.cleanup()
        self._archive = self._folder = None


def _documents(corpus: Iterable[Row]) -> Iterator[Row]:
    for document in corpus:
        title = str(document.get("title") or "").strip()
        text = str(document.get("text") or "").strip()
        if title or text:
            yield {"id": str(document["id"]), "title": title or text, "body": text if title else ""}


def main() -> None:
    """Run tasks of mteb, and save the results as its leaderboard reads them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", metavar="TASK", help="names of mteb's retrieval or reranking tasks")
    parser.add_argument(
        "-r", "--ranker", metavar="NAME", help="the ranker; by default that of an archive without labels"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="the folder of the results")
    options = parser.parse_args()
    try:
        results = mteb.evaluate(
            ArchiveSearch(options.ranker), mteb.get_tasks(tasks=options.tasks), cache=mteb.ResultCache(options.output)
        )
    except (AskalikeError, KeyError) as error:
        sys.exit(f"askalike: {error.args[0] if error.args else error}")
    for result in results.task_results:
        print(f"{result.task_name}: {result.get_score():.4f}")


if __name__ == "__main__":
    main()

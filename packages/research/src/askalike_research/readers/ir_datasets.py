"""Reads data sets of the package ir_datasets by their names (MacAvaney et al. 2021, https://ir-datasets.com)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import Field

from askalike import (
    EvaluationQuery,
    InputError,
    Judgement,
    LocatedRecord,
    Place,
    Question,
    Settings,
    SettingsError,
    SourceFiles,
)
from askalike.plugin.readers import replace_forbidden, to_text

SPLITS = ("train", "dev", "validation", "test")
DEFAULT_SPLIT = "test"
TEXT_FIELDS = ("text", "body", "abstract")


class IrDatasetsReader(Settings):
    """Data sets of the package ir_datasets: PATHs are their names, e.g. beir/quora/test. Needs that package.

    ir_datasets downloads missing data. If several names have documents of their own, ids are NAME/ID.

    Examples:

    ```
    askalike import ir-datasets beir/quora/test -o quora
    askalike import ir-datasets antique/test -o antique --min-relevance 3
    ```
    """

    min_relevance: int = Field(1, ge=1, description="judgements below this grade count as not relevant; antique: 3")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield documents as questions, then the judgements and queries of each name. Raises InputError."""
        names = [path.as_posix() for path in paths]
        sets = {name: _load(name) for name in names}
        groups = {name: str(data_set.docs_namespace() or name) for name, data_set in sets.items()}
        source.facts["name"] = ", ".join(names)
        has_groups = len(set(groups.values())) > 1
        if has_groups:
            source.facts["groups"] = list(dict.fromkeys(group.rpartition("/")[2] for group in groups.values()))
        read_groups: set[str] = set()
        for name, data_set in sets.items():
            prefix = f"{groups[name].rpartition('/')[2]}/" if has_groups else ""
            with _fetching(name):
                if groups[name] not in read_groups:
                    read_groups.add(groups[name])
                    yield from _read_documents(data_set, name, prefix)
                if data_set.has_qrels() and data_set.has_queries():
                    yield from self._read_judgements(data_set, name, prefix, source)

    def _read_judgements(self, data_set: Any, name: str, prefix: str, source: SourceFiles) -> Iterator[LocatedRecord]:
        split = next((part for part in reversed(name.split("/")) if part in SPLITS), DEFAULT_SPLIT)
        judged: set[str] = set()
        for n, qrel in enumerate(data_set.qrels_iter(), 1):
            relevance = qrel.relevance if qrel.relevance >= self.min_relevance else 0
            judged.add(qrel.query_id)
            yield Judgement(split, prefix + qrel.query_id, prefix + qrel.doc_id, relevance), Place(f"{name} qrels", n)
        for n, query in enumerate(data_set.queries_iter(), 1):
            source.note("queries without a judgement left out", query.query_id not in judged)
            if query.query_id in judged:
                question = Question(prefix + query.query_id, to_text(replace_forbidden(query.default_text())))
                yield EvaluationQuery(split, question), Place(f"queries of {name}", n)


def _read_documents(data_set: Any, name: str, prefix: str) -> Iterator[LocatedRecord]:
    for n, document in enumerate(data_set.docs_iter(), 1):
        values = replace_forbidden({field: getattr(document, field) for field in document._fields})
        title = to_text(values.get("title"))
        text = next((to_text(values[field]) for field in TEXT_FIELDS if values.get(field)), "")
        tags = values.get("tags")
        question = Question(
            prefix + document.doc_id,
            title or text or to_text(replace_forbidden(document.default_text())),
            text if title else "",
            tags=tuple(map(to_text, tags)) if isinstance(tags, list | tuple) else (),
            url=to_text(values.get("url")) or None,
        )
        yield question, Place(f"{name} docs", n)


def _load(name: str) -> Any:
    """Return a data set with documents. Raises InputError or SettingsError."""
    try:
        import ir_datasets  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ModuleNotFoundError:
        raise SettingsError("ir_datasets is not installed: pip install ir-datasets") from None
    try:
        data_set = ir_datasets.load(name)
    except KeyError:
        raise InputError(
            f"{name}: ir_datasets has no such data set; all are listed at https://ir-datasets.com"
        ) from None
    if not data_set.has_docs():
        raise InputError(f"{name}: has no documents of its own; name one of its parts, see https://ir-datasets.com")
    return data_set


@contextmanager
def _fetching(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, RuntimeError) as error:
        raise InputError(f"{name}: cannot be fetched or read ({str(error)[:200] or type(error).__name__})") from None

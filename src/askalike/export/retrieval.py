"""Every split as a retrieval task."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from askalike.core.config import Settings
from askalike.core.iteration import LogCallback, ProgressTracker
from askalike.core.records import Question
from askalike.export._tables import check_split_file_name, write_jsonl, write_qrels
from askalike.labels.splits import labelled_splits, load_split
from askalike.store import Archive
from askalike.text.clean import readable_text


class RetrievalExport(Settings):
    """Every split as a retrieval task, for the evaluators of other libraries.

    `corpus.jsonl` has the questions as `{"_id", "title", "text"}`, `queries.jsonl` the queries of all splits as
    `{"_id", "text"}`, and `qrels/SPLIT.tsv` the judgements of each split, including derived ones and parts of
    partitions (`halves/test` is `halves-test.tsv`). A query that is a document has its id.
    """

    html: bool = Field(False, description="whether bodies keep their markup")

    def write(self, archive: Archive, folder: Path, track: ProgressTracker, log: LogCallback) -> Mapping[str, int]:
        """See ExportFormat.write."""
        view = archive.view()
        documents = (question for _, question in track(view.questions(), total=len(view), description="questions"))
        records = (
            {"_id": question.id, "title": question.title, "text": self._body(question)} for question in documents
        )
        rows = {"corpus.jsonl": write_jsonl(folder / "corpus.jsonl", records)}
        queries: dict[str, Question] = {}
        for name in labelled_splits(archive):
            labels = load_split(archive, name)
            path = f"qrels/{check_split_file_name(name.replace('/', '-'))}.tsv"
            rows[path] = write_qrels(folder / path, labels.qrels)
            queries |= labels.queries
        texts = ((id, "\n\n".join(filter(None, (query.title, self._body(query))))) for id, query in queries.items())
        lines = ({"_id": id, "text": text} for id, text in texts)
        rows["queries.jsonl"] = write_jsonl(folder / "queries.jsonl", lines)
        return rows

    def _body(self, question: Question) -> str:
        return question.body if self.html else readable_text(question.body, question.markup)

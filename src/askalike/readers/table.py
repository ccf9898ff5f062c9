"""Reads tables of questions and answers: CSV, TSV, JSON lines or JSON, gzipped or not, one question per row."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from pydantic import Field

from askalike.core.types import LocatedRecord
from askalike.readers._exported import read_csv_export, read_export_facts
from askalike.readers._question_table import QuestionTable
from askalike.readers._rows import TABLE_PATTERNS, open_table
from askalike.readers._source import SourceFiles, find_files


class TableReader(QuestionTable):
    """A table, one question per row: CSV, TSV, JSON lines, or JSON with --records. Usual column names are recognised.

    A folder that `askalike export --format csv` wrote gives back the whole archive.

    Examples:

    ```
    askalike import table faq.csv -o faq
    askalike import table export.json -o faq --records data.items --question title.text
    ```
    """

    records: str | None = Field(None, description="the path to the list of rows in a JSON document, e.g. root.items")
    quotes: bool = Field(True, description="fields of CSV and TSV may be in double quotes; off: quotes are text")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield each row as a question, its answers and its links. Raises InputError."""
        if len(paths) == 1 and read_export_facts(paths[0], "csv", source):
            yield from read_csv_export(paths[0], source)
            return
        files = find_files(paths, *TABLE_PATTERNS)
        source.facts["name"] = paths[0].resolve().name.partition(".")[0]
        yield from self.read_questions(files, source, partial(open_table, keys=self.records, quotes=self.quotes))

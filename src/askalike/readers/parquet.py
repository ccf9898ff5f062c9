"""Reads tables in Parquet, one question per row, with the same columns as the reader of CSV and JSON."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time
from pathlib import Path
from typing import Any

from askalike.core.errors import SettingsError
from askalike.core.files import check_unpacked
from askalike.core.records import LocatedRecord, Place
from askalike.readers._json import PlacedRow
from askalike.readers._rows import Table
from askalike.readers._source import SourceFiles, find_files, refuse_damage
from askalike.readers.table import QuestionTable
from askalike.text.clean import replace_forbidden

BATCH_ROWS = 1_000


class ParquetReader(QuestionTable):
    """A table in Parquet, one question per row. Usual column names are recognised. Needs the extra `parquet`.

    Examples:

    ```
    askalike import parquet faq.parquet -o faq --question title
    askalike import parquet part-1.parquet part-2.parquet -o faq --dry-run
    ```
    """

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield each row as a question, its answers and its links. Raises InputError."""
        files = find_files(paths, "*.parquet")
        source.facts["name"] = paths[0].resolve().name.partition(".")[0]
        yield from self.read_questions(files, source, open_parquet)


def open_parquet(source: SourceFiles, path: Path) -> Table:
    """Open a file; its columns are those in the schema, nested ones with dots. Raises InputError or SettingsError."""
    with _open_file(SourceFiles(), path) as file:
        header = [name for field in file.schema_arrow for name in _column_names(field)]
    return Table(header, _read_rows(source, path))


def _read_rows(source: SourceFiles, path: Path) -> Iterator[PlacedRow]:
    """Yield the rows; their places are numbered from the first one."""
    row_number = 0
    with _open_file(source, path) as file:
        for batch in file.iter_batches(BATCH_ROWS):
            for row in batch.to_pylist():
                row_number += 1
                yield Place(str(path), row_number), {name: _to_plain(value) for name, value in row.items()}


@contextmanager
def _open_file(source: SourceFiles, path: Path) -> Iterator[Any]:
    try:
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError:
        raise SettingsError("pyarrow is not installed: pip install 'askalike[parquet]'") from None
    with source.open(path, unpack=False) as raw, refuse_damage(path, "a Parquet file"), ParquetFile(raw) as file:
        groups = (file.metadata.row_group(number) for number in range(file.metadata.num_row_groups))
        check_unpacked(path, sum(group.total_byte_size for group in groups), path.stat().st_size)
        yield file


def _column_names(field: Any) -> list[str]:
    """Return the names of a column and of the columns nested in it, also through lists."""
    kind = field.type
    while hasattr(kind, "value_type"):
        kind = kind.value_type
    inner = kind.fields if hasattr(kind, "fields") else ()
    return [field.name, *(f"{field.name}.{name}" for nested in inner for name in _column_names(nested))]


def _to_plain(value: Any) -> Any:
    """Return a value as in JSON: bytes as text, dates as ISO 8601."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, date | time):
        return value.isoformat()
    return replace_forbidden(value)

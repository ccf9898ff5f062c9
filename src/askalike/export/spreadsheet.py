"""The archive as tables for a spreadsheet."""

from collections.abc import Mapping
from pathlib import Path

from askalike.core.config import Settings
from askalike.core.iteration import LogCallback, ProgressTracker
from askalike.export.csv import write_tables
from askalike.store import Archive


class SpreadsheetExport(Settings):
    """The tables of `csv`, safe to open in a spreadsheet (see `write_table`) but not exact enough to import again."""

    def write(self, archive: Archive, folder: Path, track: ProgressTracker, log: LogCallback) -> Mapping[str, int]:
        """See ExportFormat.write."""
        return write_tables(archive, folder, track, spreadsheet=True)

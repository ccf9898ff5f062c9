"""Reads plain text files: every line is a question."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

import askalike
from askalike.plugin.readers import find_files


class LinesReader(askalike.Settings):
    """Text files with one question a line; a question's id is its file and line."""

    comment: str = Field("#", description="lines that begin with this are left out")

    def read(self, paths: Sequence[Path], source: askalike.SourceFiles) -> Iterator[askalike.LocatedRecord]:
        """Yield a question for each line that is neither empty nor a comment, with its place."""
        files = find_files(paths, "*.txt")
        source.expect(files)
        for path in files:
            for place, line in source.read_lines(path):
                if line.strip() and not (self.comment and line.startswith(self.comment)):
                    yield askalike.Question(f"{path.stem}:{place.line}", line.strip()), place

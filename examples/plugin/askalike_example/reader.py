"""Reads plain text files: every line is a question."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

import askalike


class LinesReader(askalike.Settings):
    """Text files with one question a line; a question's id is its line number."""

    comment: str = Field("#", description="lines that begin with this are left out")

    def read(self, paths: Sequence[Path], source: askalike.SourceFiles) -> Iterator[askalike.LocatedRecord]:
        """Yield a question for each line that is neither empty nor a comment, with its place."""
        source.expect(paths)
        for path in paths:
            for place, line in source.read_lines(path):
                if line.strip() and not (self.comment and line.startswith(self.comment)):
                    yield askalike.Question(str(place.line), line.strip()), place

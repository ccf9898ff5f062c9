"""How the readers' tests import: into a fresh archive, with what came of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from imported import Imported, Importing, PageSite, Refusing

from askalike.core.errors import AskalikeError, InputError
from askalike.readers import import_archive
from askalike.store import Archive


@pytest.fixture
def imported(tmp_path: Path) -> Iterator[Importing]:
    """`imported(reader, path, **options)`: imports into one archive."""
    opened: list[Archive] = []

    def run(reader: str, *paths: Path, language: str | None = "en", **options: Any) -> Imported:
        directory = tmp_path / "archive"
        summary = import_archive(reader, paths, directory, options=options, language=language)
        opened.append(Archive.open(directory))
        return Imported(opened[-1], summary)

    yield run
    for archive in opened:
        archive.close()


@pytest.fixture
def expect_refusal(tmp_path: Path) -> Refusing:
    """`expect_refusal(match, reader, path, **options)`: the import fails, says so in one line and leaves no archive."""

    def run(
        match: str, reader: str, *paths: Path | str, error: type[AskalikeError] = InputError, **options: Any
    ) -> None:
        with pytest.raises(error, match=match) as raised:
            import_archive(reader, paths, tmp_path / "refused", options=options)
        assert "\n" not in str(raised.value)
        assert not (tmp_path / "refused").exists()

    return run


@pytest.fixture
def site() -> Iterator[PageSite]:
    """A site of pages, on this machine."""
    with PageSite() as site:
        yield site

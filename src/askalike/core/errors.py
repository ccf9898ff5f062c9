"""The exceptions of askalike. A message is one line: where, what is wrong, what was expected, what to do.

If there are several errors, each has its own line.
"""

from pathlib import Path


class AskalikeError(Exception):
    """An error that a user can fix. The command line prints it without a traceback and exits with 2."""

    def __str__(self) -> str:
        """Return each argument as one line, with unprintable characters of quoted texts escaped."""
        return "\n  ".join(map(_escape_unprintable, map(str, self.args)))


class InputError(AskalikeError):
    """A file, or a row of it, is not in the expected format."""


class SettingsError(AskalikeError):
    """A setting is unknown, of the wrong type or out of range."""


class UnknownSettingError(SettingsError):
    """A setting is unknown."""


class UncalibratedError(SettingsError):
    """Probabilities are requested without a valid calibration."""


class ArchiveError(AskalikeError):
    """A directory is not an archive, is an archive of another version, or cannot be written."""


class SearchIndexError(AskalikeError):
    """An index has another format, was built with another analyzer, or cannot be read or written."""


class UnusableIndexError(SearchIndexError):
    """An index is damaged, or was written by another version or with other settings. Its archive can rebuild it."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}; delete it, it will be rebuilt")
        self.path, self.problem = path, problem


class UnwritableIndexError(SearchIndexError):
    """An index cannot be written now, as on a full disk. What was committed can be searched."""


class IndexBusyError(SearchIndexError):
    """Another process is writing the index.

    searchable: whether the index has a committed state that can be searched in the meantime.
    """

    def __init__(self, message: str, searchable: bool) -> None:
        super().__init__(message)
        self.searchable = searchable


class NotFittedError(AskalikeError):
    """A ranker is used before it has learned, or before its index is built."""


class TrainingError(AskalikeError):
    """Training cannot begin or continue: too little data, a loss that is not a number, or no memory left."""


class EngineError(AskalikeError):
    """A search cluster cannot be reached, refuses a request, or is not one."""


class ReadOnlyIndexError(EngineError):
    """A search cluster accepts no writes now, for example because a disk is full. It can still be searched."""


def _escape_unprintable(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)

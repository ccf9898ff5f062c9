"""What askalike raises. Every message is one line: what was wrong, where, what was expected, what to do."""


class AskalikeError(Exception):
    """Anything that a person can mend: the command line prints it without a traceback and exits with 2."""


class InputError(AskalikeError):
    """A file or a row of it is not what its reader expects."""


class SettingsError(AskalikeError):
    """A setting is unknown, of the wrong type or out of range."""


class ArchiveError(AskalikeError):
    """A directory is not an archive, holds another version, or cannot be written."""


class SearchIndexError(AskalikeError):
    """An index has another format, another analyzer, or another writer."""


class IndexBusyError(SearchIndexError):
    """Another process is writing an index. `searchable`: whether it has committed a state that can serve meanwhile."""

    def __init__(self, message: str, searchable: bool) -> None:
        super().__init__(message)
        self.searchable = searchable


class NotFittedError(AskalikeError):
    """A ranker is asked before it has learned or indexed."""


class TrainingError(AskalikeError):
    """Training cannot begin or go on: too little data, a loss that is no number, no memory left."""

"""What a user or an operator can do something about: one line each, never a traceback."""


class BotError(Exception):
    """Something that a person can correct: a setting, a file, a token."""


class ApiError(BotError):
    """A server does not answer, or refuses a request. code: its own name of the error, or the HTTP status."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class RefusedBotError(ApiError):
    """A server refuses the bot itself, e.g. for its token: trying again is useless."""


class NotUnderstoodError(ApiError):
    """An event or an answer does not have the form that was expected."""

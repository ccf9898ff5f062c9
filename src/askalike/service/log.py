"""The log: one JSON object per line on stderr. It never contains keys, and texts only if the settings say so."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from askalike.core.output import escape_controls, raw_stream

_LOGGER = logging.getLogger("askalike")
_TO_JSON = json.JSONEncoder(ensure_ascii=False, default=str).encode


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object: its time, level and message, and the fields logged with it."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "level": record.levelname.lower(), "message": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return escape_controls(_TO_JSON(line))


def start_log() -> None:
    """Write what this process, and those forked from it, log."""
    handler = logging.StreamHandler(raw_stream(sys.stderr))  # the formatter escapes control characters
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    _LOGGER.setLevel(logging.INFO)


def log_event(message: str, **fields: Any) -> None:
    """Log an event with its fields."""
    _log(logging.INFO, message, fields)


def log_warning(message: str, **fields: Any) -> None:
    """Log what an operator has to know, with its fields."""
    _log(logging.WARNING, message, fields)


def _log(level: int, message: str, fields: dict[str, Any]) -> None:
    """Log a message without the place in the source that logs it, which takes as long to find as all the rest."""
    if _LOGGER.isEnabledFor(level):
        _LOGGER.handle(_LOGGER.makeRecord(_LOGGER.name, level, "", 0, message, (), None, extra={"fields": fields}))


def announce_address(address: str) -> None:
    """Say where the service listens: to a person at a terminal in words, else in the log."""
    if sys.stderr.isatty():
        print(f"askalike: serving at {address}", file=sys.stderr, flush=True)
    else:
        log_event(f"serving at {address}")

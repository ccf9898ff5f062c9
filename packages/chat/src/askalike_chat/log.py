"""The log: one JSON object per line on stderr, without texts and tokens."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

_LOGGER = logging.getLogger("askalike_chat")


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object: its time, level and message, and the fields logged with it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, in ASCII: what a server says may have control characters."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "level": record.levelname.lower(), "message": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def start_log() -> None:
    """Write what this process logs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    _LOGGER.setLevel(logging.INFO)


def log_event(message: str, **fields: Any) -> None:
    """Log an event with its fields."""
    _LOGGER.info(message, extra={"fields": fields})


def log_warning(message: str, **fields: Any) -> None:
    """Log what an operator has to know, with its fields."""
    _LOGGER.warning(message, extra={"fields": fields})


def log_fault(message: str) -> None:
    """Log the exception that is being handled, a fault of the bot, with its traceback."""
    _LOGGER.exception(message)

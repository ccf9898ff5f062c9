"""The service's log: one JSON object a line. Keys never come into it; texts only where the operator wants them."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

FIELDS = "facts"


class JsonFormatter(logging.Formatter):
    """A record as one JSON object: when, how grave, what, and the facts given with it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": when, "level": record.levelname.lower(), "message": record.getMessage()}
        line |= getattr(record, FIELDS, {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_event(message: str, **fields: Any) -> None:
    """Logs something that has happened, with its facts."""
    logging.getLogger("askalike").info(message, extra={FIELDS: fields})

"""The service's log: one JSON object per line. It never contains keys, and texts only if the settings say so."""

import json
import logging
from datetime import UTC, datetime
from typing import Any


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object: its time, level and message, and the fields logged with it."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "level": record.levelname.lower(), "message": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_event(message: str, **fields: Any) -> None:
    """Log an event with its fields."""
    logging.getLogger("askalike").info(message, extra={"fields": fields})

"""The log, one JSON object per line, and the counters and timings for Prometheus.

The log never contains keys, and texts only if the settings say so. prometheus_client sums the counters over the workers
in a shared folder.
"""

import json
import logging
from datetime import UTC, datetime
from typing import Any

from prometheus_client import Counter, Histogram

from askalike.core.output import escape_controls

LATENCY_BUCKETS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 1, 5)
PROBABILITY_BUCKETS = tuple(n / 10 for n in range(1, 11))

REQUESTS = Counter("askalike_requests", "Requests by status", ["method", "status"])
REQUEST_SECONDS = Histogram("askalike_request_seconds", "Time of a request", ["endpoint"], buckets=LATENCY_BUCKETS_S)
SEARCH_SECONDS = Histogram(
    "askalike_search_seconds", "Time of a search, including its wait", ["archive"], buckets=LATENCY_BUCKETS_S
)
PASSED_ON = Counter("askalike_passed_on", "Searches that a less busy worker made", ["archive"])
ABSTENTIONS = Counter("askalike_abstained", "Searches that found nothing", ["archive"])
ZERO_TOKEN_QUERIES = Counter("askalike_zero_token_queries", "Searches without a word to search for", ["archive"])
TOP_PROBABILITY = Histogram(
    "askalike_top_probability", "Probability of the first result", ["archive"], buckets=PROBABILITY_BUCKETS
)
USE = Counter("askalike_use", "How similar questions are used, by event", ["archive", "event"])
FEEDBACK = Counter("askalike_feedback", "Users' verdicts on results", ["archive", "verdict"])


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object: its time, level and message, and the fields logged with it."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "level": record.levelname.lower(), "message": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return escape_controls(json.dumps(line, ensure_ascii=False, default=str))


def log_event(message: str, **fields: Any) -> None:
    """Log an event with its fields."""
    logging.getLogger("askalike").info(message, extra={"fields": fields})

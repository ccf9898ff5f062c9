"""The counters and timings for Prometheus, which prometheus_client sums over the workers in a shared folder.

Each is a function from the values of its labels to the one with these labels.
"""

from functools import cache

from prometheus_client import Counter, Histogram

LATENCY_BUCKETS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 1, 5)
PROBABILITY_BUCKETS = tuple(n / 10 for n in range(1, 11))

REQUESTS = cache(Counter("askalike_requests", "Requests by status", ["method", "status"]).labels)
REQUEST_SECONDS = cache(
    Histogram("askalike_request_seconds", "Time of a request", ["endpoint"], buckets=LATENCY_BUCKETS_S).labels
)
SEARCH_SECONDS = cache(
    Histogram(
        "askalike_search_seconds", "Time of a search, including its wait", ["archive"], buckets=LATENCY_BUCKETS_S
    ).labels
)
ABSTENTIONS = cache(Counter("askalike_abstained", "Searches that found nothing", ["archive"]).labels)
ZERO_TOKEN_QUERIES = cache(
    Counter("askalike_zero_token_queries", "Searches without a word to search for", ["archive"]).labels
)
TOP_PROBABILITY = cache(
    Histogram(
        "askalike_top_probability", "Probability of the first result", ["archive"], buckets=PROBABILITY_BUCKETS
    ).labels
)
USE = cache(Counter("askalike_use", "How similar questions are used, by event", ["archive", "event"]).labels)
FEEDBACK = cache(Counter("askalike_feedback", "Users' verdicts on results", ["archive", "verdict"]).labels)

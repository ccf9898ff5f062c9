"""What Prometheus may know: counts and times, summed over the workers, and what each archive is.

The workers count in files of one folder, which the supervisor names in their environment.
"""

from collections.abc import Iterator, Mapping

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from askalike.service.middleware.tracing import LATENCY_BUCKETS_S
from askalike.service.requests.auth import Credentials
from askalike.service.state.index_status import IndexStatus
from askalike.service.state.served_archive import ServedArchive

PROBABILITY_BUCKETS = tuple(n / 10 for n in range(1, 11))

SEARCH_SECONDS = Histogram(
    "askalike_search_seconds", "Time of a search, its wait included", ["archive"], buckets=LATENCY_BUCKETS_S
)
ABSTENTIONS = Counter("askalike_abstained", "Searches that found nothing", ["archive"])
ZERO_TOKEN_QUERIES = Counter("askalike_zero_token_queries", "Searches without a word to search for", ["archive"])
TOP_PROBABILITY = Histogram(
    "askalike_top_probability", "Probability of the first result", ["archive"], buckets=PROBABILITY_BUCKETS
)
FEEDBACK = Counter("askalike_feedback", "What people said of results", ["archive", "verdict"])

GAUGES = {
    "askalike_questions": "Questions of the archive",
    "askalike_index_bytes": "Bytes of its index on disk",
    "askalike_index_behind": "Changes that cannot be searched yet",
    "askalike_index_lag_seconds": "How long the oldest of these has waited",
}

router = APIRouter(tags=["health"])


class _ArchiveCollector(Collector):
    """How large each archive is, what ranks it, and how far its index is."""

    def __init__(self, statuses: Mapping[ServedArchive, tuple[int, IndexStatus]]) -> None:
        self._statuses = statuses

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauges."""
        model = GaugeMetricFamily("askalike_model", "The ranker in use", labels=["archive", "model"])
        gauges = [GaugeMetricFamily(name, what, labels=["archive"]) for name, what in GAUGES.items()]
        for served_archive, (questions, now) in self._statuses.items():
            model.add_metric([served_archive.name, served_archive.model], 1)
            for gauge, value in zip(gauges, (questions, now.size_bytes, now.behind, now.lag_s), strict=True):
                gauge.add_metric([served_archive.name], value)
        yield from (model, *gauges)


async def _require_any_key(request: Request, credentials: Credentials) -> None:
    """Who has a key of any archive may."""
    served_archives = request.app.state.served_archives.values()
    if not request.app.state.settings.keyless and not (
        credentials and any(d.verify_key(credentials.credentials) for d in served_archives)
    ):
        raise HTTPException(401, "a key of one of the archives is needed", {"www-authenticate": "Bearer"})


@router.get("/metrics", dependencies=[Depends(_require_any_key)], response_class=PlainTextResponse)
async def get_metrics(request: Request) -> Response:
    """Counts and times since the service started, in Prometheus' text format."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    served_archives = request.app.state.served_archives.values()
    known = {
        served_archive: (
            await served_archive.run_on_archive(lambda a: len(a.view())),
            await served_archive.index_status(),
        )
        for served_archive in served_archives
    }
    registry.register(_ArchiveCollector(known))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

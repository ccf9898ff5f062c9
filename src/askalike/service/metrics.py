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

from askalike.service.desk import Desk
from askalike.service.following import Following
from askalike.service.places import Shown
from askalike.service.tracing import TIMES_S

TENTHS = tuple(n / 10 for n in range(1, 11))

SEARCH = Histogram("askalike_search_seconds", "Time of a search, its wait included", ["archive"], buckets=TIMES_S)
ABSTAINED = Counter("askalike_abstained", "Searches that found nothing", ["archive"])
NO_WORD = Counter("askalike_zero_token_queries", "Searches without a word to search for", ["archive"])
TOP = Histogram("askalike_top_probability", "Probability of the first result", ["archive"], buckets=TENTHS)
FEEDBACK = Counter("askalike_feedback", "What people said of results", ["archive", "verdict"])

GAUGES = {
    "askalike_questions": "Questions of the archive",
    "askalike_index_bytes": "Bytes of its index on disk",
    "askalike_index_behind": "Changes that cannot be searched yet",
    "askalike_index_lag_seconds": "How long the oldest of these has waited",
}

router = APIRouter(tags=["health"])


class _Archives(Collector):
    """How large each archive is, what ranks it, and how far its index is."""

    def __init__(self, known: Mapping[Desk, tuple[int, Following]]) -> None:
        self._known = known

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauges."""
        model = GaugeMetricFamily("askalike_model", "The ranker in use", labels=["archive", "model"])
        gauges = [GaugeMetricFamily(name, what, labels=["archive"]) for name, what in GAUGES.items()]
        for desk, (questions, now) in self._known.items():
            model.add_metric([desk.name, desk.model], 1)
            for gauge, value in zip(gauges, (questions, now.size_bytes, now.behind, now.lag_s), strict=True):
                gauge.add_metric([desk.name], value)
        yield from (model, *gauges)


async def _may_watch(request: Request, shown: Shown) -> None:
    """Who has a key of any archive may."""
    desks = request.app.state.desks.values()
    if not request.app.state.settings.keyless and not (shown and any(d.key(shown.credentials) for d in desks)):
        raise HTTPException(401, "a key of one of the archives is needed", {"www-authenticate": "Bearer"})


@router.get("/metrics", dependencies=[Depends(_may_watch)], response_class=PlainTextResponse)
async def get_metrics(request: Request) -> Response:
    """Counts and times since the service started, in Prometheus' text format."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    desks = request.app.state.desks.values()
    known = {desk: (await desk.store(lambda a: len(a.view())), await desk.following()) for desk in desks}
    registry.register(_Archives(known))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

"""What Prometheus may know: counts and times, summed over the workers, and what each archive is.

The workers count in files of one folder, which the supervisor names in their environment.
"""

from collections.abc import Iterator

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from askalike.service.desk import Desk
from askalike.service.places import Shown

TIMES_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 1, 5)
TENTHS = tuple(n / 10 for n in range(1, 11))

SEARCH = Histogram("askalike_search_seconds", "Time of a search, its wait included", ["archive"], buckets=TIMES_S)
ABSTAINED = Counter("askalike_abstained", "Searches that found nothing", ["archive"])
TOP = Histogram("askalike_top_probability", "Probability of the first result", ["archive"], buckets=TENTHS)
FEEDBACK = Counter("askalike_feedback", "What people said of results", ["archive", "verdict"])

router = APIRouter(tags=["health"])


class _Archives(Collector):
    """How large each archive is and what ranks it."""

    def __init__(self, sizes: dict[Desk, int]) -> None:
        self._sizes = sizes

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauges."""
        size = GaugeMetricFamily("askalike_questions", "Questions of the archive", labels=["archive"])
        model = GaugeMetricFamily("askalike_model", "The ranker in use", labels=["archive", "model"])
        for desk, questions in self._sizes.items():
            size.add_metric([desk.name], questions)
            model.add_metric([desk.name, desk.model], 1)
        yield from (size, model)


def _may_watch(request: Request, shown: Shown) -> None:
    """Who has a key of any archive may."""
    desks = request.app.state.desks.values()
    if not request.app.state.settings.keyless and not (shown and any(d.key(shown.credentials) for d in desks)):
        raise HTTPException(401, "a key of one of the archives is needed", {"www-authenticate": "Bearer"})


@router.get("/metrics", dependencies=[Depends(_may_watch)])
async def get_metrics(request: Request) -> Response:
    """Counts and times since the service started, in Prometheus' text format."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    sizes = {desk: await desk.store(lambda archive: len(archive.view())) for desk in request.app.state.desks.values()}
    registry.register(_Archives(sizes))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

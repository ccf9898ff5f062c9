"""`/metrics`, for Prometheus: counts and times, summed over the workers, and the state of each archive."""

from collections.abc import Iterator, Mapping

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from askalike.service.requests.auth import Credentials
from askalike.service.requests.context import app_state
from askalike.service.state.index_status import IndexStatus
from askalike.service.state.served_archive import ServedArchive

GAUGES = {
    "askalike_questions": "Questions of the archive",
    "askalike_index_bytes": "Bytes of its index on disk",
    "askalike_index_behind": "Changes that cannot be searched yet",
    "askalike_index_lag_seconds": "How long the oldest of these has waited",
}

router = APIRouter(tags=["health"])


class _ArchiveCollector(Collector):
    """The size of each archive, its ranker, and how far its index is."""

    def __init__(self, statuses: Mapping[ServedArchive, tuple[int, IndexStatus]]) -> None:
        """`statuses`: each archive's number of questions and the status of its index."""
        self._statuses = statuses

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges."""
        model = GaugeMetricFamily("askalike_model", "The ranker in use", labels=["archive", "model"])
        gauges = [GaugeMetricFamily(name, text, labels=["archive"]) for name, text in GAUGES.items()]
        for served_archive, (questions, status) in self._statuses.items():
            model.add_metric([served_archive.name, served_archive.model], 1)
            values = (questions, status.size_bytes, status.behind, status.lag_s)
            for gauge, value in zip(gauges, values, strict=True):
                gauge.add_metric([served_archive.name], value)
        yield from (model, *gauges)


async def _require_any_key(request: Request, credentials: Credentials) -> None:
    """Raise HTTPException (401) for a caller without a key of any archive where keys are needed."""
    state = app_state(request)
    if not state.settings.keyless and not (
        credentials and any(a.verify_key(credentials.credentials) for a in state.served_archives.values())
    ):
        raise HTTPException(401, "a key of one of the archives is needed", {"www-authenticate": "Bearer"})


@router.get("/metrics", dependencies=[Depends(_require_any_key)], response_class=PlainTextResponse)
async def get_metrics(request: Request) -> Response:
    """Return counts and times since the service started, in Prometheus' text format."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    statuses = {
        served_archive: (
            await served_archive.run_on_archive(lambda archive: len(archive.view())),
            await served_archive.index_status(),
        )
        for served_archive in app_state(request).served_archives.values()
    }
    registry.register(_ArchiveCollector(statuses))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

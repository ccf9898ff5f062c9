"""`/healthz`, `/readyz` and, for Prometheus, `/metrics`: whether the service answers, and the state of each archive."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from pydantic import BaseModel

from askalike.rankers import Ranker
from askalike.service.authorization import Credentials
from askalike.service.request_state import app_state
from askalike.service.served_archive import ServedArchive
from askalike.service.served_retriever import IndexStatus, can_write, index_status
from askalike.store import Archive
from askalike.store.keys import verify_key

SILENT_SHARE = 0.25
"""The share of the time after which a frozen process is killed, from which on the service is not ready."""
GAUGES = {
    "askalike_questions": "Questions of the archive",
    "askalike_writable": "Whether its disk takes writes",
    "askalike_index_bytes": "Bytes of its index on disk",
    "askalike_index_behind": "Changes that cannot be searched yet",
    "askalike_index_lag_seconds": "Waiting time of the oldest of these changes",
}

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """Whether the service is alive, or ready."""

    status: str
    archives: list[str]


class IndexLag(BaseModel):
    """The number of changes of an archive that cannot be searched yet, and the waiting time of the oldest."""

    behind: int
    lag_s: float


class Readiness(Health):
    """Whether every archive answers, whether its disk takes writes, and the state of its index."""

    writes: Literal["available", "unavailable"]
    index: dict[str, IndexLag]


class _ArchiveCollector(Collector):
    """The ranker of each archive, its number of questions and the status of its index."""

    def __init__(self, statuses: Mapping[ServedArchive, tuple[int, bool, IndexStatus]]) -> None:
        self._statuses = statuses

    def collect(self) -> Iterator[GaugeMetricFamily]:
        model = GaugeMetricFamily("askalike_model", "The ranker in use", labels=["archive", "model"])
        gauges = [GaugeMetricFamily(name, text, labels=["archive"]) for name, text in GAUGES.items()]
        for archive, (questions, writable, status) in self._statuses.items():
            model.add_metric([archive.name, archive.model], 1)
            values = (questions, writable, status.size_bytes, status.behind, status.lag_s)
            for gauge, value in zip(gauges, values, strict=True):
                gauge.add_metric([archive.name], value)
        yield from (model, *gauges)


async def _is_known(request: Request, credentials: Credentials) -> bool:
    """Return whether the caller has a key of any archive, or needs none."""
    state = app_state(request)
    text = credentials.credentials if credentials else ""
    return state.settings.keyless or any(verify_key(archive.key_archive, text) for archive in state.archives.values())


IsKnown = Annotated[bool, Depends(_is_known)]
KEY_IS_OPTIONAL: dict[str, Any] = {"security": [{}]}
"""OpenAPI's notation for an optional key."""


async def _require_any_key(is_known: IsKnown) -> None:
    """Raise HTTPException (401) if keys are needed and the caller has none of any archive."""
    if not is_known:
        raise HTTPException(401, "this needs a key of one of the archives", {"www-authenticate": "Bearer"})


@router.get("/healthz", summary="Is the process alive?", openapi_extra=KEY_IS_OPTIONAL)
async def healthz(request: Request, is_known: IsKnown) -> Health:
    """Report that the process answers; list the archives for callers who need no key, or have one."""
    return Health(status="alive", archives=list(app_state(request).archives) if is_known else [])


@router.get("/readyz", summary="Can every archive be searched?", openapi_extra=KEY_IS_OPTIONAL)
async def readyz(request: Request, is_known: IsKnown) -> Readiness:
    """Report that every archive can be searched and read.

    503 if one cannot, or keeps requests waiting too long, or if a process of the service is frozen. While an archive
    cannot be written, as on a full disk, `writes` says so and the status is 200: searches still work.
    """
    state = app_state(request)
    if faults := state.faults:
        raise HTTPException(503, f"{len(faults)} of the archives cannot be served; see the log")
    if silent := state.shared.processes.find_silent(SILENT_SHARE * state.settings.stalled_s):
        raise HTTPException(503, f"the {silent} gives no sign of life")
    checked = {name: await archive.check() for name, archive in state.archives.items()}
    lags = {name: IndexLag(behind=s.behind, lag_s=round(s.lag_s, 3)) for name, (s, _) in checked.items()}
    shown = lags if is_known else {}
    writable = all(writable for _, writable in checked.values())
    writes: Literal["available", "unavailable"] = "available" if writable else "unavailable"
    return Readiness(status="ready", writes=writes, archives=list(shown), index=shown)


@router.get(
    "/metrics", summary="Read the metrics", dependencies=[Depends(_require_any_key)], response_class=PlainTextResponse
)
async def get_metrics(request: Request) -> Response:
    """Return counters and timings since the service started, in Prometheus' text format."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    archives = app_state(request).archives.values()
    statuses = {archive: await archive.run_on_store(partial(_measure, archive.ranker)) for archive in archives}
    registry.register(_ArchiveCollector(statuses))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def _measure(ranker: Ranker, store: Archive) -> tuple[int, bool, IndexStatus]:
    return len(store.view()), can_write(store), index_status(store, ranker)

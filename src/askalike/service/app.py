"""The application: what is served where, and what every request passes through."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from fastapi import APIRouter, FastAPI

from askalike.service import pages
from askalike.service.dropins import apache_answer, discourse
from askalike.service.middleware.limits import BodyLimitMiddleware
from askalike.service.middleware.origins import ArchiveCORSMiddleware, LoopbackOnlyMiddleware
from askalike.service.middleware.tracing import TracingMiddleware
from askalike.service.processes.hot_reload import hot_reload
from askalike.service.requests.problems import RESPONSES, install_error_handlers
from askalike.service.routes import answers, asking, health, links, metrics, questions, similar, widget
from askalike.service.routes import moderation as curating
from askalike.service.settings import ServiceSettings
from askalike.service.state.rate import RateLimiter
from askalike.service.state.served_archive import ServedArchive

VERSION = "1"


def create_app(settings: ServiceSettings, rate_limiter: RateLimiter) -> FastAPI:
    """The service as an ASGI application. It opens the archives when it starts and closes them when it ends."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with ExitStack() as stack:
            app.state.served_archives = {name: ServedArchive.open(name, settings) for name in settings.archive_paths()}
            for served_archive in app.state.served_archives.values():
                stack.callback(served_archive.close)
            async with hot_reload(app.state.served_archives.values()):
                yield

    app = FastAPI(
        title="askalike",
        version=VERSION,
        summary="Finds the questions in a Q&A archive that ask the same thing",
        lifespan=lifespan,
        docs_url=None,  # its pages fetch from other hosts
        redoc_url=None,
        responses=dict(RESPONSES),
    )
    app.state.settings, app.state.rate = settings, rate_limiter
    install_error_handlers(app)
    app.include_router(
        _create_archive_router(), prefix="/v1/{archive}"
    )  # first: what is asked most is looked for first
    app.include_router(health.router)
    app.include_router(metrics.router)
    app.include_router(widget.router)
    app.include_router(pages.create_router())
    app.add_middleware(BodyLimitMiddleware, max_bytes=settings.max_body_bytes, receive_s=settings.receive_s)
    app.add_middleware(
        ArchiveCORSMiddleware,
        allowed_origins=settings.allow_origins,
        served_archives=lambda: app.state.served_archives.values(),
    )
    if settings.keyless:
        app.add_middleware(LoopbackOnlyMiddleware)
    app.add_middleware(TracingMiddleware, log_texts=settings.log_texts)
    return app


def _create_archive_router() -> APIRouter:
    router = APIRouter()
    for part in (similar, asking, discourse, apache_answer, questions, answers, links, curating):
        router.include_router(part.router)
    return router

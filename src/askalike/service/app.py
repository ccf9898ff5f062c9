"""The application: its routes, and the middleware that every request passes through."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from fastapi import APIRouter, FastAPI

from askalike.service import pages
from askalike.service.dropins import apache_answer, discourse
from askalike.service.middleware.limits import BodyLimitMiddleware
from askalike.service.middleware.origins import ArchiveCORSMiddleware, LoopbackOnlyMiddleware
from askalike.service.middleware.tracing import TracingMiddleware
from askalike.service.pages.rendering import render_error_page
from askalike.service.requests.context import AppState
from askalike.service.requests.problems import RESPONSES, install_error_handlers
from askalike.service.routes import answers, asking, health, links, metrics, moderation, questions, similar, widget
from askalike.service.settings import ServiceSettings
from askalike.service.state.hot_reload import hot_reload
from askalike.service.state.rate import RateLimiter
from askalike.service.state.served_archive import ServedArchive

VERSION = "1"


def create_app(settings: ServiceSettings, rate_limiter: RateLimiter) -> FastAPI:
    """Return the service as an ASGI application, which opens the archives when it starts and closes them at its end."""
    state = AppState(settings, rate_limiter, render_error_page)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with ExitStack() as stack:
            state.served_archives |= {name: ServedArchive.open(name, settings) for name in settings.archive_paths()}
            for served_archive in state.served_archives.values():
                stack.callback(served_archive.close)
            async with hot_reload(state.served_archives.values()):
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
    state.attach(app)
    install_error_handlers(app)
    _include_routes(app)
    _add_middleware(app, state)
    return app


def _include_routes(app: FastAPI) -> None:
    archive_router = APIRouter()
    for module in (similar, asking, discourse, apache_answer, questions, answers, links, moderation):
        archive_router.include_router(module.router)
    app.include_router(archive_router, prefix="/v1/{archive}")  # first, as routes are tried in order
    for module in (health, metrics, widget):
        app.include_router(module.router)
    app.include_router(pages.create_router())


def _add_middleware(app: FastAPI, state: AppState) -> None:
    """Add the middleware, the innermost first."""
    settings = state.settings
    app.add_middleware(BodyLimitMiddleware, max_bytes=settings.max_body_bytes, receive_s=settings.receive_s)
    app.add_middleware(
        ArchiveCORSMiddleware,
        allowed_origins=settings.allow_origins,
        served_archives=lambda: state.served_archives.values(),
    )
    if settings.keyless:
        app.add_middleware(LoopbackOnlyMiddleware)
    app.add_middleware(TracingMiddleware, log_texts=settings.log_texts)

"""The application: its routes, and the middleware that every request passes through."""

from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager

from fastapi import FastAPI

from askalike.core.errors import AskalikeError
from askalike.service import pages
from askalike.service.log import log_event
from askalike.service.middleware import (
    ArchiveCORSMiddleware,
    BodyLimitMiddleware,
    HeadMiddleware,
    LoopbackOnlyMiddleware,
    SlashRedirector,
    TracingMiddleware,
)
from askalike.service.pages.rendering import render_error_page
from askalike.service.problems import ERROR_HANDLERS, RESPONSES
from askalike.service.request_state import AppState
from askalike.service.routes import (
    apache_answer,
    asking,
    discourse,
    drafts,
    embeddings,
    moderation,
    monitoring,
    records,
)
from askalike.service.served_archive import ServedArchive, hot_reload
from askalike.service.settings import ServiceSettings
from askalike.service.shared_files import SharedFiles
from askalike.service.widget.route import router as widget_router


def create_app(settings: ServiceSettings, shared: SharedFiles, faults: Mapping[str, str] | None = None) -> FastAPI:
    """Return the service as an ASGI application, which opens the archives at startup and closes them at shutdown.

    faults: what is wrong with archives that are not served, by their names.
    """
    state = AppState(settings, shared, render_error_page, faults=dict(faults or {}))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with ExitStack() as stack:
            _open_archives(state)
            for archive in state.archives.values():
                stack.callback(archive.close)
            async with hot_reload(state.archives.values()):
                yield

    app = FastAPI(
        title="askalike",
        version="1",
        summary="Finds the questions in a Q&A archive that ask the same thing",
        lifespan=lifespan,
        docs_url=None,  # its pages load files from other hosts
        redoc_url=None,
        redirect_slashes=False,
        responses=dict(RESPONSES),
        exception_handlers=dict(ERROR_HANDLERS),
    )
    app.state.service = state
    app.router.default = SlashRedirector(app.router)
    dropins = (discourse.router, apache_answer.router, apache_answer.ask_page_router)
    for router in (asking.router, *records.ROUTERS, embeddings.router, *dropins, drafts.router, moderation.router):
        app.include_router(router, prefix="/v1/{archive}")  # the busiest first, as routes are tried in order
    for router in (embeddings.only_archive_router, monitoring.router, widget_router, pages.create_router()):
        app.include_router(router)
    app.add_middleware(HeadMiddleware)  # innermost
    app.add_middleware(BodyLimitMiddleware, max_bytes=settings.max_body_bytes, receive_s=settings.receive_s)
    app.add_middleware(ArchiveCORSMiddleware, state=state)
    if settings.keyless:
        app.add_middleware(LoopbackOnlyMiddleware, behind_proxy=settings.public_url is not None)
    app.add_middleware(TracingMiddleware, log_texts=settings.log_texts)
    return app


def _open_archives(state: AppState) -> None:
    """Open the archives; one that cannot be served is noted. Raises AskalikeError for the only one."""
    for name in state.settings.archive_paths():
        try:
            state.archives[name] = ServedArchive(name, state.settings, state.shared)
        except AskalikeError as error:
            state.faults[name] = str(error)
            log_event("archive", archive=name, error=str(error))
            if len(state.settings.archives) == 1:
                raise

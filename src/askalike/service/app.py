"""The application: its routes, and the middleware that every request passes through."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial

from fastapi import FastAPI

from askalike.service import pages
from askalike.service.dropins import apache_answer, apache_answer_ask_page, discourse
from askalike.service.middleware.head import HeadMiddleware
from askalike.service.middleware.limits import BodyLimitMiddleware
from askalike.service.middleware.origins import ArchiveCORSMiddleware, LoopbackOnlyMiddleware
from askalike.service.middleware.tracing import TracingMiddleware
from askalike.service.pages.rendering import render_error_page
from askalike.service.requests.context import AppState
from askalike.service.requests.problems import ERROR_HANDLERS, RESPONSES
from askalike.service.routes import asking, embeddings, moderation, monitoring, records, widget
from askalike.service.settings import ServiceSettings
from askalike.service.state.other_workers import OtherWorkers
from askalike.service.state.rate import RateLimiter
from askalike.service.state.served_archive import ServedArchive, hot_reload


def create_app(settings: ServiceSettings, rate_limiter: RateLimiter, workers: OtherWorkers) -> FastAPI:
    """Return the service as an ASGI application, which opens the archives at startup and closes them at shutdown."""
    state = AppState(settings, rate_limiter, workers, render_error_page)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with ExitStack() as stack:
            state.archives |= {name: ServedArchive(name, settings, workers) for name in settings.archive_paths()}
            for archive in state.archives.values():
                stack.callback(archive.close)
            answer_other_worker = partial(asking.answer_other_worker, state)
            async with hot_reload(state.archives.values()), workers.answered(answer_other_worker):
                yield

    app = FastAPI(
        title="askalike",
        version="1",
        summary="Finds the questions in a Q&A archive that ask the same thing",
        lifespan=lifespan,
        docs_url=None,  # its pages load files from other hosts
        redoc_url=None,
        responses=dict(RESPONSES),
        exception_handlers=dict(ERROR_HANDLERS),
    )
    app.state.service = state
    dropins = (discourse.router, apache_answer.router, apache_answer_ask_page.router)
    for router in (asking.router, embeddings.router, *dropins, *records.ROUTERS, moderation.router):
        app.include_router(router, prefix="/v1/{archive}")  # first, as routes are tried in order
    for router in (embeddings.only_archive_router, monitoring.router, widget.router, pages.create_router()):
        app.include_router(router)
    app.add_middleware(HeadMiddleware)  # innermost
    app.add_middleware(BodyLimitMiddleware, max_bytes=settings.max_body_bytes, receive_s=settings.receive_s)
    app.add_middleware(ArchiveCORSMiddleware, state=state)
    if settings.keyless:
        app.add_middleware(LoopbackOnlyMiddleware)
    app.add_middleware(TracingMiddleware, log_texts=settings.log_texts)
    return app

"""The application: what is served where, and what every request passes through."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from fastapi import APIRouter, FastAPI

from askalike.service import answers, asking, curating, health, links, metrics, pages, questions, similar, widget
from askalike.service.desk import Desk
from askalike.service.dropin import apache_answer, discourse
from askalike.service.limits import BodyLimit
from askalike.service.loopback import LoopbackOnly
from askalike.service.origins import Origins
from askalike.service.problems import RESPONSES, install
from askalike.service.rate import Rate
from askalike.service.renewing import renewing
from askalike.service.settings import ServiceSettings
from askalike.service.tracing import Tracing

VERSION = "1"


def create_app(settings: ServiceSettings, rate: Rate) -> FastAPI:
    """The service as an ASGI application. It opens the archives when it starts and closes them when it ends."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with ExitStack() as stack:
            app.state.desks = {name: Desk.open(name, settings) for name in settings.folders()}
            for desk in app.state.desks.values():
                stack.callback(desk.close)
            async with renewing(app.state.desks.values()):
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
    app.state.settings, app.state.rate = settings, rate
    install(app)
    app.include_router(_of_an_archive(), prefix="/v1/{archive}")  # first: what is asked most is looked for first
    app.include_router(health.router)
    app.include_router(metrics.router)
    app.include_router(widget.router)
    app.include_router(pages.router())
    app.add_middleware(BodyLimit, most_bytes=settings.max_body_bytes, receive_s=settings.receive_s)
    app.add_middleware(Origins, allowed=settings.allow_origins, desks=lambda: app.state.desks.values())
    if settings.keyless:
        app.add_middleware(LoopbackOnly)
    app.add_middleware(Tracing, log_texts=settings.log_texts)
    return app


def _of_an_archive() -> APIRouter:
    router = APIRouter()
    for part in (similar, asking, discourse, apache_answer, questions, answers, links, curating):
        router.include_router(part.router)
    return router

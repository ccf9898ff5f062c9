"""The web pages, one file per page, with their templates and static files. They work without JavaScript."""

from fastapi import APIRouter

from askalike.service.pages import (
    api_reference,
    ask,
    auth,
    faq,
    languages,
    manage,
    quality,
    question,
    queue,
    rendering,
)


def create_router() -> APIRouter:
    """Return the router of all pages, which are left out of the OpenAPI description."""
    router = APIRouter(include_in_schema=False)
    for page in (api_reference, rendering, auth, languages, ask, question, queue, faq, quality, manage):
        router.include_router(page.router)
    return router

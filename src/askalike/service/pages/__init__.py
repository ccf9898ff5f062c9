"""The pages that people see: one file a page, templates and static files beside them. They work without JavaScript."""

from fastapi import APIRouter

from askalike.service.pages import ask, assets, login, question, start

__all__ = ["router"]


def router() -> APIRouter:
    """All pages. They are no part of the API's description."""
    found = APIRouter(include_in_schema=False)
    for page in (assets, start, login, ask, question):
        found.include_router(page.router)
    return found

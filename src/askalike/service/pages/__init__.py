"""The pages that people see: one file a page, templates and static files beside them. They work without JavaScript."""

from fastapi import APIRouter

from askalike.service.pages import ask, assets, gaps, login, quality, question, queue, start

__all__ = ["create_router"]


def create_router() -> APIRouter:
    """All pages. They are no part of the API's description."""
    found = APIRouter(include_in_schema=False)
    for page in (assets, start, login, ask, question, queue, gaps, quality):
        found.include_router(page.router)
    return found

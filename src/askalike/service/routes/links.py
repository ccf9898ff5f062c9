"""`links`: which questions are duplicates of which, or related to them."""

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from askalike.service.requests.auth import ReadableArchive, WritableArchive
from askalike.service.requests.records import (
    CREATED_RESPONSES,
    CommitResponse,
    LinkFields,
    RecordBatch,
    commit,
    not_found,
)
from askalike.service.requests.schema import Id
from askalike.store import editing

router = APIRouter(tags=["links"])


class LinksResponse(BaseModel):
    """The links that a question is an end of."""

    links: list[LinkFields]


@router.post("/links:batch", responses=CREATED_RESPONSES)
async def post_links(
    served_archive: WritableArchive, batch: RecordBatch[LinkFields], response: Response
) -> CommitResponse:
    """Add or replace many links, all of them or, after an error, none."""
    return await commit(served_archive, [link.to_link() for link in batch.items], response)


@router.put("/links", responses=CREATED_RESPONSES)
async def put_link(served_archive: WritableArchive, link: LinkFields, response: Response) -> CommitResponse:
    """Add a link between two questions, which have to exist."""
    return await commit(served_archive, [link.to_link()], response)


@router.get("/links")
async def get_links(
    served_archive: ReadableArchive,
    question: Id,
    kind: Annotated[Literal["duplicate", "related"] | None, Query()] = None,
) -> LinksResponse:
    """Return the links that a question is an end of."""
    links = await served_archive.run_on_archive(lambda archive: editing.get_links(archive, question, kind))
    return LinksResponse(links=[LinkFields.model_construct(**asdict(link)) for link in links])


@router.delete("/links", status_code=204)
async def delete_link(served_archive: WritableArchive, link: Annotated[LinkFields, Query()]) -> None:
    """Delete a link."""
    if not await served_archive.run_on_archive(lambda archive: editing.delete_link(archive, link.to_link())):
        raise not_found("link", f"{link.source} → {link.target}")

"""`links`: which questions are duplicates of which, or related to them."""

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from askalike.archive.editing import delete_link as deleted
from askalike.archive.editing import links_of
from askalike.service.places import Readable, Writable
from askalike.service.records import Batch, Done, Id, Linked, LinkFields
from askalike.service.writing import CREATED, commit, missing

router = APIRouter(tags=["links"])


@router.post("/links:batch", responses=CREATED)
async def post_links(desk: Writable, batch: Batch[LinkFields], response: Response) -> Done:
    """Adds or replaces many links, all of them or, after an error, none."""
    return await commit(desk, [link.link() for link in batch.items], response)


@router.put("/links", responses=CREATED)
async def put_link(desk: Writable, link: LinkFields, response: Response) -> Done:
    """Adds a link between two questions, which have to be there."""
    return await commit(desk, [link.link()], response)


@router.get("/links")
async def get_links(
    desk: Readable, question: Id, kind: Annotated[Literal["duplicate", "related"] | None, Query()] = None
) -> Linked:
    """The links that a question is an end of."""
    links = await desk.store(lambda archive: links_of(archive, question, kind))
    return Linked(links=[LinkFields.model_construct(**asdict(link)) for link in links])


@router.delete("/links", status_code=204)
async def delete_link(desk: Writable, link: Annotated[LinkFields, Query()]) -> None:
    """Deletes a link."""
    if not await desk.store(lambda archive: deleted(archive, link.link())):
        raise missing("link", f"{link.source} → {link.target}")

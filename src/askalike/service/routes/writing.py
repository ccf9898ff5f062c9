"""What the routes that change an archive share: acknowledged is what is committed."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fastapi import HTTPException, Response

from askalike.service.routes.records import CommitResponse
from askalike.service.served_archive import ServedArchive
from askalike.store.editing import MissingRecordError, put_records
from askalike.types import Answer, Link, Question

CREATED_RESPONSES: dict[int | str, dict[str, Any]] = {
    201: {"model": CommitResponse, "description": "Something was not there before"}
}
"""For the API's description."""


async def commit(
    served_archive: ServedArchive, records: Sequence[Question | Answer | Link], response: Response
) -> CommitResponse:
    """Puts the records; 201 where one of them is new, 409 where what they refer to is not there."""
    try:
        edit = await served_archive.run_on_archive(lambda archive: put_records(archive, records))
    except MissingRecordError as error:
        raise HTTPException(409, str(error)) from None
    response.status_code = 201 if edit.created else 200
    return CommitResponse(**asdict(edit))


def not_found(kind: str, id: str) -> HTTPException:
    """404 for something that is not there."""
    return HTTPException(404, f"no {kind} {id!r}")

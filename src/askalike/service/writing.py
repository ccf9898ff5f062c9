"""What the routes that change an archive share: acknowledged is what is committed."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fastapi import HTTPException, Response

from askalike.archive.editing import MissingError, put
from askalike.service.desk import Desk
from askalike.service.records import Done
from askalike.types import Answer, Link, Question

CREATED: dict[int | str, dict[str, Any]] = {201: {"model": Done, "description": "Something was not there before"}}
"""For the API's description."""


async def commit(desk: Desk, records: Sequence[Question | Answer | Link], response: Response) -> Done:
    """Puts the records; 201 where one of them is new, 409 where what they refer to is not there."""
    try:
        edit = await desk.store(lambda archive: put(archive, records))
    except MissingError as error:
        raise HTTPException(409, str(error)) from None
    response.status_code = 201 if edit.created else 200
    return Done(**asdict(edit))


def missing(what: str, id: str) -> HTTPException:
    """404 for something that is not there."""
    return HTTPException(404, f"no {what} {id!r}")

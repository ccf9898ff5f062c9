"""The archive that a request's address names."""

from typing import Annotated

from fastapi import Depends, HTTPException, Path, Request

from askalike.service.desk import Desk


def _served(request: Request, archive: Annotated[str, Path(description="the archive's name")]) -> Desk:
    desks: dict[str, Desk] = request.app.state.desks
    if archive not in desks:
        raise HTTPException(404, f"no archive {archive!r} is served here; there are: {', '.join(desks)}")
    return desks[archive]


Served = Annotated[Desk, Depends(_served)]

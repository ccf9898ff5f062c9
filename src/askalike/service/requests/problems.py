"""Errors as problem+json (RFC 9457): what was wrong, and where."""

import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from askalike.errors import AskalikeError, UncalibratedError
from askalike.moderation.gaps import GapNotFoundError
from askalike.service.requests.context import REQUEST_ID_HEADER, add_log_fields, app_state, request_state
from askalike.service.requests.schema import FieldError, Problem
from askalike.service.state.archive_encoders import UnknownEncoderError
from askalike.service.state.served_archive import OverloadedError
from askalike.store import AlreadyDecidedError, MissingRecordError, UnknownTagError

MEDIA_TYPE = "application/problem+json"
RETRY_HEADER = {"retry-after": "1"}
Headers = Mapping[str, str]
STATUSES = (400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 429, 500, 503)
RESPONSES: Mapping[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {}}}
    for status in STATUSES
}
"""The responses that every route may give, for the API's description."""
CLIENT_ERRORS: dict[type[Exception], int] = {
    MissingRecordError: 404,
    GapNotFoundError: 404,
    AlreadyDecidedError: 409,
    UnknownTagError: 404,
    UnknownEncoderError: 404,
    UncalibratedError: 422,
}
"""The errors that a client causes, and their statuses."""


def problem_response(
    request: Request, status: int, detail: str, errors: Sequence[FieldError] = (), headers: Headers | None = None
) -> Response:
    """Return the response that says what is wrong: a page for a person, JSON for a program."""
    problem = make_problem(status, detail, request_state(request).id, request.scope["path"], errors)
    page = app_state(request).render_error_page(request, problem, headers)
    return page or Response(problem.model_dump_json(), status, headers, MEDIA_TYPE)


def make_problem(status: int, detail: str, id: str, path: str = "", errors: Sequence[FieldError] = ()) -> Problem:
    """Return what is wrong with the request that has an id; `path` is empty for one without an address."""
    title = HTTPStatus(status).phrase
    return Problem(title=title, status=status, detail=detail, instance=path, request_id=id, errors=[*errors])


async def _handle_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == 405 and (methods := _allowed_methods(request)):
        headers["allow"] = ", ".join(methods)
    return problem_response(request, error.status_code, str(error.detail), headers=headers)


def _allowed_methods(request: Request) -> list[str]:
    """Return the methods that the API has for a request's address; the router only knows those of one route."""
    paths: dict[str, dict[str, Any]] = request.app.openapi()["paths"]
    matching = (methods for path, methods in paths.items() if _path_pattern(path).fullmatch(request.scope["path"]))
    return sorted({method.upper() for methods in matching for method in methods})


@lru_cache
def _path_pattern(path: str) -> re.Pattern[str]:
    """Return the pattern of the addresses that a path of the API's description stands for; an id may hold slashes."""
    names = {"{id}": ".+", "{archive}": "[^/]+"}
    return re.compile("".join(names.get(part, re.escape(part)) for part in re.split(r"(\{\w+\})", path)))


async def _handle_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    wrong = [
        FieldError(where=".".join(map(str, e["loc"])), what=e["msg"].removeprefix("Value error, "))
        for e in error.errors()
    ]
    return problem_response(request, 422, "; ".join(f"{w.where}: {w.what}" for w in wrong), wrong)


async def _handle_askalike_error(request: Request, error: Exception) -> Response:
    """Tell the client what it caused; log the rest for the operator, as it may name places on the disk."""
    if status := CLIENT_ERRORS.get(type(error)):
        return problem_response(request, status, str(error))
    add_log_fields(request, error=str(error))
    detail = f"the archive cannot do this now; see the log, request {request_state(request).id}"
    return problem_response(request, 503, detail, headers=RETRY_HEADER)


async def _handle_overload(request: Request, error: Exception) -> Response:
    slow = isinstance(error, TimeoutError)
    detail = "the request timed out" if slow else "too many requests are waiting"
    return problem_response(request, 503, f"{detail}; try again", headers=RETRY_HEADER)


async def _handle_unexpected_error(request: Request, _: Exception) -> Response:
    """Tell the client the request's id, under which the log has the traceback."""
    id = request_state(request).id
    headers = {REQUEST_ID_HEADER: id}
    return problem_response(request, 500, f"internal error; see the log, request {id}", headers=headers)


ERROR_HANDLERS: Mapping[int | type[Exception], Callable[[Request, Exception], Coroutine[Any, Any, Response]]] = {
    HTTPException: _handle_http_error,
    RequestValidationError: _handle_validation_error,
    AskalikeError: _handle_askalike_error,
    OverloadedError: _handle_overload,
    TimeoutError: _handle_overload,
    500: _handle_unexpected_error,
}
"""Handlers that turn each error of an application into a problem response."""

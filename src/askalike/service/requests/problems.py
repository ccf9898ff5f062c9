"""Errors as problem+json (RFC 9457): what was wrong, and where."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from askalike.errors import AskalikeError
from askalike.moderation.gaps import GapNotFoundError
from askalike.service.requests.context import REQUEST_ID_HEADER, add_log_fields, app_state, request_state
from askalike.service.requests.schema import FieldError, Problem
from askalike.service.state.bounded_executor import OverloadedError
from askalike.store import AlreadyDecidedError, MissingRecordError

MEDIA_TYPE = "application/problem+json"
RETRY_S = 1
STATUSES = (400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 429, 500, 503)
RESPONSES: Mapping[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {}}}
    for status in STATUSES
}
"""The responses that every route may give, for the API's description."""
CLIENT_ERRORS: Mapping[type[AskalikeError], int] = {
    MissingRecordError: 404,
    GapNotFoundError: 404,
    AlreadyDecidedError: 409,
}
"""The errors that a client causes and is told of, and their statuses."""


def problem_response(
    request: Request,
    status: int,
    detail: str,
    field_errors: Sequence[FieldError] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the response that says what is wrong: a page for a person, JSON for a program."""
    problem = _make_problem(status, detail, request.scope["path"], request_state(request).id, field_errors)
    page = app_state(request).render_error_page(request, problem, headers)
    return page or Response(problem.model_dump_json(), status, headers, MEDIA_TYPE)


def problem_body(status: int, detail: str, request_id: str) -> bytes:
    """Return the JSON that says what is wrong with a request that has no address."""
    return _make_problem(status, detail, "", request_id).model_dump_json().encode()


def install_error_handlers(app: FastAPI) -> None:
    """Have every error of an application answered as a problem."""
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(AskalikeError, _handle_askalike_error)
    app.add_exception_handler(OverloadedError, _handle_overload)
    app.add_exception_handler(TimeoutError, _handle_overload)
    app.add_exception_handler(500, _handle_unexpected_error)


def _make_problem(
    status: int, detail: str, instance: str, request_id: str, field_errors: Sequence[FieldError] = ()
) -> Problem:
    title = HTTPStatus(status).phrase
    return Problem(
        title=title, status=status, detail=detail, instance=instance, request_id=request_id, errors=[*field_errors]
    )


async def _handle_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = error.headers
    if error.status_code == 405 and (methods := _allowed_methods(request)):
        headers = {**(headers or {}), "allow": ", ".join(methods)}
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
    wrong = [FieldError(where=".".join(map(str, e["loc"])), what=e["msg"]) for e in error.errors()]
    return problem_response(request, 422, "; ".join(f"{w.where}: {w.what}" for w in wrong), wrong)


async def _handle_askalike_error(request: Request, error: Exception) -> Response:
    """Tell the client what it caused; log the rest for the operator, as it may name places on the disk."""
    for error_type, status in CLIENT_ERRORS.items():
        if isinstance(error, error_type):
            return problem_response(request, status, str(error))
    add_log_fields(request, error=str(error))
    detail = f"the archive cannot do this now; the log has it as {request_state(request).id}"
    return problem_response(request, 503, detail, headers={"retry-after": str(RETRY_S)})


async def _handle_overload(request: Request, error: Exception) -> Response:
    slow = isinstance(error, TimeoutError)
    detail = "this took too long and was given up" if slow else "too many requests are waiting"
    return problem_response(request, 503, f"{detail}; try again", headers={"retry-after": str(RETRY_S)})


async def _handle_unexpected_error(request: Request, _: Exception) -> Response:
    """Tell the client the request's id, under which the log has the traceback."""
    id = request_state(request).id
    detail = f"something failed here; the log has it as {id}"
    return problem_response(request, 500, detail, headers={REQUEST_ID_HEADER: id})

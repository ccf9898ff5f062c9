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
from askalike.service.middleware.tracing import REQUEST_ID_HEADER, add_log_fields
from askalike.service.pages.errors import render_error_page, wants_html
from askalike.service.requests.schema import FieldError, Problem
from askalike.service.state.bounded_executor import OverloadedError

MEDIA_TYPE = "application/problem+json"
RETRY_S = 1
STATUSES = (400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 429, 500, 503)
RESPONSES: Mapping[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {}}}
    for status in STATUSES
}
"""For the API's description."""


def problem_response(
    request: Request,
    status: int,
    detail: str,
    field_errors: Sequence[FieldError] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The answer that says what is wrong: a page where somebody is before a screen."""
    told = _make_problem(status, detail, request.scope["path"], request.state.id, field_errors)
    if wants_html(request):
        return render_error_page(request, told, headers)
    return Response(told.model_dump_json(), status, headers, MEDIA_TYPE)


def problem_body(
    status: int, detail: str, instance: str, request_id: str, field_errors: Sequence[FieldError] = ()
) -> bytes:
    """The JSON that says what is wrong with a request."""
    return _make_problem(status, detail, instance, request_id, field_errors).model_dump_json().encode()


def _make_problem(
    status: int, detail: str, instance: str, request_id: str, field_errors: Sequence[FieldError]
) -> Problem:
    title = HTTPStatus(status).phrase
    return Problem(
        title=title, status=status, detail=detail, instance=instance, request_id=request_id, errors=[*field_errors]
    )


def install_error_handlers(app: FastAPI) -> None:
    """Every error of the application is answered so."""
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(AskalikeError, _handle_askalike_error)
    app.add_exception_handler(OverloadedError, _handle_overload)
    app.add_exception_handler(TimeoutError, _handle_overload)
    app.add_exception_handler(500, _handle_unexpected_error)


async def _handle_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = error.headers
    if error.status_code == 405 and (methods := _allowed_methods(request)):
        headers = {**(headers or {}), "allow": ", ".join(methods)}
    return problem_response(request, error.status_code, str(error.detail), headers=headers)


def _allowed_methods(request: Request) -> list[str]:
    """The methods that the API has for a request's address; the first route that fits knows of its own alone."""
    paths: dict[str, dict[str, Any]] = request.app.openapi()["paths"]
    fitting = (methods for path, methods in paths.items() if _path_pattern(path).fullmatch(request.scope["path"]))
    return sorted({method.upper() for methods in fitting for method in methods})


@lru_cache
def _path_pattern(path: str) -> re.Pattern[str]:
    """The addresses that a path of the API's description stands for; an id may hold slashes."""
    names = {"{id}": ".+", "{archive}": "[^/]+"}
    return re.compile("".join(names.get(part, re.escape(part)) for part in re.split(r"(\{\w+\})", path)))


async def _handle_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    wrong = [FieldError(where=".".join(map(str, e["loc"])), what=e["msg"]) for e in error.errors()]
    return problem_response(request, 422, "; ".join(f"{w.where}: {w.what}" for w in wrong), wrong)


async def _handle_askalike_error(request: Request, error: Exception) -> Response:
    """Something that the operator can mend; the client is not told, as it may name places on the disk."""
    add_log_fields(request, error=str(error))
    detail = f"the archive cannot do this now; the log has it as {request.state.id}"
    return problem_response(request, 503, detail, headers={"retry-after": str(RETRY_S)})


async def _handle_overload(request: Request, error: Exception) -> Response:
    slow = isinstance(error, TimeoutError)
    detail = "this took too long and was given up" if slow else "too many requests are waiting"
    return problem_response(request, 503, f"{detail}; try again", headers={"retry-after": str(RETRY_S)})


async def _handle_unexpected_error(request: Request, _: Exception) -> Response:
    """Something that is not the client's to mend; the log has it under the request's id."""
    return problem_response(
        request,
        500,
        f"something failed here; the log has it as {request.state.id}",
        headers={REQUEST_ID_HEADER: request.state.id},
    )

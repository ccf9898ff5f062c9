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
from starlette.requests import ClientDisconnect

from askalike.core.config import EXPECTED
from askalike.core.errors import AskalikeError, UncalibratedError
from askalike.core.values import format_count
from askalike.moderation.gaps import GapNotFoundError
from askalike.service.request_state import REQUEST_ID_HEADER, add_log_fields, app_state, request_state
from askalike.service.schema import FieldError, Problem
from askalike.service.served_archive import OverloadedError, StoreFullError, UnknownEncoderError
from askalike.store import AlreadyDecidedError, MissingRecordError, UnknownTagError

MEDIA_TYPE = "application/problem+json"
MAX_ERRORS, MAX_LOCATION = 20, 200
"""Maximum number of errors of one request that are described, and of characters of the place of each."""
CLIENT_LEFT = 499
"""The status, in the log only, of a request whose client leaves before it is complete, as in nginx."""
EXPECTED_PREFIX = "expected "
EXPECTED_IN_REQUESTS = EXPECTED | {
    "dict_type": "an object",
    "model_attributes_type": "an object",
    "model_type": "an object",
    "string_pattern_mismatch": "text that matches {pattern}",
    "string_unicode": "text in Unicode, without lone surrogates",
    "string_too_long": "at most {max_length:,} characters",
    "too_long": "at most {max_length:,} of them",
    "too_short": "at least {min_length:,} of them",
}
WRONG = {
    "extra_forbidden": "is not a field here; see /docs",
    "json_invalid": "is not JSON: {error}",
    "missing": "is missing",
}
"""pydantic's type of an error → what is wrong, where that is not the kind of a value."""
UNREADABLE_BODY = "There was an error parsing the body"
"""FastAPI's detail of an error that is not one of JSON's syntax."""
KIND_OF_VALUE = re.compile(
    r"(?:bool|float|int|str|constrained-\w+|(?:dict|function-\w+|list|literal|nullable|tuple|union)\[.*)", re.S
)
"""A part of pydantic's paths that is no field: one of the kinds that a value may be of."""
RETRY_HEADER = {"retry-after": "1"}
Headers = Mapping[str, str]
STATUSES = (400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 429, 500, 503)
RESPONSES: Mapping[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {}}}
    for status in STATUSES
}
"""The responses that every route may return, for the OpenAPI description."""
CLIENT_ERRORS: dict[type[Exception], int] = {
    MissingRecordError: 404,
    GapNotFoundError: 404,
    AlreadyDecidedError: 409,
    UnknownTagError: 404,
    UnknownEncoderError: 404,
    UncalibratedError: 422,
    StoreFullError: 429,
}
"""Error that a client causes → its HTTP status."""


def problem_response(
    request: Request, status: int, detail: str, errors: Sequence[FieldError] = (), headers: Headers | None = None
) -> Response:
    """Return the response that describes the error: a page for a person, JSON for a program."""
    problem = make_problem(status, detail, request_state(request).id, request.scope["path"], errors)
    page = app_state(request).render_error_page(request, problem, headers)
    return page or Response(problem.model_dump_json(), status, headers, MEDIA_TYPE)


def make_problem(status: int, detail: str, id: str, path: str = "", errors: Sequence[FieldError] = ()) -> Problem:
    """Return the problem of the request with that id; `path` is empty if the request has none."""
    title = HTTPStatus(status).phrase
    return Problem(title=title, status=status, detail=detail, instance=path, request_id=id, errors=[*errors])


async def _handle_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    if error.status_code == 405 and (methods := _allowed_methods(request)):
        headers["allow"] = ", ".join(methods)
    return problem_response(request, error.status_code, _explain_http_error(request, error, headers), headers=headers)


def _explain_http_error(request: Request, error: HTTPException, headers: Headers) -> str:
    """Return an error's own detail, or, where the framework only names the status, what the API expects."""
    detail = str(error.detail)
    if detail == UNREADABLE_BODY:
        return "body: is not JSON in UTF-8, or nested too deeply"
    if detail != HTTPStatus(error.status_code).phrase or not request.scope["path"].startswith("/v1/"):
        return detail
    return f"expected {headers['allow']}" if "allow" in headers else "no such address; /docs has them all"


def _allowed_methods(request: Request) -> list[str]:
    """Return the methods that the API allows for a request's path; the router only knows those of one route."""
    paths: dict[str, dict[str, Any]] = request.app.openapi()["paths"]
    matching = (methods for path, methods in paths.items() if _path_pattern(path).fullmatch(request.scope["path"]))
    return sorted({method.upper() for methods in matching for method in methods})


@lru_cache
def _path_pattern(path: str) -> re.Pattern[str]:
    """Return the regular expression of a path in the OpenAPI description; an id may contain slashes."""
    names = {"{id}": ".+", "{archive}": "[^/]+"}
    return re.compile("".join(names.get(part, re.escape(part)) for part in re.split(r"(\{\w+\})", path)))


async def _handle_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = describe_fields(error.errors())
    wrong = errors[:MAX_ERRORS]
    described = [f"{w.location}: {w.detail}" for w in wrong]
    if len(errors) > MAX_ERRORS:
        described.append(f"{format_count(len(errors), 'error')} in all, of which these are the first {MAX_ERRORS}")
    return problem_response(request, 422, "; ".join(described), wrong)


def describe_fields(errors: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    """Return what is wrong at each place of a request. A value that may be of several kinds is described once."""
    by_location: dict[str, list[str]] = {}
    for error in errors:
        path = (str(part) for part in error["loc"] if not (isinstance(part, str) and KIND_OF_VALUE.fullmatch(part)))
        by_location.setdefault(".".join(path)[:MAX_LOCATION], []).append(_describe(error))
    described = []
    for location, details in by_location.items():
        expected = dict.fromkeys(d.removeprefix(EXPECTED_PREFIX) for d in details if d.startswith(EXPECTED_PREFIX))
        others = dict.fromkeys(detail for detail in details if not detail.startswith(EXPECTED_PREFIX))
        joined = [EXPECTED_PREFIX + " or ".join(expected)] if expected else []
        described.append(FieldError(location=location, detail="; ".join((*joined, *others))))
    return described


def _describe(error: Mapping[str, Any]) -> str:
    kind = error["type"]
    context = error.get("ctx", {})
    if kind in WRONG:
        return WRONG[kind].format(**context)
    if kind in EXPECTED_IN_REQUESTS:
        return EXPECTED_PREFIX + EXPECTED_IN_REQUESTS[kind].format(**context)
    return str(error["msg"]).removeprefix("Value error, ")


async def _handle_askalike_error(request: Request, error: Exception) -> Response:
    """Describe errors that the client caused; only log others, for the operator, as they may name local paths."""
    if status := CLIENT_ERRORS.get(type(error)):
        return problem_response(request, status, str(error))
    add_log_fields(request, error=str(error))
    detail = f"the archive cannot do this now; see the log, request {request_state(request).id}"
    return problem_response(request, 503, detail, headers=RETRY_HEADER)


async def _handle_overload(request: Request, error: Exception) -> Response:
    slow = isinstance(error, TimeoutError)
    detail = "the request timed out" if slow else "too many requests are waiting"
    return problem_response(request, 503, f"{detail}; try again", headers=RETRY_HEADER)


async def _handle_disconnect(request: Request, _: Exception) -> Response:
    """Return the response that a client who has left does not get; the log has its status."""
    return Response(status_code=CLIENT_LEFT)


async def _handle_unexpected_error(request: Request, _: Exception) -> Response:
    """Return the request's id, under which the traceback is logged."""
    id = request_state(request).id
    headers = {REQUEST_ID_HEADER: id}
    return problem_response(request, 500, f"internal error; see the log, request {id}", headers=headers)


ERROR_HANDLERS: Mapping[int | type[Exception], Callable[[Request, Exception], Coroutine[Any, Any, Response]]] = {
    HTTPException: _handle_http_error,
    RequestValidationError: _handle_validation_error,
    AskalikeError: _handle_askalike_error,
    OverloadedError: _handle_overload,
    TimeoutError: _handle_overload,
    ClientDisconnect: _handle_disconnect,
    500: _handle_unexpected_error,
}
"""Error → the handler that turns it into a problem response."""

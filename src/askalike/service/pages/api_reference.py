"""The reference of the HTTP interface, for people: made from its OpenAPI description, with a command for each part."""

import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from markupsafe import Markup, escape

from askalike.service.pages.rendering import render_page
from askalike.service.request_state import app_state

router = APIRouter()
HEADINGS = {
    "search": "Similar questions",
    "asking": "Answers and feedback",
    "questions": "Questions",
    "answers": "Answers",
    "links": "Links",
    "curation": "Moderation",
    "embeddings": "Vectors",
    "drop-in": "In place of other software",
    "health": "Monitoring",
    "widget": "Widget",
}
"""Tag of operations → heading, in the order of the page."""
TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}
QUESTION = {"title": "Where do I return a book?", "body": "The desk is closed.", "tags": ["returns"]}
ANSWER = {"question_id": "q1", "body": "In the box beside the door."}
EXAMPLES: Mapping[str, Any] = {
    "GET similar": "title=where+do+I+return+a+book&k=3",
    "POST similar": {"title": "where do I return a book", "body": "The desk is closed.", "k": 3},
    "POST answer": {"title": "Where do I return a book?", "k": 1},
    "POST questions:batch": {"items": [{"id": "q1", **QUESTION}, {"id": "q2", "title": "Where is the box for books?"}]},
    "PUT questions/{id}": QUESTION,
    "POST answers:batch": {"items": [{"id": "a1", **ANSWER}]},
    "PUT answers/{id}": ANSWER,
    "GET answers": "question=q1",
    "POST links:batch": {"items": [{"source": "q2", "target": "q1"}]},
    "PUT links": {"source": "q2", "target": "q1", "kind": "duplicate"},
    "GET links": "question=q1",
    "DELETE links": "source=q2&target=q1&kind=duplicate",
    "GET revisions": "question=q1",
    "POST feedback": {
        "title": "where do I return a book", "shown_ids": ["q1"], "verdict": "accept", "chosen_id": "q1",
    },
    "POST drafts": {
        "source": "chat", "id": "7/102", "messages": [
            {"text": "Where do I return a book?", "author": "ann"}, {"text": ANSWER["body"], "author": "ben"},
        ],
    },
    "POST duplicates/{id}/decision": {"decision": "accept"},
    "GET topics/similar_to": "title=where+do+I+return+a+book",
    "GET answer/api/v1/question/similar": "title=where+do+I+return+a+book",
    "POST embeddings": {"model": "static", "input": ["where do I return a book"]},
}  # fmt: skip
"""Operation below `/v1/ARCHIVE/` → the query or the JSON of an example. Each runs in the tests."""
EXAMPLE_IDS = {"questions": "q1", "answers": "a1", "duplicates": "1", "gaps": "1f3c"}


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A field of a request, a response or an object. place: path, query or body; empty for those of an object."""

    name: str
    type: str
    description: str
    place: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation as the page shows it. returns: the name of the object that it returns; empty for none."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    fields: Sequence[FieldRow]
    returns: str
    example: str


@router.get("/docs")
async def get_reference(request: Request) -> Response:
    """Show all operations with their fields and an example, and the objects that they take and return."""
    settings = app_state(request).settings
    described = request.app.openapi()
    base = settings.public_url or str(request.base_url).rstrip("/")
    operations = list_operations(described, base, needs_key=not settings.keyless)
    groups = {heading: operations[tag] for tag, heading in HEADINGS.items() if tag in operations}
    objects = describe_objects(described)
    linked = partial(link_objects, objects=objects)
    return render_page(request, "api.html", groups=groups, objects=objects, prose=render_prose, linked=linked)


@router.get("/v1")
async def get_index(request: Request) -> Response:
    """Lead people to the reference, and tell programs where the description is."""
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse("/docs", 303)
    paths = [path for path in request.app.openapi()["paths"] if path.startswith("/v1/")]
    return JSONResponse({"name": "askalike", "version": "1", "documentation": "/docs", "openapi": "/openapi.json",
                         "paths": paths})  # fmt: skip


def list_operations(described: Mapping[str, Any], base: str, *, needs_key: bool) -> dict[str, list[Operation]]:
    """Return the operations of an OpenAPI description by their tags. base: the service's address, for examples."""
    by_tag: dict[str, list[Operation]] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            tag = operation.get("tags", ["health"])[0]
            by_tag.setdefault(tag, []).append(
                Operation(
                    operation["operationId"],
                    method.upper(),
                    path,
                    operation["summary"],
                    operation.get("description", ""),
                    list(_list_fields(operation, described)),
                    _returned_object(operation),
                    _write_example(method.upper(), path, base, needs_key and path.startswith("/v1/")),
                )
            )
    return by_tag


def describe_objects(described: Mapping[str, Any]) -> dict[str, tuple[str, Sequence[FieldRow]]]:
    """Return name → what it is, and its fields, for each object of an OpenAPI description."""
    schemas = described["components"]["schemas"]
    return {
        name: (schema.get("description", ""), list(_list_properties(schema)))
        for name, schema in sorted(schemas.items())
        if "properties" in schema and not name.startswith(("HTTPValidation", "Validation"))
    }


def _list_fields(operation: Mapping[str, Any], described: Mapping[str, Any]) -> Iterator[FieldRow]:
    for one in operation.get("parameters", ()):
        if one["name"] == "archive":  # of which the page says once what it is
            continue
        description = one.get("description") or one["schema"].get("description", "")
        yield FieldRow(one["name"], describe_type(one["schema"]), description, one["in"], bool(one.get("required")))
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    if name := _referenced(content.get("schema", {})):
        yield from _list_properties(described["components"]["schemas"][name], "body")


def _list_properties(schema: Mapping[str, Any], place: str = "") -> Iterator[FieldRow]:
    required = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        yield FieldRow(name, describe_type(one), one.get("description", ""), place, name in required)


def describe_type(schema: Mapping[str, Any]) -> str:
    """Return the kind of a value in words."""
    if name := _referenced(schema):
        return name
    if kinds := schema.get("anyOf"):
        return " or ".join(dict.fromkeys(map(describe_type, kinds)))
    if values := schema.get("enum") or ([schema["const"]] if "const" in schema else None):
        return ", ".join(json.dumps(value) for value in values)
    if schema.get("type") == "array":
        return f"list of {describe_type(schema.get('items', {}))}"
    return TYPES.get(str(schema.get("type")), "object")


def _referenced(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _returned_object(operation: Mapping[str, Any]) -> str:
    ok: Mapping[str, Any] = next(
        (operation["responses"][status] for status in ("200", "201") if status in operation["responses"]), {}
    )
    return _referenced(ok.get("content", {}).get("application/json", {}).get("schema", {}))


def _write_example(method: str, path: str, base: str, needs_key: bool) -> str:
    name = path.removeprefix("/v1/{archive}/").removeprefix("/v1/")
    example = EXAMPLES.get(f"{method} {name}")
    id = EXAMPLE_IDS.get(name.partition("/")[0], "")
    address = base + path.replace("{archive}", "ARCHIVE").replace("{id}", id)
    words = ["curl", *(["-X", method] if method not in ("GET", "POST") or (method == "POST" and not example) else [])]
    words.append(address if not isinstance(example, str) else f"{address}?{example}")
    if needs_key:
        words += ["-H", "Authorization: Bearer KEY"]
    if isinstance(example, dict):
        words += ["--json", json.dumps(example, ensure_ascii=False)]
    return shlex.join(words)


def link_objects(type: str, objects: Collection[str]) -> Markup:
    """Return the kind of a value with links to the objects in it."""
    words = re.split(r"([\w-]+)", type)
    return Markup("").join(Markup('<a href="#{0}">{0}</a>').format(w) if w in objects else w for w in words)


def render_prose(text: str) -> Markup:
    """Return a description with its `code` marked, one paragraph for each of its own."""
    marked = (re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(part))) for part in text.split("\n\n") if part)
    return Markup("".join(f"<p>{part}</p>" for part in marked))

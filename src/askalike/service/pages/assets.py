"""The pages' style, script and icon: compressed once, and cached by browsers until they change."""

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, HTTPException, Request, Response

router = APIRouter()
FILES = {
    "pages.css": "text/css; charset=utf-8",
    "pages.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "vendor/htmx.min.js": "text/javascript; charset=utf-8",
}
IMMUTABLE_CACHE = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A static file, plain and compressed."""

    content: bytes
    gzipped: bytes
    version: str
    media_type: str


@cache
def load_static_file(name: str) -> StaticFile:
    """Return a file of `static/`. Raises KeyError for any other."""
    media_type = FILES[name]
    content = files("askalike.service.pages").joinpath("static", *name.split("/")).read_bytes()
    version = hashlib.sha256(content).hexdigest()[:12]
    return StaticFile(content, gzip.compress(content, 9, mtime=0), version, media_type)


def static_url(name: str) -> str:
    """Return the address of a file, which changes with its content."""
    return f"/static/{name}?v={load_static_file(name).version}"


@router.get("/static/{name:path}")
async def get_static(request: Request, name: str) -> Response:
    """Return a static file."""
    if name not in FILES:
        raise HTTPException(404, f"no file {name!r}")
    file = load_static_file(name)
    zipped = "gzip" in request.headers.get("accept-encoding", "")
    headers = {"cache-control": IMMUTABLE_CACHE, "vary": "accept-encoding", "x-content-type-options": "nosniff"}
    if zipped:
        headers["content-encoding"] = "gzip"
    return Response(file.gzipped if zipped else file.content, 200, headers, file.media_type)

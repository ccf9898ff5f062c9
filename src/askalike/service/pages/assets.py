"""The pages' style, script and icon: compressed once, and kept by browsers until they change."""

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
    """A static file, as it is and compressed."""

    content: bytes
    gzipped: bytes
    version: str
    media_type: str


@cache
def load_static_file(name: str) -> StaticFile:
    """A file of `static/`. Raises KeyError for any other."""
    media_type = FILES[name]
    plain = files("askalike.service.pages").joinpath("static", *name.split("/")).read_bytes()
    return StaticFile(plain, gzip.compress(plain, 9, mtime=0), hashlib.sha256(plain).hexdigest()[:12], media_type)


def static_url(name: str) -> str:
    """Where a page finds the file; another one as soon as it has changed."""
    return f"/static/{name}?v={load_static_file(name).version}"


@router.get("/static/{name:path}")
async def get_static(request: Request, name: str) -> Response:
    """A static file."""
    if name not in FILES:
        raise HTTPException(404, f"no file {name!r}")
    found = load_static_file(name)
    zipped = "gzip" in request.headers.get("accept-encoding", "")
    headers = {"cache-control": IMMUTABLE_CACHE, "vary": "accept-encoding", "x-content-type-options": "nosniff"}
    if zipped:
        headers["content-encoding"] = "gzip"
    return Response(found.gzipped if zipped else found.content, 200, headers, found.media_type)

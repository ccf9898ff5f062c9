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
A_YEAR = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class File:
    """A static file, as it is and compressed."""

    plain: bytes
    zipped: bytes
    version: str
    media_type: str


@cache
def static_file(name: str) -> File:
    """A file of `static/`. Raises KeyError for any other."""
    media_type = FILES[name]
    plain = files("askalike.service.pages").joinpath("static", *name.split("/")).read_bytes()
    return File(plain, gzip.compress(plain, 9, mtime=0), hashlib.sha256(plain).hexdigest()[:12], media_type)


def address(name: str) -> str:
    """Where a page finds the file; another one as soon as it has changed."""
    return f"/static/{name}?v={static_file(name).version}"


@router.get("/static/{name:path}")
async def get_static(request: Request, name: str) -> Response:
    """A static file."""
    if name not in FILES:
        raise HTTPException(404, f"no file {name!r}")
    found = static_file(name)
    zipped = "gzip" in request.headers.get("accept-encoding", "")
    headers = {"cache-control": A_YEAR, "vary": "accept-encoding", "x-content-type-options": "nosniff"}
    if zipped:
        headers["content-encoding"] = "gzip"
    return Response(found.zipped if zipped else found.plain, 200, headers, found.media_type)

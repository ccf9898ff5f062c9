"""The pages' style, script and icon: compressed once, and cached by browsers until they change."""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePath

from fastapi import APIRouter, HTTPException, Request, Response

router = APIRouter()
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
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
    content = list_static_files()[name].read_bytes()
    version = hashlib.sha256(content).hexdigest()[:12]
    return StaticFile(content, gzip.compress(content, 9, mtime=0), version, MEDIA_TYPES[PurePath(name).suffix])


def static_url(name: str) -> str:
    """Return the URL of a file, which changes with its content."""
    return f"/static/{name}?v={load_static_file(name).version}"


@router.get("/static/{name:path}")
async def get_static(request: Request, name: str) -> Response:
    """Return a static file."""
    try:
        file = load_static_file(name)
    except KeyError:
        raise HTTPException(404, f"no file {name!r}") from None
    zipped = "gzip" in request.headers.get("accept-encoding", "")
    headers = {"cache-control": IMMUTABLE_CACHE, "vary": "accept-encoding", "x-content-type-options": "nosniff"}
    if zipped:
        headers["content-encoding"] = "gzip"
    return Response(file.gzipped if zipped else file.content, 200, headers, file.media_type)


@cache
def list_static_files() -> Mapping[str, Traversable]:
    """Return every file below `static/` that browsers load, by its path in it."""
    found: dict[str, Traversable] = {}
    folders = [("", files("askalike.service.pages") / "static")]
    for path, folder in folders:
        for entry in folder.iterdir():
            if entry.is_dir():
                folders.append((f"{path}{entry.name}/", entry))
            elif PurePath(entry.name).suffix in MEDIA_TYPES:
                found[f"{path}{entry.name}"] = entry
    return found

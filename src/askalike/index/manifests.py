"""The manifest of an index: its current files with their checksums, its settings, and a checksum of all that."""

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from askalike.core.errors import UnusableIndexError
from askalike.core.files import write_atomically
from askalike.index.checksums import VERIFIED_FILE, find_damaged_files

MANIFEST = "manifest.json"
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, IndexError, EOFError, RecursionError, BadZipFile)
"""The errors of reading damaged files."""


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """Replace the manifest of the index in a directory; it is then durable. Raises OSError."""
    write_atomically(folder / MANIFEST, json.dumps({**content, "checksum": _compute_checksum(content)}, indent=1))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of the index in a directory.

    Raises FileNotFoundError, and UnusableIndexError if it is damaged, or of a version without checksums.
    """
    text = (folder / MANIFEST).read_bytes()
    try:
        content: dict[str, Any] = json.loads(text)
        version, checksum = content["format"], content.pop("checksum", None)
        is_intact = checksum == _compute_checksum(content)
    except UNREADABLE:
        raise UnusableIndexError(folder, f"damaged ({MANIFEST} is not a valid manifest)") from None
    if checksum is None and "checksums" not in content:
        raise UnusableIndexError(folder, f"format {version} without checksums, of an earlier askalike")
    if not is_intact:
        raise UnusableIndexError(folder, f"damaged ({MANIFEST} differs from its checksum)")
    return content


def find_damage(folder: Path) -> str | None:
    """Read all files of the index in a directory and return what is damaged; None if nothing is, or it is not built.

    Damaged files are then no longer remembered as intact. Raises UnusableIndexError for a damaged manifest, or one of
    another version.
    """
    while (folder / MANIFEST).exists():
        manifest = read_manifest(folder)
        damaged = find_damaged_files(folder, manifest["checksums"])
        if not damaged:
            return None
        if manifest == read_manifest(folder):  # otherwise a commit has removed files
            (folder / VERIFIED_FILE).unlink(missing_ok=True)
            return ", ".join(damaged)
    return None


def _compute_checksum(content: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())

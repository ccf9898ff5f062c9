"""Streams JSON: one object per line, or the items of one list inside a document of any size."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from askalike.core.errors import InputError
from askalike.core.records import Place, RejectedRow
from askalike.readers._source import SourceFiles, reject
from askalike.text.clean import replace_forbidden

DECODER = json.JSONDecoder(strict=False)
MAX_VALUE_SIZE = 1 << 26
Row = dict[str, Any]
PlacedRow = tuple[Place, Row | RejectedRow]
"""A row of a file as a mapping from key or column to value, with its place."""


def read_json_lines(source: SourceFiles, path: Path) -> Iterator[PlacedRow]:
    """Yield the object on each line; a line without an object is rejected, an empty line skipped."""
    for place, line in source.read_lines(path):
        if line.strip():
            yield place, _parse_line(source, place, line)


def read_json_items(source: SourceFiles, path: Path, list_path: str | None) -> Iterator[PlacedRow]:
    """Yield the objects in the list at `list_path` (`root.qapair`; None: the top level). Raises InputError."""
    cursor = _JsonCursor(source, path)
    _descend_to_list(cursor, [key for key in (list_path or "").split(".") if key])
    for place, item in cursor.read_items():
        yield place, _check_object(source, place, item)


def read_json_values(source: SourceFiles, path: Path) -> Iterator[tuple[Place, Any]]:
    """Yield the values of a JSON file: one document, several in a row, or lines; the items if it is a list.

    Raises InputError if the text is not JSON, or is truncated.
    """
    cursor = _JsonCursor(source, path)
    while first := cursor.peek():
        items = cursor.read_items() if first == "[" else [cursor.read_value()]
        for place, value in items:
            cleaned = replace_forbidden(value)
            source.note("rows with NULs or lone surrogates repaired", cleaned != value)
            yield place, cleaned


def refuse_document(source: SourceFiles, path: Path, head: bytes) -> None:
    """Raise InputError for a file that is one JSON document of many lines; `head` is its beginning.

    It is one if its first line opens a list or an object, or if no complete line in `head` is an object.
    """
    lines = [line for line in head.splitlines()[:-1] if line.strip()]
    opens = bool(lines) and lines[0].rstrip().endswith((b"{", b"["))
    if not lines or (not opens and any(_is_object(line) for line in lines)):
        return
    cursor = _JsonCursor(SourceFiles(encoding=source.encoding), path)
    keys: list[str] = []
    lists: list[str] = []
    with suppress(InputError):
        for key in cursor.read_keys_until(""):
            keys.append(key)
            lists += [key] if cursor.peek() == "[" else []
    shown = f" (its keys: {', '.join(keys)})" if keys else ""
    advice = f"name the way to its list of rows, e.g. --records {[*lists, *keys, 'items'][0]}"
    raise InputError(f"{path}: is one JSON document{shown}, not one object per line; {advice}")


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(DECODER.decode(line.decode("utf-8", "replace").strip()), dict)
    except (ValueError, RecursionError):
        return False


def _parse_line(source: SourceFiles, place: Place, line: str) -> Row | RejectedRow:
    try:
        return _check_object(source, place, _decode(line.strip()), escaped="\\u" in line)
    except (ValueError, RecursionError) as error:
        return reject(place, f"not JSON: {error}", line.rstrip())


def _decode(text: str) -> Any:
    """Return the value of a JSON text. pydantic's parser takes a third of the time, Python's reads more."""
    try:
        return from_json(text)
    except ValueError:
        return DECODER.decode(text)


def _check_object(source: SourceFiles, place: Place, value: Any, escaped: bool = True) -> Row | RejectedRow:
    """Return the value if it is an object, with NULs and lone surrogates replaced in its strings."""
    if not isinstance(value, dict):
        return reject(place, "expected a JSON object", value)
    if not escaped:
        return value
    cleaned: Row = replace_forbidden(value)
    source.note("rows with NULs or lone surrogates repaired", cleaned != value)
    return cleaned


def _descend_to_list(cursor: "_JsonCursor", keys: Sequence[str]) -> None:
    for depth, key in enumerate(keys):
        keys_read = list(cursor.read_keys_until(key))
        if keys_read and keys_read[-1] == key:
            continue
        parent = ".".join(keys[: depth + 1])
        raise cursor.error(f"--records {parent}: not there; keys at that place: {', '.join(keys_read) or 'none'}")
    if cursor.peek() != "[":
        hint = "the keys of what leads to it, e.g. --records root.items" if not keys else "the path to a list"
        raise cursor.error(f"expected a list of records; give --records {hint}")


class _JsonCursor:
    """A position in a JSON text of which only a piece is in memory."""

    def __init__(self, source: SourceFiles, path: Path) -> None:
        self._path = str(path)
        self._chunks = source.read_text(path)
        self._buffer = ""
        self._position = 0
        self._line = 1

    def error(self, problem: str) -> InputError:
        """Return an InputError at this position."""
        return InputError(f"{Place(self._path, self._line)}: {problem}")

    def peek(self) -> str:
        """Return the next character that is not whitespace; empty at the end."""
        while True:
            rest = self._buffer[self._position : self._position + 64].lstrip()
            if rest:
                self._advance(self._buffer.index(rest[0], self._position))
                return rest[0]
            self._advance(min(self._position + 64, len(self._buffer)))
            if self._position == len(self._buffer) and not self._read_more():
                return ""

    def read_keys_until(self, wanted: str) -> Iterator[str]:
        """Enter an object, skip its values and yield its keys; after `wanted` the cursor is at that key's value."""
        if self.peek() != "{":
            return
        self._expect("{")
        while self.peek() != "}":
            key = self._parse_value()
            self._expect(":")
            yield str(key)
            if key == wanted:
                return
            self._parse_value()
            self._skip_comma("}")

    def read_items(self) -> Iterator[tuple[Place, Any]]:
        """Yield the items of the list that begins here, each with the place of its beginning."""
        self._expect("[")
        while self.peek() != "]":
            line = self._line
            yield Place(self._path, line), self._parse_value()
            self._skip_comma("]")
        self._expect("]")

    def read_value(self) -> tuple[Place, Any]:
        """Return the value that begins here, with its place."""
        place = Place(self._path, self._line)
        return place, self._parse_value()

    def _skip_comma(self, closing: str) -> None:
        if self.peek() != closing:
            self._expect(",")

    def _expect(self, character: str) -> None:
        actual = self.peek()
        if actual != character:
            raise self.error(f"not JSON: expected {character!r}, found {actual or 'the end of the file'!r}")
        self._advance(self._position + 1)

    def _parse_value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self._buffer, self._position)
                problem = ""
            except (ValueError, RecursionError) as error:
                end = len(self._buffer)
                problem = str(error).partition(":")[0]
            if end < len(self._buffer) or not self._read_more():
                if problem:
                    raise self.error(f"not JSON ({problem}), or the file is cut short")
                self._advance(end)
                return value
            if len(self._buffer) - self._position > MAX_VALUE_SIZE:
                raise self.error("not JSON, or a value of more than 64 MB")

    def _advance(self, position: int) -> None:
        self._line += self._buffer.count("\n", self._position, position)
        self._position = position

    def _read_more(self) -> bool:
        """Read until twice as much is in memory; return False at the end of the file."""
        rest = [self._buffer[self._position :]]
        wanted = max(1, len(rest[0]))
        for piece in self._chunks:
            rest.append(piece)
            wanted -= len(piece)
            if wanted <= 0:
                break
        self._buffer = "".join(rest)
        self._position = 0
        return len(rest) > 1 and len(self._buffer) > len(rest[0])

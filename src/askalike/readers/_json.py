"""Streams JSON: objects a line, or the items of one list inside a document of any size."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from askalike.readers._source import Source
from askalike.readers._values import clean
from askalike.types import Rejected

DECODER = json.JSONDecoder(strict=False)
LARGEST_VALUE = 1 << 26
Row = dict[str, Any]


def json_lines(source: Source, path: Path) -> Iterator[Row | Rejected]:
    """The object on each line; a line that holds none is rejected, an empty one passed over."""
    for line in source.lines(path):
        if line.strip():
            yield _parsed(source, line)


def json_items(source: Source, path: Path, records: str | None) -> Iterator[Row | Rejected]:
    """The objects of the list that `records` leads to (`root.qapair`), or of the file's own list without it.

    Raises InputError where there is no such list, and where the JSON is cut short or malformed.
    """
    cursor = _Cursor(source, path)
    _descend(cursor, [key for key in (records or "").split(".") if key])
    for item in cursor.items():
        yield _object(source, item)


def _parsed(source: Source, line: str) -> Row | Rejected:
    try:
        return _object(source, DECODER.decode(line.strip()), escaped="\\u" in line)
    except (ValueError, RecursionError) as error:
        return source.reject(f"not JSON: {error}", line.rstrip())


def _object(source: Source, value: Any, escaped: bool = True) -> Row | Rejected:
    """The value if it is an object, its strings mended where they hold what no database takes."""
    if not isinstance(value, dict):
        return source.reject("expected a JSON object", value)
    cleaned: Row = clean(value) if escaped else value
    source.note("rows with NULs or lone surrogates mended", cleaned != value)
    return cleaned


def _descend(cursor: "_Cursor", keys: Sequence[str]) -> None:
    for depth, key in enumerate(keys):
        seen = list(cursor.keys_until(key))
        if seen and seen[-1] == key:
            continue
        where = ".".join(keys[: depth + 1])
        raise cursor.error(f"--records {where}: not there; keys at that place: {', '.join(seen) or 'none'}")
    if cursor.peek() != "[":
        hint = "the keys of what leads to it, e.g. --records root.items" if not keys else "the path to a list"
        raise cursor.error(f"expected a list of records; give --records {hint}")


class _Cursor:
    """A place in a JSON text of which only a piece is in memory."""

    def __init__(self, source: Source, path: Path) -> None:
        self._source = source
        self._pieces = source.text(path)
        self._buffer = ""
        self._at = 0
        self._line = 1

    def error(self, problem: str) -> Exception:
        """An InputError at this place."""
        self._source.line = self._line
        return self._source.error(problem)

    def peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        while True:
            rest = self._buffer[self._at : self._at + 64].lstrip()
            if rest:
                self._forward(self._buffer.index(rest[0], self._at))
                return rest[0]
            self._forward(min(self._at + 64, len(self._buffer)))
            if self._at == len(self._buffer) and not self._more():
                return ""

    def keys_until(self, wanted: str) -> Iterator[str]:
        """Enters an object and hands out its keys, values skipped; behind `wanted` the cursor is at its value."""
        if self.peek() != "{":
            return
        self._take("{")
        while self.peek() != "}":
            key = self._value()
            self._take(":")
            yield str(key)
            if key == wanted:
                return
            self._value()
            self._comma("}")

    def items(self) -> Iterator[Any]:
        """The items of the list that begins here; the source's line is that of each item's beginning."""
        self._take("[")
        while self.peek() != "]":
            line = self._line
            value = self._value()
            self._source.line = line
            yield value
            self._comma("]")

    def _comma(self, closing: str) -> None:
        if self.peek() != closing:
            self._take(",")

    def _take(self, character: str) -> None:
        found = self.peek()
        if found != character:
            raise self.error(f"not JSON: expected {character!r}, found {found or 'the end of the file'!r}")
        self._forward(self._at + 1)

    def _value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self._buffer, self._at)
                problem = ""
            except (ValueError, RecursionError) as error:
                end, problem = len(self._buffer), str(error).partition(":")[0]
            if end < len(self._buffer) or not self._more():
                if problem:
                    raise self.error(f"not JSON ({problem}), or the file is cut short")
                self._forward(end)
                return value
            if len(self._buffer) - self._at > LARGEST_VALUE:
                raise self.error("not JSON, or a value over 64 MB")

    def _forward(self, to: int) -> None:
        self._line += self._buffer.count("\n", self._at, to)
        self._at = to

    def _more(self) -> bool:
        """Reads on until twice as much is in memory; False at the end of the file."""
        rest = [self._buffer[self._at :]]
        wanted = max(1, len(rest[0]))
        for piece in self._pieces:
            rest.append(piece)
            wanted -= len(piece)
            if wanted <= 0:
                break
        self._buffer, self._at = "".join(rest), 0
        return len(rest) > 1 and len(self._buffer) > len(rest[0])

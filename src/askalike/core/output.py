"""The edge of output: texts of other people print as they are written, and never as commands to a terminal."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|\r(?!\n)")


def escape_controls(text: str) -> str:
    r"""Return a text in which control characters, bidirectional ones too, are shown as `\u001b`; not tabs, line ends.

    In a string of JSON that is the same character.
    """
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class SafeStream:
    """A text stream that escapes control characters. stream: the one that it writes to."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text; return its length."""
        self.stream.write(escape_controls(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def safe_output() -> Iterator[None]:
    """Escape control characters in all that is printed during the block."""
    with redirect_stdout(SafeStream(sys.stdout)), redirect_stderr(SafeStream(sys.stderr)):
        yield


def raw_stream(stream: Any) -> Any:
    """Return the stream under a SafeStream, for text that may move the cursor or set colours."""
    return stream.stream if isinstance(stream, SafeStream) else stream

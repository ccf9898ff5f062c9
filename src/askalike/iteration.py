"""Helpers for iterables."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def chunks(items: Iterable[T], size: int = 1_000) -> Iterator[list[T]]:
    """Yield the items in lists of `size`, the last one shorter; `itertools.batched` of Python 3.12, with lists."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk

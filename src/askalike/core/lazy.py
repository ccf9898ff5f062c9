"""Values that are computed when they are first read, and then stored."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Self, TypeVar, overload

T = TypeVar("T")


class lazy_property(cached_property[T]):
    """`cached_property` without its lock, which in Python 3.11 is shared by all instances, so that threads wait.

    Threads that read the attribute of one object at the same time may each compute it.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | T:
        if instance is None:
            return self
        value = instance.__dict__[str(self.attrname)] = self.func(instance)
        return value


class LazyShares(Mapping[str, float]):
    """Name → number, computed when it is first read: of many explanations only a few are shown in full."""

    def __init__(self, compute: Callable[[], Mapping[str, float]]) -> None:
        self._compute = compute

    @lazy_property
    def _shares(self) -> Mapping[str, float]:
        return self._compute()

    def __getitem__(self, name: str) -> float:
        return self._shares[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shares)

    def __len__(self) -> int:
        return len(self._shares)

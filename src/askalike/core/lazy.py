"""Values that are computed when they are first read, and then stored."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Self, TypeVar, overload

T = TypeVar("T")
KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


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


class LazyMapping(Mapping[KeyT, ValueT]):
    """A mapping that is computed when it is first read: of many explanations only a few are shown in full."""

    def __init__(self, compute: Callable[[], Mapping[KeyT, ValueT]]) -> None:
        self._compute = compute

    @lazy_property
    def _computed(self) -> Mapping[KeyT, ValueT]:
        return self._compute()

    def __getitem__(self, name: KeyT) -> ValueT:
        return self._computed[name]

    def __iter__(self) -> Iterator[KeyT]:
        return iter(self._computed)

    def __len__(self) -> int:
        return len(self._computed)

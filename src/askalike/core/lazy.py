"""Values that are computed when they are first read, and then stored."""

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

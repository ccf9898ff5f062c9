"""Properties that are computed when first needed."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

ValueT = TypeVar("ValueT")


class lazy_property(Generic[ValueT]):
    """A property that is computed once, as functools.cached_property, but without a lock.

    Before Python 3.12 one lock is for all instances, so that a thread that searches makes all others wait.
    """

    def __init__(self, compute: Callable[[Any], ValueT]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> ValueT: ...
    def __get__(self, instance: object, owner: type) -> Self | ValueT:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value

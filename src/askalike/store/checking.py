"""Checks that the fields of a record passed by a program have their declared types, before it is stored."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from askalike.core.errors import InputError
from askalike.store.records import TABLES, check_numbers

Check = Callable[[Any], bool]


def check_record(record: object) -> None:
    """Raise InputError if the object is not a record, or for the first field with a wrong type or out of range."""
    kind = type(record)
    if kind not in TABLES:
        kinds = ", ".join(sorted(known.__name__ for known in TABLES))
        raise InputError(f"{record!r}: expected a record, one of {kinds}")
    for name, expected, is_right in _field_checks()[kind]:
        if not is_right(value := getattr(record, name)):
            raise InputError(f"{kind.__name__}: {name} is {value!r}; expected {expected}")
    try:
        check_numbers(record)
    except ValueError as error:
        raise InputError(f"{kind.__name__}: {error}") from None


@cache
def _field_checks() -> Mapping[type, Sequence[tuple[str, str, Check]]]:
    """Return, for each type of record, the name, description and check of each field."""
    fields = {kind: get_type_hints(kind) for kind in TABLES}
    return {
        kind: [(name, _describe(hint), _make_check(hint)) for name, hint in of.items()] for kind, of in fields.items()
    }


def _make_check(hint: Any) -> Check:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return lambda value: value in arguments
    if origin is UnionType:
        checks = [_make_check(argument) for argument in arguments]
        return lambda value: any(check(value) for check in checks)
    if origin is tuple:
        check = _make_check(arguments[0])
        return lambda value: isinstance(value, tuple | list) and all(map(check, value))
    if hint is int:
        return lambda value: isinstance(value, int) and not isinstance(value, bool)
    return lambda value: isinstance(value, hint)


def _describe(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return f"one of {', '.join(arguments)}"
    if origin is UnionType:
        return " or ".join(map(_describe, arguments))
    if origin is tuple:
        return f"a tuple, each {_describe(arguments[0])}"
    words = {str: "a string", int: "a whole number", bool: "True or False", type(None): "None"}
    return words.get(hint) or f"a {hint.__name__}"

"""Settings: frozen pydantic models, read from TOML or `key=value`. All errors are reported at once."""

import tomllib
from collections.abc import Mapping, Sequence
from datetime import date
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from askalike.core.errors import SettingsError, UnknownSettingError
from askalike.core.values import check_fields, parse_limit

Tables = Mapping[str, Mapping[str, Any]]
"""The tables of a TOML file: table → key → value."""


class Settings(BaseModel):
    """The base of everything configurable: frozen, typed, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_by_name=True)


EXPECTED = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "a table",
    "finite_number": "a number that is not infinite",
    "float_parsing": "a number",
    "float_type": "a number",
    "greater_than": "a number above {gt:.16g}",
    "greater_than_equal": "{ge:.16g} or more",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "less_than": "a number below {lt:.16g}",
    "less_than_equal": "{le:.16g} or less",
    "list_type": "a list",
    "literal_error": "{expected}",
    "model_type": "one table",
    "path_type": "a path",
    "string_too_short": "some text",
    "string_type": "text",
    "tuple_type": "a list",
}
"""pydantic's error type → what was expected, with the limits from pydantic."""
UNKNOWN = "extra_forbidden"
"""pydantic's error type for a key that is not a setting."""


def _split_commas(value: Any) -> Any:
    """Return `a,b` as it is typed, or one value, as a list."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return value if isinstance(value, Sequence) else [value]


def _format_date(value: Any) -> Any:
    """Return a date or a year, as TOML reads it, as text."""
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


DateText = Annotated[str, BeforeValidator(_format_date), AfterValidator(parse_limit)]
TextList = Annotated[tuple[str, ...], BeforeValidator(_split_commas)]
IntegerList = Annotated[tuple[int, ...], BeforeValidator(_split_commas)]
NumberList = Annotated[tuple[float, ...], BeforeValidator(_split_commas)]
FieldNames = Annotated[str, AfterValidator(check_fields)]
"""One or more fields of a question, with commas between them."""
SettingsT = TypeVar("SettingsT", bound=Settings)


def validate_settings(model: type[SettingsT], values: Mapping[str, Any], source: str) -> SettingsT:
    """Return the settings that `values` describe. Raises SettingsError, which names every wrong key with its path."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        unknown = any(each["type"] == UNKNOWN for each in error.errors())
        error_class = UnknownSettingError if unknown else SettingsError
        raise error_class(f"{source}: {'; '.join(describe_errors(model, error))}") from None


def describe_errors(model: type[Settings], error: ValidationError) -> list[str]:
    """Return one message per error, beginning with its path: `system[0].k: …`."""
    return [_describe_error(model, e) for e in error.errors()]


def _describe_error(model: type[Settings], error: Any) -> str:
    path = format_path(error["loc"])
    if not path:  # an error that concerns several settings
        return str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == UNKNOWN:
        known = _known_keys(model, error["loc"][:-1])
        return f"{path} is not a setting" + (f" (known: {', '.join(known)})" if known else "")
    if error["type"] == "missing":
        return f"{path} is missing"
    if error["type"] == "value_error":
        shown = f"={error['input']!r}" if isinstance(error["input"], str) else ""
        return f"{path}{shown}: {error['ctx']['error']}"
    shown = f"={error['input']!r}" if isinstance(error["input"], str | int | float) else ""
    expected = describe_expected(error)
    is_table = expected == "expected a list" and isinstance(error["input"], Mapping)
    return f"{path}{shown}: {expected}" + (f"; a list of tables is written [[{path}]]" if is_table else "")


def describe_expected(error: Any) -> str:
    """Return what one of pydantic's errors says was expected, in askalike's words where it has some."""
    expected = EXPECTED.get(error["type"])
    return f"expected {expected.format(**error.get('ctx', {}))}" if expected else str(error["msg"])


def format_path(parts: Sequence[str | int]) -> str:
    """Return `("system", 0, "k")` as `system[0].k`."""
    keys = [part for part in parts if part != "[key]"]  # pydantic adds it if a key of a mapping is wrong
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")


def _known_keys(model: type[Settings], parts: Sequence[str | int]) -> list[str]:
    """Return the keys of the settings at a path, which leads through fields and their lists.

    Empty for a path through one of several kinds of settings, of which pydantic gives a name and not the class.
    """
    for part in parts:
        if isinstance(part, str):
            if part not in (fields := _fields_by_key(model)):
                return []
            model = _inner_settings(fields[part][1].annotation)
    return list(_fields_by_key(model))


def _fields_by_key(model: type[Settings]) -> Mapping[str, tuple[str, FieldInfo]]:
    """The name and description of each field by the key that it has in files."""
    return {str(field.validation_alias or name): (name, field) for name, field in model.model_fields.items()}


def _inner_settings(annotation: Any) -> type[Settings]:
    """Return the settings class inside an annotation such as `tuple[Inner, ...]` or `Inner | None`."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return annotation
    return next(_inner_settings(inner) for inner in get_args(annotation) if inner not in (None, NoneType, ...))


def parse_assignments(pairs: Sequence[str]) -> dict[str, Any]:
    """Return `["k1=1.2", "tokenizer=ptb"]` as a dictionary. A value that is not TOML is a string.

    Raises SettingsError for an assignment without a key.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise SettingsError(f"--set {pair!r}: expected key=value, as in --set k1=1.2")
        values[key.strip()] = _parse_toml_value(value.strip())
    return values


def _parse_toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text

"""Settings: declared once as a frozen pydantic model, read from TOML or `key=value`, every error told at once."""

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from askalike.errors import SettingsError


class Settings(BaseModel):
    """The base of everything configurable: frozen, typed, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_by_name=True)


S = TypeVar("S", bound=Settings)


def validated(model: type[S], values: Mapping[str, Any], where: str) -> S:
    """The settings that `values` describe. Raises SettingsError naming every wrong key with its path."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        known = ", ".join(field.alias or name for name, field in model.model_fields.items())
        problems = "; ".join(_problem(e, known) for e in error.errors())
        raise SettingsError(f"{where}: {problems}") from None


def _problem(error: Any, known: str) -> str:
    if not error["loc"]:  # of several settings together
        return str(error["msg"]).removeprefix("Value error, ")
    path = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"{path} is not a setting (known: {known})"
    return f"{path}={error['input']!r}: {error['msg']}"


def assignments(pairs: Sequence[str]) -> dict[str, Any]:
    """`["k1=1.2", "tokenizer=ptb"]` as a dictionary; a value is TOML where it parses as such, else a string."""
    values: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise SettingsError(f"--set {pair!r}: expected key=value, as in --set k1=1.2")
        values[key.strip()] = _toml_value(value.strip())
    return values


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text

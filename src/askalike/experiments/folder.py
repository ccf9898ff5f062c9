"""An experiment's folder: what lies where in it, and when it may be begun, resumed or thrown away."""

import json
import os
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomli_w

from askalike.clock import now
from askalike.config import format_path
from askalike.errors import ArchiveError, SettingsError

OWN_FILES = ("config.toml", "started.json", "log.txt", "report.json", "report.html", "runs", "cells")


class ExperimentFolder:
    """`config.toml`, `started.json`, `log.txt`, `runs/CELL.trec`, `cells/CELL.json`, `report.json`, `report.html`.

    Every file appears whole or not at all. A cell is one system run with one seed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, config: Mapping[str, Any], *, resume: bool = False, force: bool = False) -> None:
        """Makes the folder, with its configuration.

        resume: goes on in a folder whose configuration is the same. force: throws away what an experiment left there.
        Raises SettingsError where the folder has something in it and neither is given, where it is not an
        experiment's, and where the configurations differ; ArchiveError where it cannot be written.
        """
        there = self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir()))
        if there and not (self.path / "config.toml").is_file():
            raise SettingsError(f"{self.path}: holds something else than an experiment; choose another folder with -o")
        if there and force:
            self._clear()
        elif there and not resume:
            raise SettingsError(f"{self.path}: an experiment is there; go on with --resume, or begin anew with --force")
        elif there:
            self._check_same_config(config)
        try:
            for name in ("runs", "cells"):
                (self.path / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArchiveError(f"{self.path}: cannot be made ({error.strerror}); choose another place") from None
        self.write_text("config.toml", tomli_w.dumps(config, multiline_strings=False))

    def run_path(self, cell: str) -> Path:
        """Where a cell's run is; once it is there, the cell is finished."""
        return self.path / "runs" / f"{cell}.trec"

    def log(self, line: str) -> None:
        """Adds a line, with the time, to the log."""
        with (self.path / "log.txt").open("a", encoding="utf-8") as file:
            file.write(f"{now()} {line}\n")

    def read_json(self, name: str) -> dict[str, Any] | None:
        """A JSON file of the folder; None where it is not there."""
        with suppress(FileNotFoundError):
            return json.loads((self.path / name).read_text(encoding="utf-8"))  # type: ignore[no-any-return]
        return None

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Writes a JSON file."""
        self.write_text(name, json.dumps(value, ensure_ascii=False, indent=1) + "\n")

    def write_text(self, name: str, text: str) -> None:
        """Writes a file that takes its name once it is complete. Raises ArchiveError where it cannot."""
        partial = self.path / f".{name.replace('/', '-')}.{os.getpid()}.part"
        try:
            partial.write_text(text, encoding="utf-8")
            partial.replace(self.path / name)
        except OSError as error:
            raise ArchiveError(f"{self.path / name}: cannot be written ({error.strerror})") from None
        finally:
            partial.unlink(missing_ok=True)

    def _clear(self) -> None:
        """Removes what an experiment writes, and nothing else."""
        for name in OWN_FILES:
            path = self.path / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def _check_same_config(self, config: Mapping[str, Any]) -> None:
        before = tomllib.loads((self.path / "config.toml").read_text(encoding="utf-8"))
        if found := list(_find_differences(before, tomllib.loads(tomli_w.dumps(config)), ())):
            what = "\n  ".join(found)
            raise SettingsError(
                f"{self.path}: was begun with another configuration; begin anew with --force, or choose another folder "
                f"with -o:\n  {what}"
            )


def _find_differences(before: Any, now: Any, path: tuple[str | int, ...]) -> Iterator[str]:
    """One text for each value that is not the same, with its path."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*before, *now]):
            yield from _find_differences(before.get(key), now.get(key), (*path, key))
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for i, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from _find_differences(old, new, (*path, i))
    elif _are_tables(before) and _are_tables(now):
        yield from _find_missing_tables(before, now, f"{format_path(path)}: no longer there")
        yield from _find_missing_tables(now, before, f"{format_path(path)}: new")
    elif before != now:
        yield f"{format_path(path)}: it was {_format_value(before)}, now it is {_format_value(now)}"


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


def _find_missing_tables(tables: Sequence[Mapping[str, Any]], others: Sequence[Any], what: str) -> Iterator[str]:
    """One text for each table that the others lack, by its label where it has one."""
    for row in tables:
        if row not in others:
            yield f"{what}: {row.get('label', row)}"


def _format_value(value: Any) -> str:
    return "not given" if value is None else repr(value)

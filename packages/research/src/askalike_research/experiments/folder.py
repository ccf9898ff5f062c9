"""An experiment's folder: its files, and whether the experiment may be started or resumed in it."""

import json
import logging
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import tomli_w

from askalike import ArchiveError, SettingsError
from askalike.plugin.commands import format_path, now, write_atomically
from askalike.plugin.exports import LogCallback
from askalike.plugin.training import TRAINING_LOGGER
from askalike_research.comparing.run_sources import file_name

OWN_FILES = ("config.toml", "started.json", "log.txt", "report.json", "report.html", "figures", "runs", "cells")


def cell_name(label: str, seed: int | None) -> str:
    """Return the stem of the file name of a system's run with one seed. seed: None if the system is not random."""
    return file_name(label) if seed is None else f"{file_name(label)}-seed{seed}"


class ExperimentFolder:
    """`config.toml`, `started.json`, `log.txt`, `runs/CELL.trec`, `cells/CELL.json`, `report.json`, `report.html`,
    `figures/NAME.svg` and `.pdf`.

    Every file but the log is written atomically. A cell is one system run with one seed.
    """

    def __init__(self, path: Path, echo: LogCallback = lambda line: None) -> None:
        """echo: a function called with each line of the log."""
        self.path, self._echo = path, echo

    def begin(
        self,
        config: Mapping[str, Any],
        *,
        resume: bool = False,
        force: bool = False,
        complete: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda config: config,
    ) -> None:
        """Create the folder, with its configuration.

        resume: continue in a folder with the same configuration. force: discard an earlier experiment in it.
        complete: returns a stored configuration with the defaults of settings that askalike has got since then.
        Raises SettingsError if the folder is not empty and neither is given, if it is not an experiment's, or if the
        configurations differ; ArchiveError if it cannot be written.
        """
        is_used = self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir()))
        if is_used and not (self.path / "config.toml").is_file():
            raise SettingsError(f"{self.path}: exists and is not an experiment; choose another folder with -o")
        if is_used and force:
            self._clear()
        elif is_used and not resume:
            raise SettingsError(f"{self.path}: holds an experiment; continue it with resume, or replace it with force")
        elif is_used:
            self._check_same_config(config, complete)
        try:
            for name in ("runs", "cells"):
                (self.path / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArchiveError(f"{self.path}: cannot be created ({error.strerror}); choose another place") from None
        self.write_text("config.toml", tomli_w.dumps(config, multiline_strings=False))

    def run_path(self, cell: str) -> Path:
        """Return the path of a cell's run, which exists once the cell is finished."""
        return self.path / "runs" / f"{cell}.trec"

    def log(self, line: str) -> None:
        """Add a line, with the time, to the log."""
        with (self.path / "log.txt").open("a", encoding="utf-8") as file:
            file.write(f"{now()} {line}\n")
        self._echo(line)

    @contextmanager
    def log_training(self) -> Iterator[None]:
        """Add the lines that training logs inside a `with` block, such as one per epoch."""
        logger = logging.getLogger(TRAINING_LOGGER)
        handler = _LineHandler(self.log)
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Return the content of a JSON file of the folder; None if there is no such file."""
        with suppress(FileNotFoundError):
            return json.loads((self.path / name).read_text(encoding="utf-8"))  # type: ignore[no-any-return]
        return None

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a JSON file. Raises ArchiveError if it cannot be written."""
        self.write_text(name, json.dumps(value, ensure_ascii=False, indent=1) + "\n")

    def write_text(self, name: str, text: str) -> None:
        """Write a file atomically. Raises ArchiveError if it cannot be written."""
        try:
            write_atomically(self.path / name, text)
        except OSError as error:
            raise ArchiveError(f"{self.path / name}: cannot be written ({error.strerror})") from None

    def _clear(self) -> None:
        """Remove only the files that an experiment writes."""
        for name in OWN_FILES:
            path = self.path / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def _check_same_config(
        self, config: Mapping[str, Any], complete: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    ) -> None:
        old = tomllib.loads((self.path / "config.toml").read_text(encoding="utf-8"))
        new = _as_read(config)
        if old == new:
            return
        if differences := list(_find_differences(_as_read(complete(old)), new, ())):
            advice = "start again with --force, or choose another folder with -o"
            problem = f"was started with another configuration; {advice}:"
            raise SettingsError(f"{self.path}: {problem}", *differences)


def _as_read(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration as it would be read from its file."""
    return tomllib.loads(tomli_w.dumps(config))


class _LineHandler(logging.Handler):
    """Passes each message to a function."""

    def __init__(self, write: LogCallback) -> None:
        super().__init__()
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        """Pass on the message of a record."""
        self._write(record.getMessage())


def _find_differences(old: Any, new: Any, path: tuple[str | int, ...]) -> Iterator[str]:
    """Yield one line for each value that differs, with its path, and for each table that only one of them has."""
    key = format_path(path)
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from _find_differences(old.get(name), new.get(name), (*path, name))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (old_item, new_item) in enumerate(zip(old, new, strict=True)):
            yield from _find_differences(old_item, new_item, (*path, i))
    elif _are_tables(old) and _are_tables(new):
        yield from (f"{key}: no longer present: {row.get('label', row)}" for row in old if row not in new)
        yield from (f"{key}: new: {row.get('label', row)}" for row in new if row not in old)
    elif old != new:
        before, now_is = ("not given" if value is None else repr(value) for value in (old, new))
        yield f"{key}: it was {before}, now it is {now_is}"


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)

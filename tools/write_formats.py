"""Writes the names of all public formats to tests/contracts/formats.txt: python tools/write_formats.py

They are the tables and columns of an archive, the paths and fields of the HTTP interface, the tools of assistants, all
settings, the keys of each command's JSON, and the keys and columns of the files that askalike writes. After a release a
name in the list is never changed.
"""

import contextlib
import csv
import inspect
import io
import json
import os
import shlex
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import write_settings
from pydantic import BaseModel

from askalike import mcp
from askalike.cli import app, register
from askalike.store import Archive
from askalike.store.keys import create_key
from askalike.store.query_log import LoggedQuery, log_query

ROOT = Path(__file__).resolve().parents[1]
GOLDEN_FILE = ROOT / "tests" / "contracts" / "formats.txt"
COMMANDS = (
    "import table riverside.csv -o riverside --yes",
    "info riverside",
    "check riverside",
    "split riverside --by cluster --of rephrasings --shares 0.5,0.5 --name halves",
    "search riverside 'The bike I hired was stolen'",
    "answer riverside 'The bike I hired was stolen'",
    "suggest-tags riverside 'The bike I hired was stolen'",
    "suggest-tags riverside --evaluate --sample 5",
    "evaluate riverside --split duplicates",
    "calibrate riverside -r bm25",
    "keys list riverside",
    "gaps riverside",
    "drafts riverside",
    "models riverside",
    "encoder list riverside",
    "promote riverside bm25 --force",
    "tune riverside --budget 1s",
    "backup riverside riverside.tar",
    "restore riverside.tar again",
)
"""Commands in a folder with the example archive's table; each also gets `--json`."""
FILE_COMMANDS = (
    "dedupe riverside -o clusters.csv -r bm25",
    "feedback export riverside -o feedback.csv",
    "export riverside --format csv -o csv",
    "export riverside --format beir -o beir",
)
"""Commands that write files, after the others."""
OPEN_KEYS = {"measures", "comparisons", "parts", "ranks", "size_bytes", "seeds", "tags", "categories", "languages",
             "licenses", "notes", "settings", "provenance", "files", "paper", "samples", "typing", "cost", "changes",
             "diagnostics", "seconds"}  # fmt: skip
"""Keys of objects whose own keys are data: names of measures, rankers, tags and others."""
OPAQUE_KEYS = {"provenance", "versions", "hardware", "calibration"}
"""Keys of values that depend on the machine: within its second, `tune` may calibrate, which `calibrate` records."""


def declared_formats() -> list[str]:
    """Return the names that the code declares: a line for each table, HTTP path, HTTP object and group of settings."""
    return [*_sql(), *_http(), *_tools(), *_settings()]


def printed_formats() -> list[str]:
    """Return the keys that commands print or write, a line for each kind of object."""
    register(app)
    return list(_json())


def _sql() -> Iterator[str]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript((ROOT / "src/askalike/store/schema.sql").read_text(encoding="utf-8"))
        for name, kind in sorted(connection.execute("SELECT name, type FROM sqlite_master").fetchall()):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] if kind == "table" else ()
            if not name.startswith("sqlite_"):
                yield _line(f"sql {kind} {name}", columns)


def _http() -> Iterator[str]:
    from askalike.service.app import create_app
    from askalike.service.settings import ServiceSettings
    from askalike.service.shared_files import SharedFiles

    with tempfile.TemporaryDirectory() as folder:
        settings = ServiceSettings(archives=(Path(folder),))
        SharedFiles.create(Path(folder), settings)
        described = create_app(settings, SharedFiles(Path(folder), 1, settings)).openapi()
    for path, methods in sorted(described["paths"].items()):
        for method, operation in sorted(methods.items()):
            yield _line(f"http {method.upper()} {path}", (p["name"] for p in operation.get("parameters", ())))
    for name, schema in sorted(described["components"]["schemas"].items()):
        yield _line(f"http schema {name}", schema.get("properties", {}) or schema.get("enum", ()))


def _tools() -> Iterator[str]:
    """Yield the arguments of each tool of assistants, and the fields of what they return."""
    for tool in (mcp.ArchiveTools.search, mcp.ArchiveTools.fetch, mcp.ArchiveTools.similar_questions):
        yield _line(f"tool {tool.__name__}", [name for name in inspect.signature(tool).parameters if name != "self"])
    for model in vars(mcp).values():
        if isinstance(model, type) and issubclass(model, BaseModel) and model.__module__ == mcp.__name__:
            yield _line(f"tool output {model.__name__}", model.model_fields)


def _settings() -> Iterator[str]:
    for heading, keys in write_settings.names_of(write_settings.page()):
        yield _line(f"settings {heading}", keys)


def _json() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        Path("riverside.csv").write_bytes((ROOT / "examples" / "riverside.csv").read_bytes())
        for command in COMMANDS:
            if command == "keys list riverside":
                _use_service(Path("riverside"))
            yield from object_lines(f"json {_name(command)}", json.loads(run(f"{command} --json")))
        for command in FILE_COMMANDS:
            run(command)
        yield from _files(Path(name))


def _name(command: str) -> str:
    first, second = command.split()[:2]
    return f"{first} {second}" if first == "encoder" else first


def _use_service(directory: Path) -> None:
    """Create a key, and log a query that found nothing, which is a gap."""
    with Archive.open(directory) as archive:
        create_key(archive, "read")
        log_query(archive, LoggedQuery("Where is the zeppelin?", "", (), "bm25"))


def _files(folder: Path) -> Iterator[str]:
    """Yield the keys of the files that the commands have written."""
    for path in sorted(folder.glob("riverside/calibration/bm25-*.json")):
        kind = path.name.partition(".")[2]
        yield from object_lines(f"file calibration {kind}", json.loads(path.read_text(encoding="utf-8")))
    with tarfile.open(folder / "riverside.tar") as backup:
        manifest = backup.extractfile("backup.json")
        assert manifest
        yield from object_lines("file backup.json", json.load(manifest))
    for pattern in ("*.csv", "*/*.csv", "beir/*.tsv"):
        for path in sorted(folder.glob(pattern)):
            if path.name != "riverside.csv":
                header = next(
                    csv.reader(path.read_text("utf-8-sig").splitlines(), delimiter=",\t"[path.suffix == ".tsv"])
                )
                yield _line(f"file {path.relative_to(folder).as_posix()}", header)
    for path in sorted(folder.glob("beir/*.json*")):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.suffix == ".jsonl" else None
        yield from object_lines(f"file beir/{path.name}", rows or json.loads(path.read_text("utf-8")))


def run(command: str) -> str:
    """Return what a command prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        app(shlex.split(command), prog_name="askalike", standalone_mode=False)
    return printed.getvalue()


def object_lines(name: str, value: Any) -> Iterator[str]:
    """Yield a line for each object in a JSON value, with the keys that any object at its path has."""
    keys: dict[str, dict[str, None]] = {}
    _collect("", value, keys)
    for path, names in keys.items():
        yield _line(f"{name} {path}".rstrip(), names)


def _collect(path: str, value: Any, keys: dict[str, dict[str, None]]) -> None:
    if isinstance(value, list):
        for each in value:
            _collect(path, each, keys)
    elif isinstance(value, Mapping):
        is_open = path.rpartition(".")[2] in OPEN_KEYS
        if not is_open:
            keys.setdefault(path, {}).update(dict.fromkeys(value))
        for key, each in value.items():
            if key in OPAQUE_KEYS:
                continue
            _collect(f"{path}.{'*' if is_open else key}".removeprefix("."), each, keys)


def _line(name: str, keys: Iterable[str]) -> str:
    return f"{name}: {' '.join(keys)}".rstrip(": ")


if __name__ == "__main__":
    os.environ |= {"COLUMNS": "100"}
    GOLDEN_FILE.write_text("\n".join([*declared_formats(), *printed_formats()]) + "\n", encoding="utf-8")

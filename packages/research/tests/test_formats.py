"""The names in the JSON of commands and in the files that they write are frozen."""

import csv
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from write_formats import object_lines, run

from askalike.cli import app, register
from calibration.riverside import riverside

RECORDED = Path(__file__).with_name("formats.txt")
EXPERIMENT = """archive = "riverside"
split = "duplicates"
measures = ["RR", "Success@1"]

[[system]]
ranker = "bm25"

[[system]]
ranker = "tfidf"
"""
COMMANDS = (
    "replay riverside --after 2023-06-01 -r bm25",
    "backtest riverside --last 50 -r bm25 -o backtest",
    "experiment words.toml -o words",
)
COMPARE = "compare words --measures RR --format json"


def printed() -> Iterator[str]:
    for command in COMMANDS:
        yield from object_lines(f"json {command.split()[0]}", json.loads(run(f"{command} --json")))
    yield from object_lines("json compare", json.loads(run(COMPARE)))
    for name in ("report.json", "started.json"):
        yield from object_lines(f"file {name}", json.loads(Path("words", name).read_text(encoding="utf-8")))
    config = Path("words", "config.toml").read_text(encoding="utf-8")
    yield from object_lines("file config.toml", tomllib.loads(config))
    header = next(csv.reader(Path("backtest", "sample.csv").read_text("utf-8-sig").splitlines()))
    yield f"file backtest/sample.csv: {' '.join(header)}"


@pytest.mark.long
def test_names_are_as_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    riverside(tmp_path / "riverside")
    Path("words.toml").write_text(EXPERIMENT, encoding="utf-8")
    register(app)
    assert list(printed()) == RECORDED.read_text(encoding="utf-8").splitlines()

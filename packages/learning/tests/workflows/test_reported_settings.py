"""A printed command gives its table: each row of an experiment's file has the settings of its committed report."""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from askalike import SettingsError, build
from askalike.plugin.commands import parse_assignments
from askalike.plugin.rankers import names as ranker_names
from askalike.plugin.training import list_recipes

ROOT = Path(__file__).resolve().parents[4]
REPORTS = ROOT / "experiments" / "reports"
COMMAND = re.compile(r"askalike experiment (experiments/\S+\.toml)(.*)")
RENAMED = {"start": "init", "least": "min_score", "least_pairs": "min_pairs", "model": "encoder"}
"""Settings that had other names when the oldest reports were made, by the last part of their names."""
ONE_TEXT = {"title,body": "text"}
"""Titles and bodies as one text had another name, before they could be two fields."""
WITHOUT_INFLUENCE = ("seed", "batch", "threads", "device")
"""The last part of settings that change no result, and seeds, which are the experiment's."""
REMOVED_ROWS = {
    ("rerankers", "MiniLM, late interaction"),
    ("rerankers", "default, late interaction by MiniLM"),
}
"""Rows of reports whose rankers have been removed from askalike, with the commit that the page names."""


OLD_COMMANDS = {"learned-weights-cs"}
"""Reports whose commands say `fields=title,body` for one text, as the page says."""


def reports() -> Iterator[str]:
    for path in sorted(REPORTS.glob("*.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        command = report.get("provenance", {}).get("command", "") if isinstance(report, dict) else ""
        if path.stem not in OLD_COMMANDS and COMMAND.match(command):
            yield path.stem


def declared_rows(command: str) -> dict[str, dict[str, Any]]:
    """Return label → the row of the file that a command names, with its settings; of `fields`, those of all rows."""
    file, options = COMMAND.match(command).groups()
    declared = tomllib.loads((ROOT / file).read_text(encoding="utf-8"))
    words = shlex.split(options)
    declared |= parse_assignments([words[i + 1] for i, word in enumerate(words) if word == "--set"])
    fields = {"fields": declared["fields"]} if "fields" in declared else {}
    return {
        row.get("label", row.get("ranker")): {**row, "settings": fields | row.get("settings", {})}
        for row in declared["system"]
    }


def differing_settings(reported: dict[str, Any], resolved: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the settings whose reported value is not the resolved one: name → both."""
    values = json.loads(json.dumps(dict(resolved)))
    compared = {
        rename(name): ONE_TEXT.get(value, value) if isinstance(value, str) else value
        for name, value in reported.items()
        if value is not None and not name.endswith(WITHOUT_INFLUENCE)
    }
    return {name: (value, values[name]) for name, value in compared.items() if values.get(name, value) != value}


def rename(name: str) -> str:
    *tables, last = name.split(".")
    return ".".join((*tables, RENAMED.get(last, last)))


@pytest.mark.parametrize("name", list(reports()))
def test_rows_have_the_settings_of_their_report(name: str) -> None:
    report = json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8"))
    rows = declared_rows(report["provenance"]["command"])
    known = {*ranker_names(), *list_recipes()}
    wrong = {}
    for system in report["systems"]:
        if (name, system["label"]) in REMOVED_ROWS:
            continue
        row = rows[system["label"]]
        if row.get("ranker") in known and not row.get("tune"):
            try:
                resolved = build(row["ranker"], row["settings"]).values
            except SettingsError as error:
                if not any(unknown in str(error) for unknown in ("no such model", "no ranker is called")):
                    raise  # a model is trained or fetched first, as the head of the file says
                continue
            if different := differing_settings(system["settings"], resolved):
                wrong[system["label"]] = different
    assert wrong == {}

"""Carry an archive with schema 14, as it was before 0.1.0, over to schema 1 in a new directory. Kept for one release.

python tools/carry_over.py OLD NEW

Records, labels, keys, the query log and decisions are copied with their numbers; calibrations and models get the new
names of their settings; everything else in the directory is copied. Indexes are left out: askalike rebuilds them.
"""

import json
import shutil
import sqlite3
import sys
import tomllib
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import tomli_w

from askalike.calibration.calibration import FOLDER as CALIBRATIONS
from askalike.calibration.calibration import Calibration, settings_json
from askalike.core.config import validate_settings
from askalike.core.errors import ArchiveError, AskalikeError
from askalike.encoders import MODEL_FILE
from askalike.store import Archive
from askalike.store.database import DATABASE_FILE

OLD_SCHEMA = 14
LEFT_OUT = (DATABASE_FILE, f"{DATABASE_FILE}-wal", f"{DATABASE_FILE}-shm", "index", CALIBRATIONS, "models")
OLD_TABLES = {
    "partition_queries": "parts", "api_keys": "keys", "deployments": "served", "query_log": "asked",
    "usage_counts": "use_counts", "proposal_scans": "proposing",
}  # fmt: skip
"""Table → its old name, where that was another."""
OLD_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "": {"import_number": "import", "record_type": "of"},
    "changes": {"committed_at": "made_at"},
    "imports": {"paths": "source", "rejected_count": "rejected"},
    "question_tags": {"question_number": "question"},
    "revisions": {"record_type": "kind", "record_id": "id", "created_at": "made_at", "edited_by": "by"},
    "corrections": {"record_type": "kind", "record_id": "id"},
    "partitions": {"source_split": "of", "method": "way", "created_at": "made_at"},
    "sessions": {"key_id": "key", "created_at": "began_at", "expires_at": "ends_at"},
    "deployments": {"created_at": "since", "selection_query_ids": "chosen_by"},
    "query_log": {"created_at": "asked_at", "ranker": "model", "shown_ids": "found"},
    "feedback": {"created_at": "given_at", "shown_ids": "shown", "chosen_id": "chosen", "ranker": "model"},
    "ignored_gaps": {"phrasing_digest": "words", "ignored_by": "by"},
    "proposals": {
        "duplicate_id": "question", "original_id": "other", "ranker": "model", "created_at": "found_at",
        "decided_by": "by", "added_link": "linked",
    },
    "proposal_scans": {
        "docid": "number", "backlog_docid": "below", "sample_links": "first", "duplicate_rate": "share",
    },
    "drafts": {"source_ids": "sources", "created_at": "found_at", "decided_by": "by"},
}  # fmt: skip
"""Table (or "" for all) → column → its old name, where that was another."""
RANKER_SETTINGS = {"least": "min_score", "base": "encoder", "model": "encoder"}
"""Old key → key, at any depth of a ranker's settings."""
DROPPED_SETTINGS = ("title_weight", "body_weight")
"""Settings that are left out: fields now have scores of their own, which `field_weights` weighs."""
OLD_TEXT = "title,body"
"""The old value of `fields` for title and body as one text."""
MODEL_KEYS: Mapping[str, Mapping[str, str]] = {
    "trained": {"knows_until": "trained_until", "hidden": "held_out_splits"},
    "network": {"piece_weights": "row_weights", "base": "encoder"},
    "features": {"pieces_of": "tokenizer_of"},
    "embeddings": {
        "start": "init", "reads": "init_fields", "noise": "negative_samples", "passes": "init_epochs",
        "vector_seed": "init_seed", "deviation": "init_std",
    },
    "data": {"of_cluster": "max_pairs_per_cluster", "of_query": "max_pairs_per_query"},
    "negatives": {"below": "max_score"},
    "training": {"least_pairs": "min_pairs"},
    "doc2vec": {"noise": "negative_samples", "passes": "epochs"},
    "topics": {"passes": "epochs", "steps": "inference_steps"},
}  # fmt: skip
"""Table of a model.toml → old key → key. A table `teacher` of a network is left out: it is learned from pairs."""
CALIBRATION_KEYS = {
    "weights": "fingerprint", "bodies": "has_bodies", "first": "first_hit_curve", "later": "later_hit_curve",
    "known": "answerable_curve", "line": "threshold", "measured": "quality",
}  # fmt: skip
"""Old key of a calibration → its key."""
CALIBRATION_TABLES = {
    "threshold": {"of": "criterion"}, "quality": {"found": "found_by_rank"}, "state": {"made_at": "committed_at"},
}  # fmt: skip
"""Table of a calibration → old key → key."""


def carry_over(old: Path, new: Path) -> None:
    """Write the archive in `old` to the new directory `new`. Raises ArchiveError."""
    if new.exists():
        raise ArchiveError(f"{new}: already exists; choose a new directory")
    with closing(sqlite3.connect(f"{(old / DATABASE_FILE).resolve().as_uri()}?mode=ro", uri=True)) as source:
        version = source.execute("PRAGMA user_version").fetchone()[0]
        if version != OLD_SCHEMA:
            raise ArchiveError(f"{old}: has schema {version}; expected {OLD_SCHEMA}")
        Archive.create(new).close()
        with closing(sqlite3.connect(new / DATABASE_FILE)) as target, target:
            copy_tables(source, target)
    for path in old.iterdir():
        if path.name not in LEFT_OUT:
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, new / path.name)
    for path in sorted((old / "models").glob("*")):
        shutil.copytree(path, new / "models" / path.name)
    for path in (new / "models").glob(f"*/{MODEL_FILE}"):
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        if "network" in tables:
            tables.pop("teacher", None)
        if tables.get("encoder") == "lookup":
            tables["encoder"] = "asymmetric"
        renamed = {name: rename(table, MODEL_KEYS.get(name, {})) for name, table in tables.items()}
        path.write_text(tomli_w.dumps(renamed), encoding="utf-8")
    for path in sorted((old / CALIBRATIONS).glob("[!.]*.json")):
        if path.name.endswith(".silence.json"):
            continue  # fitted anew when it is needed
        convert_calibration(json.loads(path.read_text(encoding="utf-8")), str(path)).save(new)


def convert_calibration(old: Mapping[str, Any], source: str) -> Calibration:
    """Return a calibration with the keys of schema 14. Raises SettingsError, which names its source."""
    values = {CALIBRATION_KEYS.get(key, key): value for key, value in old.items()}
    for table, names in CALIBRATION_TABLES.items():
        values[table] = rename(values.get(table), names)
    settings = add_absolute_scores(rename(json.loads(values["settings"]), RANKER_SETTINGS))
    return validate_settings(Calibration, values | {"settings": settings_json(settings)}, source)


def copy_tables(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Copy all rows with their numbers, and the numbers that are used up."""
    names = [name for (name,) in target.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in (name for name in names if not name.startswith("sqlite_")):
        columns = [name for _, name, *_ in target.execute(f"PRAGMA table_info({table})")]
        old_names = {**OLD_COLUMNS[""], **OLD_COLUMNS.get(table, {})}
        read = ", ".join(f'"{old_names.get(name, name)}"' for name in columns)
        rows = source.execute(f"SELECT {read} FROM {OLD_TABLES.get(table, table)}")
        values = ", ".join("?" * len(columns))
        target.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})", rows)
    target.execute("DELETE FROM sqlite_sequence")
    new_names = {old: new for new, old in OLD_TABLES.items()}
    sequence = [(new_names.get(name, name), seq) for name, seq in source.execute("SELECT * FROM sqlite_sequence")]
    target.executemany("INSERT INTO sqlite_sequence VALUES (?, ?)", sequence)
    for number, text in target.execute("SELECT number, settings FROM deployments").fetchall():
        settings = json.dumps(add_absolute_scores(rename(json.loads(text), RANKER_SETTINGS)))
        target.execute("UPDATE deployments SET settings = ? WHERE number = ?", (settings, number))


def add_absolute_scores(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ranker's settings for hybrids that add absolute scores only.

    Weights of other scores meant something else: without them a hybrid has its default weights.
    """
    kept = {key: value for key, value in settings.items() if key.rpartition(".")[2] != "normalise"}
    for key in [key for key in kept if key.rpartition(".")[2] == "weights" and isinstance(kept[key], list)]:
        if settings.get(f"{key.removesuffix('weights')}normalise", "min_max") != "absolute":
            del kept[key]
    return kept


def rename(value: Any, names: Mapping[str, str]) -> Any:
    """Return a JSON value with the new names of keys; in `part.key` the last name counts."""
    if isinstance(value, list):
        return [rename(each, names) for each in value]
    if not isinstance(value, dict):
        return "text" if value == OLD_TEXT else value
    renamed = {}
    for key, inner in value.items():
        path, dot, last = key.rpartition(".")
        if last in DROPPED_SETTINGS:
            continue
        renamed[f"{path}{dot}{names.get(last, last)}"] = rename(inner, names)
    return renamed


def main() -> int:
    """Carry an archive over; return the exit code."""
    if len(sys.argv) != 3:
        print("usage: python tools/carry_over.py OLD NEW", file=sys.stderr)
        return 2
    try:
        carry_over(Path(sys.argv[1]), Path(sys.argv[2]))
    except (AskalikeError, OSError, sqlite3.Error) as error:
        print(f"carry_over: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

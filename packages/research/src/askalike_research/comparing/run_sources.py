"""The runs to compare and their judgements: from files, from the folders of experiments, or from an archive."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from askalike import Archive, InputError, Question, SettingsError, Split, read_qrels
from askalike.plugin.measuring import (
    DocumentKind,
    RankingTask,
    document_kind,
    evaluation_split,
    group_names,
    sample_queries,
)
from askalike.plugin.training import Qrels

RUN_ENDINGS = (".trec", ".trec.gz")
_SEED_SUFFIX = re.compile(r"(.+)-seed(\d+)")
_RUN_EXTENSION = re.compile(r"\.(trec|run|txt|tsv|pred|res)?(\.gz)?$")


@dataclass(frozen=True, slots=True)
class RunSource:
    """A system: its run files, one per seed. folder: that of their experiment, if any."""

    label: str
    paths: Sequence[Path]
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class RunJudgements:
    """Judgements, with the texts of the queries and the archive with the documents, if these are known.

    groups: the names of the archive's groups, which have equal weight.
    """

    qrels: Qrels
    queries: Mapping[str, Question] = field(default_factory=dict)
    archive: Path | None = None
    kind: DocumentKind = "questions"
    groups: Sequence[str] = ()


def file_name(label: str) -> str:
    """Return a system's label as a word that every file system accepts: `LM-JM (tuned)` → `LM-JM-tuned`."""
    return re.sub(r"[^\w.+-]+", "-", label).strip("-.") or "system"


def parse_sources(arguments: Sequence[str]) -> list[RunSource]:
    """Return the systems given by the arguments: `FILE`, or `FOLDER` of an experiment, optionally after `NAME=`.

    Systems of an experiment have its labels, prefixed with the folder's name if two would be equal. Raises
    InputError for a folder that is not an experiment's, SettingsError for a label given twice.
    """
    groups = [list(_parse_argument(argument)) for argument in arguments]
    labels = [source.label for group in groups for source in group]
    sources = [_disambiguate(source, labels) for group in groups for source in group]
    names = [source.label for source in sources]
    if twice := next((name for name in names if names.count(name) > 1), None):
        example = f"NAME={sources[0].paths[0]}"
        raise SettingsError(f"two systems are called {twice!r}; give one another name, as in {example}")
    return sources


def _parse_argument(argument: str) -> Iterator[RunSource]:
    name, sign, file = argument.partition("=")
    if not (sign and name) or Path(argument).exists():
        name, file = "", argument
    if not (path := Path(file)).is_dir():
        yield RunSource(name or _RUN_EXTENSION.sub("", path.name) or path.name, [path])
        return
    runs = _find_runs(path)
    for label, files in runs.items():
        yield RunSource(label if not name else name if len(runs) == 1 else f"{name}/{label}", files, path)


def _find_runs(folder: Path) -> dict[str, list[Path]]:
    """Return label → the runs of an experiment's folder by ascending seed, in the order of its configuration."""
    files = sorted(p for p in (folder / "runs").glob("*") if p.name.endswith(RUN_ENDINGS))
    if not files:
        expected = "a run file, or a folder made by askalike experiment"
        raise InputError(f"{folder}: no runs/*.trec in it; expected {expected}")
    runs: dict[str, list[tuple[int, Path]]] = {}
    for path in files:
        stem = _RUN_EXTENSION.sub("", path.name)
        seeded = _SEED_SUFFIX.fullmatch(stem)
        runs.setdefault(seeded[1] if seeded else stem, []).append((int(seeded[2]) if seeded else 0, path))
    labels = {file_name(system["label"]): system["label"] for system in _read_config(folder).get("system", ())}
    order = [*(stem for stem in labels if stem in runs), *(stem for stem in runs if stem not in labels)]
    return {labels.get(stem, stem): [path for _, path in sorted(runs[stem])] for stem in order}


def _disambiguate(source: RunSource, labels: Sequence[str]) -> RunSource:
    if source.folder is None or labels.count(source.label) == 1:
        return source
    return RunSource(f"{source.folder.resolve().name}/{source.label}", source.paths, source.folder)


def declared_value(sources: Sequence[RunSource], key: str) -> Any:
    """Return the value of a key in the config.toml of all experiments; None if it is missing or they differ."""
    folders = dict.fromkeys(source.folder for source in sources if source.folder)
    values = [_read_config(folder).get(key) for folder in folders]
    return values[0] if values and all(value == values[0] for value in values) else None


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def load_judgements(
    sources: Sequence[RunSource], qrels: Path | None, archive: Path | None, split_name: str | None
) -> RunJudgements:
    """Return the judgements of a file, else of an archive's split, else of the split of the experiments.

    With both, the judgements are those of the file and the texts those of the archive. Raises SettingsError if there
    are none.
    """
    path = archive or _find_archive(sources)
    if path is None and qrels is None:
        raise SettingsError(
            "no judgements; expected --qrels FILE, or --archive DIR with --split NAME, or folders made by askalike "
            "experiment on one split of an archive that is still there"
        )
    if path is None and split_name:
        raise SettingsError(f"split {split_name!r} of no archive; name the archive: --archive DIR")
    judged = read_qrels(qrels) if qrels else None
    if path is None:
        return RunJudgements(judged or {})
    with Archive.open(path) as opened:
        name = split_name or declared_value(sources, "split") or (evaluation_split(opened) if judged is None else None)
        kind: DocumentKind = declared_value(sources, "task") or (document_kind(opened, name) if name else "questions")
        labels = RankingTask.from_archive(opened, kind).labels(name) if name else Split({}, {})
        if limit := declared_value(sources, "max_queries"):
            labels = sample_queries(labels, limit)
        groups = group_names(opened)
    return RunJudgements(labels.qrels if judged is None else judged, labels.queries, path, kind, groups)


def _find_archive(sources: Sequence[RunSource]) -> Path | None:
    """Return the path of the experiments' archive, relative to the working directory or to their folder."""
    value = declared_value(sources, "archive")
    folder = next((source.folder for source in sources if source.folder), None)
    if not isinstance(value, str) or folder is None:
        return None
    return next((p for p in (Path(value), folder / value) if (p / "archive.sqlite").is_file()), None)

"""The arguments of `compare`: run files and experiments' folders, and the judgements of their queries."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from askalike.errors import InputError, SettingsError
from askalike.evaluation.trec import read_qrels
from askalike.experiments.folder import file_name
from askalike.experiments.measuring import evaluation_split
from askalike.experiments.task import RankingTask
from askalike.store import Archive
from askalike.types import DocumentKind, Qrels, Question, Split

RUN_ENDINGS = (".trec", ".trec.gz")
_SEED_SUFFIX = re.compile(r"(.+)-seed(\d+)")
_RUN_EXTENSION = re.compile(r"\.(trec|run|txt|tsv|pred|res)?(\.gz)?$")


@dataclass(frozen=True, slots=True)
class RunSource:
    """A system: its run files, one a seed. folder: that of the experiment that they belong to, if any."""

    label: str
    paths: Sequence[Path]
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class RunJudgements:
    """Judgements, with the texts of the queries and the archive that has the documents, where these are known."""

    qrels: Qrels
    queries: Mapping[str, Question] = field(default_factory=dict)
    archive: Path | None = None
    kind: DocumentKind = "questions"


def parse_sources(arguments: Sequence[str]) -> list[RunSource]:
    """Return the systems that the arguments name: `FILE`, `FOLDER` of an experiment, or `NAME=` before either.

    Systems of an experiment have its labels, with the folder's name before them where two would be equal. Raises
    InputError for a folder that is not an experiment's, SettingsError for a label given twice.
    """
    groups = [list(_parse_argument(argument)) for argument in arguments]
    labels = [source.label for group in groups for source in group]
    sources = [_disambiguate(source, labels) for group in groups for source in group]
    names = [source.label for source in sources]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SettingsError(
            f"two systems are called {twice!r}; give one another name, as in NAME={sources[0].paths[0]}"
        )
    return sources


def _parse_argument(argument: str) -> Iterator[RunSource]:
    name, path = _split_label(argument)
    if not path.is_dir():
        yield RunSource(name or _RUN_EXTENSION.sub("", path.name) or path.name, [path])
        return
    runs = _find_runs(path)
    for label, files in runs.items():
        yield RunSource(label if not name else name if len(runs) == 1 else f"{name}/{label}", files, path)


def _split_label(argument: str) -> tuple[str, Path]:
    name, sign, path = argument.partition("=")
    return (name, Path(path)) if sign and name and not Path(argument).exists() else ("", Path(argument))


def _find_runs(folder: Path) -> dict[str, list[Path]]:
    """Return label → the runs of an experiment's folder by rising seed, in the order of its configuration."""
    files = sorted(p for p in (folder / "runs").glob("*") if p.name.endswith(RUN_ENDINGS))
    if not files:
        raise InputError(
            f"{folder}: no runs/*.trec in it; expected a run file, or a folder made by askalike experiment"
        )
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
    """Return the value of a key in the config.toml of all experiments; None where it is missing or they differ."""
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

    With both, the file judges and the archive gives the texts. Raises SettingsError where there are none.
    """
    path = archive or _find_archive(sources)
    if path is None and qrels is None:
        raise SettingsError(
            "compare: nothing to judge by; expected --qrels FILE, or --archive DIR with --split NAME, or folders "
            "made by askalike experiment on one split of an archive that is still there"
        )
    judged = read_qrels(qrels) if qrels else None
    if path is None:
        return RunJudgements(judged or {})
    with Archive.open(path) as opened:
        name = split_name or declared_value(sources, "split") or (evaluation_split(opened) if judged is None else None)
        kind: DocumentKind = declared_value(sources, "task") or "questions"
        labels = RankingTask.from_archive(opened, kind).labels(name) if name else Split({}, {})
    return RunJudgements(labels.qrels if judged is None else judged, labels.queries, path, kind)


def _find_archive(sources: Sequence[RunSource]) -> Path | None:
    """Return the path of the experiments' archive, seen from the working directory or from their folder."""
    value = declared_value(sources, "archive")
    folder = next((source.folder for source in sources if source.folder), None)
    if not isinstance(value, str) or folder is None:
        return None
    return next((p for p in (Path(value), folder / value) if (p / "archive.sqlite").is_file()), None)

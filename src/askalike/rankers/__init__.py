"""Rankers sort an archive's documents by relevance to a query. `create` returns one by its name."""

import hashlib
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import numpy as np

from askalike.core import registry
from askalike.core.errors import IndexBusyError, ReadOnlyIndexError, SettingsError, UnwritableIndexError
from askalike.core.files import replace_file
from askalike.core.hits import Run
from askalike.core.iteration import Progress
from askalike.encoders import PACKAGED_ENCODERS, read_model_file
from askalike.index.commits import CommittedIndex
from askalike.learning.models import internal_names, list_recipes
from askalike.rankers._queries_and_results import (
    ResolvedQuery as ResolvedQuery,
    Retrieved as Retrieved,
    find_language as find_language,
    resolve as resolve,
)
from askalike.rankers._ranker import (
    Ranker as Ranker,
    Tunable as Tunable,
    VectorScores as VectorScores,
    WordScores as WordScores,
)
from askalike.rankers._searcher import (
    DEPTH_FACTOR as DEPTH_FACTOR,
    Searcher as Searcher,
    add_absolute as add_absolute,
    allowed_docs as allowed_docs,
    explain_ids as explain_ids,
    explain_retrieved as explain_retrieved,
    first_hits as first_hits,
    rank as rank,
    retrieve as retrieve,
    search as search,
    to_run as to_run,
)
from askalike.rankers._spelling import spelling_rules as spelling_rules
from askalike.store import Archive, Snapshot, TrainingView, View, get_served_ranker
from askalike.store.encoding_progress import read_encoding

INTERNAL = ("dense", "lexical", "pairwise")
"""Rankers without a user-visible name: users name a similarity, recipe or trained model instead."""
PART_ONLY = ("votes",)
"""Rankers that cannot retrieve, and are used only as parts of others."""
ANSWER_RANKERS = ("by_question",)
"""Rankers for answers only."""
PRETRAINED_ENCODERS = ("pretrained", "static", *PACKAGED_ENCODERS)
MODELS_FOLDER = "models"
MODEL_NAME_PATTERN = re.compile("[a-z0-9][a-z0-9_.-]*")
DEFAULT_NAME = "hybrid"
"""The default ranker of archives: words and packaged vectors."""
LOCK_TIMEOUT_S, LOCK_POLL_S = 60.0, 0.2
"""Maximum wait of a search for another process that writes an index, and the interval between attempts."""
TELL_S = 2.0
"""The wait for another process after which a line says so."""
log = logging.getLogger(__name__)

T = TypeVar("T")
SAVED_WORK_FORMAT = 1
"""To be raised when the same ranker gives other results than before: saved batches are then not used."""


def active_ranker(archive: Archive | Path | str | None) -> tuple[str, Mapping[str, Any]]:
    """Return the active ranker of an archive and its settings: what `tune` or `promote` chose, else the default."""
    if archive is None:
        return DEFAULT_NAME, {}
    if not isinstance(archive, Archive):
        with Archive.open(archive) as opened:
            return active_ranker(opened)
    served = get_served_ranker(archive)
    return (served.ranker, served.settings) if served else (DEFAULT_NAME, {})


def names() -> tuple[str, ...]:
    """Return the names that `--ranker` accepts, except trained models: similarities (lexical), encoders, rankers."""
    hidden = (*INTERNAL, *PART_ONLY, *ANSWER_RANKERS)
    others = (name for name in registry.names("ranker") if name not in hidden)
    return (*registry.names("similarity"), *PRETRAINED_ENCODERS, *_foreign_encoders(), *others)


def trained_model_names(archive: Path | str) -> tuple[str, ...]:
    """Return the names of an archive's own models."""
    return tuple(sorted(path.parent.name for path in (Path(archive) / MODELS_FOLDER).glob("*/model.toml")))


def check_model_name(name: str) -> None:
    """Raise SettingsError if a trained model cannot have that name: it is malformed or taken."""
    if not MODEL_NAME_PATTERN.fullmatch(name):
        raise SettingsError(f"{name!r}: a model's name consists of lower-case letters, digits, '_', '.' and '-'")
    taken = {n for kind in ("similarity", "encoder", "ranker") for n in registry.names(kind)}
    if name in taken | set(list_recipes()) | internal_names():
        raise SettingsError(f"{name!r} is the name of a built-in ranker; choose another one for the model")


def create(
    name: str | Ranker | None = None, settings: Mapping[str, Any] | None = None,
    archive: Archive | Path | str | None = None,
) -> Ranker:  # fmt: skip
    """Return the ranker of that name (None: the active one); a ranker is returned as it is.

    archive: the archive whose `models/` to use. Raises SettingsError for an unknown name or setting, and for settings
    with a ranker, which has its own.
    """
    if isinstance(name, Ranker):
        if settings:
            raise SettingsError(f"{name.name}: this ranker has settings already; give its name instead, with new ones")
        return name
    if name is None:
        name, active = active_ranker(archive)
        settings = {**active, **(settings or {})}
    values = settings or {}
    folder = archive.path if isinstance(archive, Archive) else Path(archive) if archive else None
    if folder and MODEL_NAME_PATTERN.fullmatch(name) and (folder / MODELS_FOLDER / name / "model.toml").exists():
        return _open_trained(folder / MODELS_FOLDER / name, values)
    if kind := _ranker_class_name(name):
        return cast(Ranker, registry.load("ranker", kind).from_settings(name, values, folder))
    known = (*names(), *(trained_model_names(folder) if folder else ()))
    raise SettingsError(f"no ranker is called {name!r}; there are: {', '.join(known)}")


def is_served(archive: Archive, ranker: Ranker) -> bool:
    """Return whether this is the archive's active ranker, activated or default, with the same settings."""
    active = create(None, {}, archive)
    return (ranker.name, ranker.values) == (active.name, active.values)


def searches_fields(name: str, folder: Path | None) -> bool:
    """Return whether a ranker can search several fields of a question side by side, as hybrids let their parts do.

    folder: the archive's directory. Networks compare only the texts that they were trained on.
    """
    if name in registry.names("similarity"):
        return True
    is_trained = folder and name in trained_model_names(folder)
    encoder = str(read_model_file(folder / MODELS_FOLDER / name).get("encoder")) if folder and is_trained else name
    return bool(registry.find_kind(encoder, ("encoder",)) and registry.load("encoder", encoder).compares_fields)


def _ranker_class_name(name: str) -> str | None:
    """Return the name of a ranker's registered class; None if there is none."""
    if name in PRETRAINED_ENCODERS:
        return "dense"
    if name in INTERNAL:
        return None
    kind = registry.find_kind(name, ("similarity", "ranker", "encoder"))
    if kind == "ranker":
        return name
    if kind == "similarity":
        return "lexical"
    return "dense" if name in (*_foreign_encoders(), *list_recipes()) else None


def _foreign_encoders() -> tuple[str, ...]:
    """Return the names of other packages' encoders that need no training, which are also names of dense rankers."""
    others = {*registry.builtin_names("encoder"), *list_recipes(), *internal_names()}
    return tuple(name for name in registry.names("encoder") if name not in others)


def _open_trained(folder: Path, values: Mapping[str, Any]) -> Ranker:
    check_model_name(folder.name)
    return cast(Ranker, registry.load("ranker", "dense").from_folder(folder, values))


def open_current(ranker: Ranker, view: Snapshot, progress: Progress | None = None) -> Searcher:
    """Build the ranker's index of the view, and open it. If another process is writing it, wait until it has finished.

    progress: called with the numbers of that process, too.
    """

    def build_and_open() -> Searcher:
        ranker.build(view, progress)
        return ranker.open(view)

    return _retry_while_busy(build_and_open, partial(_report_other, ranker, view, progress))


def _report_other(ranker: Ranker, view: Snapshot, progress: Progress | None) -> None:
    """Report the progress of another process that computes the vectors of a ranker."""
    others = (read_encoding(view.path, part.name) for part in (ranker, *ranker.parts))
    running = next((other for other in others if other and other.running), None)
    if progress:
        progress(running.done if running else 0, running.total if running else len(view))


def _retry_while_busy(task: Callable[[], T], wait: Callable[[], None] | None = None) -> T:
    """Return what a task returns once no other process is writing its index, whose lock ends with that process.

    wait: called now and then. Without it, raises IndexBusyError after LOCK_TIMEOUT_S.
    """
    start = time.monotonic()
    is_told = False
    while True:
        try:
            return task()
        except IndexBusyError as busy:
            waited = time.monotonic() - start
            if wait is None and waited > LOCK_TIMEOUT_S:
                raise
            if wait and waited > TELL_S and not is_told:
                log.warning("%s; waiting for it", str(busy).partition(";")[0])
                is_told = True
        if wait:
            wait()
        time.sleep(LOCK_POLL_S)


def fit_and_open(ranker: Ranker, view: TrainingView, progress: Progress | None = None) -> Searcher:
    """Fit a ranker and open it on the same view, so that held-out data is neither learned from nor indexed."""
    return open_current(ranker.fit(view), view, progress)


def follow(ranker: Ranker, view: Snapshot) -> None:
    """Apply the archive's changes to a ranker's indexes, unless they cannot be written now but were committed before.

    Another process may be writing them, the disk may be full, or their engine read-only. If nothing is committed yet,
    wait for the other process: raises IndexBusyError if that takes longer than LOCK_TIMEOUT_S, else the write's error.
    """
    _retry_while_busy(partial(_follow_once, ranker, view))


def _follow_once(ranker: Ranker, view: Snapshot) -> None:
    try:
        ranker.follow(view)
    except IndexBusyError as busy:
        if not busy.searchable:
            raise
    except (ReadOnlyIndexError, UnwritableIndexError) as error:
        if not all(index.change for index in ranker.indexes(view)):
            raise
        if isinstance(error, UnwritableIndexError):
            log.warning("%s", error)


def open_committed(ranker: Ranker, view: Snapshot) -> Searcher:
    """Like `open_current`, but an index that cannot be written now is opened as last committed, see `follow`."""
    follow(ranker, view)
    return ranker.open(view)


def limit_memory(ranker: Ranker, view: Snapshot, memory_bytes: int) -> None:
    """Limit the memory for building each of a ranker's indexes of a view, in bytes; not for indexes in an engine."""
    for index in ranker.indexes(view):
        if isinstance(index, CommittedIndex):
            index.memory_bytes = memory_bytes


def delete_indexes(ranker: Ranker, view: Snapshot) -> None:
    """Delete a ranker's indexes of a view, so that the next `build` starts from scratch.

    If another process is writing one, wait until it has finished. Raises SearchIndexError if one cannot be removed.
    """
    _retry_while_busy(partial(ranker.start_rebuild, view), lambda: None)


def resume_work(
    use: str, ranker: Ranker, view: View, inputs: Any, total: int, work: Callable[[int], Iterator[Any]]
) -> Iterator[Any]:
    """Yield all batches of some work: those saved by earlier calls, then those that `work` computes now.

    Each new batch is saved as a line of JSON before it is yielded, in `index/USE-RANKER.jsonl` of the archive. Saved
    ones are valid while the view's state, the ranker with its settings and learned parameters, `inputs` and
    SAVED_WORK_FORMAT are unchanged; other inputs replace the file. After a write error, as on a full disk, nothing more
    is saved.

    total: the number of batches. work: takes the number of finished batches, and yields the others; it is called only
    if there are others. A batch is a JSON value without NumPy types.
    """
    name = "-".join(filter(None, (use, ranker.name, view.group and _digest(view.group)[:32])))
    path = view.path / "index" / f"{name}.jsonl"
    header = {"key": _digest([dict(ranker.values), ranker.fingerprint, view.state, SAVED_WORK_FORMAT, inputs, total])}
    lines: list[Any] = []
    with suppress(OSError, ValueError):  # up to the first incomplete line
        for line in path.read_bytes().split(b"\n")[:-1]:
            lines.append(json.loads(line))
    saved = lines[1:] if lines[:1] == [header] else []
    yield from saved
    if len(saved) == total:
        return
    with ExitStack() as stack:
        file: IO[bytes] | None = None
        with suppress(OSError), replace_file(path) as partial:  # another call that replaces it leaves this one's open
            path.parent.mkdir(exist_ok=True)
            file = stack.enter_context(open(partial, "wb", buffering=0))
            file = _append(file, header, *saved)
        for batch in work(len(saved)):
            file = _append(file, batch)
            yield batch


def resume_runs(
    use: str, ranker: Ranker, view: View, inputs: Any, total: int, work: Callable[[int], Iterator[Run]]
) -> Iterator[Run]:
    """See `resume_work`. The batches are the runs of batches of queries; scores are saved exactly."""

    def as_json(run: Run) -> Any:
        return {query: [list(ids), scores.tolist()] for query in run for ids, scores in [run.columns(query)]}

    for batch in resume_work(use, ranker, view, inputs, total, lambda done: map(as_json, work(done))):
        yield Run({query: (ids, np.array(scores, np.float64)) for query, (ids, scores) in batch.items()})


def _append(file: IO[bytes] | None, *lines: Any) -> IO[bytes] | None:
    """Append lines of JSON; return the file, or None if it cannot be written: no batch takes a lost one's place."""
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    with suppress(OSError):
        if file and file.write(data) == len(data):
            return file
    return None


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, default=repr).encode()).hexdigest()

"""Long work with a ranker, saved in the archive piece by piece: the next call with the same inputs resumes it."""

import hashlib
import importlib.util
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from askalike.core import registry
from askalike.core.files import replace_file
from askalike.core.types import Run
from askalike.rankers._ranker import Ranker
from askalike.store import View


def resume_work(
    use: str, ranker: Ranker, view: View, inputs: Any, total: int, work: Callable[[int], Iterator[Any]]
) -> Iterator[Any]:
    """Yield all pieces of some work: those saved by earlier calls, then those that `work` computes now.

    Each new piece is saved as a line of JSON before it is yielded, in `index/USE-RANKER.jsonl` of the archive. Saved
    pieces are valid as long as everything that determines them is unchanged: the view's state, the ranker with its
    settings and learned parameters, the program, and `inputs`. Work with other inputs replaces the file. If the folder
    is not writable, nothing is saved.

    total: the number of pieces. work: takes the number of finished pieces, and yields the others; it is called only if
    there are others. A piece is a JSON value without NumPy types.
    """
    name = "-".join(filter(None, (use, ranker.name, view.group and _digest(view.group)[:8])))
    path = view.path / "index" / f"{name}.jsonl"
    header = {"key": _digest([dict(ranker.values), ranker.fingerprint, view.state, _program_digest(), inputs, total])}
    saved = _read_pieces(path, header)
    yield from saved
    if len(saved) < total:
        with closing(_PieceFile(path, [header, *saved])) as file:
            for piece in work(len(saved)):
                file.append(piece)
                yield piece


def resume_runs(
    use: str, ranker: Ranker, view: View, inputs: Any, total: int, work: Callable[[int], Iterator[Run]]
) -> Iterator[Run]:
    """See `resume_work`. The pieces are the runs of batches of queries; scores are saved exactly."""
    for piece in resume_work(use, ranker, view, inputs, total, lambda done: map(_run_to_json, work(done))):
        yield _run_from_json(piece)


def _run_to_json(run: Run) -> Mapping[str, Any]:
    columns = ((query, *run.columns(query)) for query in run)
    return {query: [list(ids), scores.tolist()] for query, ids, scores in columns}


def _run_from_json(piece: Mapping[str, Any]) -> Run:
    return Run({query: (ids, np.array(scores, np.float64)) for query, (ids, scores) in piece.items()})


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, default=repr).encode()).hexdigest()


@cache
def _program_digest() -> str:
    """Return a digest of the sources of askalike and its plug-ins: other versions may give other results."""
    digest = hashlib.sha256()
    for package in ("askalike", *registry.foreign_packages()):
        for path in _source_files(package):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _source_files(package: str) -> Sequence[Path]:
    """Return the Python files of a package, or of a module that is a single file."""
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec else ()
    if spec and spec.origin and not folders:
        return [Path(spec.origin)]
    return sorted(path for folder in folders or () for path in Path(folder).rglob("*.py"))


def _read_pieces(path: Path, header: Any) -> Sequence[Any]:
    """Return the saved pieces if the header is equal, up to the first incomplete line."""
    lines: list[Any] = []
    try:
        for line in path.read_bytes().split(b"\n")[:-1]:
            lines.append(json.loads(line))
    except (OSError, ValueError):
        pass
    return lines[1:] if lines[:1] == [header] else []


class _PieceFile:
    """A new file of lines, moved into place at once and kept open: if it is replaced, later lines are lost with it.

    After an error nothing more is written, so that no piece takes the place of a lost one.
    """

    def __init__(self, path: Path, lines: Sequence[Any]) -> None:
        self._file: FileIO | None = None
        try:
            path.parent.mkdir(exist_ok=True)
            with replace_file(path) as partial:
                self._file = FileIO(partial, "w")
                self.append(*lines)
        except OSError:
            self.close()

    def append(self, *lines: Any) -> None:
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        try:
            if self._file and self._file.write(data) < len(data):
                self.close()
        except OSError:
            self.close()

    def close(self) -> None:
        if self._file:
            self._file.close()
        self._file = None

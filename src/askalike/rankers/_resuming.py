"""Long work with a ranker, saved in the archive batch by batch: the next call with the same inputs resumes it."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import IO, Any

import numpy as np

from askalike.core.files import replace_file
from askalike.core.hits import Run
from askalike.rankers._ranker import Ranker
from askalike.store import View

FORMAT = 1
"""To be raised when the same ranker gives other results than before: saved batches are then not used."""


def resume_work(
    use: str, ranker: Ranker, view: View, inputs: Any, total: int, work: Callable[[int], Iterator[Any]]
) -> Iterator[Any]:
    """Yield all batches of some work: those saved by earlier calls, then those that `work` computes now.

    Each new batch is saved as a line of JSON before it is yielded, in `index/USE-RANKER.jsonl` of the archive. Saved
    ones are valid while the view's state, the ranker with its settings and learned parameters, `inputs` and FORMAT are
    unchanged; other inputs replace the file. After a write error, as on a full disk, nothing more is saved.

    total: the number of batches. work: takes the number of finished batches, and yields the others; it is called only
    if there are others. A batch is a JSON value without NumPy types.
    """
    name = "-".join(filter(None, (use, ranker.name, view.group and _digest(view.group)[:32])))
    path = view.path / "index" / f"{name}.jsonl"
    header = {"key": _digest([dict(ranker.values), ranker.fingerprint, view.state, FORMAT, inputs, total])}
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

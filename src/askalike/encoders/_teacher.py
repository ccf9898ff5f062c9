"""What a teacher teaches: which texts of an archive, whole and unfinished, and the teacher's vectors of them."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from askalike import encoders
from askalike.archive import labels
from askalike.archive.view import View
from askalike.encoders._data import Data
from askalike.encoders._encoder import Encoder
from askalike.encoders._lessons import lessons
from askalike.errors import SettingsError
from askalike.text.features._features import Text
from askalike.training.settings import TeacherSettings
from askalike.types import Pair, Part, Question, Split, Vectors

CHUNK = 1_024
DOCUMENTS = 10
"""So many documents for each text that is held out; its nearest among them is to be found."""

NARROW = 2_048
"""Up to so many columns are worked out at once."""

Array = NDArray[np.float32]
Say = Callable[[str], None]


def teacher(view: View, settings: TeacherSettings) -> Encoder:
    """The encoder that teaches: a model of the archive, or a built-in one. Raises SettingsError, InputError."""
    values = {"model": settings.model} if settings.model else {}
    values |= {"precision": "bf16"} if settings.half else {}
    folder = Path(view.archive) / "models" / settings.encoder
    return encoders.opened(folder, values) if folder.is_dir() else encoders.build(settings.encoder, values)


def taught(
    view: View, settings: TeacherSettings, encoder: Encoder, dev: Split | None, documents: int, seed: int
) -> Data:
    """The texts that are taught, each as a pair with itself.

    dev: the split whose queries choose the best epoch; else texts that are held out are to find the teacher's nearest.
    """
    random = np.random.default_rng(seed)
    spared = _spared(view, settings.not_taught) | view.withheld
    questions = [q for _, q in view.questions() if q.id not in spared]
    held: set[str] = set()
    if dev is None:
        order = random.permutation(len(questions))
        held = {questions[n].id for n in order[: min(settings.held_out, len(questions) // 10)]}
        pool = [questions[n] for n in order[len(held) : (DOCUMENTS + 1) * settings.held_out]]
        dev = _nearest(encoder, [q for q in questions if q.id in held], pool)
    else:
        pool = [q for _, q in view.questions()][:documents]
    asked = lessons([q for q in questions if q.id not in held], settings, random)
    pairs = [Pair(q, q, q.id, "teacher") for q in asked]
    return Data(pairs, dev, {q.id: q for q in pool}, False)


def _spared(view: View, splits: Sequence[str]) -> set[str]:
    """The ids of the questions that are not taught. Raises SettingsError for a split that is not there."""
    if unknown := [name for name in splits if not labels.exists(view.connection, name)]:
        raise SettingsError(f"teacher.not_taught={unknown[0]!r}: no split of that name has a query")
    return {label.text for name in splits for label in labels.labels(view.connection, name)}


def _nearest(encoder: Encoder, queries: Sequence[Question], pool: Sequence[Question]) -> Split:
    """Each text with the one of the pool that the teacher takes to be most like it."""
    if not queries or not pool:
        return Split({}, {})
    asked, known = (joined(encoder.encode(texts, "document")) for texts in (queries, pool))
    best = np.asarray((asked @ known.T).argmax(1)).ravel()
    qrels = {q.id: {pool[n].id: 1} for q, n in zip(queries, best.tolist(), strict=True)}
    return Split({q.id: q for q in queries}, qrels)


def targets(encoder: Encoder, texts: Sequence[Text], width: int, say: Say) -> Array:
    """The teacher's vectors, (texts, at most width), whose dot products are its scores as nearly as can be."""
    found = []
    for start in range(0, len(texts), CHUNK):
        found.append(joined(encoder.encode(texts[start : start + CHUNK], "document")))
        if start and start % (16 * CHUNK) == 0:
            say(f"the teacher has encoded {start} of {len(texts)} texts")
    whole = scipy.sparse.vstack(found, format="csr") if scipy.sparse.issparse(found[0]) else np.concatenate(found)
    if whole.shape[1] <= width and not scipy.sparse.issparse(whole):
        return np.asarray(whole, np.float32)
    return _narrowed(whole, width, say)


def joined(vectors: Vectors) -> Array | scipy.sparse.csr_array:
    """Several parts as one, whose dot products are the scores."""
    parts = [_scaled(part) for part in vectors.parts]
    if any(map(scipy.sparse.issparse, parts)):
        return scipy.sparse.hstack(parts, format="csr")
    return np.concatenate(parts, 1)


def _scaled(part: Part) -> Array | scipy.sparse.csr_array:
    if part.metric == "euclidean" or part.weight < 0:
        raise SettingsError("teacher: expected vectors compared by cosine or dot product, with weights above 0")
    values = part.values
    if part.metric == "cosine":
        squares = values.multiply(values) if scipy.sparse.issparse(values) else values * values
        lengths = np.sqrt(np.asarray(squares.sum(1), np.float32)).reshape(-1, 1)
        inverse = np.where(lengths > 0, 1 / np.maximum(lengths, 1e-12), 0).astype(np.float32)
        values = values.multiply(inverse).tocsr() if scipy.sparse.issparse(values) else values * inverse
    return values * np.float32(np.sqrt(part.weight))


def _narrowed(whole: Array | scipy.sparse.csr_array, width: int, say: Say) -> Array:
    """The projection on the directions in which texts differ most, without centring: it keeps dot products best."""
    values, directions = _directions(whole, min(width, min(whole.shape) - 1))
    total = np.square(whole.data if scipy.sparse.issparse(whole) else whole).sum()
    kept, size = values.sum() / max(float(total), 1e-12), len(values)
    say(f"the teacher's {whole.shape[1]} numbers for a text are taught as {size}, which keep {kept:.1%} of it")
    return np.asarray(whole @ directions, np.float32)


def _directions(whole: Array | scipy.sparse.csr_array, size: int) -> tuple[Array, Array]:
    """The greatest eigenvalues of the columns' products, and their eigenvectors, (columns, size)."""
    if whole.shape[1] <= NARROW and not scipy.sparse.issparse(whole):
        values, vectors = np.linalg.eigh((whole.T @ whole).astype(np.float64))
        return values[-size:], vectors[:, -size:].astype(np.float32)
    _, singular, rows = scipy.sparse.linalg.svds(whole, k=size, random_state=0)
    return np.square(singular), rows.T

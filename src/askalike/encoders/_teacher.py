"""What a teacher teaches: which texts of an archive, whole and unfinished, and the teacher's vectors of them."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from askalike import encoders
from askalike.encoders._data import TrainingData
from askalike.encoders._encoder import Encoder
from askalike.encoders._lessons import generate_teacher_texts
from askalike.errors import SettingsError
from askalike.store import labels
from askalike.store.view import View
from askalike.text.features._features import Text
from askalike.training.settings import TeacherSettings
from askalike.types import Question, Split, TrainingPair, VectorPart, Vectors

CHUNK = 1_024
DOCUMENTS_PER_QUERY = 10
"""So many documents for each text that is held out; its nearest among them is to be found."""

MAX_DENSE_COLUMNS = 2_048
"""Up to so many columns are worked out at once."""

Array = NDArray[np.float32]
LogCallback = Callable[[str], None]


def load_teacher(view: View, settings: TeacherSettings) -> Encoder:
    """The encoder that teaches: a model of the archive, or a built-in one. Raises SettingsError, InputError."""
    values = {"model": settings.model} if settings.model else {}
    values |= {"precision": "bf16"} if settings.half else {}
    folder = Path(view.archive) / "models" / settings.encoder
    return encoders.open_encoder(folder, values) if folder.is_dir() else encoders.build(settings.encoder, values)


def collect_distillation_data(
    view: View, settings: TeacherSettings, encoder: Encoder, dev: Split | None, document_count: int, seed: int
) -> TrainingData:
    """The texts that are taught, each as a pair with itself.

    dev: the split whose queries choose the best epoch; else texts that are held out are to find the teacher's nearest.
    """
    random = np.random.default_rng(seed)
    spared = _find_untaught_ids(view, settings.not_taught) | view.excluded_ids
    questions = [q for _, q in view.questions() if q.id not in spared]
    held: set[str] = set()
    if dev is None:
        order = random.permutation(len(questions))
        held = {questions[n].id for n in order[: min(settings.held_out, len(questions) // 10)]}
        pool = [questions[n] for n in order[len(held) : (DOCUMENTS_PER_QUERY + 1) * settings.held_out]]
        dev = _build_nearest_split(encoder, [q for q in questions if q.id in held], pool)
    else:
        pool = [q for _, q in view.questions()][:document_count]
    asked = generate_teacher_texts([q for q in questions if q.id not in held], settings, random)
    pairs = [TrainingPair(q, q, q.id, "teacher") for q in asked]
    return TrainingData(pairs, dev, {q.id: q for q in pool}, False)


def _find_untaught_ids(view: View, splits: Sequence[str]) -> set[str]:
    """The ids of the questions that are not taught. Raises SettingsError for a split that is not there."""
    if unknown := [name for name in splits if not labels.split_exists(view, name)]:
        raise SettingsError(f"teacher.not_taught={unknown[0]!r}: no split of that name has a query")
    return {label.text_id for name in splits for label in labels.read_labels(view, name)}


def _build_nearest_split(encoder: Encoder, queries: Sequence[Question], pool: Sequence[Question]) -> Split:
    """Each text with the one of the pool that the teacher takes to be most like it."""
    if not queries or not pool:
        return Split({}, {})
    asked, known = (concatenate_parts(encoder.encode(texts, "document")) for texts in (queries, pool))
    best = np.asarray((asked @ known.T).argmax(1)).ravel()
    qrels = {q.id: {pool[n].id: 1} for q, n in zip(queries, best.tolist(), strict=True)}
    return Split({q.id: q for q in queries}, qrels)


def encode_targets(encoder: Encoder, texts: Sequence[Text], width: int, log: LogCallback) -> Array:
    """The teacher's vectors, (texts, at most width), whose dot products are its scores as nearly as can be."""
    found = []
    for start in range(0, len(texts), CHUNK):
        found.append(concatenate_parts(encoder.encode(texts[start : start + CHUNK], "document")))
        if start and start % (16 * CHUNK) == 0:
            log(f"the teacher has encoded {start} of {len(texts)} texts")
    whole = scipy.sparse.vstack(found, format="csr") if scipy.sparse.issparse(found[0]) else np.concatenate(found)
    if whole.shape[1] <= width and not scipy.sparse.issparse(whole):
        return np.asarray(whole, np.float32)
    return _reduce_dimension(whole, width, log)


def concatenate_parts(vectors: Vectors) -> Array | scipy.sparse.csr_array:
    """Several parts as one, whose dot products are the scores."""
    parts = [_scale_part(part) for part in vectors.parts]
    if any(map(scipy.sparse.issparse, parts)):
        return scipy.sparse.hstack(parts, format="csr")
    return np.concatenate(parts, 1)


def _scale_part(part: VectorPart) -> Array | scipy.sparse.csr_array:
    if part.metric == "euclidean" or part.weight < 0:
        raise SettingsError("teacher: expected vectors compared by cosine or dot product, with weights above 0")
    values = part.values
    if part.metric == "cosine":
        squares = values.multiply(values) if scipy.sparse.issparse(values) else values * values
        lengths = np.sqrt(np.asarray(squares.sum(1), np.float32)).reshape(-1, 1)
        inverse = np.where(lengths > 0, 1 / np.maximum(lengths, 1e-12), 0).astype(np.float32)
        values = values.multiply(inverse).tocsr() if scipy.sparse.issparse(values) else values * inverse
    return values * np.float32(np.sqrt(part.weight))


def _reduce_dimension(vectors: Array | scipy.sparse.csr_array, width: int, log: LogCallback) -> Array:
    """The projection on the directions in which texts differ most, without centring: it keeps dot products best."""
    values, directions = _find_principal_directions(vectors, min(width, min(vectors.shape) - 1))
    total = np.square(vectors.data if scipy.sparse.issparse(vectors) else vectors).sum()
    kept, size = values.sum() / max(float(total), 1e-12), len(values)
    log(f"the teacher's {vectors.shape[1]} numbers for a text are taught as {size}, which keep {kept:.1%} of it")
    return np.asarray(vectors @ directions, np.float32)


def _find_principal_directions(matrix: Array | scipy.sparse.csr_array, size: int) -> tuple[Array, Array]:
    """The greatest eigenvalues of the columns' products, and their eigenvectors, (columns, size)."""
    if matrix.shape[1] <= MAX_DENSE_COLUMNS and not scipy.sparse.issparse(matrix):
        values, vectors = np.linalg.eigh((matrix.T @ matrix).astype(np.float64))
        return values[-size:], vectors[:, -size:].astype(np.float32)
    _, singular, rows = scipy.sparse.linalg.svds(matrix, k=size, random_state=0)
    return np.square(singular), rows.T

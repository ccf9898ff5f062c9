"""Distillation: the student's training texts, the teacher's vectors of them, and the student's initial vectors."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from askalike import encoders
from askalike.core import registry
from askalike.core.counts import format_count
from askalike.core.errors import SettingsError
from askalike.core.iteration import chunks
from askalike.core.parallel import has_cluster, map_pieces
from askalike.core.types import LogCallback, Question, Split, TrainingPair
from askalike.encoders import Encoder, VectorCache, concatenate_parts
from askalike.encoders.pretrained import PretrainedEncoder
from askalike.learning.augmentation import make_teacher_texts
from askalike.learning.pair_data import TrainingData
from askalike.learning.settings import TeacherSettings
from askalike.store import TrainingView, View, labels
from askalike.text.features import RaggedArray, Text

CHUNK_SIZE = 1_024
DOCUMENTS_PER_QUERY = 10
"""Number of documents per held-out text, among which its nearest one must be found."""
MAX_DENSE_COLUMNS = 2_048
"""Maximum number of columns for which principal directions are computed from the dense Gram matrix of columns."""
RIDGE_PENALTY = 3.0
"""Ridge penalty of the n-grams' vectors, which keeps the vectors of rare n-grams short."""
CONJUGATE_GRADIENT_STEPS = 12
"""More steps would only overfit the training texts."""
COLUMNS = 64
"""Number of vector components solved at a time, so that memory does not grow with the dimension."""

Array = NDArray[np.float32]


def load_teacher(view: View, settings: TeacherSettings, on_gpu: bool) -> Encoder:
    """Return the teacher: a model of the archive, a registered encoder, or a pre-trained model (folder or package).

    Raises SettingsError or InputError.
    """
    folder = view.path / "models" / settings.encoder
    registered = folder.is_dir() or settings.encoder in registry.names("encoder")
    name, model = (settings.encoder, settings.model) if registered else ("pretrained", settings.encoder)
    values = {"encoder": model} if model else {}
    values |= {"precision": "bf16"} if settings.half else {}
    values |= {"device": "cuda"} if on_gpu and name == "pretrained" else {}
    return encoders.open_encoder(folder, values) if folder.is_dir() else encoders.build(name, values)


def collect_distillation_data(
    view: TrainingView, settings: TeacherSettings, encoder: Encoder, limit: int, seed: int
) -> TrainingData:
    """Return the student's training texts, each paired with itself.

    If the view has no dev queries, held-out texts are used: the relevant document is the nearest one by the teacher.
    Raises SettingsError for an unknown split in `not_taught`.
    """
    random = np.random.default_rng(seed)
    left_out = find_untaught_ids(view, settings.not_taught) | view.excluded_ids
    questions = [q for _, q in view.questions() if q.id not in left_out]
    held_out: set[str] = set()
    dev = view.dev
    if dev is None:
        order = random.permutation(len(questions))
        held_out = {questions[n].id for n in order[: min(settings.held_out, len(questions) // 10)]}
        pool = [questions[n] for n in order[len(held_out) : (DOCUMENTS_PER_QUERY + 1) * settings.held_out]]
        dev = _build_nearest_split(encoder, [q for q in questions if q.id in held_out], pool)
    else:
        pool = [q for _, q in view.questions()][:limit]
    texts = make_teacher_texts([q for q in questions if q.id not in held_out], settings, random)
    pairs = [TrainingPair(q, q, q.id, "teacher") for q in texts]
    return TrainingData(pairs, dev, {q.id: q for q in pool}, False)


def encode_targets(encoder: Encoder, texts: Sequence[Text], max_dim: int, log: LogCallback) -> Array:
    """Return the teacher's vectors, (texts, at most max_dim), whose dot products approximate the teacher's scores."""
    blocks = list(_encode_blocks(encoder, texts, log))
    vectors = scipy.sparse.vstack(blocks, format="csr") if scipy.sparse.issparse(blocks[0]) else np.concatenate(blocks)
    if vectors.shape[1] <= max_dim and not scipy.sparse.issparse(vectors):
        return np.asarray(vectors, np.float32)
    return _reduce_dimension(vectors, max_dim, log)


def fit_ngram_vectors(
    rows: RaggedArray,
    targets: Array,
    size: int,
    initial_vectors: Array | None = None,
    penalty: float | Array = RIDGE_PENALTY,
    steps: int = CONJUGATE_GRADIENT_STEPS,
) -> Array:
    """Return the ridge regression of targets (texts, dim) on the n-grams of each text: (size, dim).

    An n-gram in no text gets zeros. initial_vectors: those of the first n-grams (at most size, any dim), NaN for none;
    a linear map first fits them to the targets, so that n-grams in no text resemble similar ones.
    penalty: one for all n-grams, or one per n-gram, (size,).
    """
    penalties = np.broadcast_to(np.asarray(penalty, np.float32), size)
    ones = np.ones(len(rows.values), np.float32)
    arrays = ones, rows.values, rows.starts
    ngrams = scipy.sparse.csr_array(arrays, (len(targets), size), copy=True)  # repeated n-grams are summed in place
    if initial_vectors is None:
        return _solve_ridge(ngrams, targets, penalties, steps)
    initial, first_ngrams = np.nan_to_num(initial_vectors), ngrams[:, : len(initial_vectors)]
    sums = first_ngrams @ initial
    turned = np.linalg.solve(sums.T @ sums + penalties.mean() * np.eye(initial.shape[1]), sums.T @ targets)
    start = initial @ turned.astype(np.float32)
    vectors = _solve_ridge(ngrams, targets - first_ngrams @ start, penalties, steps)
    vectors[: len(start)] += start
    return vectors


@contextmanager
def share_vectors(
    teacher: Encoder, view: View, documents: Iterable[Question], texts: Sequence[Text], folder: Path, log: LogCallback
) -> Iterator[None]:
    """Make a pre-trained teacher reuse the shared cache of the archive's document vectors.

    Inside the `with` block, vectors of other texts are cached in `folder`, so that an interrupted run can resume.
    Workers of a cluster encode all texts themselves.
    """
    if not isinstance(teacher, PretrainedEncoder) or has_cluster():
        yield
        return
    shared = teacher.share_vectors(view.path, len(view))
    whole = {(question.title, question.body) for question in documents}
    own = [text for text in texts if (getattr(text, "title", ""), text.body) in whole]
    for _ in _encode_blocks(teacher, own, log):
        pass
    teacher.document_cache = VectorCache(folder, teacher.fingerprint, below=shared)
    try:
        yield
    finally:
        teacher.document_cache = shared


def _encode_blocks(encoder: Encoder, texts: Sequence[Text], log: LogCallback) -> Iterator[Any]:
    """Yield the vectors in blocks of CHUNK_SIZE texts."""
    for number, block in enumerate(map_pieces(partial(_encode_block, encoder), chunks(texts, CHUNK_SIZE))):
        if number and number % 16 == 0:
            log(f"the teacher has encoded {number * CHUNK_SIZE} of {len(texts)} texts")
        yield block


def _encode_block(encoder: Encoder, texts: Sequence[Text]) -> Any:
    return concatenate_parts(encoder.encode_documents(texts))


def find_untaught_ids(view: View, splits: Sequence[str]) -> set[str]:
    """Return the ids of the questions excluded from training, and `ID#N` of rephrasings that are queries.

    Raises SettingsError for an unknown split.
    """
    if unknown := [name for name in splits if not labels.split_exists(view, name)]:
        raise SettingsError(f"teacher.not_taught={unknown[0]!r}: no split of that name has queries")
    queries = {(label.query_id, label.text_id) for name in splits for label in labels.read_labels(view, name)}
    return {query if query.startswith(f"{text}#") else text for query, text in queries}


def _build_nearest_split(encoder: Encoder, queries: Sequence[Question], pool: Sequence[Question]) -> Split:
    """Return a split in which the only relevant document of each query is the nearest one in the pool."""
    if not queries or not pool:
        return Split({}, {})
    query_vectors, pool_vectors = (concatenate_parts(encoder.encode_documents(texts)) for texts in (queries, pool))
    nearest = np.asarray((query_vectors @ pool_vectors.T).argmax(1)).ravel()
    qrels = {q.id: {pool[n].id: 1} for q, n in zip(queries, nearest.tolist(), strict=True)}
    return Split({q.id: q for q in queries}, qrels)


def _reduce_dimension(vectors: Array | scipy.sparse.csr_array, max_dim: int, log: LogCallback) -> Array:
    """Project onto the directions of highest variance, without centring, which preserves dot products best."""
    values, directions = _find_principal_directions(vectors, min(max_dim, min(vectors.shape) - 1))
    total = np.square(vectors.data if scipy.sparse.issparse(vectors) else vectors).sum()
    share, size = values.sum() / max(float(total), 1e-12), len(values)
    numbers = format_count(vectors.shape[1], "number")
    log(f"the teacher's vectors are reduced from {numbers} to {size}, which keeps {share:.1%} of their squares")
    return np.asarray(vectors @ directions, np.float32)


def _find_principal_directions(matrix: Array | scipy.sparse.csr_array, size: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of the columns' Gram matrix, (size,), and their eigenvectors, (columns, size)."""
    if matrix.shape[1] <= MAX_DENSE_COLUMNS and not scipy.sparse.issparse(matrix):
        values, vectors = np.linalg.eigh((matrix.T @ matrix).astype(np.float64))
        return values[-size:], vectors[:, -size:].astype(np.float32)
    _, singular, rows = scipy.sparse.linalg.svds(matrix, k=size, random_state=0)
    return np.square(singular), rows.T


def _solve_ridge(ngrams: Any, targets: Array, penalties: Array, steps: int) -> Array:
    """Solve the normal equations by conjugate gradients, preconditioned by their diagonal (Saad 2003, algorithm 9.1).

    Without preconditioning, rare n-grams converge much later than frequent ones. An n-gram in no text gets zeros.
    """
    vectors = np.zeros((ngrams.shape[1], targets.shape[1]), np.float32)
    used, columns = np.unique(ngrams.indices, return_inverse=True)
    ngrams = scipy.sparse.csr_array((ngrams.data, columns, ngrams.indptr), (len(targets), len(used)))
    transposed = ngrams.T.tocsr()
    penalties = penalties[used].reshape(-1, 1)
    diagonal = np.asarray(ngrams.power(2).sum(0), np.float32).reshape(-1, 1) + penalties
    for start in range(0, targets.shape[1], COLUMNS):
        own = slice(start, start + COLUMNS)
        vectors[used, own] = _solve_block(ngrams, transposed, diagonal, targets[:, own], penalties, steps)
    return vectors


def _solve_block(ngrams: Any, transposed: Any, diagonal: Array, targets: Array, penalties: Array, steps: int) -> Array:
    """Solve for some of the target columns, each independently."""
    residual = transposed @ targets
    solution, direction = np.zeros_like(residual), residual / diagonal
    product = (residual * direction).sum(0)
    for _ in range(steps):
        image = transposed @ (ngrams @ direction) + penalties * direction
        step = product / np.maximum((direction * image).sum(0), 1e-12)
        solution += step * direction
        residual -= step * image
        scaled = residual / diagonal
        previous, product = product, (residual * scaled).sum(0)
        direction = scaled + product / np.maximum(previous, 1e-12) * direction
    return solution  # type: ignore[no-any-return]

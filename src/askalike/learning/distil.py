"""Distils an encoder to a lookup: ridge regression of its vectors of an archive's texts on their n-grams, no torch."""

import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from askalike import encoders
from askalike.core import registry
from askalike.core.counts import format_count, format_duration
from askalike.core.errors import SettingsError, TrainingError
from askalike.core.files import folder_errors
from askalike.core.iteration import chunks
from askalike.core.parallel import has_workers, map_pieces
from askalike.core.types import LogCallback, Question
from askalike.encoders import Encoder, VectorCache, concatenate_parts
from askalike.encoders.asymmetric import TeacherReference, UnknownWords
from askalike.encoders.pretrained import PretrainedEncoder
from askalike.encoders.static import WEIGHTS_FILE
from askalike.learning.augmentation import make_teacher_texts
from askalike.learning.models import write_text_model
from askalike.learning.ridge import fit_ngram_vectors, reduce_dimension
from askalike.learning.settings import DistillationSettings
from askalike.store import TrainingView, View, labels
from askalike.text.features import RaggedArray, Text
from askalike.text.features.hashed_ngrams import HashedNgramFeatures

MAX_DIM = 1_024
CHUNK_SIZE = 1_024
"""Number of texts encoded at a time."""
REPORT_S = 30
"""Seconds between two reports of how far the teacher is."""

Array = NDArray[np.float16]
Floats = NDArray[np.float32]


def learn_lookup(
    view: View, settings: DistillationSettings, teacher: Encoder, folder: Path, log: LogCallback = lambda line: None
) -> None:
    """Train the lookup and write the model to `folder`, atomically.

    Until then, the teacher's vectors of texts that are not the archive's are kept next to it, so that the same call
    resumes after an interruption. Raises TrainingError if there is no text, ArchiveError if nothing can be written.
    """
    questions = collect_questions(view, settings)
    texts = list(make_teacher_texts(questions, settings, np.random.default_rng(settings.seed)))
    if not texts:
        raise TrainingError(f"{view.path}: no texts to learn from")
    log(f"the teacher encodes {format_count(len(texts), 'text')} of {len(questions):,} questions")
    cache = folder.with_name(f".training-{folder.name}")
    with share_vectors(teacher, view, questions, texts, cache, log):
        targets = encode_targets(teacher, texts, MAX_DIM, log)
    log("the regression of its vectors on their n-grams")
    features = HashedNgramFeatures.from_texts(settings.lookup, ())
    rows = RaggedArray(*features.lookup([features.extract_text(text) for text in texts]))
    targets -= targets.mean(0)  # the common part of all vectors carries no information
    vectors = fit_ngram_vectors(rows, targets, settings.lookup.row_counts.total, penalty=settings.penalties)
    with folder_errors(folder, "free some space"):
        words = {word for question in questions for word in features.split_words(question)}
        _save(view, settings, teacher, folder, features, vectors.astype(np.float16), words)
    shutil.rmtree(cache, ignore_errors=True)


def load_teacher(view: View, settings: DistillationSettings) -> Encoder:
    """Return the teacher: a model of the archive, a registered encoder, or a pre-trained model (folder or package).

    Raises SettingsError or InputError.
    """
    folder = view.path / "models" / settings.encoder
    registered = folder.is_dir() or settings.encoder in registry.names("encoder")
    name, model = (settings.encoder, settings.model) if registered else ("pretrained", settings.encoder)
    values = {"encoder": model} if model else {}
    return encoders.open_encoder(folder, values) if folder.is_dir() else encoders.build(name, values)


def collect_questions(view: View, settings: DistillationSettings) -> Sequence[Question]:
    """Return the training questions, and each of their rephrasings as a separate question."""
    left_out = find_excluded_ids(view, settings.excluded_splits)
    left_out |= view.excluded_ids if isinstance(view, TrainingView) else set()
    questions = [question for _, question in view.questions() if question.id not in left_out]
    phrasings = ((q, n, text) for q in questions for n, text in enumerate(q.rephrasings, 1))
    rephrased = [replace(q, title=text, body="") for q, n, text in phrasings if f"{q.id}#{n}" not in left_out]
    return [*questions, *rephrased]


def encode_targets(encoder: Encoder, texts: Sequence[Text], max_dim: int, log: LogCallback) -> Floats:
    """Return the teacher's vectors, (texts, at most max_dim), whose dot products approximate the teacher's scores."""
    blocks = _encode_blocks(encoder, texts, "texts", log)
    first = next(blocks)
    if scipy.sparse.issparse(first):
        return reduce_dimension(scipy.sparse.vstack([first, *blocks], format="csr"), max_dim, log)
    vectors = np.empty((len(texts), first.shape[1]), np.float32)
    for start, block in zip(range(0, len(texts), CHUNK_SIZE), chain([first], blocks), strict=True):
        vectors[start : start + CHUNK_SIZE] = block
    return vectors if vectors.shape[1] <= max_dim else reduce_dimension(vectors, max_dim, log)


@contextmanager
def share_vectors(
    teacher: Encoder, view: View, documents: Iterable[Question], texts: Sequence[Text], folder: Path, log: LogCallback
) -> Iterator[None]:
    """Make a pre-trained teacher reuse the shared cache of the archive's document vectors.

    Inside the `with` block, vectors of other texts are cached in `folder`, so that an interrupted run can resume.
    Workers (see `use_workers`) encode all texts themselves.
    """
    if not isinstance(teacher, PretrainedEncoder) or has_workers():
        yield
        return
    shared = teacher.share_vectors(view.path, len(view))
    whole = {(question.title, question.body) for question in documents}
    own = [text for text in texts if (getattr(text, "title", ""), text.body) in whole]
    for _ in _encode_blocks(teacher, own, "texts that the archive has", log):
        pass
    teacher.document_cache = VectorCache(folder, teacher.fingerprint, below=shared)
    try:
        yield
    finally:
        teacher.document_cache = shared


def _encode_blocks(encoder: Encoder, texts: Sequence[Text], what: str, log: LogCallback) -> Iterator[Any]:
    """Yield the vectors in blocks of CHUNK_SIZE texts. what: the texts, as the reports call them."""
    reported, reported_at = 0, time.monotonic()
    for number, block in enumerate(map_pieces(partial(_encode_block, encoder), chunks(texts, CHUNK_SIZE)), 1):
        yield block
        done, elapsed = number * CHUNK_SIZE, time.monotonic() - reported_at
        if elapsed >= REPORT_S and done < len(texts):
            left = format_duration(elapsed * (len(texts) - done) / (done - reported))
            log(f"the teacher has encoded {done:,} of {len(texts):,} {what}; about {left} left")
            reported, reported_at = done, time.monotonic()


def _encode_block(encoder: Encoder, texts: Sequence[Text]) -> Any:
    return concatenate_parts(encoder.encode_documents(texts))


def find_excluded_ids(view: View, splits: Sequence[str]) -> set[str]:
    """Return the ids of the questions that a teacher does not teach, and `ID#N` of rephrasings that are queries.

    Raises SettingsError for an unknown split.
    """
    if unknown := [name for name in splits if not labels.split_exists(view, name)]:
        raise SettingsError(f"excluded_splits={unknown[0]!r}: no split of that name has queries")
    queries = {(label.query_id, label.text_id) for name in splits for label in labels.read_labels(view, name)}
    return {query if query.startswith(f"{text}#") else text for query, text in queries}


def _save(
    view: View,
    settings: DistillationSettings,
    teacher: Encoder,
    folder: Path,
    features: HashedNgramFeatures,
    vectors: Array,
    words: Collection[str],
) -> None:
    from safetensors.numpy import save_file

    reference = TeacherReference(
        encoder=settings.encoder, model=settings.model, fingerprint=teacher.fingerprint,
        lookup_share=settings.lookup_share, unknown_share=settings.unknown_share,
    ).model_dump()  # fmt: skip
    tables = {"static": settings.lookup.model_dump(), "teacher": reference}
    with write_text_model(folder, "asymmetric", tables, view) as new:
        save_file({"vectors": vectors, "weights": np.ones(len(vectors), np.float32)}, new / WEIGHTS_FILE)
        UnknownWords.save(new, words)
        features.save(new)
        teacher.learned_labels.write(new)

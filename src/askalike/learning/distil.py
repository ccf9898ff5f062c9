"""Distils an encoder to a lookup: ridge regression of its vectors of an archive's texts on their n-grams, no torch."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from pydantic import Field

from askalike import encoders
from askalike.core.arrays import Floats16, Floats32
from askalike.core.config import Settings, TextList
from askalike.core.errors import SettingsError, TrainingError
from askalike.core.files import folder_errors
from askalike.core.iteration import LogCallback, chunks, log_progress
from askalike.core.parallel import has_workers, map_pieces
from askalike.core.records import Question
from askalike.core.values import format_count
from askalike.encoders import Encoder, VectorCache, concatenate_parts
from askalike.encoders.asymmetric import TeacherReference, UnknownWords
from askalike.encoders.pretrained import PretrainedEncoder
from askalike.encoders.static import StaticEncoderSettings, save_static_vectors
from askalike.learning.models import write_text_model
from askalike.store import TrainingView, View, labels
from askalike.text.features import RaggedArray, Text
from askalike.text.features.hashed_ngrams import HashedNgramFeatures
from askalike.text.words import WORD

MAX_DIM = 1_024
CHUNK_SIZE = 1_024
"""Number of texts encoded at a time."""
MADE_UP_FOLDER = "made-up"
"""The folder of the vectors of texts that are made up for the teacher, in that of the archive's documents."""
MAX_DENSE_COLUMNS = 2_048
"""Maximum number of columns for which principal directions are computed from the dense Gram matrix of columns."""
CONJUGATE_GRADIENT_STEPS = 12
"""More steps would only overfit the training texts."""
COLUMNS = 64
"""Number of vector components solved at a time, so that memory does not grow with the dimension."""


class DistillationSettings(Settings):
    """The teacher, the texts that it encodes, and the n-grams in the lookup."""

    encoder: str = Field("", description="the teacher: a model of the archive, or a registered encoder")
    model: str = Field("", description="the folder or package of a pre-trained teacher")
    text_kinds: tuple[Literal["title", "body", "whole"], ...] = Field(
        ("title", "body", "whole"),
        description="the texts of each question that are encoded: title, body, or both as one text (whole)",
    )
    n_prefixes: float = Field(0.25, ge=0, description="number of unfinished versions of each title")
    n_word_dropout: float = Field(0.25, ge=0, description="number of versions of each title without some of its words")
    n_recombined: float = Field(
        1.0, ge=0, description="number of new titles, each combined from several, for each title"
    )
    single_words: bool = Field(
        True,
        description="whether single words of titles are encoded, too, and pairs of words that occur in several titles",
    )
    excluded_splits: TextList = Field(
        (), description="splits whose queries are not learned, so that they measure unseen queries"
    )
    subwords: int = Field(32_000, ge=0, description="number of rows for the tokenizer's subwords; 0: none are used")
    words: int = Field(32_768, ge=0, description="number of rows for hashed words; 0: none are used")
    bigrams: int = Field(
        65_536, ge=0, description="number of rows for hashed pairs of adjacent words; 0: none are used"
    )
    longest: int = Field(128, ge=1, description="maximum number of words read from a text")
    penalty: float = Field(1.0, gt=0, description="ridge penalty of the vectors of subwords and words")
    bigram_penalty: float = Field(5.0, gt=0, description="ridge penalty of the vectors of pairs of words")
    lookup_share: float = Field(
        0.5, ge=0, description="weight of the lookup in a document's vector; the teacher's vector has weight 1"
    )
    unknown_share: float = Field(
        0.5,
        ge=0,
        description="weight of the teacher's vector of a word that is in no question learned from; 0: none is encoded",
    )
    seed: int = Field(1, ge=0, description="seed of the new and unfinished titles, and of the order of texts")

    @property
    def lookup(self) -> StaticEncoderSettings:
        """The settings of the lookup. Texts are in lower case: capitals at the start of a sentence do not matter."""
        chosen = self.model_dump(include={"subwords", "words", "bigrams", "longest"})
        return StaticEncoderSettings(**chosen, lower_case=True)

    @property
    def penalties(self) -> Floats32:
        """The ridge penalty of each row: pairs of words are rarer, and would overfit."""
        single = self.subwords + self.words
        return np.repeat(np.array([self.penalty, self.bigram_penalty], np.float32), [single, self.bigrams])


def learn_lookup(
    view: View, settings: DistillationSettings, teacher: Encoder, folder: Path, log: LogCallback = lambda line: None
) -> None:
    """Train the lookup and write the model to `folder`, atomically.

    The teacher's vectors are kept in the archive's `index/encoded`, those of other texts than the archive's in a folder
    of it: the same call resumes after an interruption, and another one reads the texts that are the same. Raises
    TrainingError if there is no text, ArchiveError if nothing can be written.
    """
    questions = collect_questions(view, settings)
    texts = list(make_teacher_texts(questions, settings, np.random.default_rng(settings.seed)))
    if not texts:
        raise TrainingError(f"{view.path}: no texts to learn from")
    count = format_count(len(texts), "text")
    log(f"the teacher encodes {count} of {len(questions):,} questions; index/encoded keeps the vectors")
    with share_vectors(teacher, view, questions, texts, log):
        targets = encode_targets(teacher, texts, MAX_DIM, log)
    log("the regression of its vectors on their n-grams")
    features = HashedNgramFeatures.from_texts(settings.lookup, ())
    rows = RaggedArray(*features.lookup([features.extract_text(text) for text in texts]))
    targets -= targets.mean(0)  # the common part of all vectors carries no information
    vectors = fit_ngram_vectors(rows, targets, settings.lookup.row_counts.total, penalty=settings.penalties)
    with folder_errors(folder, "free some space"):
        words = {word for question in questions for word in features.split_words(question)}
        _save(view, settings, teacher, folder, features, vectors.astype(np.float16), words)


def load_teacher(view: View, settings: DistillationSettings) -> Encoder:
    """Return the teacher: a model of the archive, or a registered encoder. Raises SettingsError or InputError."""
    folder = view.path / "models" / settings.encoder
    values = {"encoder": settings.model} if settings.model else {}
    return encoders.open_encoder(folder, values) if folder.is_dir() else encoders.build(settings.encoder, values)


def collect_questions(view: View, settings: DistillationSettings) -> Sequence[Question]:
    """Return the training questions, and each of their rephrasings as a separate question."""
    left_out = find_excluded_ids(view, settings.excluded_splits)
    left_out |= view.excluded_ids if isinstance(view, TrainingView) else set()
    questions = [question for _, question in view.questions() if question.id not in left_out]
    phrasings = ((q, n, text) for q in questions for n, text in enumerate(q.rephrasings, 1))
    rephrased = [replace(q, title=text, body="") for q, n, text in phrasings if f"{q.id}#{n}" not in left_out]
    return [*questions, *rephrased]


def encode_targets(encoder: Encoder, texts: Sequence[Text], max_dim: int, log: LogCallback) -> Floats32:
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
    teacher: Encoder, view: View, documents: Iterable[Question], texts: Sequence[Text], log: LogCallback
) -> Iterator[None]:
    """Make a pre-trained teacher reuse the shared cache of the archive's document vectors.

    Inside the `with` block, vectors of other texts are cached with them, with the same limit.
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
    teacher.document_cache = VectorCache.share(view.path, teacher.fingerprint, len(view), MADE_UP_FOLDER, shared)
    try:
        yield
    finally:
        teacher.document_cache = shared


def _encode_blocks(encoder: Encoder, texts: Sequence[Text], what: str, log: LogCallback) -> Iterator[Any]:
    """Yield the vectors in blocks of CHUNK_SIZE texts. what: the texts, as the reports call them."""
    report = log_progress(f"the teacher has encoded {{:,}} of {{:,}} {what}", log)
    for number, block in enumerate(map_pieces(partial(_encode_block, encoder), chunks(texts, CHUNK_SIZE)), 1):
        yield block
        report(number * CHUNK_SIZE, len(texts))


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
    vectors: Floats16,
    words: Collection[str],
) -> None:
    reference = TeacherReference(
        encoder=settings.encoder, model=settings.model, fingerprint=teacher.fingerprint,
        lookup_share=settings.lookup_share, unknown_share=settings.unknown_share,
    ).model_dump()  # fmt: skip
    tables = {"static": settings.lookup.model_dump(), "teacher": reference}
    with write_text_model(folder, "asymmetric", tables, view) as new:
        save_static_vectors(new, vectors, np.ones(len(vectors), np.float32))
        UnknownWords.save(new, words)
        features.save(new)
        teacher.learned_labels.write(new)


Random = np.random.Generator
MAX_TITLE_WORDS = 16
"""The maximum length of a recombined title."""
SWITCH_PROBABILITY = 0.35
"""Probability that a recombined title continues as another title, at a word that several titles share."""
MAX_TITLES = 100_000
"""Maximum number of recombined titles, and of single words and pairs of words used as texts."""


def make_teacher_texts(
    questions: Sequence[Question], settings: DistillationSettings, random: Random
) -> Iterator[Question]:
    """Yield each question as its title, its body and both, truncated versions of its title, and recombined titles."""
    for question in questions:
        title, body = replace(question, body=""), replace(question, title="")
        both = bool(question.body) and bool(question.title)
        if question.title and ("title" in settings.text_kinds or not both):
            yield title
        if question.body and ("body" in settings.text_kinds or not both):
            yield body
        if both and "whole" in settings.text_kinds:
            yield question
        words = question.title.split()
        if len(words) > 1:
            for _ in range(_round_randomly(settings.n_prefixes, random)):
                yield replace(title, title=_sample_prefix(words, random))
            for _ in range(_round_randomly(settings.n_word_dropout, random)):
                yield replace(title, title=_drop_words(words, random))
    if settings.single_words:
        yield from _generate_words_and_bigrams(questions)
    if settings.n_recombined:
        yield from _recombine_titles(questions, settings.n_recombined, random)


def _generate_words_and_bigrams(questions: Sequence[Question]) -> Iterator[Question]:
    """Yield the most frequent words, and pairs of adjacent words that occur at least twice, each as a title."""
    titles = [WORD.findall(q.title.lower()) for q in questions]
    words = Counter(word for title in titles for word in title)
    pairs = Counter(pair for title in titles for pair in pairwise(title))
    for word, _ in words.most_common(MAX_TITLES):
        yield Question(f"word {word}", word)
    for (first, second), count in pairs.most_common(MAX_TITLES):
        if count > 1:
            yield Question(f"words {first} {second}", f"{first} {second}")


def _round_randomly(mean: float, random: Random) -> int:
    """Return a random integer that is `mean` on average."""
    return int(mean + random.random())


def _sample_prefix(words: Sequence[str], random: Random) -> str:
    """Return some of the first words, in half of the cases with the last one truncated."""
    first = words[: int(random.integers(1, len(words)))]
    last = ""
    if random.random() < 0.5:
        last = first[-1][: int(random.integers(1, len(first[-1]) + 1))]
        first = first[:-1]
    return " ".join([*first, last]).strip()


def _drop_words(words: Sequence[str], random: Random) -> str:
    """Return about three quarters of the words."""
    sample = [word for word, chance in zip(words, random.random(len(words)), strict=True) if chance < 0.75]
    return " ".join(sample or words[:1])


def _recombine_titles(questions: Sequence[Question], titles_per_question: float, random: Random) -> Iterator[Question]:
    """Yield new titles, each a walk that switches from one title to another at a shared word."""
    sources = [q for q in questions if len(q.title.split()) > 1]
    if len(sources) > MAX_TITLES:
        sources = [sources[n] for n in random.permutation(len(sources))[:MAX_TITLES]]
    titles = [q.title.split() for q in sources]
    positions_by_word: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, words in enumerate(titles):
        for position, word in enumerate(words[:-1]):
            positions_by_word[word.lower()].append((number, position))
    seen = {q.title for q in sources}
    for number in range(round(titles_per_question * len(sources))):
        first = number % len(sources)
        title = " ".join(_walk_titles(titles, positions_by_word, titles[first], random))
        if title not in seen:
            seen.add(title)
            yield Question(sources[first].id, title, language=sources[first].language)


def _walk_titles(
    titles: Sequence[Sequence[str]], positions: dict[str, list[tuple[int, int]]], words: Sequence[str], random: Random
) -> Iterator[str]:
    position = 0
    for _ in range(MAX_TITLE_WORDS):
        yield words[position]
        if position + 1 == len(words):
            return
        occurrences = positions[words[position].lower()]
        if len(occurrences) > 1 and random.random() < SWITCH_PROBABILITY:
            number, position = occurrences[int(random.integers(len(occurrences)))]
            words = titles[number]
        position += 1


def fit_ngram_vectors(rows: RaggedArray, targets: Floats32, size: int, penalty: float | Floats32) -> Floats32:
    """Return the ridge regression of targets (texts, dim) on the n-grams of each text: (size, dim).

    Solved by conjugate gradients, preconditioned by the diagonal of the normal equations (Saad 2003, algorithm 9.1), as
    rare n-grams converge much later than frequent ones otherwise. An n-gram in no text gets zeros.
    penalty: one for all n-grams, or one per n-gram, (size,); it keeps the vectors of rare n-grams short.
    """
    penalties = np.broadcast_to(np.asarray(penalty, np.float32), size)
    ones = np.ones(len(rows.values), np.float32)
    vectors = np.zeros((size, targets.shape[1]), np.float32)
    used, columns = np.unique(rows.values, return_inverse=True)
    # copied, as repeated n-grams are summed in place
    ngrams = scipy.sparse.csr_array((ones, columns, rows.starts), (len(targets), len(used)), copy=True)
    transposed = ngrams.T.tocsr()
    penalties = penalties[used].reshape(-1, 1)
    diagonal = np.asarray(ngrams.power(2).sum(0), np.float32).reshape(-1, 1) + penalties
    for start in range(0, targets.shape[1], COLUMNS):
        own = slice(start, start + COLUMNS)
        vectors[used, own] = _solve_block(ngrams, transposed, diagonal, targets[:, own], penalties)
    return vectors


def reduce_dimension(vectors: Floats32 | scipy.sparse.csr_array, max_dim: int, log: LogCallback) -> Floats32:
    """Project onto the directions of highest variance, without centring, which preserves dot products best."""
    values, directions = _find_principal_directions(vectors, min(max_dim, min(vectors.shape) - 1))
    total = np.square(vectors.data if scipy.sparse.issparse(vectors) else vectors).sum()
    share = values.sum() / max(float(total), 1e-12)
    size = len(values)
    numbers = format_count(vectors.shape[1], "number")
    log(f"the teacher's vectors are reduced from {numbers} to {size}, which keeps {share:.1%} of their squares")
    return np.asarray(vectors @ directions, np.float32)


def _find_principal_directions(matrix: Floats32 | scipy.sparse.csr_array, size: int) -> tuple[Floats32, Floats32]:
    """Return the largest eigenvalues of the columns' Gram matrix, (size,), and their eigenvectors, (columns, size)."""
    if matrix.shape[1] <= MAX_DENSE_COLUMNS and not scipy.sparse.issparse(matrix):
        values, vectors = np.linalg.eigh((matrix.T @ matrix).astype(np.float64))
        return values[-size:], vectors[:, -size:].astype(np.float32)
    _, singular, rows = scipy.sparse.linalg.svds(matrix, k=size, random_state=0)
    return np.square(singular), rows.T


def _solve_block(ngrams: Any, transposed: Any, diagonal: Floats32, targets: Floats32, penalties: Floats32) -> Floats32:
    """Solve for some of the target columns, each independently."""
    residual = transposed @ targets
    solution = np.zeros_like(residual)
    direction = residual / diagonal
    product = (residual * direction).sum(0)
    for _ in range(CONJUGATE_GRADIENT_STEPS):
        image = transposed @ (ngrams @ direction) + penalties * direction
        step = product / np.maximum((direction * image).sum(0), 1e-12)
        solution += step * direction
        residual -= step * image
        scaled = residual / diagonal
        previous = product
        product = (residual * scaled).sum(0)
        direction = scaled + product / np.maximum(previous, 1e-12) * direction
    return solution  # type: ignore[no-any-return]

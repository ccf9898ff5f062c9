"""Trains the lookup of an asymmetric encoder: ridge regression of a teacher's vectors on n-grams, without torch."""

import shutil
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.core.counts import format_count
from askalike.core.errors import TrainingError
from askalike.core.files import folder_errors
from askalike.core.types import LogCallback, Question
from askalike.encoders import Encoder
from askalike.encoders.asymmetric import TeacherReference, UnknownWords
from askalike.encoders.static import WEIGHTS_FILE, StaticEncoderSettings
from askalike.learning.augmentation import make_teacher_texts
from askalike.learning.distillation import (
    encode_targets,
    find_untaught_ids,
    fit_ngram_vectors,
    share_vectors,
)
from askalike.learning.models import write_text_model
from askalike.learning.settings import TeacherSettings
from askalike.store import View
from askalike.text.features import RaggedArray
from askalike.text.features.hashed_ngrams import HashedNgramFeatures

MAX_DIM = 1_024

Array = NDArray[np.float16]


class LookupLearningSettings(TeacherSettings):
    """Settings of the texts that the teacher encodes, and of the n-grams in the lookup."""

    alone: bool = Field(
        True,
        description="whether single words of titles are taught, too, and pairs of words that occur in several titles",
    )
    recombined: float = Field(1.0, ge=0, description="number of new titles, each combined from several, for each title")
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
        0.5, ge=0, description="weight of the teacher's vector of a word that is in no question taught; 0: none is read"
    )
    seed: int = Field(1, ge=0, description="seed of the new and unfinished titles, and of the order of texts")

    @property
    def lookup(self) -> StaticEncoderSettings:
        """The settings of the lookup. Texts are in lower case: capitals at the start of a sentence do not matter."""
        chosen = self.model_dump(include={"subwords", "words", "bigrams", "longest"})
        return StaticEncoderSettings(**chosen, lower_case=True)

    @property
    def penalties(self) -> NDArray[np.float32]:
        """The ridge penalty of each row: pairs of words are rarer, and would overfit."""
        single = self.subwords + self.words
        return np.repeat(np.array([self.penalty, self.bigram_penalty], np.float32), [single, self.bigrams])


def learn_lookup(
    view: View, settings: LookupLearningSettings, teacher: Encoder, folder: Path, log: LogCallback = lambda line: None
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


def collect_questions(view: View, settings: LookupLearningSettings) -> Sequence[Question]:
    """Return the training questions, and each of their rephrasings as a separate question."""
    left_out = find_untaught_ids(view, settings.not_taught)
    questions = [question for _, question in view.questions() if question.id not in left_out]
    phrasings = ((q, n, text) for q in questions for n, text in enumerate(q.rephrasings, 1))
    rephrased = [replace(q, title=text, body="") for q, n, text in phrasings if f"{q.id}#{n}" not in left_out]
    return [*questions, *rephrased]


def _save(
    view: View,
    settings: LookupLearningSettings,
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

"""An asymmetric encoder: queries are looked up, documents are encoded by a teacher, in the same vector space.

A query's vector is a sum of learned vectors of subwords, words and pairs of words, which approximates the teacher's
(see `askalike distil`). The teacher encodes each document once; until it has, the document is looked up, too. A lookup
has similar errors for a query and a document with the same words; so the document's lookup is added with some weight. A
word that occurred in no training text is encoded by the teacher, once. The files of a model:

    model.toml      encoder = "asymmetric"; [static] how texts are looked up; [teacher] the encoder of documents
    static.safetensors, tokenizer.json    as those of a static encoder
    words.txt       the words of the training questions
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np

from askalike import encoders
from askalike.core.arrays import Floats32, VectorPart, Vectors
from askalike.core.config import Settings, validate_settings
from askalike.core.errors import InputError, SettingsError
from askalike.core.files import folder_errors
from askalike.core.records import Answer, Question
from askalike.encoders import (
    MODEL_FILE,
    Encoder,
    LookupTable,
    TextWords,
    VectorCache,
    concatenate_parts,
    encode_texts,
    read_model_file,
)
from askalike.encoders.static import StaticEncoder
from askalike.text.words import WORD

WORDS_FILE = "words.txt"
MAX_REMEMBERED = 1 << 16


class TeacherReference(Settings):
    """The encoder of the documents. encoder: a model of the same archive, or `pretrained` with its `model`.

    lookup_share: the weight of a document's lookup, added to the teacher's vector, both of length 1.
    unknown_share: the weight of the teacher's vector of an unknown word in a lookup; 0: none is used.
    """

    encoder: str
    model: str = ""
    fingerprint: str
    lookup_share: float = 0.0
    unknown_share: float = 0.0


class UnknownWords:
    """Adds the vectors of words that occurred in no training question, and caches them.

    The lookup of such a word consists of its subwords as used in other words, and of random rows due to collisions.
    known: the words of the training questions, in lower case.

    read: returns the vectors of words, each encoded as a text; None if there is no encoder for them.
    """

    def __init__(self, known: Collection[str], read: Callable[[Sequence[str]], Floats32 | None]) -> None:
        self._known, self._read = known, read
        self._vectors: dict[str, Floats32] = {}

    @classmethod
    def open(cls, folder: Path, read: Callable[[Sequence[str]], Floats32 | None]) -> Self:
        """Read the known words from a model's folder. Raises ArchiveError."""
        path = folder / WORDS_FILE
        with folder_errors(path, "distil the model again"):
            return cls(frozenset(path.read_text(encoding="utf-8").splitlines()), read)

    @staticmethod
    def save(folder: Path, known: Collection[str]) -> None:
        """Write the known words, one per line."""
        (folder / WORDS_FILE).write_text("\n".join(sorted(known)), encoding="utf-8")

    def add_to(self, vectors: Floats32, texts: Sequence[str]) -> None:
        """Add to each text's vector, (texts, dim), those of its unknown words, except an unfinished word at its end."""
        found = [[word for word in _finished_words(text) if word not in self._known] for text in texts]
        by_word = self._look_up({word: None for words in found for word in words})
        for vector, words in zip(vectors, found, strict=True):
            for word in words:
                vector += by_word.get(word, np.float32(0))

    def _look_up(self, words: Collection[str]) -> dict[str, Floats32]:
        vectors = {word: vector for word in words if (vector := self._vectors.get(word)) is not None}
        new = [word for word in words if word not in vectors]
        if new and (read := self._read(new)) is not None:
            if len(self._vectors) + len(new) > MAX_REMEMBERED:
                self._vectors.clear()
            self._vectors |= zip(new, read, strict=True)
            vectors |= zip(new, read, strict=True)
        return vectors


def _finished_words(text: str) -> list[str]:
    words = WORD.findall(text.lower())
    return words[:-1] if words and text.lower().endswith(words[-1]) else words


class AsymmetricEncoder(Encoder):
    """Looks up queries, and encodes documents with the teacher. Scores are cosines."""

    compares_fields = True
    lexical_weight = 0.25
    """The same as with its teacher, see Encoder.lexical_weight."""
    can_approximate = True

    def __init__(self, queries: StaticEncoder, teacher: TeacherReference, folder: Path) -> None:
        self.queries = queries
        self._teacher, self._folder = teacher, folder
        self.trained_until = queries.trained_until
        self.learned_labels = queries.learned_labels

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> NoReturn:
        """Raises SettingsError: the lookup must be trained on an archive's texts."""
        raise SettingsError("asymmetric: expected the name of a model made by: askalike distil DIR MODEL")

    @classmethod
    def open(cls, folder: Path, values: Mapping[str, Any]) -> Self:
        """Open the model in a folder; the teacher is opened with the first document. Raises InputError."""
        where = f"{folder / MODEL_FILE}: teacher"
        model = read_model_file(folder)
        teacher = validate_settings(TeacherReference, model.get("teacher", {}), where)
        return cls(StaticEncoder.open(folder, values), teacher, folder)

    @property
    def fingerprint(self) -> str:
        """See Encoder.fingerprint."""
        share = self._teacher.unknown_share
        return " ".join([self.queries.fingerprint, self._teacher.fingerprint, *([f"unknown {share}"] if share else [])])

    @property
    def document_fingerprint(self) -> str:
        """The teacher's fingerprint if documents have only its vectors: this ranker and the teacher's share them."""
        share = self._teacher.lookup_share
        return f"{self.fingerprint} {share}" if share else self._teacher.fingerprint

    @property
    def lookup(self) -> LookupTable:
        return replace(self.queries.lookup, for_documents=False)

    def encode_queries(self, texts: Sequence[Question | Answer]) -> Vectors:
        """Return the sums of looked-up vectors, which approximate the teacher's."""
        vectors = self.queries.encode_queries(texts)
        if self._unknown_words:
            self._unknown_words.add_to(vectors.parts[0].values, list(map(self.text, texts)))
        return vectors

    def encode_documents(self, texts: Sequence[Question | Answer]) -> Vectors:
        """Return the teacher's vectors, with a share of the looked-up ones."""
        encoded = self.teacher.encode_documents(texts)
        if not self._teacher.lookup_share:
            return encoded
        own, taught = concatenate_parts(self.encode_queries(texts)), concatenate_parts(encoded)
        return Vectors((VectorPart(taught + np.float32(self._teacher.lookup_share) * own, "cosine"),))

    def approximate_documents(self, texts: Sequence[Question | Answer]) -> Vectors:
        """Return the looked-up vectors, as those of queries."""
        return self.encode_queries(texts)

    def share_vectors(self, archive: Path, documents: int) -> VectorCache | None:
        """Make the teacher use the shared cache of an archive's document vectors."""
        return self.teacher.share_vectors(archive, documents)

    def text(self, text: Question | Answer) -> str:
        """Return the plain text that is looked up."""
        return self.queries.text(text)

    def words(self, texts: Sequence[str]) -> TextWords:
        """Return plain texts' words with the contribution of each to its text's vector."""
        found = self.queries.words(texts)
        if not self._unknown_words:
            return found
        split = [text.split() for text in texts]
        vectors = found.vectors
        words = [word for own in split for word in (*(f"{word} " for word in own[:-1]), *own[-1:])]
        self._unknown_words.add_to(vectors, words)
        return TextWords.in_context(split, vectors)

    @cached_property
    def _unknown_words(self) -> UnknownWords | None:
        return UnknownWords.open(self._folder, self._read_words) if self._teacher.unknown_share else None

    def _read_words(self, words: Sequence[str]) -> Floats32 | None:
        """Return the teacher's weighted vectors of words; None without a teacher, as searches do not require it."""
        if self._reader is None:
            return None
        return np.float32(self._teacher.unknown_share) * encode_texts(words, self._reader, "query")

    @cached_property
    def _reader(self) -> Encoder | None:
        """The teacher; None if it cannot be opened."""
        try:
            return self.teacher
        except (SettingsError, InputError):
            return None

    @cached_property
    def teacher(self) -> Encoder:
        """The encoder of documents. Raises SettingsError if it is not installed, InputError if it has changed."""
        values = {"encoder": self._teacher.model} if self._teacher.model else {}
        own = self._folder.parent / self._teacher.encoder
        name = self._teacher.encoder
        teacher = encoders.open_encoder(own, values) if own.is_dir() else encoders.build(name, values)
        if teacher.fingerprint != self._teacher.fingerprint:
            problem = f"its teacher {self._teacher.model or name} is not the model that it was distilled from"
            raise InputError(f"{self._folder}: {problem}; distil it again")
        return teacher

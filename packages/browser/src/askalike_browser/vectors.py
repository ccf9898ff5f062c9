"""The vectors of an archive as a browser adds and compares them: a lookup encoder's table in 8 bits, and documents.

Only an encoder that looks queries up can run in a browser: `static`, or the queries' side of a model that `askalike
distil` made. Documents whose vectors are also looked up are written as the numbers of their rows, if these are shorter
than the vectors; the browser adds them up once.

All vectors are rotated to the principal axes of the documents. Products stay the same, but the first components tell
most of them: the browser compares these for all documents, and all components for the best of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike import Question, View
from askalike.plugin.exports import Floats32, LookupTable, VectorScores, chunks, has_content, hash_word

BATCH = 1_024
MULTIPLE = 4
"""Number of components that the browser multiplies at a time: vectors have a multiple of it."""
MAX_BYTE = 127
BYTES_OF_ROW_NUMBER = 2


class Bytes(NamedTuple):
    """Vectors in 8 bits: n rows are values (n, dim) times scales (n)."""

    values: NDArray[np.int8]
    scales: Floats32

    @classmethod
    def round(cls, vectors: Floats32) -> "Bytes":
        """Round each vector to 255 steps, the largest component to the last one."""
        scales = np.abs(vectors).max(axis=1, initial=0) / MAX_BYTE
        steps = vectors / np.where(scales > 0, scales, 1)[:, None]
        return cls(np.rint(steps).astype(np.int8), scales.astype(np.float32))


class VectorTables:
    """A lookup encoder's table, and the documents' vectors or their rows in it."""

    def __init__(self, scores: VectorScores, view: View, questions: Sequence[Question]) -> None:
        """questions: those that are searched, and their rephrasings as questions without bodies, in their order.

        If the view has bodies, the fields of a question are compared separately.
        """
        lookup, self._encoder = scores.encoder.lookup, scores.encoder
        if lookup is None:
            raise ValueError("expected an encoder that looks queries up")
        self._lookup: LookupTable = lookup
        self._fields, weights = (scores.fields, scores.weights) if has_content(view, "bodies") else (("text",), (1.0,))
        self._weights = [weight / sum(weights) for weight in weights]
        self._used = np.flatnonzero(np.any(lookup.vectors, axis=1))
        self._encoder.share_vectors(view.path, len(view))
        vectors = self._encode(questions)
        self.axes = find_axes(vectors)
        """The axes to which vectors are rotated, as columns."""
        self._documents = (self._look_up(questions) if lookup.for_documents else {}) or self._round(vectors)

    def values(self) -> dict[str, Any]:
        """Return the texts and numbers, for `write_data`."""
        lookup, counts = self._lookup, self._lookup.counts
        return {
            "dim": self.axes.shape[1],
            "fieldWeights": self._weights,
            "counts": [counts.subwords, counts.words, counts.bigrams],
            "subwords": "\n".join(lookup.subwords),
            "longest": lookup.longest,
            "lowerCase": lookup.lower_case,
            "functionWords": [" ".join(sorted(words)) for words in lookup.function_words],
            "maxByte": MAX_BYTE,
        }

    def arrays(self, words: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return the table and the documents, for `write_data`. words: the archive's, as WordIndex numbers them.

        used: the rows that are not zero. table: (used · dim), tableScales: (used). hashes: (words), if there are rows
        for words. Of documents rows and rowEnds, or vectors (fields · documents · dim) and vectorScales.
        """
        counts = self._lookup.counts
        rows = self._lookup.vectors[self._used].astype(np.float32) * self._lookup.weights[self._used, None]
        table = self.rotate(rows)
        hashes = [hash_word(word) for word in words] if counts.words or counts.bigrams else []
        return {
            "used": self._used.astype(np.int32),
            "table": table.values.ravel(),
            "tableScales": table.scales,
            "hashes": np.array(hashes, np.uint64),
            **self._documents,
        }

    def _look_up(self, questions: Sequence[Question]) -> dict[str, NDArray[Any]]:
        """Return the rows of documents; nothing if their vectors are shorter."""
        texts = [_select(question, field) for field in self._fields for question in questions]
        rows, ends = self._lookup.read(texts)
        if len(rows) * BYTES_OF_ROW_NUMBER > len(texts) * self._lookup.vectors.shape[1]:
            return {}
        dtype = np.uint16 if len(self._lookup.vectors) <= 1 << 16 else np.int32
        return {"documentRows": rows.astype(dtype), "documentEnds": ends[1:].astype(np.int32)}

    def rotate(self, vectors: Floats32) -> Bytes:
        """Return vectors of the encoder as the browser compares them."""
        return Bytes.round(np.asarray(vectors @ self.axes, np.float32))

    def rotate_direction(self, direction: Sequence[float]) -> list[float]:
        """Return the direction of a `LanguageRule` as the browser multiplies it."""
        if not direction:
            return []
        return [*(np.array(direction[:-1]) @ self.axes).round(6).tolist(), direction[-1]]

    def _round(self, vectors: Floats32) -> dict[str, NDArray[Any]]:
        rounded = self.rotate(vectors)
        return {"vectors": rounded.values.ravel(), "vectorScales": rounded.scales}

    def _encode(self, questions: Sequence[Question]) -> Floats32:
        """Return the unit vectors of each field, (fields · questions, dim)."""
        blocks = [block for field in self._fields for block in self._encode_field(questions, field)]
        return np.concatenate([np.empty((0, self._lookup.vectors.shape[1]), np.float32), *blocks])

    def _encode_field(self, questions: Sequence[Question], field: str) -> Iterable[Floats32]:
        for batch in chunks(questions, BATCH):
            [part] = self._encoder.encode_documents([_select(question, field) for question in batch]).parts
            lengths = np.linalg.norm(part.values, axis=1, keepdims=True)
            yield (part.values / np.maximum(lengths, 1e-12)).astype(np.float32)


def find_axes(vectors: Floats32) -> Floats32:
    """Return the principal axes of some vectors as columns, the longest first, then zeros up to MULTIPLE: (dim, m)."""
    _, axes = np.linalg.eigh(vectors.T @ vectors)
    return np.pad(axes[:, ::-1], ((0, 0), (0, -len(axes) % MULTIPLE))).astype(np.float32)


def _select(question: Question, field: str) -> Question:
    """Return the question with only one field, or all of it for the field `text`."""
    if field == "text":
        return question
    return replace(question, body="") if field == "title" else replace(question, title="")

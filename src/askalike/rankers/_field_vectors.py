"""The vectors of a question's fields, side by side in one row, so that one dot product compares all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import VectorPart, Vectors
from askalike.core.iteration import lazy_property
from askalike.core.records import Answer, AnsweredQuestion, Question
from askalike.encoders import Encoder, concatenate_parts
from askalike.index.engine import VectorsSearcher
from askalike.index.vectors.searcher import VectorQueries
from askalike.rankers._queries_and_results import fill_missing, is_title

Text = Question | Answer
NO_TEXT: Final = Question("", "")
"""The answer of a question without one, if nothing else is encoded."""


class RelativeQueries(NamedTuple):
    """Queries' vectors, (n, dim): its own document has the score 1 + lowest, an unrelated one lowest, (n,)."""

    vectors: NDArray[np.float32]
    lowest: NDArray[np.float32]


class FieldEncoder:
    """Encodes the fields of texts.

    A single field has the encoder's own vectors. With several, a document's row has a vector of length 1 for each
    field, and a query's row has the same, times the field's weight. So the dot product of two rows is the weighted mean
    of the fields' similarities. Fields with the same text, such as the title and the text of a question without a body,
    are encoded once. A question without an accepted answer has another field's vector in its place.
    """

    def __init__(
        self, encoder: Encoder, fields: Sequence[str], weights: Sequence[float], title_factor: float = 1.0
    ) -> None:
        """weights: one for each field. title_factor: of the title's weight in queries that are no titles.

        Encoding raises SettingsError for several fields if the encoder's vectors are compared by Euclidean distance.
        """
        self._encoder, self.fields = encoder, tuple(fields)
        others = [weight * (title_factor if f == "title" else 1) for f, weight in zip(fields, weights, strict=True)]
        self._weights = np.array([_normalise(weights), _normalise(others)], np.float32)

    def encode_documents(self, texts: Sequence[Text], *, approximate: bool = False) -> Vectors:
        """Return the vectors of n documents. approximate: see Encoder.approximate_documents."""
        encode = self._encoder.approximate_documents if approximate else self._encoder.encode_documents
        if len(self.fields) == 1:
            return encode([select_field(text, self.fields[0]) for text in texts])
        return _join(_encode_fields(encode, [[self._select(text, f) for text in texts] for f in self.fields]))

    def encode_queries(self, queries: Sequence[Question], background: NDArray[np.float32] | None = None) -> Vectors:
        """Return the vectors of n queries: of the title for documents' titles, of the whole text for other fields.

        background: with several fields, what is subtracted from each query's vector, (n, dim); None for nothing. Zeros
        stay zeros.
        """
        if len(self.fields) == 1:
            return self._encoder.encode_queries(list(map(self.select_query, queries)))
        compared = ["title" if field == "title" else "text" for field in self.fields]
        texts = [[select_field(query, field) for query in queries] for field in compared]
        weights = self._weights[[int(not is_title(query)) for query in queries]]
        vectors = _encode_fields(self._encoder.encode_queries, texts)
        if background is not None:
            vectors = [own - background * own.any(axis=1, keepdims=True) for own in vectors]
        return _join(vectors, weights)

    def relate(self, documents: Vectors, unrelated_score: float) -> Sequence[RelativeQueries]:
        """Return documents' titles, then their whole texts, as queries; nothing without vectors of titles alone.

        A title is compared with titles and with whole texts, as a query is.
        """
        [part, *_] = documents.parts
        if part.is_sparse or len(self.fields) == 1 or "title" not in self.fields:
            return ()
        fields = part.values.reshape(len(part.values), len(self.fields), -1)
        titles = np.repeat(fields[:, [self.fields.index("title")]], len(self.fields), axis=1)
        related = []
        for read, weights in zip((titles, fields), self._weights, strict=True):
            queries = (read * weights[None, :, None]).reshape(part.values.shape)
            range = np.maximum((queries * part.values).sum(axis=1) - unrelated_score, 1e-9)
            related.append(RelativeQueries(queries / range[:, None], unrelated_score / range))
        return related

    def select_query(self, query: Question) -> Question:
        """Return the text of a query that is encoded for a single field, and that explanations read."""
        is_whole = len(self.fields) > 1 or self.fields == ("answer",)
        selected: Question = select_field(query, "text" if is_whole else self.fields[0])
        return selected

    def _select(self, text: Text, field: str) -> Text:
        """Return a field of a document, of several."""
        replaced = field == "answer" and not has_answer(text)
        selected: Text = select_field(text, self.replacement if replaced else field)
        return selected

    @property
    def replacement(self) -> str:
        """The field that stands for a lacking answer."""
        return next((field for field in reversed(self.fields) if field != "answer"), "answer")

    def divide_query(self, queries: Vectors, row: int) -> Vectors:
        """Return a query's vector for each field but the last: without the other fields, (fields − 1, dim).

        There are several fields. The products with a document are their shares of its score; the last has the rest.
        """
        [part], count = queries.parts, len(self.fields)
        query: Any = part.values[row : row + 1]
        width = query.shape[1] // count
        if part.is_sparse:
            from scipy.sparse import vstack  # slow to import

            columns = np.arange(query.shape[1]) // width
            own = [query.multiply((columns == n).astype(np.float32)[None]) for n in range(count - 1)]
            return Vectors((replace(part, values=vstack(own, format="csr")),))
        rows = np.zeros((count - 1, query.shape[1]), query.dtype)
        for n, values in enumerate(rows):
            values[n * width : (n + 1) * width] = query[0, n * width : (n + 1) * width]
        return Vectors((replace(part, values=rows),))

    def unit_queries(self, queries: Vectors) -> NDArray[np.float32] | None:
        """Return each query's unit vector, (n, dim), whose product with a text's is their similarity.

        With several fields it is the sum of theirs. None for vectors that are not dense, or not compared by cosine.
        """
        parts = queries.parts
        if len(self.fields) > 1 and not parts[0].is_sparse:
            rows = parts[0].values.reshape(parts[0].values.shape[0], len(self.fields), -1)
            parts = (VectorPart(rows.sum(axis=1), "cosine"),)
        if any(part.is_sparse or part.metric != "cosine" or part.weight < 0 for part in parts):
            return None
        return np.asarray(concatenate_parts(Vectors(parts)), np.float32)


@dataclass(eq=False)
class FieldShares:
    """The contributions of fields to the scores of some documents for one query, computed when they are first read."""

    encoder: FieldEncoder
    searcher: VectorsSearcher
    queries: VectorQueries
    row: int
    docids: NDArray[np.int64]
    scores: Sequence[float]

    @lazy_property
    def rows(self) -> Sequence[Mapping[str, float]]:
        """Field → its share of each document's score; the last field has what the others leave."""
        *others, last = self.encoder.fields
        if not others:
            return [{last: score} for score in self.scores]
        exclusions = [self.queries.exclusions[self.row]] * len(others)
        own = VectorQueries(self.encoder.divide_query(self.queries.vectors, self.row), exclusions)
        columns = self.searcher.score(own, [self.docids] * len(others))
        shares = zip(*(fill_missing(column).tolist() for column in columns), strict=True)
        return [
            dict(zip(self.encoder.fields, (*own, score - sum(own)), strict=True))
            for own, score in zip(shares, self.scores, strict=True)
        ]


def select_field(text: Any, field: str) -> Any:
    """Return the question with only one field, or all of it for the field `text`. An answer is returned unchanged."""
    if isinstance(text, Answer) or field == "text":
        return text
    if field == "answer":
        return text.answer if has_answer(text) else NO_TEXT
    if field == "body":
        return replace(text, title="")
    return replace(text, body="") if text.body else text


def has_answer(text: Text) -> bool:
    """Return whether a text is a question with an accepted answer."""
    return isinstance(text, AnsweredQuestion) and text.answer is not None


def _normalise(weights: Sequence[float]) -> list[float]:
    return [weight / sum(weights) for weight in weights]


def _encode_fields(encode: Callable[[Sequence[Text]], Vectors], fields: Sequence[Sequence[Text]]) -> list[Any]:
    """Return the unit vectors of each field's n texts, (n, dim) each: dense, or CSR arrays."""
    first, *others = fields
    if all(text is other for own in others for text, other in zip(first, own, strict=True)):
        return [concatenate_parts(encode(first))] * len(fields)
    distinct = {id(text): text for texts in fields for text in texts}
    places = {key: place for place, key in enumerate(distinct)}
    vectors = concatenate_parts(encode(list(distinct.values())))
    return [vectors[[places[id(text)] for text in texts]] for texts in fields]


def _join(fields: Sequence[Any], weights: NDArray[np.float32] | None = None) -> Vectors:
    """Return the fields' vectors side by side. weights: (n, fields), their factors; None for 1 each."""
    if isinstance(fields[0], np.ndarray):
        rows = np.concatenate(fields, 1)
        if weights is not None:
            rows = rows * np.repeat(weights, fields[0].shape[1], axis=1)
        return Vectors((VectorPart(rows, "dot"),))
    from scipy.sparse import hstack  # slow to import

    if weights is not None:
        fields = [own.multiply(weights[:, n, None]) for n, own in enumerate(fields)]
    return Vectors((VectorPart(hstack(fields, format="csr"), "dot"),))

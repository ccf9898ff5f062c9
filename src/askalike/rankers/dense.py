"""Ranks by vectors: an encoder with an index of vectors that is kept in sync with the archive."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Self, cast

import numpy as np
from pydantic import AfterValidator, Field

from askalike import encoders
from askalike.core import registry
from askalike.core.arrays import Docids, Floats, Floats32, Scores, VectorPart, Vectors
from askalike.core.config import FieldNames, NumberList, validate_settings
from askalike.core.filters import AllowedDocs
from askalike.core.hits import LazyMapping, TopDocs
from askalike.core.model_folders import LearnedLabels
from askalike.core.parallel import map_pieces
from askalike.core.records import Answer, AnsweredQuestion, Question
from askalike.core.values import check_weights
from askalike.encoders import Encoder, concatenate_parts
from askalike.index.engine import IN_MEMORY, ArchiveIndex, IndexEngine, IndexLocation, VectorsSearcher, VectorsWriter
from askalike.index.rows import DocAttributes, Excluded, find_positions
from askalike.index.vectors.index import PendingVectors, VectorIndex, VectorLayout
from askalike.index.vectors.parts import Storage
from askalike.index.vectors.searcher import VectorQueries, VectorSearcher
from askalike.learning.models import load_recipe
from askalike.rankers._field_vectors import FieldEncoder, FieldShares, RelativeQueries
from askalike.rankers._indexed import ANSWER_WEIGHT, FieldSettings, IndexedRanker, add_answers, changed_documents
from askalike.rankers._queries_and_results import Explanations, ResolvedQuery, Retrieved, Texts, fill_missing
from askalike.rankers._ranker import Ranker, VectorScores
from askalike.rankers._searcher import Searcher
from askalike.rankers._word_explanations import RawText, WordReader, explain_by_words
from askalike.rankers.pairwise import PairScorer, PairwiseRanker
from askalike.store import Snapshot, TrainingView
from askalike.store.encoding_progress import record_encoding
from askalike.text.talk import list_courtesies, talk_direction

EncodedDocument = tuple[int, int, Question | Answer, DocAttributes]
"""Docid, phrasing, its text, and the attributes for filters."""
BATCH, SLOW_BATCH = 2_048, 512
"""The number of texts encoded between two reports of progress, and with a slow encoder."""
MAX_FOLLOWED = 32
"""Maximum number of changed documents that a teacher encodes before a search; `index` encodes the others.

If there are more, a slow encoder's vectors are cached for other rankers and commands.
"""


class DenseSettings(FieldSettings):
    """The fields that are encoded, and the storage of vectors."""

    fields: FieldNames = Field(
        "text",
        description="the fields that are encoded; text is title and body as one text, as in papers; "
        "answer is the accepted one",
    )
    field_weights: Annotated[NumberList, AfterValidator(check_weights)] | None = Field(
        None, description="the weight of each field's similarity; by default the encoder's"
    )
    rephrasings: bool = Field(True, description="whether a question is also found by its rephrasings")
    storage: Storage = Field("f16", description="number format of stored vectors: f16, int8 (half the space) or f32")
    min_score: float | None = Field(None, description="minimum score of a hit; by default the encoder's own")
    exact_up_to: int = Field(
        500_000,
        ge=1,
        description="maximum number of vectors that an engine compares exactly; above it, it may follow a graph",
    )


class DenseRanker(IndexedRanker[VectorsSearcher, VectorsWriter]):
    """Ranking by an encoder's vectors."""

    _pending: tuple[tuple[VectorIndex, int, int], VectorSearcher] | None = None
    """The index, its change number and the archive's, and the searcher for both; see `_search_with_pending`."""

    def __init__(self, encoder: Encoder, settings: DenseSettings | None = None, name: str = "dense") -> None:
        self.name, self.encoder, self.settings = name, encoder, settings or DenseSettings()
        self._courtesies: dict[str | None, Floats32] = {}

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> Self:
        """See Ranker.from_settings; the name is an encoder's or a recipe's, the values its settings or the index's."""
        ours, others = _split_settings(values)
        if registry.find_kind(name, ("encoder",)):
            encoder = encoders.build(name, others)
        else:  # a recipe, trained on the fields that are searched
            read = {f"features.{key}": values[key] for key in ("fields", "code") if key in values}
            others = {key: value for key, value in others.items() if key != "code"}
            encoder = load_recipe(name, {**read, **others}).create_encoder()
        return cls(encoder, validate_settings(DenseSettings, ours, name), name)

    @classmethod
    def from_folder(cls, folder: Path, values: Mapping[str, Any]) -> Ranker:
        """Return the ranker for the trained encoder in a folder. The values are its settings or DenseSettings."""
        ours, others = _split_settings(values)
        settings = validate_settings(DenseSettings, ours, folder.name)
        return _rank_by(encoders.open_encoder(folder, others), settings, folder.name)

    @property
    def values(self) -> Mapping[str, Any]:
        return {**self.settings.model_dump(), **self.encoder.values}

    @cached_property
    def word_reader(self) -> WordReader:
        """Reads the words of texts for explanations."""
        return WordReader.of_encoder(self.encoder)

    @cached_property
    def unrelated_vector(self) -> Floats32:
        """The mean vector of the encoder's unrelated texts, (dim)."""
        return self._encode_mean(self.encoder.unrelated_texts)

    def courtesies(self, language: str | None) -> Floats32:
        """Return the mean vector of the courtesies of a language, (dim)."""
        if language not in self._courtesies:
            self._courtesies[language] = self._encode_mean(list_courtesies(language))
        return self._courtesies[language]

    def _encode_mean(self, texts: Sequence[str]) -> Floats32:
        encoded = self.encoder.encode_queries([Question(text, text) for text in texts])
        return np.asarray(concatenate_parts(encoded).mean(axis=0), np.float32)

    @property
    def fingerprint(self) -> str:
        share = self.encoder.courtesy_share
        return f"{self.encoder.fingerprint} {share}" if share else self.encoder.fingerprint

    @property
    def trained_until(self) -> str | None:
        """The encoder's date; a packaged encoder was not trained on the archive."""
        return self.encoder.trained_until

    @property
    def needs_candidates(self) -> bool:
        """See Ranker.needs_candidates; applies to the ranker that `fit` returns."""
        return not self.encoder.indexable

    @property
    def learned_labels(self) -> LearnedLabels:
        """The encoder's."""
        return self.encoder.learned_labels

    @property
    def lexical_weight(self) -> float:
        return self.encoder.lexical_weight

    @property
    def languages(self) -> Sequence[str] | None:
        """The encoder's."""
        return self.encoder.languages

    @property
    def lexical_power(self) -> int | None:
        return self.encoder.lexical_power

    @property
    def min_score(self) -> float | None:
        """The score below which nothing is retrieved; None for no minimum."""
        return self.encoder.min_score if self.settings.min_score is None else self.settings.min_score

    @property
    def vector_scores(self) -> VectorScores:
        fields = self.settings.field_names
        own = self.settings.field_weights if len(fields) > 1 else None
        return VectorScores(self.encoder, fields, own or self._usual_weights(fields), self.min_score)

    def fit(self, view: TrainingView) -> Ranker:
        """Return a ranker with the trained encoder; itself if there is nothing to learn."""
        fitted = self.encoder.fit(view)
        return self if fitted is self.encoder else _rank_by(fitted, self.settings, self.name)

    def follow(self, view: Snapshot) -> None:
        """See Ranker.follow. Many changes are not encoded by the teacher; their vectors are looked up at first."""
        few = not self.encoder.can_approximate or view.count_changed(self._current_index(view).change) <= MAX_FOLLOWED
        if few or view.engine:
            self.build(view)

    def open(self, view: Snapshot) -> "DenseSearcher":
        index = self._current_index(view)
        if not self.encoder.can_approximate or not isinstance(index, VectorIndex):
            return DenseSearcher(self, view, self._built_index(view).searcher)
        return DenseSearcher(self, view, self._search_with_pending(view, index))

    def _search_with_pending(self, view: Snapshot, index: VectorIndex) -> VectorSearcher:
        """Return a searcher of the index and of later changes, with looked-up vectors for these."""
        state = (index, index.change, view.last_change)
        if state[1] == state[2]:
            return index.searcher
        if self._pending is None or self._pending[0] != state:
            self._pending = state, self._look_up_changes(view, index)
        return self._pending[1]

    def _look_up_changes(self, view: Snapshot, index: VectorIndex) -> VectorSearcher:
        rows = [
            (docid, phrasing, attributes.title_key(phrasing), text)
            for docid, texts, attributes in self._documents(view, index.change)
            for phrasing, text in enumerate(texts)
        ]
        gone = {*view.deleted_docids(index.change), *(docid for docid, *_ in rows)}
        if not rows:
            return index.search_with(None, sorted(gone))
        docids, phrasings, keys, documents = zip(*rows, strict=True)
        vectors = self.field_encoder(view).encode_documents(documents, approximate=True)
        numbers = np.array(docids, np.int64), np.array(phrasings, np.uint16)
        pending = PendingVectors(*numbers, vectors, np.array(keys, np.uint64))
        return index.search_with(pending, sorted(gone))

    def field_encoder(self, view: Snapshot) -> FieldEncoder:
        """Return the encoder of the view's documents and of queries."""
        fields, usual = self._list_fields(view)
        own = self.settings.field_weights if len(fields) > 1 else None
        return FieldEncoder(self.encoder, fields, own or usual, self.settings.title_factor)

    def _list_fields(self, view: Snapshot) -> tuple[Sequence[str], tuple[float, ...]]:
        """Return the fields that are encoded, of which an answer has only one, and their usual weights."""
        fields = self.settings.field_names
        if len(fields) > 1 and view.kind == "answers":
            fields = ("text",)
        return fields, self._usual_weights(fields)

    def _usual_weights(self, fields: Sequence[str]) -> tuple[float, ...]:
        usual = {"title": self.encoder.title_weight, "answer": ANSWER_WEIGHT}
        return tuple(usual.get(field, 1.0) for field in fields)

    @cached_property
    def _digest(self) -> str:
        vectors = self.encoder.document_fingerprint
        fields = self.settings.field_names
        values = [vectors, fields if len(fields) > 1 else fields[0], self.settings.rephrasings, self.settings.storage]
        return hashlib.sha256(json.dumps(values).encode()).hexdigest()

    def _index_name(self, view: Snapshot) -> str:
        return f"vectors-{view.kind}-{self._digest[:12]}"

    def _open_index(
        self, engine: IndexEngine, location: IndexLocation, view: Snapshot
    ) -> ArchiveIndex[VectorsSearcher, VectorsWriter]:
        fields, weights = self._list_fields(view)
        layout = VectorLayout(self._digest, self.settings.storage, weights if fields[1:] else ())
        return engine.vectors(location, layout, self.settings.exact_up_to, view.__len__)

    def _record_progress(self, view: Snapshot, writer: VectorsWriter) -> AbstractContextManager[Callable[[int], None]]:
        if not self._shares_vectors(view, writer):
            return super()._record_progress(view, writer)
        return record_encoding(view.path, self.name, view.count_changed(writer.change))

    def _shares_vectors(self, view: Snapshot, writer: VectorsWriter) -> bool:
        """Return whether there are many changes for a slow encoder; its vectors are then shared by all commands."""
        is_kept = view.engine != IN_MEMORY and view.count_changed(writer.change) > MAX_FOLLOWED
        return is_kept and self.encoder.share_vectors(view.path, len(view)) is not None

    def _write_documents(self, view: Snapshot, writer: VectorsWriter) -> Iterator[int]:
        done = 0
        size = SLOW_BATCH if self._shares_vectors(view, writer) else BATCH
        batches = self._batches(view, writer.change, writer.sent_docid, size)
        for batch, vectors in map_pieces(partial(_encode_batch, self.field_encoder(view)), batches):
            docids, phrasings, _, attributes = zip(*batch, strict=True)
            writer.add(np.array(docids), np.array(phrasings), vectors, attributes)
            done += phrasings.count(0)
            yield done

    def _batches(self, view: Snapshot, since: int, sent_docid: int, size: int) -> Iterator[list[EncodedDocument]]:
        """Yield the documents not sent yet, about `size` at a time."""
        batch: list[EncodedDocument] = []
        for docid, texts, attributes in self._documents(view, since):
            if docid > sent_docid:
                batch += [(docid, phrasing, text, attributes) for phrasing, text in enumerate(texts)]
            if len(batch) >= size:
                yield batch
                batch = []
        if batch:
            yield batch

    def _documents(self, view: Snapshot, since: int) -> Iterator[tuple[int, list[Question | Answer], DocAttributes]]:
        """Yield (docid, phrasings, attributes) of each document added or changed after a change number."""
        for docid, document, attributes in changed_documents(view, since, self.settings):
            if isinstance(document, Answer):
                yield docid, [document], attributes
                continue
            others = document.rephrasings if self.settings.rephrasings else ()
            yield docid, [document, *(self._rephrased(document, text) for text in others)], attributes

    def _rephrased(self, question: Question, text: str) -> Question:
        """Return the question with a rephrasing as its title; if only bodies are encoded, as its body."""
        if isinstance(question, AnsweredQuestion):
            question = replace(question, answer=None)
        if self.settings.fields == "body":
            return replace(question, title="", body=text, markup="text")
        return replace(question, title=text, body="")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RetrievedByVectors(Retrieved):
    """encoded: the queries' vectors; None for no queries."""

    encoded: VectorQueries | None


class DenseSearcher(Searcher):
    """See DenseRanker."""

    has_similarity = True

    def __init__(self, ranker: DenseRanker, view: Snapshot, vectors: VectorsSearcher) -> None:
        super().__init__(ranker.name, view)
        self._ranker, self.languages, settings = ranker, ranker.encoder.languages, ranker.settings
        self._vectors, self._fields = vectors, ranker.field_encoder(view)
        self._share = ranker.encoder.courtesy_share if len(self._fields.fields) > 1 else 0.0
        self.bridges_languages = bool(ranker.encoder.unrelated_texts)
        self._lowest, self._reads_answers = ranker.min_score, "answer" in settings.field_names
        self._reads_titles, self._reads_bodies = settings.reads("title"), settings.reads("body")
        self.titles = vectors if settings.finds_titles else None

    def retrieve(self, queries: Sequence[ResolvedQuery], k: int, allowed: AllowedDocs | None = None) -> Retrieved:
        """See Searcher.retrieve. Documents below the ranker's minimum score are not retrieved."""
        encoded = self._encode(queries)
        lowest = self._lowest
        tops: Sequence[TopDocs] = self._vectors.search(encoded, k, allowed) if encoded else []
        if lowest is not None:
            counts = [np.count_nonzero(top.scores >= lowest) for top in tops]
            tops = [TopDocs(top.docids[:n], top.scores[:n]) for top, n in zip(tops, counts, strict=True)]
        return self._found(queries, [top.docids for top in tops], [top.scores for top in tops], encoded)

    def score(
        self, queries: Sequence[ResolvedQuery], docids: Sequence[Docids], known: Retrieved | None = None
    ) -> Retrieved:
        encoded = known.encoded if isinstance(known, RetrievedByVectors) else self._encode(queries)
        scores = self._vectors.score(encoded, docids, known.topdocs if known else None) if encoded else []
        return self._found(queries, docids, scores, encoded, known)

    def find_talk(self, sentences: Sequence[Question]) -> Mapping[Question, float]:
        """See Searcher.find_talk: by the encoder's direction of talk, in the languages that it knows."""
        direction = talk_direction(self._ranker.encoder.talk_direction)
        known = [one for one in sentences if self.languages is None or one.language in self.languages]
        if direction is None or not known:
            return {}
        vectors = concatenate_parts(self._ranker.encoder.encode_queries(known))
        return dict(zip(known, (vectors @ direction[:-1] + direction[-1]).tolist(), strict=True))

    def find_similar(self, questions: Texts, k: int) -> list[Docids]:
        """Return the k others that are most similar by their stored vectors, the mean of title and whole text."""
        readings = self._read_stored(questions)
        if not readings:
            return super().find_similar(questions, k)
        vectors = Vectors((VectorPart(sum(one.vectors for one in readings), "dot"),))
        return [top.docids for top in self._vectors.search(VectorQueries(vectors, list(map(Excluded, questions))), k)]

    def compare_stored(self, questions: Texts, docids: Sequence[Docids]) -> list[list[Floats]]:
        readings = self._read_stored(questions)
        if not readings:
            return super().compare_stored(questions, docids)
        compared = []
        for one in readings:
            queries = VectorQueries(Vectors((VectorPart(one.vectors, "dot"),)), [None] * len(questions))
            rows = zip(self._vectors.score(queries, docids), one.lowest.tolist(), strict=True)
            compared.append([np.clip(fill_missing(row) - lowest, 0, 1) for row, lowest in rows])
        return compared

    def _read_stored(self, questions: Texts) -> Sequence[RelativeQueries]:
        """Return stored questions' titles, then their whole texts, as queries; nothing if their vectors cannot be."""
        if not questions:
            return ()
        if self.view.engine != IN_MEMORY:
            self._ranker.encoder.share_vectors(self.view.path, len(self.view))
        documents = self._fields.encode_documents(list(questions.values()))
        return self._fields.relate(documents, self._ranker.encoder.unrelated_score)

    def explain(
        self, retrieved: Retrieved, docids: Sequence[Docids], texts: Texts, *, exact: bool = False
    ) -> list[Explanations]:
        """Return the contribution of each query word with the document's most similar word, or only the score."""
        if self._reads_answers:
            texts = add_answers(self.view, texts)
        return [self._explain_query(retrieved, row, own, texts, exact) for row, own in enumerate(docids)]

    def _encode(self, queries: Sequence[ResolvedQuery]) -> VectorQueries | None:
        """Return the queries' vectors; None for no queries."""
        if not queries:
            return None
        background = self._background(queries) if self._share else None
        vectors = self._fields.encode_queries([one.finished or one.query for one in queries], background)
        return VectorQueries(vectors, [one.excluded for one in queries])

    def _background(self, queries: Sequence[ResolvedQuery]) -> Floats32:
        """Return what is subtracted from each query's vector, (queries, dim)."""
        courtesies = [self._ranker.courtesies(one.language) * (not one.is_foreign) for one in queries]
        return np.float32(self._share) * np.stack(courtesies)

    def _found(
        self, queries: Sequence[ResolvedQuery], docids: Sequence[Docids], scores: Sequence[Scores],
        encoded: VectorQueries | None, known: Retrieved | None = None,
    ) -> Retrieved:  # fmt: skip
        vectors = known.vectors if known else self._fields.unit_queries(encoded.vectors) if encoded else None
        unrelated = np.full(len(queries), self._ranker.encoder.unrelated_score)
        lowest = unrelated * (1 - self._share)
        if vectors is not None and (foreign := [row for row, one in enumerate(queries) if one.is_foreign]):
            lowest[foreign] = unrelated[foreign] = vectors[foreign] @ self._ranker.unrelated_vector
        absolute = [
            np.maximum((own - low) / (1 - zero or 1.0), 0) if low else own
            for own, low, zero in zip(scores, lowest.tolist(), unrelated.tolist(), strict=True)
        ]
        return RetrievedByVectors(queries, docids, scores, absolute, vectors, encoded=encoded)

    def _explain_query(self, retrieved: Retrieved, row: int, docids: Docids, texts: Texts, exact: bool) -> Explanations:
        assert isinstance(retrieved, RetrievedByVectors)
        encoded = retrieved.encoded
        if encoded is None or not len(docids):
            return {}
        scores = fill_missing(retrieved.scores[row][find_positions(retrieved.docids[row], docids)]).tolist()
        documents = [self._phrasing_fields(encoded, row, texts[docid], docid) for docid in docids.tolist()]
        of_fields = FieldShares(self._fields, self._vectors, encoded, row, docids, scores)

        def share(place: int) -> Mapping[str, float]:
            if "rephrasing" in documents[place]:
                return {"rephrasing": scores[place]}
            return self._name_fields(of_fields.rows[place], documents[place])

        shares = [LazyMapping(partial(share, place)) for place in range(len(scores))]
        query = retrieved.queries[row]
        text = self._fields.select_query(query.finished or query.query)
        languages = {query.language, *(texts[docid].language or self.view.language for docid in docids.tolist())}
        reader = self._ranker.word_reader
        losses = self._find_losses(reader, text, query, docids) if exact and reader.stands_in else None
        reasons = explain_by_words(reader, self.name, text, documents, scores, shares, languages, losses)
        return dict(zip(docids.tolist(), reasons, strict=True))

    def _find_losses(self, reader: WordReader, text: Question, query: ResolvedQuery, docids: Docids) -> Floats:
        """Return the decrease of each document's score without each of the query's first words, (documents, words)."""
        texts = [text, *reader.leave_words_out(text)]
        encoded = VectorQueries(self._fields.encode_queries(texts), [query.excluded] * len(texts))
        scores = fill_missing(np.array(self._vectors.score(encoded, [docids] * len(texts))))
        return np.asarray(scores[0] - scores[1:]).T

    def _name_fields(self, shares: Mapping[str, float], document: Mapping[str, RawText]) -> Mapping[str, float]:
        """Return the shares of a document's fields, with that of a lacking answer at the field that stands for it."""
        if "answer" not in shares or "answer" in document or len(shares) == 1:
            return shares
        others = {field: share for field, share in shares.items() if field != "answer"}
        return others | {self._fields.replacement: others[self._fields.replacement] + shares["answer"]}

    def _phrasing_fields(self, vectors: VectorQueries, row: int, question: Question, docid: int) -> dict[str, RawText]:
        """Return the fields of the question's best-scoring phrasing."""
        phrasing = self._vectors.best_phrasing(vectors, row, docid) if question.rephrasings else 0
        if phrasing > len(question.rephrasings):  # the archive has changed since it was indexed
            return {}
        if phrasing:
            return {"rephrasing": (question.rephrasings[phrasing - 1], "", "text")}
        texts: dict[str, RawText] = {}
        if self._reads_titles and question.title:
            texts["title"] = question.title, "", question.markup
        if self._reads_bodies and question.body:
            texts["body"] = "", question.body, question.markup
        if isinstance(question, AnsweredQuestion) and question.answer:
            texts["answer"] = "", question.answer.body, question.answer.markup
        return texts


def _encode_batch(encoder: FieldEncoder, batch: list[EncodedDocument]) -> tuple[list[EncodedDocument], Vectors]:
    return batch, encoder.encode_documents([text for _, _, text, _ in batch])


def _rank_by(encoder: Encoder, settings: DenseSettings, name: str) -> Ranker:
    """Return a ranker with a trained encoder: by its vectors, or pairwise if its score cannot be based on vectors."""
    if encoder.indexable:
        return DenseRanker(encoder, settings, name)
    return PairwiseRanker(cast(PairScorer, encoder), name)


def _split_settings(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (settings of the index, settings of the encoder)."""
    ours = {k: v for k, v in values.items() if k in DenseSettings.model_fields}
    return ours, {k: v for k, v in values.items() if k not in ours}

"""Names for engines: the contracts of indexes and searchers, their parts, and the exact arithmetic of local indexes.

An engine's class implements `IndexEngine`, and is registered in the group `askalike.engines`.
"""

from askalike.core.arrays import Array, Floats, VectorPart, Vectors
from askalike.core.errors import EngineError, ReadOnlyIndexError, SearchIndexError
from askalike.core.filters import AllowedDocs
from askalike.core.hits import LazyMapping, TopDocs
from askalike.index.engine import (
    ArchiveIndex,
    IndexEngine,
    IndexLocation,
    PreparedTerms,
    Speller,
    TermsSearcher,
    TermsWriter,
    TitlesSearcher,
    VectorsSearcher,
    VectorsWriter,
    hide_login,
)
from askalike.index.lexical.builder import round_lengths
from askalike.index.lexical.index import LexicalLayout
from askalike.index.lexical.prepared import FieldWeights, QueryTerms
from askalike.index.lexical.query_batch import MIN_INFORMATION
from askalike.index.lexical.searcher import CandidateMatches, TermContributions
from askalike.index.lexical.term_scores import (
    MAX_REPHRASING_GAIN,
    FieldStatistics,
    TermScorer,
    integer_scale,
    round_to_integers,
    score_bounds,
    score_fields,
    term_information,
)
from askalike.index.lexical.terms import field_of, mark_terms, word_of
from askalike.index.lexical.vocabulary import MAX_COMPLETIONS, NearSearch, NearTerm, select_near_terms
from askalike.index.rows import MAX_TITLES, DocAttributes, Excluded, find_distinct, find_positions
from askalike.index.vectors.index import VectorLayout
from askalike.index.vectors.parts import DensePart, PartSchema, Storage, nonzero_rows
from askalike.index.vectors.searcher import VectorQueries
from askalike.store.contents import pending_changes

__all__ = [
    "MAX_COMPLETIONS",
    "MAX_REPHRASING_GAIN",
    "MAX_TITLES",
    "MIN_INFORMATION",
    "AllowedDocs",
    "ArchiveIndex",
    "Array",
    "CandidateMatches",
    "DensePart",
    "DocAttributes",
    "EngineError",
    "Excluded",
    "FieldStatistics",
    "FieldWeights",
    "Floats",
    "IndexEngine",
    "IndexLocation",
    "LazyMapping",
    "LexicalLayout",
    "NearSearch",
    "NearTerm",
    "PartSchema",
    "PreparedTerms",
    "QueryTerms",
    "ReadOnlyIndexError",
    "SearchIndexError",
    "Speller",
    "Storage",
    "TermContributions",
    "TermScorer",
    "TermsSearcher",
    "TermsWriter",
    "TitlesSearcher",
    "TopDocs",
    "VectorLayout",
    "VectorPart",
    "VectorQueries",
    "Vectors",
    "VectorsSearcher",
    "VectorsWriter",
    "field_of",
    "find_distinct",
    "find_positions",
    "hide_login",
    "integer_scale",
    "mark_terms",
    "nonzero_rows",
    "pending_changes",
    "round_lengths",
    "round_to_integers",
    "score_bounds",
    "score_fields",
    "select_near_terms",
    "term_information",
    "word_of",
]

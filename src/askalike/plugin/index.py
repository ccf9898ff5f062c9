"""Names for engines: the contracts of indexes and searchers, their parts, and the exact arithmetic of local indexes.

An engine's class implements `IndexEngine`, and is registered in the group `askalike.engines`.
"""

from askalike.core.arrays import Array as Array, Floats as Floats, VectorPart as VectorPart, Vectors as Vectors
from askalike.core.errors import (
    EngineError as EngineError,
    ReadOnlyIndexError as ReadOnlyIndexError,
    SearchIndexError as SearchIndexError,
)
from askalike.core.filters import AllowedDocs as AllowedDocs
from askalike.core.hits import LazyMapping as LazyMapping, TopDocs as TopDocs
from askalike.index.engine import (
    ArchiveIndex as ArchiveIndex,
    IndexEngine as IndexEngine,
    IndexLocation as IndexLocation,
    PreparedTerms as PreparedTerms,
    Speller as Speller,
    TermsSearcher as TermsSearcher,
    TermsWriter as TermsWriter,
    TitlesSearcher as TitlesSearcher,
    VectorsSearcher as VectorsSearcher,
    VectorsWriter as VectorsWriter,
    hide_login as hide_login,
)
from askalike.index.lexical.builder import round_lengths as round_lengths
from askalike.index.lexical.index import LexicalLayout as LexicalLayout
from askalike.index.lexical.prepared import FieldWeights as FieldWeights, QueryTerms as QueryTerms
from askalike.index.lexical.query_batch import MIN_INFORMATION as MIN_INFORMATION
from askalike.index.lexical.searcher import CandidateMatches as CandidateMatches, TermContributions as TermContributions
from askalike.index.lexical.term_scores import (
    MAX_REPHRASING_GAIN as MAX_REPHRASING_GAIN,
    FieldStatistics as FieldStatistics,
    TermScorer as TermScorer,
    integer_scale as integer_scale,
    round_to_integers as round_to_integers,
    score_bounds as score_bounds,
    score_fields as score_fields,
    term_information as term_information,
)
from askalike.index.lexical.terms import field_of as field_of, mark_terms as mark_terms, word_of as word_of
from askalike.index.lexical.vocabulary import (
    MAX_COMPLETIONS as MAX_COMPLETIONS,
    NearSearch as NearSearch,
    NearTerm as NearTerm,
    select_near_terms as select_near_terms,
)
from askalike.index.rows import (
    MAX_TITLES as MAX_TITLES,
    DocAttributes as DocAttributes,
    Excluded as Excluded,
    find_distinct as find_distinct,
    find_positions as find_positions,
)
from askalike.index.vectors.index import VectorLayout as VectorLayout
from askalike.index.vectors.parts import (
    DensePart as DensePart,
    PartSchema as PartSchema,
    Storage as Storage,
    nonzero_rows as nonzero_rows,
)
from askalike.index.vectors.searcher import VectorQueries as VectorQueries
from askalike.store.contents import pending_changes as pending_changes

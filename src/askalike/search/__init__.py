"""Engines answer search requests with an archive and a ranker; indexes are local, or in OpenSearch."""

from askalike.search._engine import Engine, SearchRequest, SearchResult
from askalike.search._precedents import Precedent
from askalike.search._words import corrected_words, found_words

__all__ = ["Engine", "Precedent", "SearchRequest", "SearchResult", "corrected_words", "found_words"]

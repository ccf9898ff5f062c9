"""Engines answer search requests with an archive and a ranker; indexes are local, or in OpenSearch."""

from askalike.engines._engine import Engine, SearchRequest, SearchResult
from askalike.engines._precedents import Precedent
from askalike.engines._words import corrected_words, found_words

__all__ = ["Engine", "Precedent", "SearchRequest", "SearchResult", "corrected_words", "found_words"]

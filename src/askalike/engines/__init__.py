"""Engines: an archive with a ranker over it, answering requests. The embedded one is `local`."""

from askalike.engines._engine import Engine, SearchRequest, SearchResult
from askalike.engines._precedents import Precedent

__all__ = ["Engine", "Precedent", "SearchRequest", "SearchResult"]

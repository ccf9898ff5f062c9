"""The names that an export needs: what a ranker is made of, terms and vectors of texts, and the rules of a search.

An export is a class of settings with the method of `ExportFormat`, and is registered in the group `askalike.exports`.
A ranker says by `word_scores`, `vector_scores`, `parts` and `weights_for` how it scores, an encoder by `lookup` how it
looks queries up.
"""

from askalike.calibration.abstention import AbstentionRule, abstention_rule
from askalike.core.arrays import Floats32
from askalike.core.iteration import LogCallback, ProgressTracker, chunks
from askalike.core.values import safe_url
from askalike.encoders import LookupTable
from askalike.export import ExportFormat
from askalike.rankers import VectorScores, WordScores
from askalike.rankers.lexical import TermExtractor
from askalike.search.rules import search_rules
from askalike.service.widget import build_widget
from askalike.store.contents import has_content
from askalike.text.clean import plain_text, readable_blocks, truncate
from askalike.text.language import stop_words
from askalike.text.passages import extract_snippet
from askalike.text.words import hash_word

__all__ = [
    "AbstentionRule",
    "ExportFormat",
    "Floats32",
    "LogCallback",
    "LookupTable",
    "ProgressTracker",
    "TermExtractor",
    "VectorScores",
    "WordScores",
    "abstention_rule",
    "build_widget",
    "chunks",
    "extract_snippet",
    "has_content",
    "hash_word",
    "plain_text",
    "readable_blocks",
    "safe_url",
    "search_rules",
    "stop_words",
    "truncate",
]

"""The names that an export needs: what a ranker is made of, terms and vectors of texts, and the rules of a search.

An export is a class of settings with the method of `ExportFormat`, and is registered in the group `askalike.exports`.
A ranker says by `word_scores`, `vector_scores`, `parts` and `weights_for` how it scores, an encoder by `lookup` how it
looks queries up.
"""

from typing import Any

from askalike.calibration.abstention import (
    MIN_CHARACTERS,
    AbstentionRule as AbstentionRule,
    abstention_rule as abstention_rule,
)
from askalike.core.arrays import Floats32 as Floats32
from askalike.core.iteration import LogCallback as LogCallback, ProgressTracker as ProgressTracker, chunks as chunks
from askalike.core.values import safe_url as safe_url
from askalike.encoders import LookupTable as LookupTable
from askalike.export import ExportFormat as ExportFormat
from askalike.index.lexical.vocabulary import MAX_COMPLETIONS
from askalike.index.rows import MAX_TITLES
from askalike.rankers import DEPTH_FACTOR, VectorScores as VectorScores, WordScores as WordScores, spelling_rules
from askalike.rankers.lexical import TermExtractor as TermExtractor
from askalike.search.archive_retriever import MAX_DEPTH_FACTOR
from askalike.search.readings import CLEAR_TERMS, MAX_SENTENCES, MIN_TERMS, QUESTION_MARKS
from askalike.search.select import ANSWERED_FIRST
from askalike.service.widget import build_widget as build_widget, formula_files as formula_files
from askalike.store.contents import has_content as has_content
from askalike.store.records import find_originals as find_originals
from askalike.text.analyzer import CONTRACTING, DROPPED_MARKS, MAX_JOINED
from askalike.text.clean import (
    INVISIBLE,
    LINK_REST,
    LINK_START,
    LINK_TOKEN,
    plain_text as plain_text,
    readable_blocks as readable_blocks,
    truncate as truncate,
)
from askalike.text.language import stop_words as stop_words
from askalike.text.passages import extract_snippet as extract_snippet, sentence_rules
from askalike.text.subwords import MAX_WORD_PART, WORD_START
from askalike.text.talk import talk_rules
from askalike.text.typos import KEYBOARDS, MIN_PHONETIC_LENGTH, SAME_SOUNDS, UNLIKELY_COST, VOWELS
from askalike.text.words import APOSTROPHES, HYPHENS, cjk_pattern, hash_word as hash_word


def search_rules(language: str | None) -> dict[str, dict[str, Any]]:
    """Return the rules of texts, words, spelling, hits and others: name → value, as JSON can have it.

    language: of the archive, None if it has several. The modules that this one imports from say what each means.
    Patterns are regular expressions, or parts of them, as Python writes them.
    """
    return {
        "texts": {"invisible": INVISIBLE.pattern, "link": LINK_START + LINK_REST, "link_token": LINK_TOKEN},
        "words": {
            "cjk": cjk_pattern().pattern.removesuffix("+"), "apostrophes": APOSTROPHES, "hyphens": HYPHENS,
            "dropped_marks": DROPPED_MARKS.pattern, "max_joined": MAX_JOINED, "contracting": list(CONTRACTING),
        },
        "spelling": spelling_rules(),
        "typos": {
            "keyboards": KEYBOARDS, "vowels": "".join(sorted(VOWELS)), "sounds": SAME_SOUNDS,
            "phonetic_from": MIN_PHONETIC_LENGTH, "unlikely_cost": UNLIKELY_COST,
        },
        "sentences": sentence_rules(),
        "talk": talk_rules(),
        "readings": {
            "max_sentences": MAX_SENTENCES, "min_terms": MIN_TERMS, "clear_terms": CLEAR_TERMS,
            "question_marks": list(QUESTION_MARKS),
        },
        "hits": {
            "max_completions": MAX_COMPLETIONS, "max_titles": MAX_TITLES, "min_characters": MIN_CHARACTERS,
            "answered_first": ANSWERED_FIRST, "depth_factor": DEPTH_FACTOR, "max_depth_factor": MAX_DEPTH_FACTOR,
        },
        "subwords": {"word_start": WORD_START, "max_word_part": MAX_WORD_PART},
    }  # fmt: skip

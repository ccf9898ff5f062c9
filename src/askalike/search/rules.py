"""The constants of a search as data, for one that runs elsewhere, such as in a browser: so that no rule stands twice.

Patterns are character classes, or parts of regular expressions that mean the same in other languages.
"""

from typing import Any

from askalike.index.lexical.vocabulary import MAX_COMPLETIONS
from askalike.index.rows import MAX_TITLES
from askalike.rankers import spelling_rules
from askalike.text.analyzer import CONTRACTING, DROPPED_MARKS, MAX_JOINED
from askalike.text.clean import INVISIBLE, LINK_REST, LINK_START, LINK_TOKEN
from askalike.text.subwords import MAX_WORD_PART, WORD_START
from askalike.text.typos import KEYBOARDS, MIN_PHONETIC_LENGTH, SAME_SOUNDS, UNLIKELY_COST, VOWELS
from askalike.text.words import APOSTROPHES, HYPHENS, cjk_pattern


def search_rules() -> dict[str, dict[str, Any]]:
    """Return the rules of texts, words, spelling, hits and subwords: name → value, as JSON can have it.

    The modules that this one imports from say what each means.
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
        "hits": {"max_completions": MAX_COMPLETIONS, "max_titles": MAX_TITLES},
        "subwords": {"word_start": WORD_START, "max_word_part": MAX_WORD_PART},
    }  # fmt: skip

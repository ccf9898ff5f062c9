"""Checks of texts: titles, banners, texts without a token, and languages in which search finds less."""

from array import array

import numpy as np

from askalike.core.arrays import Ints
from askalike.core.values import format_count
from askalike.health.findings import MAX_EXAMPLES, CheckContext, Finding, count_with_examples
from askalike.store import count_questions_by
from askalike.store.contents import find_faults, question_in_language
from askalike.text.banners import strip_banner
from askalike.text.clean import normalise
from askalike.text.language import LANGUAGES

LOUD_SHARE = 0.01
"""A finding is serious if more than this share of the questions cannot be found."""
BIGRAM_LANGUAGES = ("ja", "ko", "zh")
"""Languages that need no stemmer: their terms are pairs of characters."""
UNSEGMENTED_LANGUAGES = ("th", "lo", "km", "my")
"""Languages written without spaces that the analyzer does not divide into words."""


def empty_titles(context: CheckContext) -> Finding:
    """Find questions whose title is blank."""
    count, examples = count_with_examples(id for _, id, title in context.titles("empty titles") if not title.strip())
    meaning = "A question without a title can be found by its body only; give it one, or delete it."
    return Finding("empty_titles", count, len(context.view), "questions", meaning, examples)


def repeated_titles(context: CheckContext) -> Finding:
    """Find questions with the same title as an earlier question, ignoring case, whitespace and final punctuation.

    Takes 16 bytes per question: its docid and the hash of its title.
    """
    docids, hashes = array("q"), array("q")
    for docid, _, title in context.titles("repeated titles"):
        if plain := normalise_title(title):
            docids.append(docid)
            hashes.append(hash(plain))
    repeats, largest = _find_repeats(np.array(docids, np.int64), np.array(hashes, np.int64))
    questions = context.view.questions_by_docid(docid for docid, _ in largest)
    details = tuple(f"{n:,} times: {questions[docid].title}" for docid, n in largest)
    problem = "Questions with the same title compete in every ranking"
    meaning = f"{problem}; link them as duplicates, merge them, or delete the copies."
    ids = context.view.ids(repeats[:MAX_EXAMPLES].tolist())
    examples = tuple(ids[docid] for docid in sorted(ids))
    return Finding("repeated_titles", len(repeats), len(context.view), "questions", meaning, examples, details)


def normalise_title(title: str) -> str:
    """Return the form in which titles are compared: NFKC, case folded, single spaces, no final `?`, `!` or `.`."""
    return " ".join(normalise("NFKC", title).casefold().split()).rstrip("?!. ")


def leak_banners(context: CheckContext) -> Finding:
    """Find bodies that begin with a banner naming the original question."""
    questions = context.questions("leak banners")
    count, examples = count_with_examples(q.id for _, q in questions if strip_banner(q.body, q.markup)[1])
    meaning = "The banner reveals the relevant answer, so measures are too high; import again."
    return Finding("leak_banners", count, len(context.view), "questions", meaning, examples)


def no_tokens(context: CheckContext) -> Finding:
    """Find questions with a text but without a token: no query can retrieve them."""
    questions = context.questions("no tokens")
    unsearchable = (q.id for _, q in questions if (q.title + q.body).strip() and not any(context.tokens(q)))
    count, examples = count_with_examples(unsearchable)
    n = len(context.view)
    meaning = "No query can find these: they hold only punctuation or markup; correct or delete them."
    return Finding("no_tokens", count, n, "questions", meaning, examples, serious=count > LOUD_SHARE * n)


def unknown_languages(context: CheckContext) -> Finding:
    """Find questions without a language, in an archive without one."""
    matches = find_faults(context.view, "unknown_languages", MAX_EXAMPLES)
    count, examples = (0, ()) if context.language else (matches.matching, matches.examples)
    meaning = "They are stemmed as if they were English; name the language with --language when importing."
    return Finding("unknown_languages", count, matches.total, "questions", meaning, examples)


def unsupported_languages(context: CheckContext) -> Finding:
    """Find questions in a language without a stemmer, or whose words the analyzer does not separate."""
    counts = count_questions_by(context.view, "language", default=context.language)
    unsupported = {language: n for language, n in counts.items() if language and _limitation(language)}
    details = tuple(
        f"{language}: {format_count(n, 'question')}; {_limitation(language)}" for language, n in unsupported.items()
    )
    meaning = "Searches in these languages find less; an encoder that knows the language helps."
    firsts = (question_in_language(context.view, x, context.language) for x in list(unsupported)[:MAX_EXAMPLES])
    examples = tuple(filter(None, firsts))
    count = sum(unsupported.values())
    n = len(context.view)
    return Finding(
        "unsupported_languages", count, n, "questions", meaning, examples, details, serious=bool(unsupported)
    )


def _limitation(language: str) -> str:
    """Return the limitation of search in a language; empty if there is none."""
    if language in UNSEGMENTED_LANGUAGES:
        return "no spaces between words: only whole phrases match"
    if LANGUAGES.get(language) or language in BIGRAM_LANGUAGES:
        return ""
    return "no stemmer: only identical word forms match"


def _find_repeats(docids: Ints, hashes: Ints) -> tuple[Ints, list[tuple[int, int]]]:
    """Return the docids of all but the first question of each hash, and the first docid and size of the largest."""
    _, first, counts = np.unique(hashes, return_index=True, return_counts=True)
    is_repeat = np.ones(len(docids), bool)
    is_repeat[first] = False
    shared = sorted((-int(n), int(docids[i])) for i, n in zip(first[counts > 1], counts[counts > 1], strict=True))
    return docids[is_repeat], [(docid, -size) for size, docid in shared[:MAX_EXAMPLES]]

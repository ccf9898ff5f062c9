"""Checks of what an analyzer makes of the texts: label leaks, text without a token, languages it cannot do well."""

from collections.abc import Iterator

from askalike.health.findings import CheckContext, Finding, count_with_examples
from askalike.text.clean import strip_banner
from askalike.text.language import LANGUAGES

LOUD_SHARE = 0.01
"""Where this part of the questions cannot be found at all, that is said loudly."""
BIGRAM_LANGUAGES = ("ja", "ko", "zh")
"""Languages that need no stemmer: their terms are pairs of characters."""
UNSEGMENTED_LANGUAGES = ("th", "lo", "km", "my")
"""Languages written without spaces that are not cut into words."""


def leak_banners(subject: CheckContext) -> Finding:
    """Bodies that open with a banner naming the original question."""
    questions = subject.questions("leak banners")
    count, examples = count_with_examples(q.id for _, q in questions if strip_banner(q.body, q.markup)[1])
    meaning = "The banner gives away the answer that is looked for, and measures come out too high; import again."
    return Finding("leak_banners", count, len(subject.view), "questions", meaning, examples)


def no_tokens(subject: CheckContext) -> Finding:
    """Questions with text of which the analyzer makes no token: they can never be found."""
    questions = subject.questions("no tokens")
    silent = (q.id for _, q in questions if (q.title + q.body).strip() and not any(subject.tokens(q)))
    count, examples = count_with_examples(silent)
    n = len(subject.view)
    meaning = "No query can find these: they are only signs, code or markup; look at the examples, mend or delete them."
    return Finding("no_tokens", count, n, "questions", meaning, examples, loud=count > LOUD_SHARE * n)


def unknown_languages(subject: CheckContext) -> Finding:
    """Questions of which no language is known, neither their own nor the archive's."""
    count = 0 if subject.language else subject.fetch_int("SELECT COUNT(*) FROM questions WHERE language IS NULL")
    sql = "SELECT id FROM questions WHERE language IS NULL ORDER BY number"
    meaning = "They are stemmed as if they were English; say what they are with --language when importing."
    examples = subject.fetch_examples(sql) if count else ()
    return Finding("unknown_languages", count, len(subject.view), "questions", meaning, examples)


def unsupported_languages(subject: CheckContext) -> Finding:
    """Questions in a language that has no stemmer here, or whose words are not told apart."""
    sql = "SELECT COALESCE(language, ?), COUNT(*) FROM questions GROUP BY 1 ORDER BY 2 DESC, 1"
    counts = subject.view.connection.execute(sql, (subject.language,))
    weak = {language: n for language, n in counts if language and _limitation(language)}
    details = tuple(f"{language}: {n:,} questions; {_limitation(language)}" for language, n in weak.items())
    meaning = "Search in these languages finds less than it should; encoders that know the language make up for it."
    return Finding(
        "unsupported_languages",
        sum(weak.values()),
        len(subject.view),
        "questions",
        meaning,
        tuple(_language_examples(subject, tuple(weak))),
        details,
        loud=bool(weak),
    )


def _limitation(language: str) -> str:
    """What search in a language lacks; empty where it lacks nothing."""
    if language in UNSEGMENTED_LANGUAGES:
        return "written without spaces, its words are not told apart: only whole phrases match"
    if LANGUAGES.get(language) or language in BIGRAM_LANGUAGES:
        return ""
    return "no stemmer: a word matches only in the very form it is written in"


def _language_examples(subject: CheckContext, languages: tuple[str, ...]) -> Iterator[str]:
    for language in languages[:5]:
        sql = "SELECT id FROM questions WHERE COALESCE(language, ?) = ? ORDER BY number LIMIT 1"
        yield from (id for (id,) in subject.view.connection.execute(sql, (subject.language, language)))

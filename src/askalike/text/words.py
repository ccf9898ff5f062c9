"""Words of texts: one regular expression per tokenizer, the runs of Chinese, Japanese and Korean, and hashes."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple

Tokenizer = Literal["standard", "ptb", "whitespace"]

MAX_CACHED_FORMS = 1 << 14
_CJK: Final = (
    "\u1100-\u11ff\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u303c\u3041-\u3096\u309d-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c"
    "\uac00-\ud7a3\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
WORD: Final = re.compile(r"\w+")
APOSTROPHES: Final = "'’"
HYPHENS: Final = "\\-\u2010\u2011"
_NOT_PUNCTUATION: Final = r"\w\s\x00-\x1f\x7f-\x9f\ud800-\udfff"


@cache
def cjk_pattern() -> re.Pattern[str]:
    """Return the pattern of one or more characters of Chinese, Japanese or Korean script."""
    return re.compile(f"[{_CJK}]+")


def is_plain(text: str) -> bool:
    """Return whether a text has neither combining marks nor Chinese, Japanese or Korean characters."""
    return text.isascii() or _complex_script_pattern().search(text) is None


@cache
def _complex_script_pattern() -> re.Pattern[str]:
    return re.compile(f"[{_CJK}{_combining_marks()}]")


@lru_cache(MAX_CACHED_FORMS)
def fold_title(title: str) -> str:
    """Return the words of a plain title, in the form in which titles are equal but for case and punctuation."""
    return " ".join(WORD.findall(unicodedata.normalize("NFKC", title).casefold()))


def title_key(title: str) -> int:
    """Return a number of 64 bits for a title, equal for titles that are equal but for case and punctuation.

    It is 0 for a title without words.
    """
    folded = fold_title(title)
    return int.from_bytes(hashlib.blake2b(folded.encode("utf-8", "replace"), digest_size=8).digest()) if folded else 0


@cache
def word_pattern(tokenizer: Tokenizer, plain: bool, joined: bool = False) -> re.Pattern[str]:
    """Return the pattern of one word of a tokenizer; for a plain text there is a faster equivalent pattern.

    joined: whether words with apostrophes or hyphens between them are one, with the tokenizer standard.

    standard: `\\w+`, which may contain combining marks (such as Hindi, Thai and Arabic vowels); a run of Chinese,
    Japanese or Korean script is a separate word.
    ptb: as in the Penn Treebank: every punctuation mark is a word, `don't` is `do` and `n't`, `John's` is `John` and
    `'s`, `cannot` is `can` and `not`; numbers, abbreviations such as `e.g.` and hyphenated words are not split.
    whitespace: all characters between white space.
    """
    if tokenizer == "whitespace":
        return re.compile(r"\S+")
    word = r"\w+" if plain else rf"[^\W{_CJK}]+(?:[{_combining_marks()}]+[^\W{_CJK}]*)*"
    if tokenizer == "ptb":
        word = _ptb_pattern(word)
    elif joined:
        word = f"(?:{word})(?:[{APOSTROPHES}{HYPHENS}](?:{word}))*"
    return re.compile(word if plain else f"{word}|[{_CJK}]+")


def any_word_pattern(forms: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of any of these words, ignoring case, as whole words; in scripts without spaces, anywhere."""
    longest_first = sorted(filter(None, forms), key=len, reverse=True)
    return re.compile("|".join(map(_whole_word, longest_first)) or "(?!)", re.IGNORECASE)


def find_words(text: str, forms: Iterable[str]) -> list[tuple[int, int]]:
    """Return the spans of these words in a text, like `any_word_pattern`, but without compiling a new pattern."""
    forms = set(forms)
    whole = set(filter(None, map(_lower_word, forms)))
    spans = [m.span() for m in WORD.finditer(text) if m[0].lower() in whole]
    others = [form for form in forms if not _lower_word(form) and form.lower() not in whole]
    if not others:
        return spans
    return _drop_overlaps([*spans, *(m.span() for m in any_word_pattern(others).finditer(text))])


@lru_cache(MAX_CACHED_FORMS)
def _lower_word(form: str) -> str:
    """Return a word of `\\w+` in lower case; "" for others, and in scripts without spaces."""
    return form.lower() if WORD.fullmatch(form) and not _has_cjk(form) else ""


def _drop_overlaps(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans by start; of overlapping ones only the first, and of those with the same start the longest."""
    apart: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not apart or start >= apart[-1][1]:
            apart.append((start, end))
    return apart


def _whole_word(form: str) -> str:
    pattern = re.escape(form)
    return pattern if _has_cjk(form) else rf"(?<!\w){pattern}(?!\w)"


def _has_cjk(text: str) -> bool:
    return not text.isascii() and cjk_pattern().search(text) is not None


class WordForm(NamedTuple):
    """A word without surrounding punctuation, the number of characters before it, and the case-folded word.

    Of a word without letters and digits, `text` is the whole word, and `folded` is empty.
    """

    text: str
    offset: int
    folded: str


@lru_cache(MAX_CACHED_FORMS)
def find_form(word: str) -> WordForm:
    """Return a whitespace-separated word without surrounding punctuation."""
    if word.isalnum():
        return WordForm(word, 0, word.casefold())
    start = next((i for i, c in enumerate(word) if c.isalnum()), 0)
    end = len(word) - next((i for i, c in enumerate(reversed(word)) if c.isalnum()), 0)
    has_letters = word[start : start + 1].isalnum()
    return WordForm(word[start:end], start, word[start:end].casefold() if has_letters else "")


def hash_word(word: str) -> int:
    """Return a 64-bit hash (BLAKE2b) of a word or a part of one, the same on every machine."""
    digest = hashlib.blake2b(word.encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _ptb_pattern(word: str) -> str:
    clitic = r"['’](?i:s|m|d|re|ve|ll)\b"
    inside = rf"[-./@+&=~^|\\]|(?<=\d)[,:](?=\d)|(?!{clitic})['’]"
    return "|".join(
        (
            rf"[nN]['’][tT]\b|{clitic}",
            r"\b(?i:can(?=not\b)|(?:gon|wan)(?=na\b)|got(?=ta\b)|(?:gim|lem)(?=me\b))",
            r"\w+?(?=[nN]['’][tT]\b)",
            r"\b(?:(?:[^\W\d_]\.){2,}|(?i:mr|mrs|ms|dr|prof|st|vs|etc|inc|ltd|jr|sr)\.)",
            rf"(?:{word})(?:(?:{inside})(?:{word}))*(?:\+\+)?",
            rf"\.{{2,}}|-{{2,}}|[^{_NOT_PUNCTUATION}]",
        )
    )


@cache
def _combining_marks() -> str:
    """Return the combining marks of Unicode's basic plane, which `\\w` does not match, as a character class."""
    marks = [c for c in range(0x300, 0x10000) if unicodedata.category(chr(c)) in ("Mn", "Mc")]
    starts = [c for c, before in zip(marks, [0, *marks], strict=False) if c != before + 1]
    ends = [c for c, after in zip(marks, [*marks[1:], 0], strict=True) if c != after - 1]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))

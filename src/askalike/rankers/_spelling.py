"""Spelling correction of query words that are not in the archive, such as `isntall`, to words that are.

Candidates are terms of the index, so that they are up to date; the replacement itself is taken from a question with
such a term, since terms are stems and encoders need words.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np

from askalike.core.records import Question
from askalike.encoders.minilm_l6 import english_words
from askalike.index.engine import TermsSearcher
from askalike.index.lexical.terms import edit_distance
from askalike.index.lexical.vocabulary import NearSearch
from askalike.index.rows import find_distinct
from askalike.rankers._completion import STEM_ENDING, ArchiveWords, WordCompleter
from askalike.rankers._compounds import COMPOUNDING, read_compounds
from askalike.rankers._queries_and_results import ResolvedQuery
from askalike.store import Snapshot
from askalike.text.analyzer import Analyzer
from askalike.text.language import ENGLISH, stop_words
from askalike.text.typos import is_likely_typo
from askalike.text.words import HYPHENS, WORD, title_key

MIN_LETTERS = 4
"""Shorter words are not corrected, and shorter stems are no candidates: too many words are similar to them."""
TWO_EDITS_FROM = 8
"""Minimum length of words that may differ by two edits; shorter ones may differ by one."""
INFLECTION = 6
"""Maximum length of a misspelt ending that the stem does not have."""
STEM_BEGINNING, UNFINISHED_BEGINNING = 3, 1
"""Length of the prefix assumed to be correct if the ending is misspelt, and if a word is unfinished."""
INFLECTED_EDITS = 1
"""Number of edits of a word allowed in addition to those of its stem."""
MAX_HELD, HELD_RATIO = 2, 100
"""Maximum number of questions with a misspelling, and how many times as many have the word that it stands for."""
HELD_LETTERS, HELD_ENDING = 6, 2
"""Minimum length of such a misspelling, and length of the ending that it shares with the word, as *caller* and *called*
do not; both also begin with the same letter."""
MAX_TERMS, MAX_QUESTIONS = 3, 8
"""Maximum number of terms considered for a word, and of questions searched for a word with each term."""
MAX_UNKNOWN = 2
"""With more unknown words, if they are most of the query, it is assumed to be in another language, unless all of them
are similar to known words."""
JOINTS = "-_./@"
"""Characters that join words: `e-mail` is not an *e* before a misspelt *email*."""
PAIR = re.compile(rf"(?<![\w'’])([^\W\d_]+)[ {HYPHENS}](?=([^\W\d_]+)(?![\w'’]))")
"""Two words of letters with a space or a hyphen between them."""
JOINT = re.compile(f"[ {HYPHENS}]")
MIN_JOINED_SHARE = 0.25
"""Two words are also one if questions without the rarer of both have it: at least this share of those with it."""
MAX_COUNTED = 1_000
"""Maximum number of questions, the oldest, that are looked at for a word."""
MAX_REMEMBERED_WORDS = 10_000
KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


def spelling_rules() -> dict[str, Any]:
    """Return what limits corrections, by name."""
    return {
        "min_letters": MIN_LETTERS, "two_edits_from": TWO_EDITS_FROM, "max_unknown": MAX_UNKNOWN, "joints": JOINTS,
    }  # fmt: skip


class _Word(NamedTuple):
    """A word of a query that may be misspelt: its term, its place, whether it may be unfinished, questions with it."""

    term: str
    start: int
    end: int
    is_unfinished: bool
    n_questions: int


class _Pair(NamedTuple):
    """Two words of a query: the position between them, and the terms of both as one word, the first and the second."""

    joint: int
    terms: tuple[str, ...]


_TypedPair = tuple[str, str | None]
"""Two words as typed, with the space or the hyphen between them, and their language: the key of cached pairs."""


class _Typed(NamedTuple):
    """A word as typed, in lower case, with its term: the key of cached corrections."""

    text: str
    term: str
    language: str | None
    is_unfinished: bool
    n_questions: int

    @property
    def max_edits(self) -> int:
        """Maximum number of edits between a term and its correction."""
        return 1 + (len(self.text) >= TWO_EDITS_FROM)


class SpellingCorrector:
    """Corrects the titles of queries with the words of a view's index, and completes their unfinished words anyway."""

    def __init__(
        self, view: Snapshot, postings: TermsSearcher, analyzer: Analyzer, corrects: bool, words: ArchiveWords
    ) -> None:
        self._view, self._postings, self._analyzer, self._corrects = view, postings, analyzer, corrects
        self._words, self._completer = words, WordCompleter(postings, analyzer, words)
        self._meant: dict[_Typed, str | None] = {}
        self._pairs: dict[_TypedPair, tuple[str, ...]] = {}
        self._joined: dict[tuple[str, ...], bool] = {}

    def correct(self, queries: list[ResolvedQuery]) -> list[ResolvedQuery]:
        """Return the queries with the misspelt words of their titles corrected, and words joined as in the archive."""
        is_joining = self._analyzer.settings.joined
        has_compounds = is_joining and any(one.language in COMPOUNDING for one in queries)
        read = read_compounds(queries, self._postings, self._analyzer) if has_compounds else queries
        corrected = self._correct_words(read) if self._corrects else read
        return self._join_words(corrected) if is_joining else corrected

    def _correct_words(self, queries: list[ResolvedQuery]) -> list[ResolvedQuery]:
        counts, rows = self._find_rare(queries)
        if not rows:
            return queries
        words = {row: list(self._long_words(queries[row], counts)) for row in rows}
        misspelt = {row: [word for word in own if word.n_questions <= MAX_HELD] for row, own in words.items()}
        meant = self._look_up(_typed(queries[row], word) for row, own in misspelt.items() for word in own)
        corrected = list(queries)
        for row, own in misspelt.items():
            one = queries[row]
            read = _replace_words(one, own, meant)
            unknown = {one.text[word.start : word.end] for word in own if not word.n_questions}
            is_foreign = len(unknown) > MAX_UNKNOWN and 2 * len(unknown) > len(words[row])
            if not is_foreign or unknown.issubset(read.corrections):
                corrected[row] = read
        changed = (row for row, own in misspelt.items() if corrected[row] is not queries[row])
        for row in self._titles_among(queries, [row for row in changed if any(w.n_questions for w in misspelt[row])]):
            corrected[row] = queries[row]
        return corrected

    def _titles_among(self, queries: Sequence[ResolvedQuery], rows: Sequence[int]) -> list[int]:
        """Return the rows of the queries that are a question's title as they are."""
        asked = [queries[row] for row in rows]
        titles = self._postings.find_titles([title_key(q.query.title) for q in asked], [q.excluded for q in asked])
        return [row for place, row in enumerate(rows) if titles.get(place)]

    def _find_rare(self, queries: Sequence[ResolvedQuery]) -> tuple[Mapping[str, int], list[int]]:
        """Return the number of questions with each term, and the indexes of the queries with any that few have."""
        if len(queries) == 1:
            terms = self._analyzer.analyze(queries[0].text, queries[0].language)
            counts = self._postings.speller.count(terms)
            return counts, [0] if any(counts.get(term, 0) <= MAX_HELD for term in terms) else []
        names, numbers, ends = self._analyzer.number_terms([q.text for q in queries], [q.language for q in queries])
        counts = self._postings.speller.count(names)
        places = np.flatnonzero(np.array([counts.get(name, 0) <= MAX_HELD for name in names], np.bool_)[numbers])
        return counts, find_distinct(np.searchsorted(ends, places, "right") - 1).tolist()

    def _join_words(self, queries: list[ResolvedQuery]) -> list[ResolvedQuery]:
        """Return the queries with a hyphen between words that the archive often writes as one, and no other hyphen.

        So `log in` is also found as `login`, but `time-complexity` only as both words. The texts that encoders read
        stay as they are.
        """
        pairs = self._find_pairs(queries)
        if not any(pairs):
            return queries
        joined = self._joined = _with_room(self._joined)
        if new := list(dict.fromkeys(pair.terms for own in pairs for pair in own if pair.terms not in joined)):
            speller = self._postings.speller
            words = list(dict.fromkeys(word for _, *pair in new for word in pair))
            wholes = speller.docids_of_each([whole for whole, _, _ in new], MAX_COUNTED)
            # Two words that are both in more questions are one in too few of them, whichever pair they are.
            enough = min(MAX_COUNTED, int(max(map(len, wholes)) / MIN_JOINED_SHARE) + 1)
            docids = dict(zip(words, speller.docids_of_each(words, enough), strict=True))
            rows = zip(new, wholes, strict=True)
            joined.update((own, _are_one_word(whole, docids[own[1]], docids[own[2]])) for own, whole in rows)
        joints = [{pair.joint: joined[pair.terms] for pair in own} for own in pairs]
        texts = [_set_joints(one.text, own) for one, own in zip(queries, joints, strict=True)]
        rows_of_texts = zip(queries, texts, strict=True)
        return [one if one.text == text else replace(one, text=text) for one, text in rows_of_texts]

    def _find_pairs(self, queries: Sequence[ResolvedQuery]) -> list[list[_Pair]]:
        """Return the pairs of words with a hyphen between them, or a space if the archive has both as one word.

        A pair has a term for each word. The word that is being typed is in none.
        """
        if len(self._pairs) >= MAX_REMEMBERED_WORDS:
            self._pairs = {}
        remembered = self._pairs
        found = list[tuple[int, int, _TypedPair]]()
        for row, one in enumerate(queries):
            text, language = one.text, one.language
            typed_up_to = len(text) if one.prefix else -1
            for match in PAIR.finditer(text):
                if (end := match.end(2)) != typed_up_to:
                    found.append((row, match.end(1), (text[match.start() : end], language)))
        if new := [typed for _, _, typed in found if typed not in remembered]:
            remembered.update(zip(new, self._read_pairs(new), strict=True))
        pairs: list[list[_Pair]] = [[] for _ in queries]
        for row, joint, typed in found:
            if terms := remembered[typed]:
                pairs[row].append(_Pair(joint, terms))
        return pairs

    def _read_pairs(self, pairs: Sequence[_TypedPair]) -> Iterator[tuple[str, ...]]:
        """Yield the terms of both words as one, of the first and of the second; nothing if they cannot be joined."""
        analyze = self._analyzer.analyze
        words = [(JOINT.split(text), language) for text, language in pairs]
        wholes = [analyze("".join(own), language) for own, language in words]
        counts = self._postings.speller.count([term for whole in wholes for term in whole])
        for (typed, _), (own, language), whole in zip(pairs, words, wholes, strict=True):
            is_known = " " not in typed or any(term in counts for term in whole)
            terms = *whole, *(term for word in own for term in analyze(word, language))
            yield terms if is_known and len(terms) == 3 else ()

    def finish(self, queries: Sequence[ResolvedQuery]) -> list[ResolvedQuery]:
        """Return the queries with what their unfinished words may be."""
        return list(map(self._completer.finish, queries))

    def _long_words(self, one: ResolvedQuery, counts: Mapping[str, int]) -> Iterator[_Word]:
        text, language = one.text, one.language
        for term, start, end in self._analyzer.analyze_with_spans(text, language):
            typed = text[start:end].lower()
            is_word = len(typed) >= MIN_LETTERS and typed.isalpha() and typed not in stop_words(language or "en")
            if is_word and not _is_joined(text, start, end):
                is_unfinished = one.prefix and end == len(text)
                if not is_unfinished or not self._completer.complete(typed, language).weights:
                    yield _Word(term, start, end, is_unfinished, counts.get(term, 0))

    def _look_up(self, words: Iterable[_Typed]) -> Mapping[_Typed, str | None]:
        """Return the corrections of words; new ones are looked up together, in one request to a cluster."""
        remembered = self._meant = _with_room(self._meant)
        if new := [word for word in dict.fromkeys(words) if word not in remembered]:
            meant = self._find_usual(word for word in new if word.n_questions)
            unknown = [word for word in new if not word.n_questions]
            meant |= self._find_beginnings([word for word in unknown if word.is_unfinished])
            for find in self._find_in_titles, self._find_by_stem, self._find_by_beginning:
                meant |= find([word for word in unknown if not meant.get(word)])
            remembered |= meant
        return remembered

    def _find_beginnings(self, words: Sequence[_Typed]) -> dict[_Typed, str | None]:
        """Return corrections of unfinished words to prefixes of known terms."""
        searches = [NearSearch(word.text, 1, beginning=UNFINISHED_BEGINNING, open_end=True) for word in words]
        found = zip(words, self._postings.speller.near_each(searches), strict=True)
        likely = ((word, (one.term[: one.letters] for one in near)) for word, near in found)
        return {
            word: next((read for read in near if is_likely_typo(word.text, read, 1)), None) for word, near in likely
        }

    def _find_usual(self, words: Iterable[_Typed]) -> dict[_Typed, str | None]:
        """Return what rare stored words are misspellings of."""
        usual: dict[_Typed, str | None] = {}
        terms_of = {word: dict(self._usual_words(word)) for word in words}
        counts = self._postings.speller.count([term for own in terms_of.values() for term in chain(*own.values())])
        for word, own in terms_of.items():
            own_counts = {meant: min(counts.get(term, 0) for term in terms) for meant, terms in own.items()}
            usual[word] = next((m for m, n in own_counts.items() if n >= HELD_RATIO * word.n_questions), None)
        return usual

    def _usual_words(self, word: _Typed) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield words that a typed one may stand for, with their terms; only of English it is known which are none."""
        text, language = word.text, word.language or ENGLISH
        if word.is_unfinished or len(text) < HELD_LETTERS or language != ENGLISH or text in english_words():
            return
        for meant in self._words.misspelt_as(text, 1):
            terms = self._analyzer.analyze(meant, word.language)
            if meant[0] == text[0] and meant[-HELD_ENDING:] == text[-HELD_ENDING:] and terms and word.term not in terms:
                yield meant, terms

    def _find_in_titles(self, words: Sequence[_Typed]) -> dict[_Typed, str | None]:
        """Return corrections of words to words of titles."""
        found = ((word, self._words.misspelt_as(word.text, word.max_edits)) for word in words)
        return {word: next(iter(near), None) for word, near in found}

    def _find_by_stem(self, words: Sequence[_Typed]) -> dict[_Typed, str | None]:
        """Return corrections of words with misspelt stems."""
        searches = [NearSearch(word.term, word.max_edits) for word in words]
        return self._find_words(words, searches, INFLECTED_EDITS)

    def _find_by_beginning(self, words: Sequence[_Typed]) -> dict[_Typed, str | None]:
        """Return corrections of words with misspelt endings."""
        searches = [NearSearch(word.text, 0, beginning=STEM_BEGINNING, tail=INFLECTION) for word in words]
        return self._find_words(words, searches, 0)

    def _find_words(
        self, words: Sequence[_Typed], searches: Sequence[NearSearch], more_edits: int
    ) -> dict[_Typed, str | None]:
        """Return word → its correction by similar terms; None if no term is similar enough."""
        found: dict[_Typed, str | None] = dict.fromkeys(words)
        near = dict(zip(words, self._postings.speller.near_each(searches), strict=True))
        for rank in range(MAX_TERMS):
            terms = {word: near[word][rank].term for word in words if not found[word] and rank < len(near[word])}
            docids = self._postings.speller.docids_of_each(list(terms.values()), MAX_QUESTIONS)
            questions = self._view.questions_by_docid({docid for of_term in docids for docid in of_term})
            for (word, term), of_term in zip(terms.items(), docids, strict=True):
                own = [questions[docid] for docid in of_term if docid in questions]
                found[word] = self._find_form(term, own, word, word.max_edits + more_edits)
        return found

    def _find_form(self, term: str, questions: Sequence[Question], word: _Typed, max_edits: int) -> str | None:
        """Return the word with this term that is most similar to the typed one, from a few questions."""
        is_likely = len(word.term) >= MIN_LETTERS and is_likely_typo(word.term, term, word.max_edits)
        for texts in _texts_of(questions):
            edits = {form: edit_distance(form, word.text) for form in self._forms(term, texts, word.language)}
            best = min(edits, key=edits.__getitem__, default="")
            if best and edits[best] <= max_edits and (is_likely or is_likely_typo(word.text, best, word.max_edits)):
                return best
        return None

    def _forms(self, term: str, texts: Iterable[str], language: str | None) -> Iterator[str]:
        """Yield the words of some texts that have this term."""
        beginning = term[: max(1, len(term) - STEM_ENDING)]
        words = dict.fromkeys(word for text in texts for word in WORD.findall(text.lower()))
        similar = (word for word in words if word.startswith(beginning))
        return (word for word in similar if self._analyzer.analyze(word, language) == [term])


def _texts_of(questions: Sequence[Question]) -> Iterator[Sequence[str]]:
    """Yield the titles and rephrasings of a few questions, then their bodies."""
    yield [title for question in questions for title in (question.title, *question.rephrasings)]
    yield [question.body for question in questions]


def _with_room(remembered: dict[KeyT, ValueT]) -> dict[KeyT, ValueT]:
    """Return a cache, or a new one where it is full. Other threads may still use the full one."""
    return remembered if len(remembered) < MAX_REMEMBERED_WORDS else {}


def _replace_words(
    one: ResolvedQuery, words: Sequence[_Word], meant_words: Mapping[_Typed, str | None]
) -> ResolvedQuery:
    corrections = dict(one.corrections)
    text = one.text
    for word in reversed(words):
        typed = one.text[word.start : word.end]
        if meant := meant_words[_typed(one, word)]:
            meant = meant.capitalize() if typed[0].isupper() else meant
            text = f"{text[: word.start]}{meant}{text[word.end :]}"
            corrections[typed] = meant
    if len(corrections) == len(one.corrections):
        return one
    return replace(one, query=replace(one.query, title=text), text=text, corrections=corrections)


def _are_one_word(whole: Sequence[int], first: Sequence[int], second: Sequence[int]) -> bool:
    """Return whether two words are often written as one. Arguments: the docids with both as one word, and with each."""
    rarer = min(first, second, key=len)
    end = rarer[-1] if len(rarer) >= MAX_COUNTED else math.inf
    alone = {docid for docid in whole if docid <= end}.difference(rarer)
    return len(alone) >= max(1, MIN_JOINED_SHARE * len(rarer))


def _set_joints(text: str, joints: Mapping[int, bool]) -> str:
    """Return a text with hyphens at these positions, or with spaces where it is False."""
    for joint, is_one in joints.items():
        text = f"{text[:joint]}{'-' if is_one else ' '}{text[joint + 1 :]}"
    return text


def _is_joined(text: str, start: int, end: int) -> bool:
    """Return whether a word is joined to the previous or the next one."""
    before, after = text[:start], text[end:]
    return (before[-1:] in JOINTS and before[-2:-1].isalnum()) or (after[:1] in JOINTS and after[1:2].isalnum())


def _typed(one: ResolvedQuery, word: _Word) -> _Typed:
    typed = one.text[word.start : word.end].lower()
    return _Typed(typed, word.term, one.language, word.is_unfinished, word.n_questions)

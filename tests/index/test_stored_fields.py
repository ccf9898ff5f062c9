"""Where all documents of a segment have the same words in two fields, one list of postings stands for both."""

import json

import numpy as np
import pytest
from brute import ALL, fresh, score, search

from askalike.index.files import (
    ARRAYS_FILE,
    MANIFEST,
    compute_checksum,
    open_arrays,
    read_manifest,
    write_arrays,
    write_manifest,
)
from askalike.index.lexical import term_scores
from askalike.index.lexical.builder import TermLists
from askalike.index.lexical.index import LexicalIndex, LexicalLayout
from askalike.index.lexical.prepared import QueryTerms
from askalike.index.lexical.terms import mark_terms
from askalike.index.lexical.vocabulary import NearSearch
from askalike.index.rows import Excluded

LAYOUT = LexicalLayout("x", field_count=2)
WORDS = [f"w{n:02}" for n in range(30)]
FIELDS = (1.0, 1.5)


def text(number, body=()):
    """A title of one to six words, and title and body as the second field."""
    title = [WORDS[(number * step) % 30] for step in range(1, 2 + number % 6)]
    return [*title, *mark_terms([*title, *body], 1)]


TITLES = {n: text(n) for n in range(200)}
WHOLES = {n: text(n, WORDS[n % 7 : n % 7 + 9]) for n in range(200, 260)}
QUERIES = [
    QueryTerms(text(7)),
    QueryTerms(text(11, WORDS[3:20])),
    QueryTerms([*text(4), "w05"], "w1"),
    QueryTerms(text(9, ["w15"]), "w", Excluded(9), ("w03",), field_factors=(0.1, 1.0)),
    QueryTerms(mark_terms(WORDS[:4], 1), "w2"),
    QueryTerms(["unknown", *mark_terms(["w02"], 1)]),
]


def committed(path, *batches):
    index = LexicalIndex.open(path, LAYOUT)
    for change, batch in enumerate(batches, 1):
        with index.writer() as writer:
            for number, terms in sorted(batch.items()):
                writer.add(number, [(0, terms)])
            writer.commit(change)
    return index


def stored(index):
    return [segment.live.segment.stored_fields.tolist() for segment in index.segments]


def answers(searcher):
    """All that a searcher says of the queries."""
    pools = [np.arange(0, 260, 3)] * len(QUERIES)
    found = [f for similarity in ALL for f in search(searcher, QUERIES, similarity, 12, None, FIELDS)]
    scored = [s.tolist() for similarity in ALL for s in score(searcher, QUERIES, similarity, pools, FIELDS)]
    prepared = searcher.prepare(QUERIES, ALL[0], FIELDS)
    absolute = [own.tolist() for own in searcher.match(prepared, pools).absolute]
    speller = searcher.speller
    words = speller.complete("w"), speller.complete("w1"), speller.count(["w01", "no"])
    searches = [NearSearch("w01", 1), NearSearch("x02", 1, open_end=True)]
    near = speller.near_each(searches), speller.docids_of_each(["w03"], 40)
    hits = [(f.docids.tolist(), f.scores.tolist()) for f in found]
    return hits, scored, absolute, searcher.contributions(prepared, pools), words, near


@pytest.fixture
def apart(monkeypatch):
    """Build searchers whose fields all have terms of their own."""

    def build(documents):
        with monkeypatch.context() as patch:
            patch.setattr(TermLists, "find_stored_fields", lambda self, lengths: np.arange(len(lengths)))
            return fresh({n: [(0, terms)] for n, terms in documents.items()}, field_count=2)

    return build


def test_titles_alone_have_one_list_per_word(apart):
    together = fresh({n: [(0, terms)] for n, terms in TITLES.items()}, field_count=2)
    [one], [two] = together.segments, apart(TITLES).segments
    assert (one.segment.stored_fields.tolist(), two.segment.stored_fields.tolist()) == ([0, 0], [0, 1])
    assert 2 * len(one.segment.codes) == len(two.segment.codes)
    assert 2 * len(one.segment.df) == len(two.segment.df)
    assert answers(together) == answers(apart(TITLES))


def test_first_body_is_its_own_segment(tmp_path, monkeypatch, apart):
    monkeypatch.setattr("askalike.index.writing.SMALL_SEGMENTS", (32, 64))
    index = committed(tmp_path, TITLES, WHOLES)
    assert sorted(stored(index)) == [[0, 0], [0, 1]]
    assert answers(LexicalIndex.open(tmp_path, LAYOUT).searcher) == answers(apart(TITLES | WHOLES))


def test_a_merge_of_both_kinds_has_all_fields(tmp_path, apart):
    index = committed(tmp_path, TITLES, WHOLES)
    assert stored(index) == [[0, 1]]
    assert answers(index.searcher) == answers(apart(TITLES | WHOLES))
    index.delete(WHOLES)
    assert answers(index.searcher) == answers(apart(TITLES))


def test_segments_without_bodies_merge_into_one_alike(tmp_path, apart):
    halves = [{n: own for n, own in TITLES.items() if n % 2 == half} for half in (0, 1)]
    index = committed(tmp_path, *halves)
    assert stored(index) == [[0, 0]]
    assert answers(index.searcher) == answers(apart(TITLES))


def test_rewriting_the_last_body_restores_one_list(tmp_path):
    index = committed(tmp_path, TITLES | WHOLES, {n: text(n) for n in WHOLES})
    assert stored(index) == [[0, 0]]


def test_a_word_in_another_order_does_not_matter():
    documents = {1: [(0, ["a", "b", *mark_terms(["b", "a"], 1)])], 2: [(0, ["b", "b", *mark_terms(["b", "b"], 1)])]}
    assert fresh(documents, field_count=2).segments[0].own_fields == [0]
    documents[3] = [(0, ["a", "b", *mark_terms(["a", "c"], 1)])]
    assert fresh(documents, field_count=2).segments[0].own_fields == [0, 1]


def test_fields_are_compared_by_words_not_lengths():
    documents = {1: [(0, ["a", "b", *mark_terms(["a", "c"], 1)])], 2: [(0, ["a", "a", *mark_terms(["a", "d"], 1)])]}
    assert fresh(documents, field_count=2).segments[0].own_fields == [0, 1]


def test_index_of_the_older_format_opens_and_grows(tmp_path, apart):
    index = committed(tmp_path, TITLES | WHOLES)
    [segment] = index.segments
    name = f"{segment.name}/{ARRAYS_FILE}"
    arrays = {key: array.copy() for key, array in open_arrays(tmp_path / segment.name).items()}
    del arrays["stored_fields"]
    (tmp_path / name).unlink()
    write_arrays(tmp_path / segment.name, arrays)
    sums = {name: compute_checksum(tmp_path / name)}
    write_manifest(tmp_path, read_manifest(tmp_path) | {"format": 6, "checksums": sums})
    older = LexicalIndex.open(tmp_path, LAYOUT)
    assert answers(older.searcher) == answers(apart(TITLES | WHOLES))
    older.delete([1])
    assert json.loads((tmp_path / MANIFEST).read_text())["format"] == LexicalIndex.FORMAT
    assert answers(LexicalIndex.open(tmp_path, LAYOUT).searcher) == answers(
        apart({n: own for n, own in (TITLES | WHOLES).items() if n != 1})
    )


@pytest.mark.parametrize("documents", [TITLES, WHOLES], ids=["shared lists", "own lists"])
def test_terms_in_parts_score_as_all_at_once(documents, monkeypatch):
    documents = {number: [(0, terms)] for number, terms in documents.items()}
    at_once = search(fresh(documents, field_count=2), QUERIES, ALL[0], 20, fields=FIELDS)
    monkeypatch.setattr(term_scores, "MIN_ROOM", 1)
    monkeypatch.setattr(term_scores, "ENTRIES_AT_ONCE", 3)
    searcher = fresh(documents, field_count=2)
    for query, expected in zip(QUERIES, at_once, strict=True):
        [found] = search(searcher, [query], ALL[0], 20, fields=FIELDS)
        np.testing.assert_array_equal(found.docids, expected.docids)
        np.testing.assert_array_equal(found.scores, expected.scores)

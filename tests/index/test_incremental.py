"""Whatever an index went through, it answers as one built afresh, and both answer as the definition says."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from brute import ALL, Brute, assert_agrees, exclusions, fresh, is_excluded, score, search
from hypothesis import HealthCheck, given, strategies as st

from askalike.index.lexical import builder
from askalike.index.lexical.index import LexicalIndex, LexicalLayout
from askalike.index.lexical.prepared import QueryTerms
from askalike.index.lexical.searcher import PostingsSearcher
from askalike.index.lexical.terms import mark_terms, word_of
from askalike.index.rows import DocAttributes
from random_examples import examples

WORDS = ["a", "ab", "aba", "b", "ba", "é", "日", "z"]
NUMBERS = st.integers(1, 14)

MARKED = [*WORDS, *mark_terms(WORDS, 1), *mark_terms(WORDS, 2)]
"""Words in three fields; in an index of one field, the marked ones are just other terms."""

terms = st.lists(st.sampled_from(MARKED), max_size=9)
some_words = st.lists(st.sampled_from(WORDS), max_size=4)
two_alike = some_words.map(lambda words: [*words, *mark_terms(words, 1)])
all_alike = two_alike.map(lambda own: [*own, *mark_terms(map(word_of, own[len(own) // 2 :]), 2)])


def phrasings_of(terms):
    return st.lists(terms, min_size=1, max_size=4).map(lambda texts: list(enumerate(texts)))


phrasings = phrasings_of(terms)
added = st.one_of(*(st.dictionaries(NUMBERS, phrasings_of(own), max_size=8) for own in (terms, two_alike, all_alike)))
changes = st.lists(st.tuples(added, st.sets(NUMBERS, max_size=5), st.booleans()), min_size=1, max_size=9)
layouts = st.sampled_from([(False, 1), (True, 1), (False, 3), (True, 3)])  # with 2, third fields are not words
weightings = st.sampled_from([(), (2.0, 0.5, 1.0)])
queries = st.lists(
    st.builds(
        QueryTerms,
        st.lists(st.sampled_from([*MARKED, "unknown", *mark_terms(["unknown"], 1)]), max_size=6),
        st.sampled_from([None, None, "a", "b", "é", "x"]),
        exclusions,
        st.sampled_from([(), ("ab",)]),
    ),
    min_size=1,
    max_size=4,
)
filters = st.none() | st.sets(NUMBERS)
given_changes = given(changes, layouts, weightings, queries, filters, st.sampled_from([1, 2, 3, 100]))
moderate = examples(60)
pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def title_key(terms):
    """A key that several documents share, 0 for none."""
    return len(terms) % 4


def titled(documents, key, excluded):
    """The documents with a title, by the definition."""
    return [
        number
        for number, own in sorted(documents.items())
        if any(
            key and title_key(terms) == key and not is_excluded(excluded, number, phrasing) for phrasing, terms in own
        )
    ]


def weights_of(layout, weighting):
    return weighting if layout[1] == 3 else ()


def replayed(steps, layout, path):
    """An index that took the changes one commit at a time, and the documents it should now hold."""
    index, documents = LexicalIndex.open(path, layout), {}
    for change, (added, deleted, reopen) in enumerate(steps, 1):
        with index.writer() as writer:
            writer.delete(sorted(deleted))
            documents = {n: d for n, d in documents.items() if n not in deleted} | added
            for number in sorted(added):
                attributes = DocAttributes(title_keys=[title_key(terms) for _, terms in added[number]])
                writer.add(number, added[number], attributes)
            writer.commit(change)
        if reopen:
            index = LexicalIndex.open(path, layout)
    return index, documents


def assert_equal(one: PostingsSearcher, other: PostingsSearcher, batch, k, allowed, fields):
    rows = None if allowed is None else np.array(sorted(allowed), np.int64)
    pools = [np.array([3, 1, 99, 3, 14, 7], np.int64)] * len(batch)
    for similarity in ALL:
        found = zip(
            search(one, batch, similarity, k, rows, fields),
            search(other, batch, similarity, k, rows, fields),
            strict=True,
        )
        for mine, theirs in found:
            assert mine.docids.tolist() == theirs.docids.tolist()
            assert mine.scores.tolist() == theirs.scores.tolist()
        scored = zip(
            score(one, batch, similarity, pools, fields), score(other, batch, similarity, pools, fields), strict=True
        )
        assert all(mine.tolist() == theirs.tolist() for mine, theirs in scored)
        absolute = [own.match(own.prepare(batch, similarity, fields), pools).absolute for own in (one, other)]
        assert all(map(np.array_equal, *absolute))


def assert_true(searcher: PostingsSearcher, truth: Brute, batch, k, allowed):
    rows = None if allowed is None else np.array(sorted(allowed), np.int64)
    for similarity in ALL:
        for query, found in zip(batch, search(searcher, batch, similarity, k, rows, truth.fields), strict=True):
            expected = truth.scores(query, similarity, allowed)
            assert_agrees(found.docids.tolist(), found.scores.tolist(), expected, k)
        pool = np.array([5, 1, 99, 2], np.int64)
        for query, scores in zip(
            batch, score(searcher, batch, similarity, [pool] * len(batch), truth.fields), strict=True
        ):
            expected = truth.scores(query, similarity)
            np.testing.assert_allclose(scores, [expected.get(int(n), 0.0) for n in pool], rtol=1e-6, atol=1e-7)


@moderate
@given_changes
def test_incremental_equals_rebuilt_and_the_definition(steps, layout, weighting, batch, allowed, k):
    with tempfile.TemporaryDirectory() as folder:
        index, documents = replayed(steps, LexicalLayout("x", *layout), Path(folder))
        fields = weights_of(layout, weighting)
        assert_equal(index.searcher, fresh(documents, *layout), batch, k, allowed, fields)
        assert_true(index.searcher, Brute(documents, *layout, fields), batch, k, allowed)


asked_titles = st.lists(st.tuples(st.integers(0, 4), exclusions), max_size=5)


@moderate
@given(changes, layouts, asked_titles, st.booleans())
def test_titles_are_found_whatever_an_index_went_through(steps, layout, asked, is_split):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if is_split:
            patch.setattr(builder, "MAX_CODES", 12)
        index, documents = replayed(steps, LexicalLayout("x", *layout), Path(folder))
        found = index.searcher.find_titles([key for key, _ in asked], [excluded for _, excluded in asked])
    assert [found.get(row, []) for row in range(len(asked))] == [titled(documents, *one) for one in asked]


@examples(20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given_changes
def test_split_segments_answer_the_same(monkeypatch, steps, layout, weighting, batch, allowed, k):
    with tempfile.TemporaryDirectory() as folder, monkeypatch.context() as patch:
        patch.setattr(builder, "MAX_CODES", 12)
        index, documents = replayed(steps, LexicalLayout("x", *layout), Path(folder))
        fields = weights_of(layout, weighting)
        patch.undo()
        assert_equal(index.searcher, fresh(documents, *layout), batch, k, allowed, fields)


@examples(30)
@given_changes
def test_explanations_add_up(steps, layout, weighting, batch, allowed, k):
    with tempfile.TemporaryDirectory() as folder:
        searcher = replayed(steps, LexicalLayout("x", *layout), Path(folder))[0].searcher
        for similarity in ALL[:6]:
            prepared = searcher.prepare(batch, similarity, weights_of(layout, weighting))
            hits = searcher.search(prepared, k)
            explained = searcher.contributions(prepared, [found.docids for found in hits])
            assert len(explained) == len(batch)
            for found, rows in zip(hits, explained, strict=True):
                for expected, row in zip(found.scores, rows, strict=True):
                    assert sum(s for _, s in row.scores) == pytest.approx(expected, rel=1e-9)
                    assert len({t for t, _ in row.scores}) == len(row.scores)


@examples(40)
@given(st.dictionaries(NUMBERS, phrasings, min_size=1), queries, layouts)
def test_neither_k_nor_the_batch_changes_a_result(documents, batch, layout):
    searcher = fresh(documents, *layout)
    for similarity in ALL:
        together = search(searcher, batch, similarity, 50)
        assert len(together) == len(batch)
        for query, whole in zip(batch, together, strict=True):
            for k in (1, 2, 5, 10_000_000):
                alone = search(searcher, [query], similarity, k)[0]
                assert alone.docids.tolist() == whole.docids[:k].tolist()
                assert alone.scores.tolist() == whole.scores[:k].tolist()


@examples(40)
@given(st.dictionaries(NUMBERS, phrasings, min_size=1), queries, layouts)
def test_search_and_score_agree(documents, batch, layout):
    searcher = fresh(documents, *layout)
    for similarity in ALL:
        found = search(searcher, batch, similarity, 100)
        scored = score(searcher, batch, similarity, [f.docids for f in found])
        assert all(f.scores.tolist() == s.tolist() for f, s in zip(found, scored, strict=True))


@examples(60)
@given(st.dictionaries(NUMBERS, phrasings, min_size=1), NUMBERS, terms, queries, layouts)
def test_a_rephrasing_never_lowers_a_score(documents, number, text, batch, layout):
    documents.setdefault(number, [(0, [])])
    more = documents | {number: [*documents[number], (len(documents[number]), text)]}
    before, after = fresh(documents, *layout), fresh(more, *layout)
    pool = [np.array(sorted(documents), np.int64)] * len(batch)
    batch = [QueryTerms(q.terms, None, q.excluded) for q in batch]
    for similarity in ALL:
        for old, new in zip(score(before, batch, similarity, pool), score(after, batch, similarity, pool), strict=True):
            assert (new >= old).all()
            others = pool[0] != number
            assert new[others].tolist() == old[others].tolist()
        searched = list(zip(search(before, batch, similarity, 50), search(after, batch, similarity, 50), strict=True))
        assert searched
        for old, new in searched:
            earlier = dict(zip(old.docids.tolist(), old.scores.tolist(), strict=True))
            later = dict(zip(new.docids.tolist(), new.scores.tolist(), strict=True))
            assert all(later[n] >= s for n, s in earlier.items())

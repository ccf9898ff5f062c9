"""The flat term dictionary against Python's own sorted list."""

from brute import fresh
from hypothesis import given, strategies as st

from askalike.index.lexical.terms import find_prefix_range, find_terms, merge_dictionaries, pack_terms, term_at
from askalike.index.lexical.vocabulary import MAX_COMPLETIONS

words = st.text("abé日\U0001f600", min_size=1, max_size=4)


@given(st.sets(words), st.lists(words))
def test_finds_what_is_there(held, wanted):
    order = sorted(held)
    dictionary = pack_terms(order)
    assert [term_at(*dictionary, i) for i in range(len(order))] == order
    expected = [order.index(w) if w in held else -1 for w in wanted]
    assert find_terms(*dictionary, wanted).tolist() == expected


@given(st.sets(words), words)
def test_completions_are_those_that_begin_so(held, prefix):
    order = sorted(held)
    found = [order[i] for i in find_prefix_range(*pack_terms(order), prefix)]
    assert found == [t for t in order if t.startswith(prefix)]


def test_most_frequent_completions_come_first():
    documents = {n: [(0, [f"a{i:03}" for i in range(200) if n % (i + 1) == 0])] for n in range(1, 400)}
    found = fresh(documents).complete("a")
    assert found == [f"a{i:03}" for i in range(MAX_COMPLETIONS)]


@given(st.lists(st.sets(st.text("abé日\U0001f600", max_size=4)), min_size=1, max_size=4))
def test_merged_dictionaries_are_the_sorted_union(held):
    terms = [sorted(own) for own in held]
    term_bytes, term_offsets, positions = merge_dictionaries([pack_terms(own) for own in terms])
    union = sorted(set().union(*held))
    assert [term_at(term_bytes, term_offsets, n) for n in range(len(term_offsets) - 1)] == union
    assert [[union[n] for n in own] for own in positions] == terms

"""The terms near a word are those that a plain distance finds, whatever was added and deleted before."""

import random
from itertools import product

import pytest

from askalike.index.lexical.index import LexicalIndex, LexicalLayout
from askalike.index.lexical.terms import edit_distance
from askalike.index.lexical.vocabulary import NearSearch

WORDS = (
    "install", "installer", "instal", "uninstall", "printer", "print", "prints", "driver", "drive", "river", "browser",
    "graphic", "graphics", "keyboard", "library", "librarian", "библиотека", "библиотеки", "книга", "книги", "читатель",
    "ключ", "клуч", "図書", "a", "ab", "abc",
)  # fmt: skip


def plain_distance(one, other):
    """Optimal string alignment by its definition."""
    table = {(i, 0): i for i in range(len(one) + 1)} | {(0, j): j for j in range(len(other) + 1)}
    for i, j in product(range(1, len(one) + 1), range(1, len(other) + 1)):
        same = one[i - 1] == other[j - 1]
        table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (not same))
        if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
            table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(one), len(other)]


def made_words(rng, count, letters="abcж"):
    return ["".join(rng.choice(letters) for _ in range(rng.randrange(1, 8))) for _ in range(count)]


def write(path, batches):
    """An index of one document a word; each batch is a commit of (docid, word), None deletes."""
    index = LexicalIndex.open(path, LexicalLayout("fingerprint"))
    for change, batch in enumerate(batches, 1):
        with index.writer() as writer:
            for docid, word in batch:
                if word is None:
                    writer.delete([docid])
                else:
                    writer.add(docid, [(0, [word])])
            writer.commit(change)
    return index.searcher.speller


@pytest.fixture(scope="module")
def speller(tmp_path_factory):
    return write(tmp_path_factory.mktemp("spelling") / "index", [list(enumerate(WORDS))])


def near_terms(speller, word, max_edits, **options):
    [found] = speller.near_each([NearSearch(word, max_edits, **options)])
    return found


def test_the_distance_is_that_of_the_definition():
    rng = random.Random(0)
    pairs = list(zip(made_words(rng, 300), made_words(rng, 300), strict=True))
    assert [edit_distance(*pair) for pair in pairs] == [plain_distance(*pair) for pair in pairs] != []


@pytest.mark.parametrize("edits", [0, 1, 2])
def test_near_terms_are_those_of_a_plain_scan(tmp_path, edits):
    rng = random.Random(edits)
    terms = sorted(set(made_words(rng, 300)))
    speller = write(tmp_path / "index", [list(enumerate(terms))])
    words = made_words(rng, 15)
    assert len(words) == 15
    for word in words:
        near = near_terms(speller, word, edits)
        assert {n.term for n in near} == {t for t in terms if plain_distance(t, word) <= edits}
        assert [n.edits for n in near] == sorted(n.edits for n in near)
        tail = near_terms(speller, word, edits, tail=2)
        shorter = [word[: len(word) - cut] for cut in range(3)]
        assert {n.term for n in tail} == {t for t in terms if min(plain_distance(t, s) for s in shorter) <= edits}
        unfinished = near_terms(speller, word, edits, open_end=True)
        starts = {t: [plain_distance(t[:n], word) for n in range(1, len(t) + 1)] for t in terms}
        assert {n.term for n in unfinished} == {t for t in terms if min(starts[t]) <= edits}
        assert all(starts[n.term][n.letters - 1] == n.edits for n in unfinished)


@pytest.mark.parametrize(
    ("typed", "meant"), [("isntall", "install"), ("pritner", "printer"), ("бибилотека", "библиотека"), ("клюс", "ключ")]
)
def test_the_nearest_term_comes_first(speller, typed, meant):
    assert near_terms(speller, typed, 2)[0].term == meant


def test_a_beginning_limits_what_is_scanned(speller):
    assert [n.term for n in near_terms(speller, "priner", 1, beginning=3)] == ["printer"]
    assert near_terms(speller, "rpinter", 1, beginning=3) == []


def test_more_questions_come_first(tmp_path):
    words = ["cart", "card", "card", "cat"]
    speller = write(tmp_path / "index", [list(enumerate(words))])
    assert [n.term for n in near_terms(speller, "carf", 1)] == ["card", "cart"]
    assert [n.term for n in near_terms(speller, "carf", 2)] == ["card", "cart", "cat"]


def test_changed_index_spells_as_a_rebuilt_one(tmp_path):
    rng = random.Random(5)
    words = made_words(rng, 120, "abc")
    steps = [list(enumerate(words[:50])), list(enumerate(words[50:], 50)), [(n, None) for n in range(0, 120, 3)]]
    changed = write(tmp_path / "changed", steps)
    afresh = write(tmp_path / "afresh", [[(n, word) for n, word in enumerate(words) if n % 3]])
    live = {word for n, word in enumerate(words) if n % 3}
    assert changed.count(words).keys() == afresh.count(words).keys() == live
    for word in made_words(rng, 40, "abc"):
        assert near_terms(changed, word, 1) == near_terms(afresh, word, 1)
        assert changed.docids_of_each([word], 3) == afresh.docids_of_each([word], 3)


def test_the_first_docids_are_live_ones(tmp_path):
    words = [(n, "word") for n in range(200)]
    speller = write(tmp_path / "index", [words, [(n, None) for n in range(150)]])
    assert speller.docids_of_each(["word", "nothing"], 3) == [[150, 151, 152], []]

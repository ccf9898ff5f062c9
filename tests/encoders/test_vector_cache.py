"""What was encoded before is not encoded again: by hand, after a restart, and after a kill in the middle of a row."""

import numpy as np
import pytest

from askalike.core.errors import ArchiveError
from askalike.encoders import VectorCache
from askalike.encoders._encoder import MAX_ENCODERS


class SlowEncoder:
    """Encodes a text as its length and its number of spaces, and counts its calls."""

    def __init__(self):
        self.encoded = []

    def __call__(self, texts):
        self.encoded += texts
        return np.array([(len(t), t.count(" ")) for t in texts], np.float32).reshape(-1, 2)


def test_each_text_is_encoded_once(tmp_path):
    slow, cache = SlowEncoder(), VectorCache(tmp_path / "m", "abc")
    assert cache.get_or_encode(["a b", "cd", "a b"], slow).tolist() == [[3, 1], [2, 0], [3, 1]]
    assert cache.get_or_encode(["cd", "é"], slow).tolist() == [[2, 0], [1, 0]]
    assert slow.encoded == ["a b", "cd", "é"]
    cache.get_or_encode(["dc"], slow)
    assert slow.encoded == ["a b", "cd", "é", "dc"]


def test_nearly_equal_texts_have_their_own_vectors(tmp_path):
    slow = SlowEncoder()
    VectorCache(tmp_path, "abc").get_or_encode(["a?", "a\ud800"], slow)
    assert slow.encoded == ["a?", "a\ud800"]


def test_other_process_goes_on_after_half_a_row(tmp_path):
    VectorCache(tmp_path, "abc").get_or_encode(["a", "bc"], SlowEncoder())
    [path] = tmp_path.iterdir()
    with open(path, "ab") as file:
        file.write(b"half")
    slow, reopened = SlowEncoder(), VectorCache(tmp_path, "abc")
    assert reopened.get_or_encode(["bc", "def"], slow).tolist() == [[2, 0], [3, 0]]
    assert slow.encoded == ["def"]
    assert VectorCache(tmp_path, "abc").get_or_encode(["def", "a"], slow).tolist() == [[3, 0], [1, 0]]


def test_another_encoders_vectors_are_others(tmp_path):
    VectorCache(tmp_path, "abc").get_or_encode(["a"], SlowEncoder())
    slow = SlowEncoder()
    VectorCache(tmp_path, "abd").get_or_encode(["a"], slow)
    assert slow.encoded == ["a"]


def test_a_newer_cache_continues_an_older_one(tmp_path):
    slow, older = SlowEncoder(), VectorCache.share(tmp_path, "abc", 9)
    older.get_or_encode(["a"], slow)
    VectorCache.share(tmp_path, "abc", 9).get_or_encode(["bc"], slow)
    newer = VectorCache.share(tmp_path, "abc", 9, older=older)
    assert newer.get_or_encode(["a", "bc"], slow).tolist() == [[1, 0], [2, 0]]
    assert slow.encoded == ["a", "bc"]


def test_cache_reads_the_one_below_without_writing(tmp_path):
    slow, below = SlowEncoder(), VectorCache(tmp_path / "below", "abc")
    below.get_or_encode(["a"], slow)
    above = VectorCache(tmp_path / "above", "abc", below=below)
    assert above.get_or_encode(["a", "bc"], slow).tolist() == [[1, 0], [2, 0]]
    assert slow.encoded == ["a", "bc"]
    VectorCache(tmp_path / "below", "abc").get_or_encode(["bc"], slow)
    assert slow.encoded == ["a", "bc", "bc"]


def test_concurrent_writers_read_each_other(tmp_path):
    slow, one, other = SlowEncoder(), VectorCache(tmp_path, "abc"), VectorCache(tmp_path, "abc")
    one.get_or_encode(["a"], slow)
    other.get_or_encode(["bc"], slow)
    one.get_or_encode(["def"], slow)
    assert one.get_or_encode(["def", "bc", "a"], slow).tolist() == [[3, 0], [2, 0], [1, 0]]
    assert slow.encoded == ["a", "bc", "def"]


def test_a_full_cache_is_emptied(tmp_path):
    slow, cache, other = SlowEncoder(), *(VectorCache(tmp_path, "abc", capacity=2) for _ in range(2))
    cache.get_or_encode(["a", "bc"], slow)
    other.get_or_encode(["a"], slow)
    assert cache.get_or_encode(["a", "def"], slow).tolist() == [[1, 0], [3, 0]]
    assert other.get_or_encode(["bc", "def", "ghij"], slow).tolist() == [[2, 0], [3, 0], [4, 0]]
    [path] = tmp_path.iterdir()
    assert path.stat().st_size == 2 * (16 + 8)


def test_vectors_of_the_latest_encoders_stay(tmp_path):
    for n in range(MAX_ENCODERS + 2):
        VectorCache.share(tmp_path, f"encoder{n}", 1).get_or_encode(["a"], SlowEncoder())
    assert len(list(tmp_path.rglob("*.vectors"))) == MAX_ENCODERS


def test_no_text(tmp_path):
    assert VectorCache(tmp_path, "abc").get_or_encode([], SlowEncoder()).shape == (0, 2)


def test_where_nothing_can_be_written_it_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ArchiveError, match="vectors are cached there"):
        VectorCache(tmp_path / "file", "abc").get_or_encode(["a"], SlowEncoder())

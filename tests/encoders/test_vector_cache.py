"""What was encoded before is not encoded again: by hand, after a restart, and after a kill in the middle of a row."""

import numpy as np
import pytest

from askalike.encoders import VectorCache
from askalike.errors import ArchiveError


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


def test_another_process_goes_on_even_after_half_a_row(tmp_path):
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


def test_no_text(tmp_path):
    assert VectorCache(tmp_path, "abc").get_or_encode([], SlowEncoder()).shape == (0, 2)


def test_where_nothing_can_be_written_it_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ArchiveError, match="vectors are cached there"):
        VectorCache(tmp_path / "file", "abc").get_or_encode(["a"], SlowEncoder())

"""Properties that are computed when first needed, in several threads at once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from askalike.lazy import lazy_property

BOTH = Barrier(2, timeout=10)


class Search:
    """A search that waits for another one."""

    @lazy_property
    def hits(self) -> list[str]:
        """What was found."""
        BOTH.wait()
        return ["hit"]


def test_it_is_computed_once():
    values = iter("ab")

    class Letters:
        @lazy_property
        def letter(self) -> str:
            return next(values)

    letters = Letters()
    assert [letters.letter, letters.letter] == ["a", "a"]
    assert Letters().letter == "b"


def test_threads_do_not_wait_for_each_other():
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda search: search.hits, [Search(), Search()])) == [["hit"], ["hit"]]


def test_it_has_a_docstring():
    assert Search.hits.__doc__ == "What was found."

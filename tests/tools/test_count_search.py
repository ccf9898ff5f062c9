"""How many files and functions a search enters: limits that may fall, and must not rise."""

import pytest
from count_search import EXAMPLE, count_search

import askalike


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counted") / "riverside"
    askalike.import_archive("table", EXAMPLE, folder)
    return folder


@pytest.mark.parametrize(
    ("ranker", "explain", "max_files", "max_functions"),
    [("hybrid", True, 41, 205), ("hybrid", False, 38, 160), ("bm25", True, 29, 136), ("bm25", False, 27, 107)],
)
def test_search_enters_few_files_and_functions(archive, ranker, explain, max_files, max_functions):
    counted = count_search(archive, ranker, explain=explain)
    assert 10 < len(counted.files) <= max_files
    assert 50 < len(counted.functions) <= max_functions

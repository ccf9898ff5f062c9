"""An archive of the open dumps of two sites, end to end, before anybody calibrates it."""

import json
from pathlib import Path

import pytest

from commands import run_command

WORDS = ("-r", "lm_jelinek_mercer")


@pytest.fixture(scope="module")
def sites(shared_data, tmp_path_factory) -> Path:
    """An archive of two sites: 1,012 questions, of which 23 are known duplicates."""
    path = tmp_path_factory.mktemp("open") / "sites"
    for site in ("beer", "ai"):
        dump = shared_data / "stackexchange" / f"{site}.stackexchange.com"
        code, _, err = run_command("import", "stackexchange", dump, "-o", path)
        assert code == 0, err
    return path


def found(path: Path, query: str) -> list[str]:
    """The titles that a search on the command line shows."""
    code, out, err = run_command("search", path, query, "--json", "-k", 3, *WORDS)
    assert code == 0, err
    return [result["title"] for result in json.loads(out)["results"]]


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("How do I get rid of the foam in a glass of beer", "foam"),
        ("foam", "foam"),
        ("nueral netwroks", "neural"),
        ("artifical inteligence", "intelligence"),
    ],
)
def test_search_misspelt_on_two_sites(sites, query, word) -> None:
    assert any(word in title.lower() for title in found(sites, query))


@pytest.mark.parametrize("query", ["best pizza in Rome", "Comment conserver un tapis ?", "xyzzy"])
def test_search_and_answer_off_topic(sites, query) -> None:
    assert found(sites, query) == []
    code, out, _ = run_command("answer", sites, query, "--json", *WORDS)
    assert (code, json.loads(out)["abstained"], json.loads(out)["text"]) == (0, True, None)

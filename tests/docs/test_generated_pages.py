"""Pages that are generated from the code are those of the code."""

import write_commands
import write_included
import write_reference
import write_settings


def test_settings_are_those_of_the_code() -> None:
    page = write_settings.PAGE.read_text(encoding="utf-8")
    assert write_settings.page() == page, "run python tools/write_settings.py"
    assert "| `k1` | number | 1.2 | how slowly repeated words saturate |" in page
    assert "### hashed_ngrams" in page


def test_commands_are_those_of_the_code() -> None:
    page = write_commands.PAGE.read_text(encoding="utf-8")
    assert write_commands.page() == page, "run python tools/write_commands.py"
    assert "## `askalike search`" in page
    assert "| `TEXT` | The question, as a person would type it. |" in page
    assert "| `-k K` | Number of hits. Default: `5`. |" in page


def test_reference_is_that_of_the_docstrings() -> None:
    page = write_reference.PAGE.read_text(encoding="utf-8")
    assert write_reference.page() == page, "run python tools/write_reference.py"
    assert "search(text: str, k: int=5) -> SearchResult" in page


def test_included_files_are_those_of_the_repository() -> None:
    pages = [path for path in write_included.PAGES if path.exists()]
    texts = [path.read_text(encoding="utf-8") for path in pages]
    assert sum(text.count("<!-- file: ") for text in texts) >= 5
    assert [write_included.include_files(text) for text in texts] == texts, "run python tools/write_included.py"

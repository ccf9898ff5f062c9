"""The page of the settings is that of the code, and so is that of the commands."""

import runpy
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_page_is_that_of_the_settings() -> None:
    from write_settings import page

    assert page() == PAGE.read_text(encoding="utf-8"), "run python tools/write_settings.py"


def test_settings_of_rankers_and_recipes_are_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert "| `k1` | number | 1.2 | how slowly repeated words saturate |" in text
    assert "### hashed_ngrams" in text


def test_command_page_has_every_argument_and_option() -> None:
    hook = runpy.run_path(str(PAGE.parent / "hooks" / "commands.py"))
    page = hook["on_page_markdown"](hook["MARK"])
    assert "## `askalike search`" in page
    assert "| `TEXT` | The question, as a person would type it. |" in page
    assert "| `-k K` | Number of hits. Default: `5`. |" in page

"""The page of the settings of training is that of the code, and their names are frozen."""

from pathlib import Path

from write_settings import names_of
from write_training_settings import PAGE, page

RECORDED = Path(__file__).with_name("formats.txt")


def test_page_is_that_of_the_settings() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page() == text, "run python packages/learning/tools/write_training_settings.py"
    assert "| `epochs` | integer | 20 |" in text


def test_names_of_settings_are_as_recorded() -> None:
    names = [f"settings {heading}: {' '.join(keys)}" for heading, keys in names_of(page())]
    assert sorted(names) == sorted(RECORDED.read_text(encoding="utf-8").splitlines())

"""The documentation is easy to read: half of a page's sentences have fewer than 18 words, and none more than 35."""

import re
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[2]
GENERATED = {"changelog.md", "settings.md"}
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    ROOT / "examples" / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in GENERATED),
    *sorted((ROOT / "docs" / "results").glob("*.md")),
]
MAX_MEDIAN, MAX_WORDS = 18, 35
NOT_PROSE = re.compile(r"```.*?```|<!--.*?-->|^\|.*?$|^#.*?$|^!\[.*?$|^    .*?$", re.DOTALL | re.MULTILINE)


def sentences(text: str) -> list[list[str]]:
    """The words of each sentence of the prose; a list's item and a paragraph end a sentence, too."""
    prose = re.sub(r"`[^`]*`", "Code", NOT_PROSE.sub("\n\n", text))
    prose = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", prose)
    parts = re.split(r"(?<=[.!?])[\s*]+(?=[A-Z`*])|\n\s*\n|\n\s*(?:-|\d+\.) |:\s*\n", prose)
    return [words for part in parts if (words := re.findall(r"\w[\w'’-]*", part))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_half_of_the_sentences_are_short(page: Path) -> None:
    lengths = [len(words) for words in sentences(page.read_text(encoding="utf-8"))]
    assert median(lengths) < MAX_MEDIAN
    assert max(lengths) <= MAX_WORDS


def test_sentences_are_counted() -> None:
    code, items = "```console\n$ no\n```\n", "- six [seven](x.md). `Eight` nine\n1. ten\n| no | no |\n"
    text = f"# Title\n\nOne two three. Four `a b c` five!\n\n{code}{items}"
    assert [len(words) for words in sentences(text)] == [3, 3, 2, 2, 1]

"""Messages, help, pages and docstrings are in plain English: no phrase that a native reader stumbles over."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src/askalike"
TEXTS_OF_OTHERS = {"search/answering/grounded.py"}
"""Files whose strings are also read by models."""
BANNED = {
    r"\b(?:is|are|was|were|be|been) (?:told|said)\b": "name who says it, or say it directly",
    r"\btold from\b": "distinguished from",
    r"\bmend(?:s|ed|ing)?\b": "repair",
    r"\bgo(?:es|ing)? on\b": "continue, resume",
    r"\bput (?:in|into|out of) service\b|\b(?:in|out of) service\b": "activate, active",
    r"\banew\b": "again",
    r"\bthe very\b": "the same",
    r"\bso many\b": "a number of, at most N",
    r"\b(?:is|are) no (?!more\b|longer\b|such\b)\w+ (?:file|archive|query|number|tokenizer|workbook)s?\b": "is not a …",
    r"\bwords (?:stay (?:active|in)|win|serve)\b": "the lexical ranker",
}
"""Pattern → what to write instead."""
HEADLESS = re.compile(r"(?:What|Who|Which|Whose|So many|How) (?!is\b)[^?]*$", re.DOTALL)
"""A description that begins with a relative clause instead of a noun or a verb."""


def strings(file: Path) -> Iterator[tuple[int, str, bool]]:
    """Yield the line, the text and whether it is a description, of each string of a file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value, id(node) in described


def test_messages_and_docstrings_have_no_banned_phrase() -> None:
    found = [
        f"{file.relative_to(SOURCE)}:{line}: {match[0]!r}; write: {advice}"
        for file in SOURCE.rglob("*.py")
        if str(file.relative_to(SOURCE)) not in TEXTS_OF_OTHERS
        for line, text, _ in strings(file)
        for pattern, advice in BANNED.items()
        if (match := re.search(pattern, text))
    ]
    assert found == []


def test_pages_have_no_banned_phrase() -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in SOURCE.rglob("*.html")}
    found = [(page.name, match[0]) for page, text in pages.items() for p in BANNED if (match := re.search(p, text))]
    assert found == []


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    found = [
        f"{file.relative_to(SOURCE)}:{line}: {text.splitlines()[0]}"
        for file in SOURCE.rglob("*.py")
        for line, text, is_description in strings(file)
        if is_description and HEADLESS.match(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text", ["it is told by the id", "training goes on", "so many hits", "x: is no SQLite file", "built anew"]
)
def test_banned_phrases_are_found(text: str) -> None:
    assert any(re.search(pattern, text) for pattern in BANNED)

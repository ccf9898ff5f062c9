"""Numbers agree with their nouns, in every message of the command line, the pages and the reports."""

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/askalike"
NOUNS = (
    "answers|bytes|candidates|changes|characters|clusters|columns|days|documents|drafts|duplicates|errors|files|folds|groups|"
    "hits|indexes|keys|labels|lines|links|messages|models|numbers|pairs|passes|posts|queries|questions|records|replicas|rows|"
    "seconds|sentences|shards|splits|systems|tags|terms|texts|threads|tokens|topics|trials|values|votes|words"
)
ADJECTIVES = r"(?:duplicate|replaced|held-out|judged|labelled|relevant|training|dev|test|open) "
COUNTED = re.compile(rf" (?:{ADJECTIVES})?(?:{NOUNS})\b")
OF = re.compile(r"\b(?:of|of the|of its|of these|run's) $")
"""What stands before a number of which others are a part: `1 of 3 questions`, hardly ever of one."""


def numbers_with_plurals(file: Path):
    """Yield the line and the words of each f-string in which a number that may be 1 stands before a plural."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        before = ""
        values = node.values if isinstance(node, ast.JoinedStr) else []
        for value, after in zip(values, [*values, None][1:], strict=True):
            text = after.value if isinstance(after, ast.Constant) else ""
            if isinstance(value, ast.FormattedValue) and COUNTED.match(text) and not OF.search(before):
                number = ast.unparse(value.value)
                if not number.isupper():  # a constant
                    yield f"{file.name}:{node.lineno}: {number}{text}"
            before = value.value if isinstance(value, ast.Constant) else ""


def test_messages_count_by_format_count():
    assert [place for file in SOURCE.rglob("*.py") for place in numbers_with_plurals(file)] == []


def test_pages_count_by_the_filter():
    plural = re.compile(rf"(?<!of )\{{\{{[^}}]+\}}\}} (?:{NOUNS})\b")
    assert [found for file in SOURCE.rglob("*.html") for found in plural.findall(file.read_text("utf-8"))] == []

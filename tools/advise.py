"""Prints advice on prose: phrases that a native reader stumbles over, numbers beside nouns, long sentences, long files.

python tools/advise.py: one line for each remark, and always exit code 0. Nobody has to follow it.
"""

import ast
import re
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "src" / "askalike", *sorted(ROOT.glob("packages/*/src")))
TEXTS_OF_OTHERS = {"grounded.py"}
"""Files whose strings are also read by models."""
STUMBLES = {
    r"\b(?:is|are|was|were|be|been) (?:told|said)\b": "name who says it, or say it directly",
    r"\btold from\b": "distinguished from",
    r"\bmend(?:s|ed|ing)?\b": "repair",
    r"\bgo(?:es|ing)? on\b": "continue, resume",
    r"\bput (?:in|into|out of) service\b|\b(?:in|out of) service\b": "activate, active",
    r"\banew\b": "again",
    r"\b[Bb]eside (?!the door)": "next to, with, in addition to",
    r"\b[Tt]he latter\b": "repeat the noun",
    r"\bthe very\b": "the same",
    r"\bso many\b": "a number of, at most N",
    r"\b(?:is|are) no (?!more\b|longer\b|such\b)\w+ (?:file|archive|query|number|tokenizer|workbook)s?\b": "is not a …",
    r"\bwords (?:stay (?:active|in)|win|serve)\b": "the lexical ranker",
}
"""Pattern → what to write instead."""
HEADLESS = re.compile(r"(?:What|Who|Which|Whose|So many|How) (?!is\b)[^?]*$", re.DOTALL)
"""A description that begins with a relative clause instead of a noun or a verb."""
NOUNS = (
    "answers|bytes|candidates|changes|characters|clusters|columns|days|documents|drafts|duplicates|errors|files|folds|groups|"
    "hits|indexes|keys|labels|lines|links|messages|models|numbers|pairs|passes|posts|queries|questions|records|replicas|rows|"
    "seconds|sentences|shards|splits|systems|tags|terms|texts|threads|tokens|topics|trials|values|votes|words"
)
ADJECTIVES = r"(?:duplicate|replaced|held-out|judged|labelled|relevant|training|dev|test|open) "
COUNTED = re.compile(rf" (?:{ADJECTIVES})?(?:{NOUNS})\b")
OF = re.compile(r"\b(?:of|of the|of its|of these|run's) $")
"""What stands before a number of which others are a part: `1 of 3 questions`, hardly ever of one."""
COUNTED_ON_A_PAGE = re.compile(rf"(?<!of )\{{\{{[^}}]+\}}\}} (?:{NOUNS})\b")
GENERATED = {"cli.md", "python-reference.md", "settings.md"}
MAX_MEDIAN_WORDS, MAX_WORDS, MAX_LINES = 18, 35, 400
NOT_PROSE = re.compile(r"```.*?```|<!--.*?-->|^\|.*?$|^#.*?$|^!\[.*?$|^    .*?$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s#:]+\.md)(?:#[^)]*)?\)")
SOUGHT = (
    "calibration", "drop-in", "evaluation", "extending", "first-archive", "formats", "install", "operating", "pages",
    "results/index", "results/negative", "threats", "troubleshooting", "vectors",
)  # fmt: skip
"""Pages that readers look for: one link from the README, which is also the site's first page."""


def main() -> None:
    """Print all remarks, each with its place."""
    for remarks in (read_sources(), read_templates(), read_pages(), follow_links()):
        for place, remark in remarks:
            print(f"advice: {place}: {remark}")


def read_sources() -> Iterator[tuple[str, str]]:
    """Yield remarks on the strings and the length of each source file."""
    for file in (file for folder in SOURCES for file in sorted(folder.rglob("*.py"))):
        name, text = str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")
        if (lines := text.count("\n")) > MAX_LINES:
            yield name, f"{lines} lines: probably two ideas"
        tree = ast.parse(text)
        if file.name not in TEXTS_OF_OTHERS:
            yield from ((f"{name}:{line}", remark) for line, remark in read_strings(tree))
        yield from ((f"{name}:{line}", f"{code}: count by format_count") for line, code in find_plurals(tree))


def read_strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line of each string that has a phrase of STUMBLES, or is a description without a head."""
    descriptions = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from ((node.lineno, remark) for remark in find_stumbles(node.value))
            if id(node) in descriptions and HEADLESS.match(node.value):
                yield node.lineno, f"{node.value.splitlines()[0]!r} begins with neither a noun nor a verb"


def find_stumbles(text: str) -> Iterator[str]:
    """Yield a remark for each phrase of STUMBLES in a text."""
    for pattern, advice in STUMBLES.items():
        if match := re.search(pattern, text):
            yield f"{match[0]!r}; better: {advice}"


def find_plurals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the words of each f-string in which a number that may be 1 stands before a plural."""
    for node in ast.walk(tree):
        before = ""
        values = node.values if isinstance(node, ast.JoinedStr) else []
        for value, after in zip(values, [*values, None][1:], strict=True):
            text = str(after.value) if isinstance(after, ast.Constant) else ""
            if isinstance(value, ast.FormattedValue) and COUNTED.match(text) and not OF.search(before):
                number = ast.unparse(value.value)
                if not number.isupper():  # a constant
                    yield node.lineno, number + text
            before = str(value.value) if isinstance(value, ast.Constant) else ""


def read_templates() -> Iterator[tuple[str, str]]:
    """Yield remarks on the texts of the service's pages."""
    for file in sorted(SOURCES[0].rglob("*.html")):
        text = file.read_text(encoding="utf-8")
        counted = [f"{found!r}: count by the filter" for found in COUNTED_ON_A_PAGE.findall(text)]
        for remark in (*find_stumbles(text), *counted):
            yield str(file.relative_to(ROOT)), remark


def read_pages() -> Iterator[tuple[str, str]]:
    """Yield remarks on the phrases and sentences of the documentation."""
    names = ("*.md", "benchmarks/*.md", "examples/*.md", "docs/*.md", "docs/results/*.md", "packages/*/docs/*.md")
    for page in (page for name in names for page in sorted(ROOT.glob(name)) if page.name not in GENERATED):
        text = page.read_text(encoding="utf-8")
        yield from ((str(page.relative_to(ROOT)), remark) for remark in find_stumbles(NOT_PROSE.sub("", text)))
        found = split_sentences(text)
        if found and median(map(len, found)) >= MAX_MEDIAN_WORDS:
            yield str(page.relative_to(ROOT)), f"half of the sentences have {MAX_MEDIAN_WORDS} words or more"
        for words in (words for words in found if len(words) > MAX_WORDS):
            yield str(page.relative_to(ROOT)), f"a sentence of {len(words)} words: {' '.join(words[:8])} …"


def split_sentences(text: str) -> list[list[str]]:
    """Return the words of each sentence of the prose; a list's item and a paragraph end a sentence, too."""
    prose = re.sub(r"`[^`]*`", "Code", NOT_PROSE.sub("\n\n", text))
    prose = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", prose)
    parts = re.split(r"(?<=[.!?])[\s*]+(?=[A-Z`*])|\n\s*\n|\n\s*(?:-|\d+\.) |:\s*\n", prose)
    return [words for part in parts if (words := re.findall(r"\w[\w'’-]*", part))]


def follow_links() -> Iterator[tuple[str, str]]:
    """Yield pages that readers look for, and that are several links away from where they begin."""
    clicks = count_clicks(ROOT / "README.md")
    for name in SOUGHT:
        if clicks.get(ROOT / "docs" / f"{name}.md", 99) > 1:
            yield "README.md", f"{name}.md is not one link away"


def count_clicks(start: Path) -> Mapping[Path, int]:
    """Return page → the least number of links from the start to it."""
    clicks, waiting = {start: 0}, deque([start])
    while waiting:
        page = waiting.popleft()
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            if target.exists() and target not in clicks:
                clicks[target] = clicks[page] + 1
                waiting.append(target)
    return clicks


if __name__ == "__main__":
    main()

"""Reads FAQs from Markdown and MDX files: a heading is a question, the text below it the answer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from askalike.core.config import Settings
from askalike.core.errors import InputError
from askalike.core.records import Answer, LocatedRecord, Place, Question, Record
from askalike.readers._source import SourceFiles, find_files, parse_rows
from askalike.readers._values import parse_optional_date, split_cell
from askalike.text.clean import cut_between

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)$")
UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
SUMMARY = re.compile(r"</?summary>", re.IGNORECASE)
DETAILS = re.compile(r"</?details[^<>]*>\s*")
ANCHOR = re.compile(r"\{#([\w.:-]+)\}\Z")
FRONT_LINE = re.compile(r"([\w-]+)[ \t]*:[ \t]*(.*)$")
LIST_LINE = re.compile(r"\s*-[ \t]+(.*)$")
MDX_LINE = re.compile(r"(?:import|export)\s")
INLINE = re.compile(
    r"!?\[([^\[\]]*)\]\([^()]*\)|<[^<>]*>|[*`]{1,3}(?=\S)|(?<=\S)[*`]{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)"
)
QUESTION_WORDS = re.compile(
    r"(?:how|what|why|where|when|which|who|can|could|do|does|is|are|should|may|will|would|am|did|has|have)\b",
    re.IGNORECASE,
)


class MarkdownReader(Settings):
    """A folder of FAQs in Markdown or MDX: each heading that is a question, with the text below it as its answer.

    A heading is a question if it ends in a question mark or begins like one; `--headings all` takes every heading that
    has a text below it. Front matter gives title, date, tags and language.

    Examples:

    ```
    askalike import markdown docs/faq -o desk
    askalike import markdown content/ -o desk --headings all --site https://docs.example.org
    ```
    """

    headings: Literal["questions", "all"] = Field("questions", description="which headings: questions, or all")
    site: str | None = Field(None, description="the site's address, for links to its pages")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield each question with its answer. Raises InputError if no file has any."""
        files = [(root, file) for root in paths for file in find_files([root], "*.md", "*.mdx", "*.markdown")]
        source.expect(file for _, file in files)
        source.facts["name"] = ", ".join(path.resolve().stem for path in paths)
        n_questions = 0
        for root, file in files:
            name = file.relative_to(root).as_posix() if root.is_dir() else file.name
            front, lines = _split_front_matter("".join(source.read_text(file)))
            sections = self._sections(_read_headings(lines, front), file, source)
            for record, place in parse_rows(sections, partial(_build_records, front=front, name=name, site=self.site)):
                n_questions += isinstance(record, Question)
                yield record, place
        if not n_questions:
            names = ", ".join(map(str, paths))
            raise InputError(f"{names}: no heading is a question with an answer below it; try --headings all")

    def _sections(
        self, headings: Sequence["_Heading"], file: Path, source: SourceFiles
    ) -> Iterator[tuple[Place, "_Section"]]:
        """Yield each question of a file with its answer: the text up to the next question or the end of its section."""
        for n, heading in enumerate(headings):
            if not self._asks(heading):
                source.note("headings that are no questions left out", heading.level > 0)
                continue
            parts = [heading.text]
            for below in headings[n + 1 :]:
                if below.level <= heading.level or self._asks(below):
                    break
                parts.append(f"{'#' * below.level} {below.title}\n{below.text}")
            text = "\n\n".join(filter(None, parts)).strip()
            if text:
                above = next((h.title for h in reversed(headings[:n]) if h.level < heading.level), "")
                yield Place(str(file), heading.line), _Section(heading.title, heading.anchor, text, above)
            else:
                source.note("questions without an answer left out")

    def _asks(self, heading: "_Heading") -> bool:
        return is_question(heading.title) or (self.headings == "all" and heading.level > 0)


class _Heading(NamedTuple):
    """A heading, and the text up to the next one. level: 1 to 6; 0 is the title in front matter. line: from 1."""

    level: int
    title: str
    anchor: str
    line: int
    text: str


class _Section(NamedTuple):
    """A heading with the text below it. anchor: empty for the title of a file. above: the heading above it."""

    heading: str
    anchor: str
    text: str
    above: str


def _build_records(section: _Section, front: Mapping[str, str], name: str, site: str | None) -> list[Record]:
    """Return a question and its answer. Raises ValueError for a date that is none.

    front: the file's front matter. name: the file's path below the folder.
    """
    page = re.sub(r"(?:(^|/)(?:index|README))?\.(?:md|mdx|markdown)$", r"\1", name)
    fragment = f"#{section.anchor}" if section.anchor else ""
    id = f"{name}{fragment}"
    date = next((front[name] for name in ("date", "created", "published") if front.get(name)), None)
    question = Question(
        id,
        section.heading,
        tags=split_cell(front.get("tags") or front.get("keywords") or "", ","),
        category=section.above or None,
        created_at=parse_optional_date(date),
        author=front.get("author") or None,
        url=f"{site.rstrip('/')}/{front.get('slug', page).lstrip('/')}{fragment}" if site else None,
        accepted_answer_id=f"{id}-answer",
    )
    return [question, Answer(f"{id}-answer", id, section.text, url=question.url)]


def is_question(heading: str) -> bool:
    """Return whether a heading asks something."""
    return heading.rstrip("\"'”’»)]* ").endswith(("?", "？", "؟", "\u037e")) or bool(QUESTION_WORDS.match(heading))


def _split_front_matter(text: str) -> tuple[dict[str, str], list[str]]:
    """Return the values of the front matter (simple YAML: texts and lists), and the file's lines without it.

    The lines of the front matter are empty, so that the others keep their numbers.
    """
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != "---" or "---" not in [line.rstrip() for line in lines[1:]]:
        return {}, lines
    end = next(n for n, line in enumerate(lines[1:], 1) if line.rstrip() == "---")
    values: dict[str, str] = {}
    key = ""
    for line in lines[1:end]:
        if match := FRONT_LINE.match(line):
            key = match[1].lower()
            value = match[2].strip()
            values[key] = re.sub(r"""["']""", "", value[1:-1]) if value[:1] + value[-1:] == "[]" else value.strip("\"'")
        elif key and (item := LIST_LINE.match(line)):
            values[key] = ",".join(filter(None, (values[key], item[1].strip("\"' "))))
    return values, [""] * (end + 1) + lines[end + 1 :]


def _read_headings(lines: Sequence[str], front: Mapping[str, str]) -> list[_Heading]:
    """Return the headings of a file with their texts; what stands before the first one belongs to the title."""
    marked = _mark_summaries(lines)
    starts: list[tuple[int, int, str, int]] = [(0, 0, front.get("title", ""), 0)]  # level, line, title, first line
    fence = ""
    for n, line in enumerate(marked):
        if match := FENCE.match(line):
            fence = "" if fence and match[1].startswith(fence) else fence or match[1]
        elif fence:
            continue
        elif match := HEADING.match(line):
            starts.append((len(match[1]), n, _without_closing_signs(match[2]), n + 1))
        elif (match := UNDERLINE.match(line)) and n and marked[n - 1].strip() and not _is_block(marked[n - 1]):
            starts.append((1 if match[1][0] == "=" else 2, n - 1, marked[n - 1], n + 1))
    seen: dict[str, int] = {}
    ends = [start[1] for start in starts[1:]] + [len(marked)]
    headings = []
    for (level, place, title, first), end in zip(starts, ends, strict=True):
        plain, anchor = _plain_title(title)
        anchor = anchor or _slug(plain)
        number = seen.get(anchor, 0) if level else 0
        seen[anchor] = number + (level > 0)
        unique = f"{anchor}-{number}" if number else anchor
        text = _plain_body(marked[first:end])
        headings.append(_Heading(level, plain, unique if level else "", place + 1, text))
    return headings


def _mark_summaries(lines: Sequence[str]) -> list[str]:
    """Return the lines with the summary of `<details>` as a heading of the lowest level."""
    lower = (SUMMARY.sub(lambda match: match[0].lower(), line) for line in lines)
    marked = (
        cut_between(line, "<summary>", "</summary>", lambda title: f"###### {' '.join(title.split())}")
        for line in lower
    )
    return [DETAILS.sub("", line) for line in marked]


def _without_closing_signs(title: str) -> str:
    """Return a heading without the signs that may close it: `Title ##`."""
    title = title.rstrip(" \t")
    text = title.rstrip("#")
    return text.rstrip(" \t") if text.endswith((" ", "\t")) else title


def _is_block(line: str) -> bool:
    return bool(re.match(r"\s{4}|\s*(?:[-*+>|]|\d+[.)])\s", line) or HEADING.match(line))


def _plain_title(title: str) -> tuple[str, str]:
    """Return a heading without markup, and the anchor that it names, `{#anchor}`; empty without one."""
    title = title.rstrip()
    anchor = ANCHOR.search(title)
    text = INLINE.sub(lambda match: match[1] or "", title[: anchor.start()] if anchor else title)
    return " ".join(text.split()), anchor[1] if anchor else ""


def _slug(title: str) -> str:
    """Return the anchor that GitHub and most site generators give a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def _plain_body(lines: Sequence[str]) -> str:
    """Return a section's Markdown without comments, and without the imports and exports of MDX."""
    kept = [line for line in lines if not MDX_LINE.match(line)]
    return cut_between(cut_between("\n".join(kept), "<!--", "-->"), "{/*", "*/}").strip()

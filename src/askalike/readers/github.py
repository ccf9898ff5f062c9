"""Reads issues and discussions of a GitHub repository from `gh`, the GraphQL API or the REST API."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from askalike.core.errors import InputError
from askalike.core.records import Answer, Link, LocatedRecord, Mark, Place, Question, Record, RejectedRow
from askalike.readers._json import read_json_values
from askalike.readers._source import FollowUpReader, SourceFiles, find_files, parse_rows, reject
from askalike.readers._values import as_object, list_objects, parse_optional_utc, require_text, to_text
from askalike.text.clean import cut_between

Item = Mapping[str, Any]
"""An issue or a discussion; `gh` and GraphQL name its fields in camelCase, the REST API in snake_case."""
PlacedItem = tuple[Place, Item | RejectedRow]

REPOSITORY = re.compile(r"https?://[^/]+/([^/]+/[^/]+)/(issues|discussions|pull)/(\d+)")
DUPLICATE_COMMENT = re.compile(
    r"(?:duplicate|dup|dupe)\s+of(?:\s*:)?\s*(?:(?P<url>https?://[^\s)>\]]+/(?:issues|discussions)/\d+)|"
    r"(?P<repository>[\w.-]+/[\w.-]+)?#(?P<number>\d+))",
    re.IGNORECASE,
)
SOLVED_REASONS = ("COMPLETED", "RESOLVED", "")
"""Reasons for closing: of an issue, of a discussion, and of an issue closed before reasons were recorded."""
SOLVED_LABEL = re.compile(
    r"(?:fixed|solved|resolved|released)(?:[\s:_/-]*(?:in|on))?[\s:_/@-]*(v?\d[\w.+-]*)", re.IGNORECASE
)
MAINTAINERS = ("OWNER", "MEMBER", "COLLABORATOR")


class GithubReader(FollowUpReader):
    """Issues and discussions of one repository: PATHs are files of JSON, of `gh issue list --json …` or GraphQL.

    Leaves out pull requests, and issues and comments by bots.

    Examples:

    ```
    askalike import github issues.json -o bugs
    askalike import github issues.json discussions.json -o bugs --since 2026-01-31
    ```
    """

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield each issue or discussion as a question, its answers, and links to its originals. Raises InputError."""
        files = find_files(paths, "*.json", "*.jsonl", "*.json.gz", "*.jsonl.gz")
        source.expect(files)
        parser = _ItemParser(source)
        for file in files:
            yield from parse_rows(self._changed(_read_items(source, file), source), parser.parse)

    def _changed(self, items: Iterator[PlacedItem], source: SourceFiles) -> Iterator[PlacedItem]:
        """Yield the items that changed since the configured date. Raises InputError if they have no date of change."""
        for place, item in items:
            if self.since is None or isinstance(item, RejectedRow):
                yield place, item
                continue
            updated = _get(item, "updatedAt")
            if not updated:
                raise InputError(
                    f"{place}: no updatedAt, which --since goes by; fetch it, too (gh: --json updatedAt,…)"
                )
            try:
                if not self.is_unchanged(parse_optional_utc(updated), source):
                    yield place, item
            except ValueError as error:
                yield place, reject(place, str(error), item)


class _ItemParser:
    """Turns items into records. All are from one repository, which is part of their addresses."""

    def __init__(self, source: SourceFiles) -> None:
        self._source = source
        self._repository: str | None = None

    def parse(self, item: Item) -> list[Record]:
        """Return a question, its answers and links; nothing for an item to be left out. Raises KeyError, ValueError."""
        url = to_text(_get(item, "html_url") or _get(item, "url"))
        kind = self._check_repository(url)
        if kind == "pull" or item.get("__typename") == "PullRequest" or item.get("pull_request"):
            return self._leave_out("pull requests left out")
        if _is_bot(_author(item)):
            return self._leave_out("issues and discussions that a bot opened left out")
        number, title = require_text(item, "number"), require_text(item, "title")
        answers = [self._parse_answer(comment, number) for comment in self._answer_comments(item)]
        accepted = to_text(as_object(item.get("answer")).get("id")) or _first_accepted(item)
        question = Question(
            number,
            title,
            _clean(item.get("body")),
            tags=tuple(to_text(label.get("name")) for label in _nodes(item, "labels")),
            category=to_text(as_object(item.get("category")).get("name")) or None,
            created_at=parse_optional_utc(_get(item, "createdAt")),
            closed_at=parse_optional_utc(_get(item, "closedAt")),
            author=_login(_author(item)),
            url=url or None,
            votes=_votes(item),
            accepted_answer_id=accepted or None,
            marks=_marks(item),
            solved_in=_solved_in(item),
        )
        return [question, *answers, *self._duplicate_links(item, number)]

    def _check_repository(self, url: str) -> str:
        """Return the kind of an address: issues, discussions, pull, or an empty text if it is missing."""
        match = REPOSITORY.match(url)
        if match is None:
            return ""
        if self._repository is None:
            self._repository = match[1]
            self._source.facts["name"] = match[1]
        elif match[1].lower() != self._repository.lower():
            raise ValueError(f"is of {match[1]}, and what comes before it of {self._repository}: import each by itself")
        return match[2]

    def _leave_out(self, note: str) -> list[Record]:
        self._source.note(note)
        return []

    def _answer_comments(self, item: Item) -> Iterator[Item]:
        """Yield the comments in a Q&A discussion, except those by bots. Comments on issues are not answers."""
        if not as_object(item.get("category")).get("isAnswerable", False):
            return
        for comment in _nodes(item, "comments"):
            if _is_bot(_author(comment)):
                self._source.note("answers of bots left out")
            elif not comment.get("isMinimized"):
                yield comment

    def _parse_answer(self, comment: Item, question_id: str) -> Answer:
        return Answer(
            require_text(comment, "id"),
            question_id,
            _clean(comment.get("body")),
            created_at=parse_optional_utc(_get(comment, "createdAt")),
            author=_login(_author(comment)),
            url=to_text(comment.get("url")) or None,
            votes=_votes(comment),
        )

    def _duplicate_links(self, item: Item, number: str) -> list[Link]:
        """Return links to the originals named by duplicate events, or by comments of maintainers."""
        marks = [self._find_marked(event) for event in _nodes(item, "timelineItems")]
        is_unmarked = any(
            event.get("__typename") == "UnmarkedAsDuplicateEvent" for event in _nodes(item, "timelineItems")
        )
        originals = [mark for mark in marks if mark] if not is_unmarked else []
        if canonical := item.get("duplicateOf"):
            originals.append((self._number_of(canonical), None))
        if not originals and not is_unmarked:
            originals = [found for comment in _nodes(item, "comments") if (found := self._find_in_comment(comment))]
        reason = to_text(_get(item, "stateReason")).upper()
        self._source.note("duplicates whose original nobody names", reason == "DUPLICATE" and not originals)
        unique = {original: date for original, date in reversed(originals) if original not in (None, number)}
        return [Link(number, original, "duplicate", date) for original, date in unique.items() if original]

    def _find_marked(self, event: Item) -> tuple[str | None, str | None] | None:
        """Return the original named in an event, with the event's date; None for other events."""
        if event.get("__typename", "MarkedAsDuplicateEvent") != "MarkedAsDuplicateEvent" or "canonical" not in event:
            return None
        original = self._number_of(event["canonical"])
        self._source.note(
            "duplicates of an issue that was deleted, transferred, or is of another repository", not original
        )
        return original, parse_optional_utc(_get(event, "createdAt"))

    def _number_of(self, issue: Any) -> str | None:
        """Return the number of an issue of this repository; None for any other."""
        if not isinstance(issue, dict) or "number" not in issue:
            return None
        repository = to_text(as_object(issue.get("repository")).get("nameWithOwner"))
        match = REPOSITORY.match(to_text(issue.get("url")))
        repository = repository or (match[1] if match else "")
        is_here = not repository or not self._repository or repository.lower() == self._repository.lower()
        return to_text(issue["number"]) if is_here else None

    def _find_in_comment(self, comment: Item) -> tuple[str | None, str | None] | None:
        """Return the original named in a maintainer's comment, with its date; None for other comments."""
        association = to_text(_get(comment, "authorAssociation")).upper()
        match = DUPLICATE_COMMENT.search(_clean(comment.get("body")))
        if match is None or association not in MAINTAINERS or _is_bot(_author(comment)):
            return None
        place = REPOSITORY.match(match["url"] or "")
        repository, number = (place[1], place[3]) if place else (match["repository"], match["number"])
        if repository and self._repository and repository.lower() != self._repository.lower():
            return None
        return number, parse_optional_utc(_get(comment, "createdAt"))


def _read_items(source: SourceFiles, file: Path) -> Iterator[PlacedItem]:
    """Yield the issues and discussions in a file. Raises InputError if GitHub's response is only an error."""
    for place, value in read_json_values(source, file):
        pages = value if isinstance(value, list) else [value]
        for page in pages:
            if not isinstance(page, dict):
                raise InputError(f"{place}: {str(page)[:60]!r}; expected the JSON of gh issue list or gh api graphql")
            yield from ((place, item) for item in _items_of(page, place, source))


def _items_of(page: Item, place: Place, source: SourceFiles) -> Iterator[Item | RejectedRow]:
    """Yield the items in a GraphQL response; any other object is itself an item."""
    if "data" not in page and "errors" not in page:
        yield page
        return
    connections = _find_connections(page.get("data") or {})
    if not connections:
        errors = "; ".join(
            to_text(error.get("message")) for error in page.get("errors") or [] if isinstance(error, dict)
        )
        raise InputError(f"{place}: GitHub answered {errors or 'without issues or discussions'!r}; fetch it again")
    for nodes in connections:
        for item in nodes:
            source.note("issues that GitHub names without their content left out", item is None)
            if item is not None:
                yield item if isinstance(item, dict) else reject(place, "expected an issue or a discussion", item)


def _find_connections(data: Any) -> list[list[Any]]:
    """Return the outermost lists of nodes in a GraphQL response."""
    if not isinstance(data, dict):
        return []
    if isinstance(data.get("nodes"), list):
        return [data["nodes"]]
    return [nodes for value in data.values() for nodes in _find_connections(value)]


def _get(item: Item, name: str) -> Any:
    """Return a field by its name in camelCase, or by the REST API's name."""
    return item[name] if name in item else item.get(re.sub("([A-Z])", r"_\1", name).lower())


def _nodes(item: Item, name: str) -> list[Item]:
    """Return a list from `gh`, or the nodes of a GraphQL connection, without nulls."""
    value = _get(item, name)
    nodes = value.get("nodes") if isinstance(value, dict) else value
    return list_objects(nodes)


def _author(item: Item) -> Item:
    return as_object(item.get("author") or item.get("user"))


def _login(author: Item) -> str | None:
    return to_text(author.get("login")) or None


def _is_bot(author: Item) -> bool:
    kind = author.get("__typename") or author.get("type")
    return bool(author.get("is_bot")) or kind == "Bot" or to_text(author.get("login")).endswith("[bot]")


def _first_accepted(item: Item) -> str:
    return next((to_text(comment.get("id")) for comment in _nodes(item, "comments") if comment.get("isAnswer")), "")


def _votes(item: Item) -> int | None:
    """Return the upvotes of a discussion, or the thumbs up of an issue; None if they were not fetched."""
    if isinstance(item.get("upvoteCount"), int):
        return int(item["upvoteCount"])
    reactions = item.get("reactionGroups")
    if not isinstance(reactions, list):
        return None
    thumbs = (group for group in map(as_object, reactions) if group.get("content") == "THUMBS_UP")
    counts = (as_object(group.get("users")).get("totalCount") for group in thumbs)
    return sum(count for count in counts if isinstance(count, int))


def _marks(item: Item) -> tuple[Mark, ...]:
    """Return the states from `state`, `stateReason`, `isAnswered`, `locked`: completed is answered, not closed."""
    reason, state = (to_text(_get(item, name)).upper() for name in ("stateReason", "state"))
    is_closed = item.get("closed") is True or state == "CLOSED" or bool(_get(item, "closedAt"))
    is_solved = item.get("isAnswered") is True or (is_closed and reason in SOLVED_REASONS)
    marks: dict[Mark, bool] = {
        "answered": is_solved,
        "closed": is_closed and not is_solved and reason != "OUTDATED",
        "locked": item.get("locked") is True,
        "outdated": is_closed and reason == "OUTDATED",
    }
    return tuple(mark for mark, is_set in marks.items() if is_set)


def _solved_in(item: Item) -> str | None:
    """Return the release that solved an issue: from a label such as `fixed in 2.1`, else its milestone."""
    if "answered" not in _marks(item) or not _get(item, "closedAt"):
        return None
    labels = (SOLVED_LABEL.fullmatch(to_text(label.get("name"))) for label in _nodes(item, "labels"))
    named = next((match[1] for match in labels if match), "")
    return named or to_text(as_object(item.get("milestone")).get("title")) or None


def _clean(body: Any) -> str:
    """Return a text without comments: instructions in issue templates, which pages do not show."""
    return cut_between(to_text(body), "<!--", "-->").strip()

"""Reads Stack Exchange data dumps: a site's folder of XML, or its .7z (https://archive.org/details/stackexchange)."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from askalike.config import Settings
from askalike.errors import InputError
from askalike.readers._source import Source
from askalike.readers._values import optional_utc, problem, utc
from askalike.readers._xml import elements
from askalike.text.clean import strip_banner
from askalike.types import Answer, Link, LinkKind, Question, Record

QUESTION, ANSWER = "1", "2"
POSTS, LINKS = "posts.xml", "postlinks.xml"
PLANTED = frozenset({"1000000001", "1000000010"})
"""Posts planted in every site's dump since mid-2025 (https://meta.stackexchange.com/q/412018)."""
KINDS: dict[str | None, LinkKind] = {"3": "duplicate", "1": "related"}
SITE = re.compile(
    r"(?:[a-z0-9-]+\.)*(?:stackexchange|stackoverflow|superuser|serverfault|askubuntu|stackapps)\.com|mathoverflow\.net"
)
LANGUAGES = ("ru", "es", "pt", "ja")
LICENSES = (("2011-04-08", "CC BY-SA 2.5"), ("2018-05-02", "CC BY-SA 3.0"), ("9999", "CC BY-SA 4.0"))
"""The licence of a post made before each date (https://stackoverflow.com/help/licensing)."""

Row = dict[str, str]


class Stackexchange(Settings):
    """A site's dump: PATH is its folder with Posts.xml and PostLinks.xml, or its .7z."""

    def read(self, paths: Sequence[Path], source: Source) -> Iterator[Record]:
        """Questions, answers and links in the dump's order. Raises InputError."""
        files = [file for path in paths for file in _files(path)]
        site = _site(paths)
        source.facts |= {"name": site, "license": "CC BY-SA"}
        known = SITE.fullmatch(site) is not None
        if known:
            prefix = site.partition(".")[0]
            source.facts["language"] = prefix if prefix in LANGUAGES else "en"
        source.expect(files)
        rows = _Rows(source, f"https://{site}" if known else None)
        has_posts = False
        for file in files:
            for name, chunks in _parts(source, file):
                convert = rows.link if name == LINKS else rows.post
                has_posts |= name != LINKS
                for element in elements(source, chunks, "row"):
                    yield from convert(element.attributes)
        if not has_posts:
            raise InputError(f"{paths[0]}: no Posts.xml in it; expected the dump of one site")


class _Rows:
    """Turns rows of a dump into records."""

    def __init__(self, source: Source, url: str | None) -> None:
        self._source = source
        self._url = url

    def post(self, row: Row) -> Iterator[Record]:
        """A question or an answer, or why it is none."""
        if row.get("Id") in PLANTED:
            self._source.note("planted posts dropped")
            return
        kind = row.get("PostTypeId")
        if kind not in (QUESTION, ANSWER):
            self._source.note("posts skipped that are neither question nor answer")
            return
        try:
            yield self._question(row) if kind == QUESTION else self._answer(row)
        except (KeyError, ValueError) as error:
            yield self._source.reject(problem(error), row)

    def link(self, row: Row) -> Iterator[Record]:
        """A link of a kind that we keep."""
        kind = KINDS.get(row.get("LinkTypeId"))
        if kind is None:
            self._source.note("links skipped that are neither duplicate nor related")
            return
        try:
            link = Link(row["PostId"], row["RelatedPostId"], kind, optional_utc(row.get("CreationDate")))
        except (KeyError, ValueError) as error:
            yield self._source.reject(problem(error), row)
        else:
            if PLANTED.isdisjoint((link.source, link.target)):
                yield link

    def _question(self, row: Row) -> Question:
        id, created_at = row["Id"], utc(row["CreationDate"])
        body, banner = strip_banner(row.get("Body", ""), "html")
        if banner:
            self._source.note("label-leak banners removed")
        return Question(
            id,
            row["Title"],
            body,
            "html",
            tags_of(row.get("Tags", "")),
            created_at=created_at,
            closed_at=optional_utc(row.get("ClosedDate")),
            author=row.get("OwnerUserId") or row.get("OwnerDisplayName"),
            url=self._url and f"{self._url}/q/{id}",
            license=row.get("ContentLicense") or license_at(created_at),
            votes=_votes(row),
            accepted_answer_id=row.get("AcceptedAnswerId"),
        )

    def _answer(self, row: Row) -> Answer:
        id, created_at = row["Id"], utc(row["CreationDate"])
        return Answer(
            id,
            row["ParentId"],
            row.get("Body", ""),
            "html",
            created_at=created_at,
            author=row.get("OwnerUserId") or row.get("OwnerDisplayName"),
            url=self._url and f"{self._url}/a/{id}",
            license=row.get("ContentLicense") or license_at(created_at),
            votes=_votes(row),
        )


def tags_of(text: str) -> tuple[str, ...]:
    """Tags in either notation of the dumps: `<a><b>` or `|a|b|`."""
    return tuple(tag for tag in re.split(r"[<>|]+", text) if tag)


def license_at(created_at: str) -> str:
    """The licence that Stack Exchange gave to posts of that date."""
    return next(name for before, name in LICENSES if created_at < before)


def _votes(row: Row) -> int | None:
    score = row.get("Score")
    try:
        return int(score) if score else None
    except ValueError:
        raise ValueError(f"Score {score!r}: expected a whole number") from None


def _parts(source: Source, file: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Posts and links of one file, each as its name and chunks of bytes."""
    if file.suffix.lower() != ".7z":
        yield file.name.lower(), source.chunks(file)
        return
    from askalike.readers._sevenzip import pieces

    for name, group in groupby(pieces(source, file, (POSTS, LINKS)), key=lambda piece: piece[0]):
        yield name, (chunk for _, chunk in group)


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise InputError(f"{path}: not there; expected the folder or the .7z of a site's dump")
    if path.is_file():
        return [path]
    files = [f for name in (POSTS, LINKS) for f in sorted(path.iterdir()) if f.name.lower() == name]
    if not files or files[0].name.lower() != POSTS:
        raise InputError(f"{path}: no Posts.xml in it; expected the dump of one site")
    return files


def _site(paths: Sequence[Path]) -> str:
    """The one site that the paths are named after (large sites come as one .7z a table: `SITE-Posts.7z`)."""
    sites = {_site_of(path.resolve()) for path in paths}
    if len(sites) > 1:
        raise InputError(f"{', '.join(sorted(sites))}: several sites; import each into an archive of its own")
    return sites.pop()


def _site_of(path: Path) -> str:
    if path.is_dir():
        return path.name
    if path.suffix.lower() == ".7z":
        return re.sub(r"-(Posts|PostLinks)$", "", path.stem, flags=re.IGNORECASE)
    return path.parent.name

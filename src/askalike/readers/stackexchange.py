"""Reads Stack Exchange data dumps: a site's folder of XML, or its .7z (https://archive.org/details/stackexchange)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from askalike.core.config import Settings
from askalike.core.errors import InputError
from askalike.core.records import Answer, Link, LinkKind, LocatedRecord, Question, Record
from askalike.core.values import parse_utc
from askalike.readers._source import SourceFiles, parse_rows
from askalike.readers._values import parse_integer, parse_optional_utc
from askalike.readers._xml import read_elements
from askalike.text.banners import strip_banner

QUESTION_TYPE, ANSWER_TYPE = "1", "2"
POSTS_FILE, LINKS_FILE, USERS_FILE = "posts.xml", "postlinks.xml", "users.xml"
PLANTED_POST_IDS = frozenset({"1000000001", "1000000010"})
"""Posts planted in every site's dump since mid-2025 (https://meta.stackexchange.com/q/412018)."""
LINK_KINDS: dict[str | None, LinkKind] = {"3": "duplicate", "1": "related"}
SITE_PATTERN = re.compile(
    r"(?:[a-z0-9-]+\.)*(?:stackexchange|stackoverflow|superuser|serverfault|askubuntu|stackapps)\.com|mathoverflow\.net"
)
LANGUAGES = ("ru", "es", "pt", "ja")
LICENSES = (("2011-04-08", "CC BY-SA 2.5"), ("2018-05-02", "CC BY-SA 3.0"), ("9999", "CC BY-SA 4.0"))
"""The licence of a post made before each date (https://stackoverflow.com/help/licensing)."""

Row = dict[str, str]


class StackexchangeReader(Settings):
    """Dumps of sites: PATH is a site's folder with Posts.xml, PostLinks.xml and, for names, Users.xml; or its .7z.

    Examples:

    ```
    askalike import stackexchange cooking.stackexchange.com.7z -o cooking
    askalike import stackexchange cooking.stackexchange.com -o cooking --dry-run
    ```
    """

    def group_paths(self, paths: Sequence[Path]) -> list[list[Path]]:
        """Return the paths of each site (large ones have one .7z per table: `SITE-Posts.7z`)."""
        by_site: dict[str, list[Path]] = {}
        for path in paths:
            _find_files(path)
            by_site.setdefault(_infer_site(path.resolve()), []).append(path)
        return list(by_site.values())

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield questions, answers and links of one site in the dump's order. Raises InputError."""
        files = [file for path in paths for file in _find_files(path)]
        site = _infer_site(paths[0].resolve())
        source.facts |= {"name": site, "license": "CC BY-SA"}
        is_known_site = SITE_PATTERN.fullmatch(site) is not None
        if is_known_site:
            prefix = site.partition(".")[0]
            source.facts["language"] = prefix if prefix in LANGUAGES else "en"
        source.expect(files)
        rows = _RowParser(source, f"https://{site}" if is_known_site else None, _read_names(source, files))
        has_posts = False
        for file in files:
            for name, chunks in _open_tables(source, file, (POSTS_FILE, LINKS_FILE)):
                parse = rows.parse_link if name == LINKS_FILE else rows.parse_post
                has_posts |= name != LINKS_FILE
                elements = read_elements(source, file, chunks, "row")
                yield from parse_rows(((place, element.attributes) for place, element in elements), parse)
        if not has_posts:
            raise InputError(f"{paths[0]}: no Posts.xml in it; expected the dump of one site")


class _RowParser:
    """Turns rows of a dump into records. Its methods raise KeyError or ValueError for an invalid row."""

    def __init__(self, source: SourceFiles, site_url: str | None, names: Mapping[str, str]) -> None:
        """names: user id → name."""
        self._source = source
        self._site_url = site_url
        self._names = names

    def parse_post(self, row: Row) -> Sequence[Record]:
        """Return the question or answer of a row; nothing for a post of another type."""
        if row.get("Id") in PLANTED_POST_IDS:
            self._source.note("planted posts dropped")
            return ()
        kind = row.get("PostTypeId")
        if kind not in (QUESTION_TYPE, ANSWER_TYPE):
            self._source.note("posts skipped that are neither question nor answer")
            return ()
        return [self._parse_question(row) if kind == QUESTION_TYPE else self._parse_answer(row)]

    def parse_link(self, row: Row) -> Sequence[Record]:
        """Return the link of a row; nothing for a link that is neither duplicate nor related."""
        kind = LINK_KINDS.get(row.get("LinkTypeId"))
        if kind is None:
            self._source.note("links skipped that are neither duplicate nor related")
            return ()
        link = Link(row["PostId"], row["RelatedPostId"], kind, parse_optional_utc(row.get("CreationDate")))
        return [link] if PLANTED_POST_IDS.isdisjoint((link.source, link.target)) else ()

    def _parse_question(self, row: Row) -> Question:
        id = row["Id"]
        created_at = parse_utc(row["CreationDate"])
        body, banner = strip_banner(row.get("Body", ""), "html")
        if banner:
            self._source.note("label-leak banners removed")
        title = row["Title"]
        tags = parse_tags(row.get("Tags", ""))
        closed_at = parse_optional_utc(row.get("ClosedDate"))
        origin = self._parse_origin(row, f"q/{id}", created_at)
        answer = row.get("AcceptedAnswerId")
        return Question(id, title, body, "html", tags, None, None, created_at, closed_at, *origin, answer)

    def _parse_answer(self, row: Row) -> Answer:
        id = row["Id"]
        created_at = parse_utc(row["CreationDate"])
        question = row["ParentId"]
        origin = self._parse_origin(row, f"a/{id}", created_at)
        return Answer(id, question, row.get("Body", ""), "html", False, created_at, *origin)

    def _parse_origin(self, row: Row, path: str, created_at: str) -> tuple[str | None, str | None, str, int | None]:
        """Return author, url, licence and votes."""
        user = row.get("OwnerUserId", "")
        author = self._names.get(user) or row.get("OwnerDisplayName") or (f"user{user}" if user else None)
        license = row.get("ContentLicense") or find_license(created_at)
        votes = parse_integer("Score", row["Score"]) if row.get("Score") else None
        return author, self._site_url and f"{self._site_url}/{path}", license, votes


def parse_tags(text: str) -> tuple[str, ...]:
    """Return the tags from either notation in the dumps: `<a><b>` or `|a|b|`."""
    return tuple(tag for tag in re.split(r"[<>|]+", text) if tag)


def find_license(created_at: str) -> str:
    """Return Stack Exchange's licence for posts of that date."""
    return next(name for before, name in LICENSES if created_at < before)


def _read_names(source: SourceFiles, files: Sequence[Path]) -> Mapping[str, str]:
    """Return user id → name, as licences require the author's name. Empty if the dump has no Users.xml."""
    names: dict[str, str] = {}
    for file in files:
        for _, chunks in _open_tables(source, file, (USERS_FILE,)):
            rows = (element.attributes for _, element in read_elements(source, file, chunks, "row"))
            names |= {row["Id"]: name for row in rows if "Id" in row and (name := row.get("DisplayName", "").strip())}
    return names


def _open_tables(source: SourceFiles, file: Path, wanted: Sequence[str]) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield the wanted tables in a file, each as its name and chunks of bytes."""
    if file.suffix.lower() != ".7z":
        if file.name.lower() in wanted or (POSTS_FILE in wanted and file.name.lower() != USERS_FILE):
            yield file.name.lower(), source.read_bytes(file)
        return
    from askalike.readers._sevenzip import read_pieces

    for name, group in groupby(read_pieces(source, file, wanted), key=lambda piece: piece[0]):
        yield name, (chunk for _, chunk in group)


def _find_files(path: Path) -> list[Path]:
    if not path.exists():
        raise InputError(f"{path}: not there; expected the folder or the .7z of a site's dump")
    if path.is_file():
        return [path]
    files = [
        f for name in (POSTS_FILE, LINKS_FILE, USERS_FILE) for f in sorted(path.iterdir()) if f.name.lower() == name
    ]
    if not files or files[0].name.lower() != POSTS_FILE:
        raise InputError(f"{path}: no Posts.xml in it; expected the dump of one site")
    return files


def _infer_site(path: Path) -> str:
    if path.is_dir():
        return path.name
    if path.suffix.lower() == ".7z":
        return re.sub(r"-(Posts|PostLinks|Users)$", "", path.stem, flags=re.IGNORECASE)
    return path.parent.name

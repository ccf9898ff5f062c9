"""Reads mailing lists from mbox files: the first mail of a thread is a question, replies by others are its answers."""

import re
from collections.abc import Iterator, Sequence
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.utils import parseaddr, parsedate_to_datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from askalike.core.errors import InputError
from askalike.core.records import Answer, LocatedRecord, Place, Question, Record, RejectedRow
from askalike.core.values import hash_texts, parse_utc
from askalike.readers._source import FollowUpReader, SourceFiles, find_files, parse_rows, reject
from askalike.text.clean import readable_text

MAX_MAIL_BYTES = 1 << 24
FROM_LINE = re.compile(rb"From \S.*\d{4}")
MESSAGE_ID = re.compile(r"<([^<>\s]+)>")
REPLY = re.compile(r"^\s*(?:(?:re|aw|sv|antw|fwd?|wg|tr|rv)(?:\[\d+\])?\s*:\s*)+", re.IGNORECASE)
LIST_TAG = re.compile(r"^\s*(?:\[[^\]]{1,40}\]\s*)+")
QUOTED = re.compile(r"^\s*(?:>|\|)")
ATTRIBUTION = re.compile(
    r"^(?:on .{5,200}wrote|am .{5,200}schrieb.{0,80}|le .{5,200}a écrit|.{0,80}@.{0,80}(?:wrote|writes))\s*:?\s*$",
    re.IGNORECASE,
)
SIGNATURE = re.compile(r"^(?:-- ?|_{10,}|-{3,} ?original message ?-{3,})$", re.IGNORECASE)
AUTOMATIC = ("auto-generated", "auto-replied", "auto-notified")


class MboxReader(FollowUpReader):
    """Threads of a mailing list: PATHs are mbox files, as Mailman's archives and mail programs write them.

    The first mail of a thread is a question, and the replies by others are its answers. Quoted lines, signatures and
    attachments are left out, and so are mails that programs sent. Authors are named without their addresses.

    Examples:

    ```
    askalike import mbox 2026-January.mbox -o list
    askalike import mbox archives/ -o list --since 2026-01-31
    ```
    """

    link: str | None = Field(
        None, description="address of a mail with {id} for its Message-ID, e.g. https://lists.example/m/{id}/"
    )

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield each thread's first mail as a question, then replies as answers. Raises InputError."""
        files = find_files(paths, "*.mbox", "*.mbx", "*.mbox.gz", "*.txt", "*.txt.gz")
        source.expect(files)
        threads = _Threads(self.link, source)
        for file in files:
            yield from parse_rows(self._changed(_read_mails(file, source), source), threads.parse)
        if not threads.n_mails:
            raise InputError(
                f"{', '.join(map(str, paths))}: no mail in it; expected mbox, whose mails begin with 'From '"
            )

    def _changed(
        self, mails: Iterator[tuple[Place, "_Mail | RejectedRow"]], source: SourceFiles
    ) -> Iterator[tuple[Place, "_Mail | RejectedRow"]]:
        for place, mail in mails:
            if isinstance(mail, _Mail):
                mail = mail._replace(is_old=self.is_unchanged(mail.date, source))
            yield place, mail


class _Mail(NamedTuple):
    """Headers and own text of a mail. references: the ids of the mails before it in its thread, the first one first."""

    id: str
    subject: str
    body: str
    author: str | None
    date: str | None
    references: Sequence[str]
    is_automatic: bool
    is_old: bool = False


class _Threads:
    """Turns mails into records. It remembers which thread each mail is of, by Message-ID, not the mails."""

    def __init__(self, link: str | None, source: SourceFiles) -> None:
        self._link, self._source = link, source
        self._roots: dict[str, str] = {}
        self._authors: dict[str, str | None] = {}
        self.n_mails = 0

    def parse(self, mail: _Mail) -> list[Record]:
        """Return a question, an answer, or nothing. Raises KeyError for a first mail without a subject."""
        self.n_mails += 1
        if mail.is_automatic:
            self._source.note("mails that programs sent left out")
            return []
        root = next((self._roots[id] for id in reversed(mail.references) if id in self._roots), None)
        is_reply = bool(mail.references) or bool(REPLY.match(mail.subject))
        if root is None and is_reply:
            self._source.note("replies whose first mail is not in the files left out")
            return []
        self._roots[mail.id] = root or mail.id
        if root is None:
            self._authors[mail.id] = mail.author
        if mail.is_old:
            return []
        url = self._link.replace("{id}", mail.id) if self._link else None
        if root is None:
            title = clean_subject(mail.subject)
            if not title:
                raise KeyError("subject")
            return [Question(mail.id, title, mail.body, created_at=mail.date, author=mail.author, url=url)]
        if not mail.body or mail.author == self._authors.get(root):
            self._source.note("replies by the asker, or without a text of their own, left out")
            return []
        return [Answer(mail.id, root, mail.body, created_at=mail.date, author=mail.author, url=url)]


def clean_subject(subject: str) -> str:
    """Return a subject without the list's tag and the marks of replies."""
    before, text = None, subject
    while text != before:
        before = text
        text = REPLY.sub("", LIST_TAG.sub("", text))
    return " ".join(text.split())


def clean_body(text: str) -> str:
    """Return a mail's own text: without quoted lines, the lines that introduce them, and the signature."""
    kept: list[str] = []
    for line in text.splitlines():
        if SIGNATURE.match(line.rstrip("\r")):
            break
        if not QUOTED.match(line) and not ATTRIBUTION.match(line.strip()):
            kept.append(line.rstrip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _read_mails(file: Path, source: SourceFiles) -> Iterator[tuple[Place, _Mail | RejectedRow]]:
    """Yield the mails of an mbox file, one in memory at a time (RFC 4155, with `>From ` in bodies)."""
    lines: list[bytes] = []
    size, start, is_after_blank = 0, 0, True
    for number, line in enumerate(_read_raw_lines(file, source), 1):
        if is_after_blank and FROM_LINE.match(line):
            if start:
                yield _parse_mail(Place(str(file), start), lines, size)
            lines, size, start = [], 0, number
        elif start:
            size += len(line)
            if size <= MAX_MAIL_BYTES:
                lines.append(line[1:] if re.match(rb">+From ", line) else line)
        is_after_blank = not line.strip()
    if start:
        yield _parse_mail(Place(str(file), start), lines, size)


def _read_raw_lines(file: Path, source: SourceFiles) -> Iterator[bytes]:
    """Yield the lines of a file, whose mails are of different encodings; longer ones than a mail in pieces."""
    rest = b""
    for chunk in source.read_bytes(file):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line + b"\n" for line in lines)
        if len(rest) > MAX_MAIL_BYTES:
            yield rest
            rest = b""
    if rest:
        yield rest


def _parse_mail(place: Place, lines: Sequence[bytes], size: int) -> tuple[Place, _Mail | RejectedRow]:
    if size > MAX_MAIL_BYTES:
        return place, reject(place, f"a mail of over {MAX_MAIL_BYTES >> 20} MB")
    try:
        message = message_from_bytes(b"".join(lines), policy=policy.default)
        mail = _to_mail(message)
    except Exception as error:  # odd headers make the package email raise nearly anything
        return place, reject(place, f"cannot be read as a mail ({error})", b"".join(lines[:20]).decode("latin-1"))
    return place, mail


def _to_mail(message: EmailMessage) -> _Mail:
    headers = {
        name: str(message.get(name, "")) for name in ("Message-ID", "Subject", "From", "References", "In-Reply-To")
    }
    part = message.get_body(("plain", "html"))
    body = ""
    if part is not None:
        body = str(part.get_content())
        if part.get_content_subtype() == "html":
            body = readable_text(body, "html")
    id = MESSAGE_ID.search(headers["Message-ID"])
    name, address = parseaddr(_decoded(message, "From").replace(" at ", "@"))
    references = MESSAGE_ID.findall(f"{headers['References']} {headers['In-Reply-To']}")
    automatic = str(message.get("Auto-Submitted", "")).lower().startswith(AUTOMATIC)
    return _Mail(
        id[1] if id else hash_texts(headers["From"], headers["Subject"], body),
        headers["Subject"],
        clean_body(body),
        name or address.partition("@")[0] or None,
        _parse_date(str(message.get("Date", ""))),
        tuple(dict.fromkeys(references)),
        automatic or str(message.get("Precedence", "")).lower() == "auto_reply",
    )


def _decoded(message: EmailMessage, name: str) -> str:
    """Return a header as it is, without a check of its syntax: archives write addresses as `ada at example.org`."""
    raw = next((str(value) for key, value in message.raw_items() if key.lower() == name.lower()), "")
    return str(make_header(decode_header(raw)))


def _parse_date(text: str) -> str | None:
    """Return a date of RFC 5322 in UTC; None if there is none."""
    try:
        return parse_utc(parsedate_to_datetime(text).isoformat()) if text else None
    except (ValueError, TypeError, OverflowError):
        return None

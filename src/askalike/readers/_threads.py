"""Turns chat conversations that begin with a question into drafts for review."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askalike.core.values import parse_utc
from askalike.readers._source import FollowUpReader, SourceFiles
from askalike.store.drafts import LocatedThread, ThreadDraft
from askalike.text.passages import split_sentences

MAX_ANSWERS = 10
"""Maximum number of other people's messages that form the answer if none is marked as the solution."""
MAX_TITLE_LENGTH = 300
MAX_SEARCHED = 10_000
"""The number of characters at the beginning of a message in which a question is looked for."""
SOLVED_EMOJIS = frozenset({"white_check_mark", "heavy_check_mark", "ballot_box_with_check", "check", "check_mark"})
"""Reactions that mark a message as the solution."""
OPENERS = re.compile(
    r"(?:how (?:do|does|can|could|should|would|to|is|are)|what(?:'s)? |why |where |when |which |who |is there|"
    r"are there|(?:can|could|does|has) (?:i|we|you|anyone|anybody|someone|somebody)|anyone |any idea)",
    re.IGNORECASE,
)
"""The beginning of a question without a question mark."""
CODE_OR_LINK = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)


class ThreadReader(FollowUpReader):
    """Reads conversations; `read` yields drafts instead of records of the archive."""

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedThread]:
        """Yield a draft for each conversation that begins with a question and has an answer. Raises InputError."""
        raise NotImplementedError

    def to_draft(
        self, conversation: "Conversation", id: str, url: str | None, source: SourceFiles
    ) -> ThreadDraft | None:
        """Return the draft of a conversation; None, with a note, if it is unchanged since `since` or unanswered."""
        last_at = parse_utc(str(int(conversation.last_at)))
        return None if self.is_unchanged(last_at, source) else conversation.to_draft(id, url, source)


@dataclass(frozen=True, slots=True)
class Message:
    """A message as plain text. author: any id of a person. at: seconds since 1970."""

    text: str
    author: str
    at: float
    is_bot: bool = False
    is_solution: bool = False


class Conversation:
    """The first message of a conversation and the answers to it: at most MAX_ANSWERS, and the solutions."""

    def __init__(self, first: Message) -> None:
        self.first, self.last_at = first, first.at
        self._answers: list[Message] = []
        self._solutions: list[Message] = []
        self._has_reply_of_bot = self._has_reply = False

    def add(self, message: Message) -> None:
        """Add a later message."""
        self.last_at = max(self.last_at, message.at)
        self._has_reply_of_bot |= message.is_bot
        self._has_reply |= not message.is_bot
        if message.is_bot or message.author == self.first.author or not message.text:
            return
        if message.is_solution:
            self._solutions.append(message)
        elif len(self._answers) < MAX_ANSWERS:
            self._answers.append(message)

    def to_draft(self, id: str, url: str | None, source: SourceFiles, title: str | None = None) -> ThreadDraft | None:
        """Return the draft, whose answer is the solution, else the others' messages; None, with a note, without one.

        title: that of the conversation, if it has one; by default its question.
        """
        if (question := read_question(self.first.text, title)) is None:
            return None
        answers = self._solutions or self._answers
        if not answers:
            only_bots = self._has_reply_of_bot and not self._has_reply
            source.note(
                "threads that bots alone answered left out" if only_bots else "threads that nobody answered left out"
            )
            return None
        return ThreadDraft(id, *question, "\n\n".join(answer.text for answer in answers), url)


def begin_conversation(first: Message, source: SourceFiles, title: str | None = None) -> Conversation | None:
    """Return the conversation that a message begins; None, with a note, if it is by a bot or asks nothing.

    title: that of the conversation, if it has one, which is then the question.
    """
    if not first.is_bot and read_question(first.text, title) is not None:
        return Conversation(first)
    source.note(f"threads that {'a bot began' if first.is_bot else 'begin with no question'} left out")
    return None


def parse_sent_at(value: Any) -> float | None:
    """Return when a message was sent, in seconds since 1970; None if the value is not a time."""
    try:
        at = float(value)
        parse_utc(int(at))
    except (TypeError, ValueError, OverflowError):
        return None
    return at


def read_question(text: str, title: str | None = None) -> tuple[str, str] | None:
    """Return title and body of the question that a message asks; None if it asks none.

    title: that of its conversation, if it has one. The body is all of the message, unless that is just the title.
    """
    if not (title := title or find_question(text)):
        return None
    return title, "" if text.strip() == title else text


def find_question(text: str) -> str | None:
    """Return the first sentence with a question mark, else the first that begins like a question, or None.

    Code and links are ignored.
    """
    sentences = split_sentences(CODE_OR_LINK.sub(" … ", text[:MAX_SEARCHED]))
    marked = (s for s in sentences if s.rstrip("\"'”’»)]* _").endswith(("?", "？", "؟", "\u037e")))
    opened = (s for s in sentences if OPENERS.match(s))
    question = next(marked, None) or next(opened, None)
    return " ".join(question.split())[:MAX_TITLE_LENGTH] if question else None

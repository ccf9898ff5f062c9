"""`drafts`: a conversation with a question and an answer, which a moderator may accept as an entry."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from askalike.readers import Message, SourceFiles, begin_conversation
from askalike.service.authorization import GuardedRoute, WritableArchive
from askalike.service.schema import Id, QuestionTitle, RequestModel, Text, WebAddress
from askalike.store.drafts import ThreadDraft, ThreadEffect, put_thread
from askalike.store.retention import KeepsNothingError

MAX_MESSAGES = 200
SOURCE_PATTERN = r"^[\w.-]+( [\w.-]+)*$"


router = APIRouter(route_class=GuardedRoute, tags=["asking"])


class ThreadMessage(RequestModel):
    """A message of a conversation, as plain text."""

    text: Text
    author: Annotated[str, Field(max_length=300, description="any id of a person; it is not stored")]
    is_bot: bool = False
    is_solution: Annotated[bool, Field(description="whether people have marked it as the solution")] = False


class ThreadRequest(RequestModel):
    """A conversation that begins with a question."""

    source: Annotated[
        str, Field(max_length=100, pattern=SOURCE_PATTERN, description="a name, such as that of an import, for its ids")
    ]
    id: Id
    title: Annotated[QuestionTitle | None, Field(description="its title, which is then the question")] = None
    url: WebAddress | None = None
    messages: Annotated[list[ThreadMessage], Field(min_length=1, max_length=MAX_MESSAGES)]

    def to_draft(self) -> ThreadDraft | str:
        """Return its draft, or the reason why there is none."""
        notes = SourceFiles()
        first, *later = (Message(m.text, m.author, 0.0, m.is_bot, m.is_solution) for m in self.messages)
        draft = None
        if conversation := begin_conversation(first, notes, self.title):
            for message in later:
                conversation.add(message)
            draft = conversation.to_draft(self.id, self.url, notes, self.title)
        return draft or next(iter(notes.notes))


class DraftResponse(BaseModel):
    """The fate of a conversation: `left_out` for the `reason`, or its draft was added, updated or is unchanged."""

    effect: Literal[ThreadEffect, "left_out"]
    reason: str | None = None


@router.post("/drafts", summary="Propose a conversation as a draft")
async def post_draft(archive: WritableArchive, thread: ThreadRequest) -> DraftResponse:
    """Keep a conversation as a draft, hidden until a moderator accepts it.

    It needs a question at its beginning, and an answer by another person: the messages marked as the solution, else
    the first ten by others. Sent again, it updates its draft, unless a moderator has decided on that.
    """
    draft = thread.to_draft()
    if isinstance(draft, str):
        return DraftResponse(effect="left_out", reason=draft)
    origin = f"{thread.source}/{thread.id}"
    try:
        return DraftResponse(effect=await archive.run_on_store(lambda store: put_thread(store, origin, draft)))
    except KeepsNothingError:
        return DraftResponse(effect="left_out", reason="this archive keeps nothing that people write")

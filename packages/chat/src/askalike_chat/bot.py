"""A bot that searches for the events of a chat, whatever the product, and stays silent unless sure.

Its answer names the question that asks the same, how likely that is in words, and why.
"""

import asyncio
import hashlib
import random
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

from askalike_chat.answered import AnsweredThreads, GivenAnswer
from askalike_chat.chat import (
    Chat,
    ChatEvent,
    ChatMessage,
    Edited,
    Emoji,
    Payload,
    Reacted,
    Removed,
    Started,
    safe_link,
)
from askalike_chat.errors import ApiError, BotError, NotUnderstoodError, RefusedBotError
from askalike_chat.log import log_event, log_fault, log_warning
from askalike_chat.service import PAIR, Hit, Service, Verdict

MAX_AGE_S = 3600.0
"""Messages older than this are not answered: nobody waits for an answer to what a lost connection brings late."""
MAX_REMEMBERED = 10_000
FEEDBACK: dict[Emoji, Verdict] = {"up": "accept", "down": "reject"}
CERTAINTIES = ((0.95, "almost certainly"), (0.8, "very likely"), (0.5, "likely"), (0.0, "possibly"))
"""The least probability → its name."""
FOOTER = "👍 if it helps, 👎 if it does not."
MAX_SHOWN_TITLE = 200


@dataclass(frozen=True, slots=True)
class BotSettings:
    """What a bot may say. archive_url: the page to link questions without an address; None for the service's own.

    source: the name under which threads are drafts. say: called instead of writing anything; None if it is no dry run.
    """

    archive_url: str | None = None
    source: str = "chat"
    say: Callable[[str, str], None] | None = None


class Bot:
    """The bot of one chat with one archive."""

    def __init__(self, chat: Chat, service: Service, settings: BotSettings, answered: AnsweredThreads) -> None:
        self._chat, self._service, self._settings, self._answered = chat, service, settings, answered
        self._silent: OrderedDict[str, None] = OrderedDict()
        """Threads that were searched and not answered, the oldest first."""

    async def take(self, payload: Payload) -> None:
        """Do what an event asks for. An error is logged. Raises RefusedBotError."""
        try:
            for event in [event async for event in self._chat.interpret(payload)]:
                await self._take_event(event)
        except RefusedBotError:
            raise
        except NotUnderstoodError as error:
            log_warning("an event was not understood", error=str(error))
        except BotError as error:
            log_warning("an event had no effect", error=str(error))
        except Exception:  # a fault of this program: the next event may be one that it can take
            log_fault("an event had no effect, by a fault of the bot")

    async def _take_event(self, event: ChatEvent) -> None:
        match event:
            case Started(message):
                await self._take_question(message)
            case Edited(message):
                await self._take_edit(message)
            case Removed(channel, id):
                await self._take_removal(channel, id)
            case Reacted():
                await self._take_reaction(event)

    async def _take_question(self, message: ChatMessage) -> None:
        """Search for the first message of a new thread, and answer if that is likely to help."""
        is_known = message.thread in self._answered or message.thread in self._silent
        is_old = time.time() - message.at > MAX_AGE_S
        if is_known or is_old or message.is_bot:
            return
        if (hit := await self._search(message)) is None:
            self._remember_silence(message.thread)
        else:
            await self._answer(message, hit)

    async def _answer(self, message: ChatMessage, hit: Hit) -> None:
        self._silent.pop(message.thread, None)
        text = self._format(hit)
        given = self._answered.put(GivenAnswer(message.thread, message.channel, message.id, hit.id))
        log_event("answering", thread=message.thread, shown=hit.id, probability=hit.probability)
        if self._settings.say:
            self._settings.say(message.thread, text)
        else:
            self._answered.put(given, answer=await self._chat.reply(message, text))

    async def _take_edit(self, message: ChatMessage) -> None:
        """Search again where the first message of a thread was edited; change or delete the answer accordingly."""
        given = self._answered.find(message.channel, message.id)
        if given is None and message.thread in self._silent:
            self._silent.pop(message.thread)
            await self._take_question(message)
        if given is None or given.first != message.id or given.withdrawn or not given.answer:
            return
        hit = await self._search(message)
        if hit is None:
            await self._withdraw(given)
        elif hit.id != given.shown:
            await self._chat.edit(given.channel, given.answer, self._format(hit))
            self._answered.put(given, shown=hit.id, verdicts=())
            log_event("changed the answer", thread=given.thread, shown=hit.id, probability=hit.probability)

    async def _take_removal(self, channel: str, id: str) -> None:
        """Delete the answer to a deleted question; remember that somebody deleted the answer."""
        given = self._answered.find(channel, id)
        if given is None or given.withdrawn:
            return
        if given.answer == id:
            self._answered.put(given, withdrawn=True)
            log_event("the answer was deleted", thread=given.thread, shown=given.shown)
        else:
            await self._withdraw(given)

    async def _withdraw(self, given: GivenAnswer) -> None:
        self._answered.put(given, withdrawn=True)
        if given.answer:
            await self._chat.delete(given.channel, given.answer)
        log_event("took the answer back", thread=given.thread, shown=given.shown)

    async def _take_reaction(self, reaction: Reacted) -> None:
        given = self._answered.find(reaction.channel, reaction.id)
        is_answer = given is not None and given.answer == reaction.id
        if reaction.emoji == "solved":
            if not is_answer:
                await self._propose_draft(reaction)
        elif given and is_answer:
            await self._send_feedback(given, reaction)

    async def _send_feedback(self, given: GivenAnswer, reaction: Reacted) -> None:
        """Send a person's verdict on the answer, once for each person, verdict and shown question."""
        key = f"{given.thread} {reaction.person} {reaction.emoji}"
        digest = hashlib.blake2b(key.encode(), digest_size=6).hexdigest()
        if digest in given.verdicts:
            return
        thread = await self._chat.read_thread(given.channel, given.first)
        if not thread or self._settings.say:
            return
        self._answered.put(given, verdicts=(*given.verdicts, digest))
        await self._service.send_feedback(thread[0], given.shown, FEEDBACK[reaction.emoji])
        log_event("feedback", thread=given.thread, shown=given.shown, verdict=FEEDBACK[reaction.emoji])

    async def _propose_draft(self, reaction: Reacted) -> None:
        """Propose a thread as a draft with its marked answers, of which the one is by another person than who asked."""
        thread = await self._chat.read_thread(reaction.channel, reaction.id)
        if not thread or self._settings.say:
            return
        first, *replies = thread
        marked = next((reply for reply in replies if reply.id == reaction.id), None)
        if marked is None or marked.is_bot or marked.author == first.author or first.is_bot:
            return
        solutions = [replace(r, is_solution=True) for r in replies if r.is_solution or r.id == reaction.id]
        kept = await self._service.propose(self._settings.source, [first, *solutions], await self._chat.link(first))
        log_event("draft", thread=first.thread, effect=kept.effect, **({"reason": kept.reason} if kept.reason else {}))

    async def _search(self, message: ChatMessage) -> Hit | None:
        """Return the question to name, if the best one is likely enough to ask the same."""
        limits = self._service.limits
        found = await self._service.find(message)
        own = await self._chat.link(message)
        hit = next((hit for hit in found.results if hit.url != own and not hit.duplicate_of), None)
        if hit is None:
            return None
        is_asked_for = limits.min_similarity is not None or limits.min_probability is not None
        return hit if is_asked_for or hit.grade == "same" else None

    def _format(self, hit: Hit) -> str:
        return format_answer(self._chat, hit, hit.url or self._service.link(hit.id, self._settings.archive_url))

    def _remember_silence(self, thread: str) -> None:
        log_event("silent", thread=thread)
        self._silent[thread] = None
        if len(self._silent) > MAX_REMEMBERED:
            self._silent.popitem(last=False)


def format_answer(chat: Chat, hit: Hit, url: str | None) -> str:
    """Return the answer in a chat's markup. url: the question's address; None without one."""
    title = " ".join(hit.title.split())
    shown = chat.escape(title if len(title) <= MAX_SHOWN_TITLE else f"{title[: MAX_SHOWN_TITLE - 1]}…")
    named = chat.format_link(shown, safe_link(url)) if url else shown
    words = hit.main_words or ()
    shared = ", ".join(chat.escape(word) for word in words if PAIR not in word)
    similar = [chat.escape(word) for word in words if PAIR in word]
    reasons = [f"both say {shared}" if shared else "its meaning is close", *similar]
    if hit.solution:
        reasons.append(chat.escape(hit.solution))
    return f"This may have been asked before: {named}\n{describe_certainty(hit)}: {'; '.join(reasons)}.\n{FOOTER}"


def describe_certainty(hit: Hit) -> str:
    """Return how likely a hit asks the same, such as `Very likely the same question (91 %)`."""
    if hit.probability is None:
        return f"A similar question (similarity {100 * (hit.similarity or 0):.0f} %)"
    probability = hit.probability
    word = next(word for least, word in CERTAINTIES if probability >= least)
    return f"{word.capitalize()} the same question ({100 * probability:.0f} %)"


FIRST_PAUSE_S, MAX_PAUSE_S = 1.0, 300.0
STEADY_S = 60.0
"""A connection that lasted this long ends the growth of pauses."""
MAX_WAITING = 1_000
"""The number of events that wait for the bot; while there are as many, no more are heard."""
END_S = 2.0
"""How long an event may take until its end once the bot is asked to end."""


async def run_bot(chat: Chat, bot: Bot, first_pause_s: float = FIRST_PAUSE_S) -> None:
    """Serve a chat until this is cancelled. Raises RefusedBotError if the product or the service refuses the bot."""
    heard: asyncio.Queue[Payload] = asyncio.Queue(MAX_WAITING)
    log_event("serving", product=chat.name)
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_receive_always(chat, heard, first_pause_s))
            tasks.create_task(_take_always(bot, heard))
    except* RefusedBotError as refusals:
        raise refusals.exceptions[0] from None
    finally:
        log_event("ended")


async def _take_always(bot: Bot, heard: asyncio.Queue[Payload]) -> None:
    while True:
        taking = asyncio.ensure_future(bot.take(await heard.get()))
        try:
            await asyncio.shield(taking)
        except asyncio.CancelledError:
            await asyncio.wait({taking}, timeout=END_S)
            raise


async def _receive_always(chat: Chat, heard: asyncio.Queue[Payload], first_pause_s: float) -> None:
    """Connect again and again. Raises RefusedBotError."""
    pause_s = first_pause_s
    while True:
        started = time.monotonic()
        reason = "asked to reconnect"
        try:
            async with aclosing(chat.receive()) as payloads:
                async for payload in payloads:
                    await heard.put(payload)
        except RefusedBotError:
            raise
        except ApiError as error:
            reason = str(error)
        if time.monotonic() - started > STEADY_S:
            pause_s = first_pause_s
        wait_s = pause_s * random.uniform(0.5, 1.0)
        log_warning("disconnected", reason=reason, again_in_s=round(wait_s, 1))
        await asyncio.sleep(wait_s)
        pause_s = min(2 * pause_s, MAX_PAUSE_S)

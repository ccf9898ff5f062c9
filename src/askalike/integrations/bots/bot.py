"""A bot that searches for the events of a chat, whatever the product, and stays silent unless sure.

Its answer names the question that asks the same, how likely that is in words, and why.
"""

import hashlib
import random
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Event, Thread
from urllib.parse import quote

from askalike.core.errors import AskalikeError
from askalike.core.types import SearchHit
from askalike.core.values import safe_url
from askalike.integrations.bots.answered import AnsweredThreads, GivenAnswer
from askalike.integrations.bots.chat import (
    Chat,
    ChatError,
    ChatMessage,
    Edited,
    Emoji,
    Payload,
    Reacted,
    RefusedBotError,
    Removed,
    Started,
    safe_link,
)
from askalike.readers import Conversation, SourceFiles, find_question
from askalike.search.engine import LocalEngine
from askalike.service.log import log_event, log_warning
from askalike.store.drafts import put_thread
from askalike.store.query_log import FeedbackVerdict, LoggedQuery, insert_feedback
from askalike.store.retention import delete_expired
from askalike.text.clean import collapse_spaces
from askalike.text.language import stop_words

N_HITS = 3
MAX_TITLE_LENGTH, MAX_BODY_LENGTH = 1_000, 100_000
MAX_AGE_S = 3600.0
"""Messages older than this are not answered: nobody waits for an answer to what a lost connection brings late."""
MAX_REMEMBERED = 10_000
EXPIRY_S = 3_600.0
"""The pause between two deletions of what the archive keeps no longer."""
FEEDBACK: dict[Emoji, FeedbackVerdict] = {"up": "accept", "down": "reject"}
CERTAINTIES = ((0.95, "almost certainly"), (0.8, "very likely"), (0.5, "likely"), (0.0, "possibly"))
"""The least probability → its name."""
FOOTER = "👍 if it helps, 👎 if it does not."
MAX_SHOWN_TITLE = 200
MAX_WORDS, MIN_WORD_SHARE = 3, 0.2
"""Words are named from this share of the heaviest one's weight on."""
NOT_UNDERSTOOD = (LookupError, TypeError, ValueError, AttributeError)
"""Errors that reading an event of an unknown form may raise."""


@dataclass(frozen=True, slots=True)
class BotSettings:
    """Limits of what a bot may say. min_probability: None for the archive's threshold, at least that of likely hits.

    min_similarity: of hits in an archive without a calibration; None for silence there. archive_url: the address of the
    archive in a service, for questions without one of their own. source: the name under which threads are drafts.
    say: called instead of writing anything; None if it is no dry run.
    """

    min_probability: float | None = None
    min_similarity: float | None = None
    archive_url: str | None = None
    source: str = "chat"
    say: Callable[[str, str], None] | None = None


class Bot:
    """The bot of one chat with one archive."""

    def __init__(self, chat: Chat, engine: LocalEngine, settings: BotSettings, answered: AnsweredThreads) -> None:
        self._chat, self._engine, self._settings, self._answered = chat, engine, settings, answered
        self._silent: OrderedDict[str, None] = OrderedDict()
        """Threads that were searched and not answered, the oldest first."""
        self._expire_at = 0.0

    def take(self, payload: Payload) -> None:
        """Do what an event asks for. An error is logged. Raises RefusedBotError."""
        try:
            for event in self._chat.interpret(payload):
                match event:
                    case Started(message):
                        self._take_question(message)
                    case Edited(message):
                        self._take_edit(message)
                    case Removed(channel, id):
                        self._take_removal(channel, id)
                    case Reacted():
                        self._take_reaction(event)
        except RefusedBotError:
            raise
        except AskalikeError as error:
            log_warning("an event had no effect", error=str(error))
        except NOT_UNDERSTOOD as error:
            log_warning("an event was not understood", error=f"{type(error).__name__}: {error}")

    def delete_expired(self) -> None:
        """Delete what the archive keeps no longer, once an hour; the service does so, too, but need not run."""
        if self._settings.say is None and time.monotonic() >= self._expire_at:
            self._expire_at = time.monotonic() + EXPIRY_S
            try:
                delete_expired(self._engine.archive)
            except AskalikeError as error:
                log_warning("what is too old could not be deleted", error=str(error))

    def _take_question(self, message: ChatMessage) -> None:
        """Search for the first message of a new thread, and answer if that is likely to help."""
        is_known = message.thread in self._answered or message.thread in self._silent
        is_old = time.time() - message.content.at > MAX_AGE_S
        if is_known or is_old or message.content.is_bot:
            return
        if (hit := self._search(message)) is None:
            self._remember_silence(message.thread)
        else:
            self._answer(message, hit)

    def _answer(self, message: ChatMessage, hit: SearchHit) -> None:
        self._silent.pop(message.thread, None)
        text = format_answer(self._chat, hit, self._settings.archive_url)
        given = self._answered.put(GivenAnswer(message.thread, message.channel, message.id, hit.id))
        log_event("answering", thread=message.thread, shown=hit.id, probability=hit.probability)
        if self._settings.say:
            self._settings.say(message.thread, text)
        else:
            self._answered.put(given, answer=self._chat.reply(message, text))

    def _take_edit(self, message: ChatMessage) -> None:
        """Search again where the first message of a thread was edited; change or delete the answer accordingly."""
        given = self._answered.find(message.channel, message.id)
        if given is None and message.thread in self._silent:
            self._silent.pop(message.thread)
            self._take_question(message)
        if given is None or given.first != message.id or given.withdrawn or not given.answer:
            return
        hit = self._search(message)
        if hit is None:
            self._withdraw(given)
        elif hit.id != given.shown:
            self._chat.edit(given.channel, given.answer, format_answer(self._chat, hit, self._settings.archive_url))
            self._answered.put(given, shown=hit.id, verdicts=())
            log_event("changed the answer", thread=given.thread, shown=hit.id, probability=hit.probability)

    def _take_removal(self, channel: str, id: str) -> None:
        """Delete the answer to a deleted question; remember that somebody deleted the answer."""
        given = self._answered.find(channel, id)
        if given is None or given.withdrawn:
            return
        if given.answer == id:
            self._answered.put(given, withdrawn=True)
            log_event("the answer was deleted", thread=given.thread, shown=given.shown)
        else:
            self._withdraw(given)

    def _withdraw(self, given: GivenAnswer) -> None:
        self._answered.put(given, withdrawn=True)
        if given.answer:
            self._chat.delete(given.channel, given.answer)
        log_event("took the answer back", thread=given.thread, shown=given.shown)

    def _take_reaction(self, reaction: Reacted) -> None:
        given = self._answered.find(reaction.channel, reaction.id)
        is_answer = given is not None and given.answer == reaction.id
        if reaction.emoji == "solved":
            if not is_answer:
                self._keep_draft(reaction)
        elif given and is_answer:
            self._store_feedback(given, reaction)

    def _store_feedback(self, given: GivenAnswer, reaction: Reacted) -> None:
        """Store a person's verdict on the answer, once for each person, verdict and shown question."""
        key = f"{given.thread} {reaction.person} {reaction.emoji}"
        digest = hashlib.blake2b(key.encode(), digest_size=6).hexdigest()
        if digest in given.verdicts:
            return
        thread = self._chat.read_thread(given.channel, given.first)
        if not thread or self._settings.say:
            return
        self._answered.put(given, verdicts=(*given.verdicts, digest))
        title, body = _as_question(thread[0])
        query = LoggedQuery(title, body, [given.shown], self._engine.ranker.name)
        insert_feedback(self._engine.archive, query, FEEDBACK[reaction.emoji], given.shown)
        log_event("feedback", thread=given.thread, shown=given.shown, verdict=FEEDBACK[reaction.emoji])

    def _keep_draft(self, reaction: Reacted) -> None:
        """Keep a thread as a draft, with the marked answer, which is one by another person than who asked."""
        thread = self._chat.read_thread(reaction.channel, reaction.id)
        if not thread or self._settings.say:
            return
        first, *replies = thread
        conversation = Conversation(first.content)
        for reply in replies:
            is_marked = reply.id == reaction.id
            conversation.add(replace(reply.content, is_solution=reply.content.is_solution or is_marked))
        marked = next((reply.content for reply in replies if reply.id == reaction.id), None)
        if marked is None or marked.is_bot or marked.author == first.content.author or first.content.is_bot:
            return
        draft = conversation.to_draft(first.thread, self._chat.link(first), SourceFiles(), first.title)
        if draft:
            effect = put_thread(self._engine.archive, f"{self._settings.source}/{first.thread}", draft)
            log_event("draft", thread=first.thread, effect=effect)

    def _search(self, message: ChatMessage) -> SearchHit | None:
        """Return the question to name, if the best one is likely enough to ask the same."""
        title, body = _as_question(message)
        if not title:
            return None
        wanted = self._settings
        results = self._engine.search(
            title, N_HITS, body=body, min_probability=wanted.min_probability, min_similarity=wanted.min_similarity
        )
        own = self._chat.link(message)
        hit = next((hit for hit in results if hit.question.url != own and not hit.duplicate_of), None)
        if hit is None:
            return None
        if hit.probability is None:
            return hit if wanted.min_similarity is not None else None
        return hit if wanted.min_probability is not None or hit.probability >= results.likely_from else None

    def _remember_silence(self, thread: str) -> None:
        log_event("silent", thread=thread)
        self._silent[thread] = None
        if len(self._silent) > MAX_REMEMBERED:
            self._silent.popitem(last=False)


def _as_question(message: ChatMessage) -> tuple[str, str]:
    """Return title and body of the question that a message asks; an empty title if it asks none."""
    text = message.content.text.strip()
    title = message.title.strip() or find_question(text) or ""
    return title[:MAX_TITLE_LENGTH], "" if text == title else text[:MAX_BODY_LENGTH]


def format_answer(chat: Chat, hit: SearchHit, archive_url: str | None) -> str:
    """Return the answer in a chat's markup. archive_url: the archive in a service, for questions without an address."""
    title = collapse_spaces(hit.title)
    shown = chat.escape(title if len(title) <= MAX_SHOWN_TITLE else f"{title[: MAX_SHOWN_TITLE - 1]}…")
    url = safe_url(hit.question.url) or (
        f"{archive_url.rstrip('/')}/questions/{quote(hit.id, safe='')}" if archive_url else None
    )
    named = chat.format_link(shown, safe_link(url)) if url else shown
    reason = "; ".join([_describe_words(chat, hit), *([chat.escape(hit.solution)] if hit.solution else [])])
    return f"This may have been asked before: {named}\n{describe_certainty(hit)}: {reason}.\n{FOOTER}"


def describe_certainty(hit: SearchHit) -> str:
    """Return how likely a hit asks the same, such as `Very likely the same question (91 %)`."""
    if hit.probability is None:
        return f"A similar question (similarity {hit.similarity or 0:.0%})".replace("%", " %")
    word = next(word for least, word in CERTAINTIES if hit.probability >= least)
    return f"{word.capitalize()} the same question ({100 * hit.probability:.0f} %)"


def _describe_words(chat: Chat, hit: SearchHit) -> str:
    words = main_words(hit)
    return f"both say {', '.join(map(chat.escape, words))}" if words else "its meaning is close"


def main_words(hit: SearchHit) -> Sequence[str]:
    """Return the words that contribute most to a hit's score, the heaviest first; no function words if others do."""
    contributions = [c for c in (hit.explanation.contributions if hit.explanation else ()) if c.fields and c.score > 0]
    function_words = stop_words(hit.question.language or "en")
    contributions = [c for c in contributions if c.word.casefold() not in function_words] or contributions
    heaviest = max((c.score for c in contributions), default=0.0)
    heavy = sorted((c for c in contributions if c.score > MIN_WORD_SHARE * heaviest), key=lambda c: -c.score)
    return list(dict.fromkeys(c.word.casefold() for c in heavy))[:MAX_WORDS]


def state_path(archive: Path, product: str) -> Path:
    """Return the file in which a product's bot remembers what it has answered."""
    return archive / f"bot-{product}.jsonl"


FIRST_PAUSE_S, MAX_PAUSE_S = 1.0, 300.0
STEADY_S = 60.0
"""A connection that lasted this long ends the growth of pauses."""
MAX_WAITING = 1_000
"""The number of events that wait for the bot; while there are as many, no more are heard."""
POLL_S = 0.2
END_S = 2.0


def run_bot(chat: Chat, bot: Bot, stop: Event, first_pause_s: float = FIRST_PAUSE_S) -> None:
    """Serve a chat until `stop` is set. Raises ChatError if the product refuses the bot."""
    heard: Queue[Payload | Exception] = Queue(MAX_WAITING)
    receiver = Thread(target=_receive_always, args=(chat, heard, stop, first_pause_s), name="receiver", daemon=True)
    receiver.start()
    log_event("serving", product=chat.name)
    try:
        while not stop.is_set():
            bot.delete_expired()
            try:
                payload = heard.get(timeout=POLL_S)
            except Empty:
                continue
            if isinstance(payload, Exception):
                raise payload
            bot.take(payload)
    finally:
        stop.set()
        receiver.join(END_S)
    log_event("ended")


def _receive_always(chat: Chat, heard: "Queue[Payload | Exception]", stop: Event, pause_s: float) -> None:
    """Connect again and again; an error that ends the bot is the last thing heard."""
    first_pause_s = pause_s
    while not stop.is_set():
        started, reason = time.monotonic(), "asked to reconnect"
        try:
            for payload in chat.receive():
                _put(heard, payload, stop)
        except RefusedBotError as error:
            return _put(heard, error, stop)
        except ChatError as error:
            reason = str(error)
        except NOT_UNDERSTOOD as error:
            reason = f"an answer was not understood ({type(error).__name__}: {error})"
        except Exception as error:  # of whatever kind: the bot must not wait for a thread that has ended
            return _put(heard, error, stop)
        if time.monotonic() - started > STEADY_S:
            pause_s = first_pause_s
        if not stop.is_set():
            wait_s = pause_s * random.uniform(0.5, 1.0)
            log_warning("disconnected", reason=reason, again_in_s=round(wait_s, 1))
            stop.wait(wait_s)
        pause_s = min(2 * pause_s, MAX_PAUSE_S)
    return None


def _put(heard: "Queue[Payload | Exception]", item: Payload | Exception, stop: Event) -> None:
    while not stop.is_set():
        try:
            return heard.put(item, timeout=POLL_S)
        except Full:
            continue
    return None

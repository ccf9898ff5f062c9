"""Runs a bot until it is asked to end: one thread hears the chat, this one answers; pauses grow while it is away."""

import random
import time
from queue import Empty, Full, Queue
from threading import Event, Thread

from askalike.integrations.bots.bot import NOT_UNDERSTOOD, Bot
from askalike.integrations.bots.chat import Chat, ChatError, Payload, RefusedBotError
from askalike.service.log import log_event, log_warning

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

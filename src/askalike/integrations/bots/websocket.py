"""A websocket of a chat: JSON in and out, with silences in which a client can do something else."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect

from askalike.integrations.bots.chat import ChatError
from askalike.integrations.bots.web import check_address

MAX_MESSAGE_BYTES = 64 << 20
OPEN_S, CLOSE_S = 15.0, 2.0
TOO_BIG = 1009
"""The code with which this side closes a connection over a message above MAX_MESSAGE_BYTES."""


class JsonSocket:
    """A connected websocket."""

    def __init__(self, connection: ClientConnection) -> None:
        self._client = connection

    def receive(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the next object; None if none came in time, or the message is no object. Raises ChatError."""
        try:
            text = self._client.recv(max(timeout_s, 0.0))
        except TimeoutError:
            return None
        except ConnectionClosed as error:
            raise _closed(error) from None
        with suppress(ValueError, RecursionError):
            message = json.loads(text)
            return message if isinstance(message, dict) else None
        return None

    def send(self, message: Any) -> None:
        """Send an object. Raises ChatError."""
        try:
            self._client.send(json.dumps(message))
        except ConnectionClosed as error:
            raise _closed(error) from None


@contextmanager
def open_socket(address: str, close_code: int = 1000) -> Iterator[JsonSocket]:
    """Connect to an address, and close the connection at the end, with a code. Raises ChatError."""
    shown = address.partition("?")[0]
    check_address(address, schemes=("wss", "ws"))
    with ExitStack() as stack:
        try:
            opening = connect(
                address, open_timeout=OPEN_S, close_timeout=CLOSE_S, max_size=MAX_MESSAGE_BYTES, compression=None,
                user_agent_header="askalike",
            )  # fmt: skip
            connection = stack.enter_context(opening)
        except InvalidStatus as error:
            status = error.response.status_code
            raise ChatError(f"{shown}: answered {status}", str(status)) from None
        except (OSError, WebSocketException, ValueError) as error:
            raise ChatError(f"{shown}: cannot be connected to ({error or type(error).__name__})") from None
        try:
            yield JsonSocket(connection)
        finally:
            connection.close(close_code)


def _closed(error: ConnectionClosed) -> ChatError:
    frame = error.rcvd or error.sent
    code, reason = (frame.code, frame.reason) if frame else (0, "")
    return ChatError(f"the connection was closed ({' '.join(filter(None, (str(code), reason)))})", str(code))

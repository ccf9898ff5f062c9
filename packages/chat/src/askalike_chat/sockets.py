"""A websocket of a chat: JSON in and out, with silences in which a client can do something else."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientError, ClientSession, ClientWebSocketResponse, WSMsgType, WSServerHandshakeError

from askalike_chat.api import check_address, find_proxy
from askalike_chat.errors import ApiError

MAX_MESSAGE_BYTES = 64 << 20
OPEN_S, CLOSE_S = 15.0, 2.0
BEAT_S = 20.0
"""A ping is sent after each such silence; without its pong the connection is lost."""
TOO_BIG = 1009
"""The code with which this side closes a connection over a message above MAX_MESSAGE_BYTES."""
ENDED = (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR)


class JsonSocket:
    """A connected websocket."""

    def __init__(self, connection: ClientWebSocketResponse) -> None:
        self._connection = connection

    async def receive(self, timeout_s: float) -> dict[str, Any]:
        """Return the next object; an empty one if none came in time, or the message is no object. Raises ApiError."""
        try:
            message = await self._connection.receive(timeout=max(timeout_s, 0.001))
        except TimeoutError:
            return {}
        if message.type in ENDED:
            raise self._closed()
        try:
            content = json.loads(message.data)
        except (ValueError, TypeError, RecursionError):
            return {}
        return content if isinstance(content, dict) else {}

    async def send(self, message: Any) -> None:
        """Send an object. Raises ApiError."""
        try:
            await self._connection.send_str(json.dumps(message))
        except (ClientError, OSError):
            raise self._closed() from None

    def _closed(self) -> ApiError:
        code = self._connection.close_code or 0
        return ApiError(f"the connection was closed ({code})", str(code))


@asynccontextmanager
async def open_socket(session: ClientSession, address: str, close_code: int = 1000) -> AsyncIterator[JsonSocket]:
    """Connect to an address, and close the connection at the end, with a code. Raises ApiError."""
    shown = address.partition("?")[0]
    check_address(address, schemes=("wss", "ws"))
    try:
        async with asyncio.timeout(OPEN_S):
            connection = await session.ws_connect(
                address, max_msg_size=MAX_MESSAGE_BYTES, heartbeat=BEAT_S, headers={"User-Agent": "askalike"},
                proxy=find_proxy(address),
            )  # fmt: skip
    except WSServerHandshakeError as error:
        raise ApiError(f"{shown}: answered {error.status}", str(error.status)) from None
    except (ClientError, OSError, ValueError) as error:  # a TimeoutError is an OSError
        raise ApiError(f"{shown}: cannot be connected to ({error or type(error).__name__})") from None
    try:
        yield JsonSocket(connection)
    finally:
        try:
            async with asyncio.timeout(CLOSE_S):
                await connection.close(code=close_code)
        except TimeoutError:
            pass

"""The sign of life of a process, on which the supervisor acts."""

import asyncio
import threading

from askalike.service.shared_files import SharedFiles

BEAT_S = 0.25


class Heartbeat:
    """Notes several times a second that this process lives, from its creation on in a thread."""

    def __init__(self, shared: SharedFiles) -> None:
        self._shared = shared
        self._is_in_loop = threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    async def beat_in_loop(self) -> None:
        """Let the event loop beat instead of the thread, so that a loop that is blocked is noticed; never return."""
        self._is_in_loop.set()
        while True:
            self._shared.processes.beat(self._shared.row)
            await asyncio.sleep(BEAT_S)

    def _beat(self) -> None:
        while not self._is_in_loop.wait(BEAT_S):
            self._shared.processes.beat(self._shared.row)

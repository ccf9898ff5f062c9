"""Waits: for what comes to be sooner or later, and for coroutines."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")

PATIENCE_S = 120
"""How long a test waits for something before it fails; no promise of the service."""


def wait_for(condition: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
    """Return what the condition returns once that is true; fail where it never is.

    It is asked more and more rarely: often it is a request, which takes time from what is waited for.
    """
    started = time.monotonic()
    while not (value := condition()):
        waited = time.monotonic() - started
        assert waited < patience_s, f"not true within {patience_s} s"
        time.sleep(min(0.02 + waited / 5, 0.5))
    return value


def run(coroutine: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run it in a thread of its own: the browser of other tests leaves an event loop running in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()

"""Waits for what comes to be sooner or later."""

import time
from collections.abc import Callable
from typing import Any

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

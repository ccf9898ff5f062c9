"""How many random examples a property test draws: a few in `make test`, many in `make test-long`."""

import os
from typing import Any

from hypothesis import settings

LONG = os.environ.get("TEST_LONG") == "1"
QUICK_SHARE = 5
"""`make test` draws so many times fewer than `make test-long`."""

settings.register_profile("quick", max_examples=20, deadline=None)
settings.register_profile("long", max_examples=100, deadline=None)
settings.load_profile("long" if LONG else "quick")


def examples(most: int, **options: Any) -> settings:
    """Settings of a test that is too slow for the usual number: at most so many examples in the long run."""
    return settings(max_examples=most if LONG else max(4, most // QUICK_SHARE), deadline=None, **options)

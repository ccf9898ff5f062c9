"""How many random examples a property test draws: a few in `make test`, many in `make test-long`."""

import os
from typing import Any

from hypothesis import HealthCheck, settings

LONG = os.environ.get("TEST_LONG") == "1"
QUICK_SHARE = 5
"""`make test` draws so many times fewer than `make test-long`."""

SAME_EACH_TIME = "FUZZ_S" not in os.environ
"""Whether each run draws the same examples, so that no change is refused for what it has no part in."""

for name, max_examples in {"quick": 20, "long": 100}.items():
    settings.register_profile(
        name, max_examples=max_examples, deadline=None, derandomize=SAME_EACH_TIME,
        suppress_health_check=[HealthCheck.too_slow],
    )  # fmt: skip
settings.load_profile("long" if LONG else "quick")


def examples(most: int, **options: Any) -> settings:
    """Settings of a test that is too slow for the usual number: at most so many examples in the long run."""
    return settings(max_examples=most if LONG else max(4, most // QUICK_SHARE), deadline=None, **options)

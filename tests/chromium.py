"""Headless Chromium, for the pages' tests and for tools that picture the pages."""

import shutil
from typing import Any

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))), None
)
"""The headless shell takes a third of the processor's time."""


def launch_chromium(running: Any) -> Any:
    """Start a browser of a running Playwright."""
    return running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

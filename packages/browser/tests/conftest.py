"""The fixture of askalike's own tests that these share."""

from chromium import browser  # noqa: F401

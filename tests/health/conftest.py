"""Checks and counts of a small archive in English."""

import pytest

from askalike.store import Archive


@pytest.fixture
def archive(archive: Archive) -> Archive:
    archive.set_meta(language="en")
    return archive

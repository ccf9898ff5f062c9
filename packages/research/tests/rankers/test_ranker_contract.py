"""Learned term weights keep to the contract of rankers."""

import pytest

from contracts.test_rankers import *  # noqa: F403 (tests and their fixtures)


@pytest.fixture(scope="module")
def name():
    return "learned_weights"

"""The readers keep to the contract of readers, as those of askalike itself do."""

from contracts.test_readers import *  # noqa: F403 (tests)

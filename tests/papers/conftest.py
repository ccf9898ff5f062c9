"""A small archive to train on."""

from tests.encoders.conftest import archive, one_thread  # noqa: F401 # fixtures

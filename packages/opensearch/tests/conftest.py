"""Fixtures of these tests."""

import os
from pathlib import Path

import pytest
from cluster.jars import NoClusterError

from shared_cluster import shared_cluster

pytest_plugins = ("shared_fixtures",)
RUN = os.getpid()
"""The process that starts all others of this run."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need a cluster."""
    for item in items:
        if "cluster_url" in getattr(item, "fixturenames", ()):
            item.add_marker("long")


@pytest.fixture(scope="session")
def cluster_url(run_folder: Path) -> str:
    """The address of an OpenSearch node that all tests of a run share; they skip where none can be started."""
    try:
        return shared_cluster(run_folder, RUN)
    except NoClusterError as error:
        pytest.skip(str(error))

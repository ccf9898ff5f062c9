"""What the tests of a first day share: the command line within this process, and an archive with planted labels."""

import pytest
import torch
from tests.first_day.planted import plant

from askalike.store import Archive
from commands import run_command


@pytest.fixture(scope="package", autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def command():
    """See commands.run_command."""
    return run_command


@pytest.fixture(scope="package")
def planted(tmp_path_factory):
    with Archive.open(plant(tmp_path_factory.mktemp("planted") / "planted")) as archive:
        yield archive

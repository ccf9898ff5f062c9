"""What the tests of a first day share: the command line within this process, and an archive with planted labels."""

import sys

import pytest
import torch
from tests.first_day.planted import plant

from askalike.cli import main
from askalike.store import Archive


@pytest.fixture(scope="package", autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command line; return its exit code, what it printed, and what it said on stderr."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["askalike", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return stop.value.code or 0, printed.out, printed.err

    return run


@pytest.fixture(scope="package")
def planted(tmp_path_factory):
    with Archive.open(plant(tmp_path_factory.mktemp("planted") / "planted")) as archive:
        yield archive

"""Fixtures of tests of training."""

import pytest

from jobs import PAIRS, job_of


@pytest.fixture(scope="session")
def pairs():
    return PAIRS


@pytest.fixture
def job(pairs, tmp_path):
    return job_of(pairs, tmp_path / "run")

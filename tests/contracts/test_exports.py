"""askalike's own formats keep to the contract of exports."""

import pytest

from askalike.core import registry
from contracts.export_contract import *  # noqa: F403 (tests and their fixtures)


@pytest.fixture(params=registry.builtin_names("export"))
def format(request):
    """Each in turn."""
    return request.param

"""What every test may ask for."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the repository; its tests skip where it is absent."""
    data = Path(__file__).parents[1].parent / "shared/data"
    if not data.is_dir():
        pytest.skip("needs ../shared/data")
    return data

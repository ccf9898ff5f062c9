from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The data beside the repository."""
    for folder in Path(__file__).resolve().parents[2:]:
        if (folder / "shared/data").is_dir():
            return folder / "shared/data"
    pytest.skip("needs ../shared/data")

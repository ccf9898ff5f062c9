"""The archive that most commands are run on."""

from pathlib import Path

import pytest

from calibration.riverside import riverside


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled example as an archive, for all tests of a file."""
    return riverside(tmp_path_factory.mktemp("cli") / "riverside")

"""What *Quality* says of its figures."""

import shutil
from pathlib import Path

import pytest
from serving import Service

from askalike import build
from askalike.calibration.calibrate import calibrate
from askalike.store import Archive


@pytest.mark.parametrize("titles_only", [False, True])
def test_the_figures_say_whether_they_are_of_titles_alone(example: Path, tmp_path: Path, titles_only: bool) -> None:
    path = Path(shutil.copytree(example, tmp_path / "riverside"))
    with Archive.open(path) as archive:
        calibrate(archive, build("lm_jelinek_mercer"), titles_only=titles_only, max_queries=120).calibration.save(path)
    service = Service(path, options=("--set", "propose=0"))
    try:
        page = service.get("/a/riverside/quality").body.decode()
    finally:
        service.end()
    assert "measured on this archive’s own duplicates" in page
    assert ("by their titles alone" in page) == titles_only

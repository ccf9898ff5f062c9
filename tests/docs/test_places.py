"""Every file that a page about the code names exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "askalike"
PAGES = ("design.md",)
"""Pages that name files by their paths in `src`, in `src/askalike`, or in the repository."""
FILE = re.compile(r"`([\w./-]+/[\w.-]*\.(?:py|js|sql|toml)|[\w/]+/)`")


@pytest.mark.parametrize("name", PAGES)
def test_page_names_existing_files(name: str) -> None:
    named = FILE.findall((ROOT / "docs" / name).read_text(encoding="utf-8"))
    packages = ROOT / "packages"
    folders = (SOURCE, SOURCE.parent, ROOT, *packages.glob("*/src"))
    assert named
    missing = [path for path in named if not any((folder / path).exists() for folder in folders)]
    assert [path for path in missing if packages.exists() or not path.startswith("askalike_")] == []

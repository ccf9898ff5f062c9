"""This package imports public names of askalike only."""

from pathlib import Path

from public_names import find_private_imports


def test_imports_public_names_only() -> None:
    assert find_private_imports(Path(__file__).parents[1] / "src") == []

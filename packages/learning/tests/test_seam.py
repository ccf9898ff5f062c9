"""This package imports public names of askalike only, and none of it before it is needed."""

import subprocess
import sys
from pathlib import Path

from public_names import find_private_imports

SOURCE = Path(__file__).parents[1] / "src"


def test_imports_public_names_only() -> None:
    assert find_private_imports(SOURCE) == []


def test_names_and_commands_are_listed_without_torch() -> None:
    program = (
        "import sys\nfrom askalike import rankers\nfrom askalike.cli import app, register_summaries\n"
        "from askalike.tuning.candidates import list_families\nregister_summaries(app)\n"
        "rankers.check_model_name('mine')\nassert len(list_families()) == 8\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "askalike_learning.recipe_files" in done.stdout.split()
    assert not {"torch", "gensim", "lightning_fabric"} & set(done.stdout.split())

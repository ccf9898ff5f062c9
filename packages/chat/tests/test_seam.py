"""The package is a client of the HTTP interface alone: of askalike it imports only what describes a command."""

import ast
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


def test_imports_of_askalike_what_describes_a_command() -> None:
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found += [(file.name, alias.name) for alias in node.names if alias.name.split(".")[0] == "askalike"]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "askalike":
                found += [(file.name, f"{node.module}.{alias.name}") for alias in node.names]
    assert found == [("plugin.py", "askalike.plugin.Command")]


def test_runs_without_askalike() -> None:
    program = (
        "import sys; sys.modules['askalike'] = None; import askalike_chat.zulip, askalike_chat.slack, "
        "askalike_chat.discord; from askalike_chat.command import app; app(['zulip', '--help'])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "SERVICE" in done.stdout

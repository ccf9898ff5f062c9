"""What a person sees who asks for help."""

import subprocess
import sys


def test_module_runs_as_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "askalike", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "askalike [OPTIONS] COMMAND" in done.stdout

"""What a person sees who asks for help."""

import subprocess
import sys

import typer

from askalike.cli import register, register_summaries


def test_module_runs_as_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "askalike", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "askalike [OPTIONS] COMMAND" in done.stdout


def test_list_of_commands_shows_what_each_command_says_of_itself() -> None:
    listed, whole = (typer.Typer() for _ in range(2))
    register_summaries(listed)
    register(whole)
    commands = typer.main.get_command(whole).commands  # type: ignore[attr-defined]
    summaries = typer.main.get_command(listed).commands  # type: ignore[attr-defined]
    assert {name: c.get_short_help_str() for name, c in summaries.items()} == {
        name: c.get_short_help_str() for name, c in commands.items()
    }


def test_list_of_commands_imports_none_of_them() -> None:
    script = """if True:
        import sys, typer
        from askalike.cli import app, main
        sys.argv = ["askalike", "--help"]
        try:
            main()
        finally:
            print([m for m in sys.modules if m.startswith(("askalike.", "numpy", "pydantic"))], file=sys.stderr)
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr.strip() == "['askalike.errors', 'askalike.cli']"

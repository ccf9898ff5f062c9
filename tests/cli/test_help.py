"""What a person sees who asks for help."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from write_help import GOLDEN_FILE, help_texts

import askalike
from askalike.cli import FILES, GROUP_OF, register, register_summaries
from askalike.cli._command import RENAMED_OPTIONS
from commands import run_command


def all_commands() -> Iterator[tuple[str, Any]]:
    """Yield every command with its whole name, but for the readers of `import`."""
    whole = typer.Typer()
    register(whole)
    for name, command in typer.main.get_command(whole).commands.items():  # type: ignore[attr-defined]
        parts = getattr(command, "commands", {})
        yield from ((f"{name} {part}", each) for part, each in parts.items()) if parts else [(name, command)]


COMMANDS = {name: command for name, command in all_commands() if name != "import"}


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
    assert done.stderr.strip() == "['askalike.cli._command', 'askalike.errors', 'askalike.cli']"


def test_help_texts_are_those_of_the_golden_file() -> None:
    assert help_texts() == GOLDEN_FILE.read_text(encoding="utf-8"), "look at what changed: python tools/write_help.py"


def test_every_command_is_in_a_group() -> None:
    assert sorted(GROUP_OF) == sorted(name for names in FILES.values() for name in names.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_in_the_help_are_command_lines_that_it_takes(name: str) -> None:
    examples = re.findall("^askalike .*", COMMANDS[name].help, re.MULTILINE)
    assert 1 <= len(examples) <= 3
    for example in examples:
        used, words = name, shlex.split(example)[1:]
        if words[: len(name.split())] != name.split():  # it shows what comes next
            used = words[0]
        COMMANDS[used].make_context(used, words[len(used.split()) :])


@pytest.mark.parametrize("name", COMMANDS)
def test_flags_have_no_type_and_usage_no_doubled_brackets(name: str) -> None:
    _, help, _ = run_command(*name.split(), "--help")
    assert "<bool>" not in help
    assert not re.search(r"Usage:.*(\{|\[\[|\]\])", help)


def test_variables_name_the_archive_and_the_ranker(tmp_path, monkeypatch) -> None:
    askalike.Archive.create(tmp_path / "faq").close()
    with askalike.Archive.open(tmp_path / "faq") as archive:
        archive.upsert([askalike.Question("a", "How long do I boil an egg?")])
    monkeypatch.setenv("ASKALIKE_DIR", str(tmp_path / "faq"))
    monkeypatch.setenv("ASKALIKE_RANKER", "bm25")
    assert run_command("info")[0] == 0
    code, found, _ = run_command("search", "boiling an egg", "--json")
    assert (code, '"model": "bm25"' in found) == (0, True)
    assert "tfidf" in run_command("search", tmp_path / "faq", "boiling an egg", "--ranker", "tfidf", "--json")[1]
    code, _, message = run_command("search", "nowhere", "boiling an egg")
    assert (code, "nowhere: not an archive" in message) == (2, True)


def test_earlier_names_of_options_work_with_a_note(tmp_path) -> None:
    askalike.Archive.create(tmp_path / "faq").close()
    for out in (("--out", tmp_path / "one"), (f"--out={tmp_path / 'two'}",)):
        code, _, note = run_command("export", tmp_path / "faq", "--format", "csv", *out)
        assert (code, note.splitlines()[0]) == (0, "askalike: --out is now --output")
    assert {path.parent.name for path in tmp_path.glob("*/questions.csv")} == {"one", "two"}
    for name, renamed in RENAMED_OPTIONS.items():
        names = {opt for parameter in COMMANDS[name].params for opt in parameter.opts}
        assert names.isdisjoint(renamed)
        assert names.issuperset(filter(None, renamed.values()))


def test_a_shell_completes_commands_and_options(monkeypatch, capsys) -> None:
    for typed, expected in (("askalike sea", "search"), ("askalike search --pre", "--prefix")):
        done = subprocess.run(
            [sys.executable, "-m", "askalike"], capture_output=True, text=True,
            env={"_ASKALIKE_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": typed, "PYTHONPATH": ":".join(sys.path)},
        )  # fmt: skip
        assert expected in done.stdout, done.stderr

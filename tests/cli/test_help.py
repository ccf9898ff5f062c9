"""What a person sees who asks for help."""

import re
import shlex
import subprocess
import sys
from ast import literal_eval
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from write_help import GOLDEN_FILE, help_texts

import askalike
from askalike.cli import register, register_summaries
from commands import run_command


def all_commands() -> Iterator[tuple[str, Any]]:
    """Yield every command, and every group of commands, with its whole name."""
    whole = typer.Typer()
    register(whole)
    for name, command in typer.main.get_command(whole).commands.items():  # type: ignore[attr-defined]
        yield name, command
        if hasattr(command, "list_commands"):
            parts = command.list_commands(None)
            yield from ((f"{name} {part}", command.get_command(None, part)) for part in parts)


ALL = dict(all_commands())
COMMANDS = {name: command for name, command in ALL.items() if not hasattr(command, "list_commands")}
VALUE_NAMES_THAT_VARY = {"--output": {"DIR", "FILE", "FOLDER"}, "--format": None}
"""Options whose value is of another kind in each command; None: a choice of its own."""
CHECKED_VALUES = {
    "CHECK", "DATE", "FIELDS", "IDS", "KEY=VALUE", "MEASURE", "MEASURES", "ORIGIN", "SHARES", "SIZE", "STATE", "TAG",
    "TIME", "URL", "XX",
}  # fmt: skip
"""Values that can be checked without an archive."""
WITHOUT_DEFAULT = {
    "--accept", "--after", "--allow-origin", "--answer", "--archive", "--before", "--body", "--candidates",
    "--categories", "--category", "--cross-encoder", "--days", "--dev", "--encoder", "--endpoint", "--engine",
    "--guarantee",
    "--judged", "--link", "--ignore", "--model", "--note", "--origin",
    "--output", "--per-query", "--precision", "--qrels", "--ray", "--records", "--reject", "--remove", "--restore",
    "--run", "--sample", "--set", "--since", "--site", "--skip", "--tag", "--test", "--text", "--title", "--without",
    "--workspace",
}  # fmt: skip
"""Options that do nothing where they are not given."""
NAMED_BY_READERS = {"--question", "--answer", "--body", "--category", "--state", "--url", "--id", "--quotes", "--lang"}


def options(name: str) -> list[Any]:
    """Return the options of a command as its help shows them."""
    command = COMMANDS[name]
    context = typer.Context(command, info_name=name)
    return [p for p in command.get_params(context) if p.param_type_name == "option"]


def test_module_runs_as_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "askalike", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "askalike [OPTIONS] COMMAND" in done.stdout


def test_list_of_commands_shows_each_commands_summary() -> None:
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
    core = ["askalike.core", "askalike.core.errors", "askalike.core.output", "askalike.core.registry"]
    assert set(literal_eval(done.stderr)) == {*core, "askalike.cli", "askalike.cli.command"}


def test_help_texts_are_those_of_the_golden_file() -> None:
    assert help_texts() == GOLDEN_FILE.read_text(encoding="utf-8"), "look at what changed: python tools/write_help.py"


@pytest.mark.parametrize("name", ALL)
def test_examples_in_the_help_are_valid_command_lines(name: str) -> None:
    examples = re.findall("^ *askalike .*", ALL[name].help, re.MULTILINE)
    assert 2 <= len(examples) <= 3
    for example in examples:
        words = shlex.split(example)[1:]
        used = " ".join(words[: 2 if words[0] not in COMMANDS else 1])
        arguments = words[len(used.split()) :]
        if arguments != ["--help"]:
            COMMANDS[used].make_context(used, arguments)


def test_help_of_the_program_has_examples() -> None:
    text = GOLDEN_FILE.read_text(encoding="utf-8").partition("─ Options")[0]
    assert len(re.findall("^ *askalike ", text, re.MULTILINE)) == 3


def test_help_shows_no_python_types_or_doubled_brackets() -> None:
    texts = GOLDEN_FILE.read_text(encoding="utf-8")
    assert not re.findall(r"<(?:[a-z]|list\[)[^>]*>", texts)
    assert not re.findall(r"Usage:.*(?:\{|\[\[|\]\]|…)", texts)


def test_an_option_means_one_thing_in_all_commands() -> None:
    values: dict[str, set[str]] = {}
    for name in COMMANDS:
        for option in options(name):
            long = option.opts[0] if option.opts[0].startswith("--") else option.opts[-1]
            if name.startswith("import ") and long in NAMED_BY_READERS:  # the columns of a table
                continue
            values.setdefault(long, set()).add(option.metavar)
    assert len(values) > 50
    for long, names in values.items():
        allowed = VALUE_NAMES_THAT_VARY.get(long, set())
        assert len(names) == 1 or allowed is None or names <= allowed, f"{long}: {names}"


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_checked_and_show_their_defaults(name: str) -> None:
    """Numbers, choices and dates are checked when the command line is read."""
    for option in options(name):
        kind, option_name = option.type_descriptor, f"{name} {option.opts}"
        if option.metavar in ("N", "NUMBER"):
            assert kind.is_ranged, f"{option_name}: a number without a smallest value"
        if option.metavar in CHECKED_VALUES:
            assert option.callback, f"{option_name}: not checked"
        if "|" in (option.metavar or ""):
            assert kind.is_choice, f"{option_name}: a choice that is not checked"
        has_default = option.default not in (None, "") or isinstance(option.show_default, str)
        flag = getattr(option, "is_flag", False)
        assert flag or option.required or has_default or option.opts[-1] in WITHOUT_DEFAULT, option_name
        assert not re.search(r"without (?:it|one)\b|; else |unless you say", option.help), option_name
    names = {spelling for option in options(name) for spelling in option.opts}
    assert "--ranker" not in names or names >= {"--set", "--fields"} or name == "export"  # which sets its format
    assert ("--before" in names) == ("--after" in names)
    assert "--resume" not in names  # the same command resumes, everywhere


def test_variables_name_the_archive_and_the_ranker(tmp_path, monkeypatch) -> None:
    askalike.Archive.create(tmp_path / "faq").close()
    with askalike.Archive.open(tmp_path / "faq") as archive:
        archive.upsert([askalike.Question("a", "How long do I boil an egg?", tags=("eggs",))])
    monkeypatch.setenv("ASKALIKE_DIR", str(tmp_path / "faq"))
    monkeypatch.setenv("ASKALIKE_RANKER", "bm25")
    assert run_command("info")[0] == 0
    code, found, _ = run_command("search", "boiling an egg", "--json")
    assert (code, '"ranker": "bm25"' in found) == (0, True)
    assert "tfidf" in run_command("search", tmp_path / "faq", "boiling an egg", "--ranker", "tfidf", "--json")[1]
    assert run_command("suggest-tags", "How long do I boil an egg?")[0] == 0  # its question is an optional argument
    for arguments in (("search", "nowhere", "boiling an egg"), ("info", "nowhere")):
        code, _, message = run_command(*arguments)
        assert (code, "nowhere: not an archive" in message) == (2, True)


def test_a_shell_completes_commands_and_options(monkeypatch, capsys) -> None:
    asks = {"_ASKALIKE_COMPLETE": "complete_zsh", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-m", "askalike"], capture_output=True, text=True,
        env={**asks, "_TYPER_COMPLETE_ARGS": "askalike search --pre"},
    )  # fmt: skip
    assert "--prefix" in done.stdout, done.stderr
    monkeypatch.setenv("_ASKALIKE_COMPLETE", asks["_ASKALIKE_COMPLETE"])
    for typed, expected in (
        ("askalike sea", "search"),
        ("askalike search DIR text --fields ti", "title"),
        ("askalike import ta", "table"),
    ):
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", typed)
        assert expected in run_command()[1]

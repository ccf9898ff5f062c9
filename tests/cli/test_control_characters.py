"""Texts of other people reach the terminal as text: no command, of any kind, writes their control characters."""

import io
import json
import re

import pytest
from rich.text import Text

from askalike import Answer, Archive, Question
from askalike.cli.output import open_console
from askalike.core.output import SafeStream, escape_controls
from askalike.store import keys
from askalike.store.query_log import LoggedQuery, log_query
from commands import run_command

ATTACK = "\x1b]0;taken\x07\x1b[2J\x9b31m\x85\u2028\u2029\u202a\u202e\u2066\u2069\x08\r"
CONTROLS = re.compile("[^\n\t -~\xa0-\u2027\u202f-\u2065\u206a-\U0010ffff]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("hostile") / "desk"
    with Archive.create(path) as archive:
        archive.upsert(
            [
                Question(f"q{ATTACK}{n}", f"{ATTACK} stolen bike {n // 2}", f"body {ATTACK} bike", tags=(f"t{ATTACK}",))
                for n in range(6)
            ]
        )
        archive.upsert([Answer(f"a{ATTACK}", f"q{ATTACK}0", f"Call {ATTACK}", author=ATTACK, license=ATTACK)])
        for n in range(3):
            log_query(archive, LoggedQuery(f"Can I hire a {ATTACK} kayak{'?' * n}", "", [], "lm"))
        keys.create_key(archive, "read", f"note {ATTACK}")
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("search", "stolen bike"),
        ("search", "stolen bike", "--explain"),
        ("search", "stolen bike", "--json"),
        ("answer", "stolen bike"),
        ("answer", "stolen bike", "--json"),
        ("suggest-tags", "stolen bike"),
        ("check",),
        ("check", "--json"),
        ("info",),
        ("info", "--json"),
        ("gaps",),
        ("gaps", "--json"),
        ("keys", "list"),
    ],
)
def test_commands_print_no_control_characters(hostile, command) -> None:
    name, *rest = command
    words = ["keys", "list", hostile] if name == "keys" else [name, hostile, *rest]
    ranker = ["-r", "lm_jelinek_mercer"] if name in ("search", "answer", "suggest-tags") else []
    code, output, errors = run_command(*words, *ranker)
    assert code == 0, errors
    assert CONTROLS.findall(output + errors) == []
    assert name == "info" or "\\u001b" in output
    if "--json" in command:
        values = json.loads(output)
        assert name != "search" or values["results"][0]["title"].startswith(ATTACK)


def test_an_import_names_columns_without_their_control_characters(tmp_path) -> None:
    table = tmp_path / "table.csv"
    table.write_text(f'id,title,"extra{ATTACK.strip()}"\n1,How do I renew my card?,x\n', "utf-8", newline="")
    code, output, errors = run_command("import", "table", table, "-o", tmp_path / "desk")
    assert CONTROLS.findall(output + errors) == []
    assert (code, "extra" in errors) == (0, True)


def test_error_names_a_text_without_control_characters(tmp_path) -> None:
    code, _, errors = run_command("info", tmp_path / f"a{ATTACK.strip()}b")
    assert (code, CONTROLS.findall(errors)) == (2, [])


def test_on_a_terminal_colours_are_ours_alone(monkeypatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("sys.stdout", SafeStream(screen))
    open_console(force_terminal=True, color_system="standard").print(Text(f"a{ATTACK}b", "bold red"))
    assert screen.getvalue().startswith("\x1b[1;31ma")
    assert screen.getvalue().count("\x1b") == 2
    print("\x1b[2J")
    assert screen.getvalue().endswith("\\u001b[2J\n")


def test_escaped_json_is_the_same_value() -> None:
    value = {"title": "".join(map(chr, range(0x2100)))}
    assert json.loads(escape_controls(json.dumps(value, ensure_ascii=False))) == value

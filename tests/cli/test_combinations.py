"""An option that would be ignored without another one, or beside it, is refused before the archive is opened."""

import pytest
import typer

from askalike.calibration.calibrate import calibrate
from askalike.cli import register
from askalike.core.config import validate_settings
from askalike.core.errors import SettingsError
from askalike.rankers import create
from askalike.service.settings import ServiceSettings
from askalike.store import Archive
from commands import assert_refused, run_command


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("answer nowhere text --sure 0.7", "--sure needs --mode auto"),
        ("answer nowhere text --mode generate --sure 0.7", "--sure needs --mode auto"),
        ("answer nowhere text --endpoint http://127.0.0.1:1/v1", "--endpoint needs --mode grounded"),
        ("answer nowhere text --model mine", "--model needs --mode generate, auto or grounded"),
        (
            "answer nowhere text --mode generate --ranker bm25 --min-probability 0.5",
            "--ranker and --min-probability need --mode nearest, auto or grounded",
        ),
        ("drafts nowhere --title new --answer new.txt", "--title and --answer need --accept"),
        ("drafts nowhere --accept 1 --reject 2", "--accept and --reject exclude each other; give one of them"),
        ("drafts nowhere --reject 2 --min-questions 3", "--reject and --min-questions exclude each other"),
        ("drafts nowhere --accept 2 --json", "--accept and --json exclude each other"),
        ("evaluate --run run.trec --qrels qrels.txt --ranker bm25", "--run and --ranker exclude each other"),
        ("evaluate --run run.trec --qrels qrels.txt -k 5", "--run and -k exclude each other"),
        ("evaluate --run run.trec --qrels qrels.txt --split dev", "--qrels and --split exclude each other"),
        ("evaluate nowhere --run run.trec --qrels qrels.txt", "--qrels and DIR exclude each other"),
        ("import table no.csv -o nowhere --download", "--download needs --encoder"),
        ("mcp nowhere --port 8000 --require-keys", "--port and --require-keys need --http"),
        ("mcp nowhere --host 127.0.0.1", "--host needs --http"),
        ("models nowhere --remove mine --json", "--remove and --json exclude each other"),
        ("search nowhere text --verbose", "--verbose needs --explain"),
        ("suggest-tags nowhere text --sample 5", "--sample needs --evaluate"),
        ("suggest-tags nowhere text --seed 5", "--seed needs --evaluate"),
        ("suggest-tags nowhere --evaluate -k 3 --body text", "--evaluate, --body and -k exclude each other"),
    ],
)
def test_an_option_without_an_effect_is_refused(line, message):
    assert_refused(run_command(*line.split()), f"askalike: {message}", f"see: askalike {line.partition(' ')[0]}")


def test_variables_of_the_environment_may_have_no_effect(tmp_path, monkeypatch):
    monkeypatch.setenv("ASKALIKE_DIR", str(tmp_path))
    monkeypatch.setenv("ASKALIKE_RANKER", "bm25")
    _, _, error = run_command("evaluate", "--run", "no.trec", "--qrels", "no.txt")
    assert "no.trec" in error or "no.txt" in error


def rules_of(command):
    return getattr(command.callback, "rules", ())


def test_rules_name_parameters_and_help_texts_have_rules():
    whole = typer.Typer()
    register(whole)
    commands = typer.main.get_command(whole).commands
    assert sum(bool(rules_of(command)) for command in commands.values()) > 9
    for name, command in commands.items():
        parameters = [each for each in command.params if each.name != "help"]
        options = {each.name for each in parameters}
        ruled = {option for rule in rules_of(command) for option in (*rule.options.split(), rule.other)}
        assert ruled <= options
        dependent = {p.name for p in parameters if str(getattr(p, "help", "")).startswith("With ")}
        assert dependent <= ruled, name


def test_python_refuses_the_same(tmp_path):
    with Archive.create(tmp_path / "archive") as archive, pytest.raises(SettingsError, match="exclude each other"):
        calibrate(archive, create("bm25"), precision=0.5, guarantee=0.5)
    for only in ({"endpoint": "http://127.0.0.1:1/v1"}, {"endpoint_model": "small"}):
        with pytest.raises(SettingsError, match="endpoint and endpoint_model need each other"):
            validate_settings(ServiceSettings, {"archives": ["a"], **only}, "serve")

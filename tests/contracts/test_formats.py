"""The names in public formats are frozen: those of SQL, HTTP, settings, the commands' JSON, and files."""

import pytest

pytest.importorskip("fastapi", reason="needs the extra `service`")
MESSAGE = "a name in a public format has changed; if no release has it yet: python tools/write_formats.py"


@pytest.fixture(scope="module")
def tool():
    import write_formats

    return write_formats


@pytest.fixture(scope="module")
def recorded(tool):
    return tool.GOLDEN_FILE.read_text(encoding="utf-8").splitlines()


def test_names_of_sql_http_and_settings_are_recorded(tool, recorded):
    names = [line for line in recorded if line.startswith(("sql ", "http ", "tool ", "settings "))]
    assert tool.declared_formats() == names, MESSAGE


@pytest.mark.long
def test_json_names_of_commands_and_files_are_recorded(tool, recorded):
    names = [line for line in recorded if line.startswith(("json ", "file "))]
    assert tool.printed_formats() == names, MESSAGE

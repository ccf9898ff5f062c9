"""What runs askalike on one machine: the compose file, the chart, the image and the release are what their tools read.

Their shell scripts run here, with folders of the test in place of the containers'.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import check_image
import pytest

from askalike.store import Archive
from askalike.store.keys import list_keys
from commands import environment, run_command

yaml = pytest.importorskip("yaml", reason="needs PyYAML")
ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "chart"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
FAQ = "question,answer\nWhere do I return a book?,In the box.\n"


def compose() -> dict:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def run_script(script: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a container's script with `askalike`, and with folders below `folder`."""
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / "askalike"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m askalike "$@"\n')
    program.chmod(0o755)
    for name in ("archives", "backups"):
        (folder / name).mkdir(exist_ok=True)
        script = script.replace(f"/{name}", str(folder / name))
    env = environment() | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "ASKALIKE_BACKUP_DAYS": "14"}
    words = ["sh", "-c", script, "setup", *arguments]
    return subprocess.run(words, capture_output=True, text=True, env=env, check=False)


def render_chart() -> list[dict]:
    values = yaml.safe_load((CHART / "values.yaml").read_text()) | {"Release": {"Name": "desk"}}
    values = {"Release": values.pop("Release"), "Values": values}

    def look_up(match: re.Match[str]) -> str:
        value = values
        for key in match[1].split("."):
            value = value[key]
        return str(value)

    text = re.sub(r"\{\{ \.([\w.]+) \}\}", look_up, (CHART / "templates" / "askalike.yaml").read_text())
    assert "{{" not in text
    return list(yaml.safe_load_all(text))


def test_desk_is_served_from_nothing_with_a_key(tmp_path: Path) -> None:
    services = compose()["services"]
    script = services["setup"]["entrypoint"][2].replace("$$", "$")
    (tmp_path / "faq.csv").write_text(FAQ)
    done = run_script(script, tmp_path, "table", str(tmp_path / "faq.csv"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("ask_")
    with Archive.open(tmp_path / "archives" / "desk") as archive:
        assert (len(archive.view()), [key.scope for key in list_keys(archive)]) == (1, ["manage"])
    assert run_script(script, tmp_path).returncode == 0, "again, with the archive that is there"
    code, helped, _ = run_command("serve", "--help")
    options = [word for word in services["desk"]["command"] if word.startswith("--")]
    assert code == 0
    assert all(option in helped for option in options)
    assert services["desk"]["ports"] == ["${ASKALIKE_LISTEN:-127.0.0.1:8080}:8080"], "on this machine alone"


def test_the_backup_job_saves_the_archive_each_day(tmp_path: Path) -> None:
    service = compose()["services"]["backup"]
    script = service["entrypoint"][2].replace("$$", "$")
    (tmp_path / "faq.csv").write_text(FAQ)
    run_command("import", "table", tmp_path / "faq.csv", "-o", tmp_path / "archives" / "desk")
    old = tmp_path / "backups" / "desk-old.tar"
    old.parent.mkdir()
    old.touch()
    os.utime(old, (0, 0))
    done = run_script(f"sleep() {{ n=$((n + 1)); [ $n -lt 3 ] || exit 0; }}; {script}", tmp_path)
    assert done.returncode == 0, done.stderr
    [saved] = tmp_path.glob("backups/*")
    assert re.fullmatch(r"desk-\d{8}T\d{6}Z\.tar", saved.name)
    volumes = {volume.partition(":")[0] for one in compose()["services"].values() for volume in one["volumes"]}
    assert volumes - {"."} == compose()["volumes"].keys()


@pytest.mark.long
def test_the_chart_creates_serves_and_backs_up(tmp_path: Path) -> None:
    stateful, service, claim, job = render_chart()
    pod = stateful["spec"]["template"]
    done = run_script(pod["spec"]["initContainers"][0]["command"][2], tmp_path)
    assert done.returncode == 0, done.stderr
    first_key = tmp_path / "archives" / "first-key"
    assert first_key.read_text().startswith("ask_")
    assert first_key.stat().st_mode & 0o077 == 0
    assert service["spec"]["selector"] == pod["metadata"]["labels"] == stateful["spec"]["selector"]["matchLabels"]
    [backup] = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    done = run_script(backup["command"][2], tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("backups/*.tar"))) == 1
    volumes = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["volumes"]
    claims = {volume["persistentVolumeClaim"]["claimName"] for volume in volumes}
    assert claims == {claim["metadata"]["name"], "archives-desk-0"}


def test_image_and_release_match_tested_pythons_and_extras() -> None:
    image = (ROOT / "deploy" / "Dockerfile").read_text()
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    for text in (image, release):
        [extras] = re.findall(r"\[([a-z,]+)\]", text)
        assert {"service"} <= set(extras.split(",")) <= EXTRAS.keys()
    jobs = yaml.safe_load(release)["jobs"]
    tested = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())["jobs"]["package"]
    assert jobs["try"]["strategy"]["matrix"] == tested["strategy"]["matrix"]
    assert jobs["build"]["permissions"]["attestations"] == "write"
    assert "password" not in release


def test_extras_are_in_the_table_and_named_rightly() -> None:
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \| .* \|$", (ROOT / "docs" / "install.md").read_text(), re.MULTILINE)
    assert {name for row in rows for name in re.findall("[a-z_]+", row)} >= EXTRAS.keys()
    sources = "".join(path.read_text() for path in (ROOT / "src" / "askalike").rglob("*.py"))
    assert set(re.findall(r"askalike\[([a-z_]+)\]", sources)) <= EXTRAS.keys()


def test_every_step_of_the_image_is_checked() -> None:
    steps = list(check_image.read_steps((ROOT / "deploy" / "Dockerfile").read_text()))
    names = {name for name, _ in steps}
    known = {name.upper().lstrip("_") for name in vars(check_image.Image) if name.startswith("_")}
    assert names <= known | {"FROM"} | set(check_image.IGNORED)
    assert [arguments.split()[-1] for name, arguments in steps if name == "FROM"] == ["build", "python:3.11-slim"]
    ignored = (ROOT / ".dockerignore").read_text()
    assert check_image.is_in_context("src", ignored)
    assert not check_image.is_in_context("tests", ignored)

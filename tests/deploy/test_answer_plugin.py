"""`deploy/apache-answer` in Go, built with Apache Answer's source, against a real service.

Answer's releases do not have the plug-in interface yet: ANSWER_SOURCE names a checkout that has (since May 2026).
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from askalike.core.records import Question
from askalike.store import Archive, keys

sys.path.insert(0, str(Path(__file__).parents[1] / "service"))
pytest.importorskip("fastapi", reason="needs the extra service")
from serving import Service

PLUGIN = Path(__file__).parents[2] / "deploy" / "apache-answer"
SOURCE = os.environ.get("ANSWER_SOURCE", "")
needs_source = pytest.mark.skipif(not (shutil.which("go") and SOURCE), reason="needs Go, and ANSWER_SOURCE")


@needs_source
@pytest.mark.long
def test_it_builds_and_passes_its_tests(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert([Question("1", "How do I renew my card?"), Question("2", "Where do I park?")])
        key = keys.create_key(archive, "write")
    plugin = Path(shutil.copytree(PLUGIN, tmp_path / "plugin"))
    served = Service(tmp_path / "desk", options=("--set", "require_keys=true"))
    try:
        (tmp_path / "dm").mkdir()  # a driver that only the tests of a dependency use, and that no proxy serves
        (tmp_path / "dm" / "go.mod").write_text("module gitee.com/travelliu/dm\n\ngo 1.20\n")
        replaced = {"github.com/apache/answer": SOURCE, "gitee.com/travelliu/dm": str(tmp_path / "dm")}
        run(plugin, "mod", "edit", *(f"-replace={name}={path}" for name, path in replaced.items()))
        own = {"ASKALIKE_URL": f"{served.url.geturl()}/v1/desk", "ASKALIKE_KEY": key}
        run(plugin, "vet", "-mod=mod", ".", **own)
        output = run(plugin, "test", "-mod=mod", "-count=1", "-v", ".", **own)
    finally:
        served.end()
    assert output.count("--- PASS") == 4
    assert "SKIP" not in output


def run(folder: Path, *words: str, **variables: str) -> str:
    done = subprocess.run(["go", *words], cwd=folder, env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

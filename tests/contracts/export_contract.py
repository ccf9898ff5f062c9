"""What every format of exports keeps to, of askalike or of another package.

A test file imports all names, and defines a fixture `format`: the format's name as users type it.
"""

import json
import shutil
from pathlib import Path

import pytest

from askalike import Answer, Archive, Question, SettingsError, export_archive
from calibration.riverside import riverside


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The bundled example with a question that has everything, and texts that are markup elsewhere."""
    path = riverside(tmp_path_factory.mktemp("exports") / "library")
    with Archive.open(path) as archive:
        archive.upsert(
            [
                Question(
                    "x", "=1+1 <b>|", "<p>a\r\nb</p>", "html", tags=("t",), rephrasings=("Dirigible",), language="en"
                ),
                Question("empty", ""),
                Answer("y", "x", "</script> \N{BICYCLE}"),
            ]
        )
    return path


def export(format, archive, out):
    remarks: list[str] = []
    rows = export_archive(archive, format, out, log=remarks.append)
    assert all(remark and "\n" not in remark for remark in remarks)
    return rows


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_rows_are_those_of_files(format, library, tmp_path):
    rows = export(format, library, tmp_path / "out")
    assert rows
    for name, count in rows.items():
        assert count >= 0
        assert [*(tmp_path / "out").glob(name)], name
    manifest = json.loads((tmp_path / "out" / "export.json").read_text("utf-8"))
    assert (manifest["format"], manifest["rows"]) == (format, dict(rows))


def test_export_is_the_same_each_time(format, library, tmp_path):
    for name in ("one", "two"):
        export(format, library, tmp_path / name)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_export_changes_no_archive(format, library, tmp_path):
    shutil.copytree(library, tmp_path / "library")
    with Archive.open(tmp_path / "library") as archive:
        before = archive.view().change, [question for _, question in archive.view().questions()]
        export(format, archive, tmp_path / "out")
        assert (archive.view().change, [question for _, question in archive.view().questions()]) == before


def test_empty_archive_is_exported(format, tmp_path):
    Archive.create(tmp_path / "archive").close()
    assert sum(export(format, tmp_path / "archive", tmp_path / "out").values()) == 0


def test_unknown_option_leaves_nothing(format, library, tmp_path):
    with pytest.raises(SettingsError, match=f"export {format}: nonsense is not a setting"):
        export_archive(library, format, tmp_path / "out", options={"nonsense": 1})
    assert list(tmp_path.iterdir()) == []

"""An archive that is created empty, served, and filled over HTTP."""

from pathlib import Path

from askalike.store import Archive
from commands import askalike
from waiting import wait_for


def test_an_empty_archive_is_filled_over_http(serve, tmp_path: Path) -> None:
    desk = tmp_path / "desk"
    done = askalike("init", desk, "--language", "en")
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout
        == f"{desk}: an empty archive; serve it with askalike serve {desk}, then PUT /v1/desk/questions/ID\n"
    )
    service = serve(desk)
    similar = "/v1/desk/similar?title=printing+tickets"
    assert service.get(similar).json["results"] == []
    assert service.send("PUT", "/v1/desk/questions/1", {"title": "Where do I print my ticket?"}).status == 201
    wait_for(lambda: [hit["id"] for hit in service.get(similar).json["results"]] == ["1"])


def test_init_takes_no_directory_that_holds_something(tmp_path: Path) -> None:
    desk = tmp_path / "desk"
    assert askalike("init", desk).returncode == 0
    with Archive.open(desk) as archive:
        assert archive.meta == {}
    done = askalike("init", desk)
    assert (done.returncode, done.stderr) == (2, f"askalike: {desk}: is not empty; expected a new or empty directory\n")
    assert "--language" in askalike("init", tmp_path / "new", "--language", "klingon").stderr
    assert not (tmp_path / "new").exists()

"""The pictures of the design are what the code says, and drawing them notices where the code has changed."""

import sys

import draw_design as tool
import pytest


def test_the_pictures_are_what_the_code_says():
    """`tools/draw_design.py` writes them anew."""
    assert {path: path.read_text(encoding="utf-8") for path in tool.wanted_files()} == tool.wanted_files()


def test_a_picture_that_differs_fails_the_check(monkeypatch, tmp_path):
    drawn = tmp_path / "layers.svg"
    drawn.write_text("<svg/>")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "wanted_files", lambda: {drawn: "<svg><g/></svg>"})
    monkeypatch.setattr(sys, "argv", ["draw_design.py", "--check"])
    with pytest.raises(SystemExit, match="layers.svg"):
        tool.main()
    monkeypatch.setattr(sys, "argv", ["draw_design.py"])
    tool.main()
    assert drawn.read_text() == "<svg><g/></svg>"


@pytest.mark.parametrize(
    "place",
    [
        "search.locale:ArchiveRetriever",
        "search.archive_retriever:Engine",
        "search.archive_retriever:ArchiveRetriever.seek",
        "rankers:opened",
    ],
)
def test_a_name_that_the_code_lacks_is_noticed(place):
    with pytest.raises(tool.DriftError, match="names"):
        tool.Code().find(place)


def test_a_call_that_is_gone_is_noticed():
    with pytest.raises(tool.DriftError, match="uses estimate"):
        tool.Code().require_use(
            "search.archive_retriever:ArchiveRetriever.close", "calibration.calibration:Calibrator.estimate"
        )


def test_an_import_changes_the_picture_of_the_layers():
    layers = [{"errors": ""}, {"files": ""}, {"text": ""}, {"store": ""}, {"rankers": ""}]
    one = tool.draw_layers(layers, {"rankers": {"text"}, "store": {"text"}})
    other = tool.draw_layers(layers, {"rankers": {"text", "store"}, "store": {"text"}})
    assert one != other
    assert one.count("arrow") == other.count("arrow"), "rankers → text follows from rankers → store → text"
    with pytest.raises(tool.DriftError, match="lacks cli"):
        tool.draw_layers(layers, {"rankers": {"cli"}})

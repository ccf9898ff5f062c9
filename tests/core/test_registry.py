"""Entries are found by their file, or by the entry point of another package."""

import importlib.metadata
import subprocess
import sys

import pytest

from askalike.core import registry
from askalike.core.errors import SettingsError


def every_name() -> list[tuple[str, str]]:
    return [(kind, name) for kind in registry.KINDS for name in registry.names(kind)]


@pytest.mark.parametrize(("kind", "name"), every_name())
def test_every_file_is_an_entry_of_its_kind(kind, name):
    entry = registry.load(kind, name)
    assert registry.load(kind, name.replace("_", "-")) is entry
    assert all(hasattr(entry, method) for method in registry.KINDS[kind].methods)


def test_a_package_adds_an_entry(add_package):
    add_package(
        "plugin_one", "[askalike.readers]\nlines = plugin_one:Lines\n", "class Lines:\n    def read(self): ...\n"
    )
    assert "lines" in registry.names("reader")
    assert "lines" not in registry.builtin_names("reader")
    assert registry.find_kind("lines", ("similarity", "reader")) == "reader"
    assert registry.load("reader", "lines").__name__ == "Lines"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("table = plugin_two:Good", "package plugin_two: reader 'table': askalike has its own of this name"),
        ("Bad-Name = plugin_two:Good", "a name is lower-case letters"),
        ("lines = plugin_two:Absent", "plugin_two:Absent cannot be imported"),
        ("lines = nowhere:Good", "nowhere:Good cannot be imported (No module named 'nowhere')"),
        ("lines = plugin_two:Wrong", "plugin_two:Wrong has no read"),
        ("lines = plugin_two:instance", "plugin_two:instance is not a class"),
    ],
)
def test_refused_entry_of_a_package_is_one_line(add_package, line, problem):
    module = "class Good:\n    def read(self): ...\nclass Wrong: ...\ninstance = Good()\n"
    add_package("plugin_two", f"[askalike.readers]\n{line}\n", module)
    with pytest.raises(SettingsError) as caught:
        registry.load("reader", "lines")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_packages_may_not_add_one_name(add_package):
    add_package("plugin_one", "[askalike.readers]\nlines = plugin_one:Lines\n")
    add_package("plugin_two", "[askalike.readers]\nlines = plugin_two:Lines\n")
    with pytest.raises(SettingsError, match="'lines': plugin_(one|two) adds one of this name too"):
        registry.names("reader")


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(SettingsError, match="no similarity is called 'none'; there are: bm25, "):
        registry.load("similarity", "none")


def test_a_package_has_kinds_of_its_own(add_package, monkeypatch):
    monkeypatch.setattr(registry, "KINDS", {**registry.KINDS})
    root = add_package("third", "[plants.trees]\noak = third:Oak\n", "class Oak:\n    def grow(self): ...\n")
    (root / "plants" / "trees").mkdir(parents=True)
    (root / "plants" / "trees" / "elm.py").write_text("class ElmTree:\n    def grow(self): ...\n")
    (root / "plants" / "trees" / "__init__.py").touch()
    tree = registry.Kind("plants.trees", "plants.trees", "Tree", ("grow",))
    registry.add_kind("tree", tree)
    registry.add_kind("tree", tree)  # the package is imported by two others
    assert registry.names("tree") == ("elm", "oak")
    assert registry.load("tree", "elm").__name__ == "ElmTree"
    assert registry.load("tree", "oak").__name__ == "Oak"
    with pytest.raises(SettingsError, match="a kind is called 'ranker' already"):
        registry.add_kind("ranker", tree)


def test_a_built_in_name_reads_no_entry_points(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "entry_points", pytest.fail)
    assert registry.load("similarity", "bm25")
    assert registry.find_kind("hybrid", ("similarity", "encoder", "ranker")) == "ranker"


def test_names_import_no_kind():
    script = (
        "import sys; from askalike.core import registry\nfor kind in registry.KINDS: registry.names(kind)\n"
        "print(*(name for name in sys.modules if name.partition('.')[0] in ('askalike', 'numpy', 'torch')))"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert set(printed) == {
        "askalike",
        "askalike.core",
        "askalike.core.errors",
        "askalike.core.registry",
        "askalike.text",
    }

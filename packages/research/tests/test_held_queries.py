"""The parts that `experiments/held.toml` measures choose nothing: no default, rule or threshold."""

import re
import tomllib
from pathlib import Path

import pytest

from askalike import Archive, import_archive, load_split
from commands import run_command as run

ROOT = Path(__file__).parents[3]
EXPERIMENTS = ROOT / "experiments"
HELD = EXPERIMENTS / "held.toml"
CHOOSING_PARTS = {
    "askubuntu-titles": ("dev", "tenth/test", "held/train"),
    "stackfaq": ("halves/train",),
    "yahoo": ("halves/train",),
}
"""Archive → the splits on which something may be chosen."""


def held_parts() -> dict[str, str]:
    """Return archive → its held part, from the commands in the file's head."""
    found = re.findall(r"--set archive=archives/(\S+) --set split=(\S+)", HELD.read_text(encoding="utf-8"))
    return dict(found)


def test_held_experiment_tunes_nothing() -> None:
    experiment = tomllib.loads(HELD.read_text(encoding="utf-8"))
    assert held_parts().keys() == CHOOSING_PARTS.keys()
    assert "dev" not in experiment
    assert not any("tune" in system for system in experiment["system"])


def test_no_experiment_chooses_on_held_parts() -> None:
    """A `dev` chooses; `held/test` is named by nothing else at all."""
    others = [path for path in EXPERIMENTS.glob("*.toml") if path != HELD]
    chosen_on = {path.name: tomllib.loads(path.read_text(encoding="utf-8")).get("dev", "dev") for path in others}
    assert len(chosen_on) > 20
    assert [name for name, dev in chosen_on.items() if dev in held_parts().values()] == []
    code = [*EXPERIMENTS.glob("*.py"), *ROOT.glob("src/**/*.py"), *ROOT.glob("benchmarks/*.py")]
    named = [path.name for path in [*others, *code] if "held/test" in path.read_text(encoding="utf-8")]
    assert named == []


@pytest.mark.data
def test_held_parts_share_no_cluster_with_choosing_ones(shared_data: Path, tmp_path: Path) -> None:
    reads = {
        "askubuntu-titles": ("beir", shared_data / "askubuntu-titles", {}),
        "stackfaq": ("table", shared_data / "stackfaq/stackExchange-FAQ.json", {"records": "root.qapair"}),
        "yahoo": ("pairs", shared_data / "yahoo-zhang2014/dev.tsv", {}),
    }
    splits = re.findall(r"askalike (split archives/\S+ .*)", HELD.read_text(encoding="utf-8"))
    for name, (reader, path, settings) in reads.items():
        import_archive(reader, [path], tmp_path / "archives" / name, options=settings)
    for words in splits:
        assert run(*words.replace("archives/", f"{tmp_path}/archives/").split())[0] == 0
    shared = []
    for name, held in held_parts().items():
        with Archive.open(tmp_path / "archives" / name) as archive:
            clusters = archive.training_view(()).clusters()
            own = {clusters.cluster_of(query) for query in load_split(archive, held).queries}
            for part in CHOOSING_PARTS[name]:
                others = {clusters.cluster_of(query) for query in load_split(archive, part).queries}
                shared += [(name, part)] if own & others else []
    assert shared == []

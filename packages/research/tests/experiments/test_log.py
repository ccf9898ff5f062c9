"""What an experiment's log says."""

import re

from askalike_research.experiments.declaration import read_experiment
from askalike_research.experiments.run import run_experiment
from planted import plant


def test_tuned_settings_are_logged_as_text(tmp_path, without_figures):
    archive, toml, lines = plant(tmp_path / "planted"), tmp_path / "one.toml", []
    toml.write_text(
        f'archive = "{archive}"\nsplit = "halves/test"\ndev = "halves/train"\nmeasures = ["RR"]\n'
        '[[system]]\nranker = "bm25"\ntune = { k1 = [0.5, 1.2], b = [0.3] }\n'
    )
    run_experiment(read_experiment(toml), tmp_path / "out", log=lines.append)
    [tuned] = [line for line in (tmp_path / "out/log.txt").read_text().splitlines() if "tuned in" in line]
    assert re.search(r"bm25: tuned in [\d.]+ s to k1 = [\d.]+, b = 0.3$", tuned)

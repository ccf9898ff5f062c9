"""What an experiment's log says."""

import json
import re

from askalike.experiments.declaration import read_experiment
from askalike.experiments.run import run_experiment
from planted import NETWORK, plant


def test_epochs_are_logged_and_given_on(tmp_path, without_figures):
    settings = ", ".join(f'"{key}" = {json.dumps(value)}' for key, value in NETWORK.items() if "epochs" not in key)
    toml = tmp_path / "one.toml"
    archive = plant(tmp_path / "planted")
    toml.write_text(
        f'archive = "{archive}"\nsplit = "halves/test"\nmeasures = ["RR"]\n'
        f'[[system]]\nranker = "cnn"\nsettings = {{ {settings}, "training.epochs" = 2 }}\n'
    )
    lines = []
    run_experiment(read_experiment(toml), tmp_path / "out", log=lines.append)
    said = re.compile(r"epoch [12] of 2: loss [\d.]+, \d+ examples/s, RR [\d.]+ on dev")
    epochs = [line for line in lines if said.fullmatch(line)]
    assert len(epochs) == 2
    logged = (tmp_path / "out/log.txt").read_text()
    assert all(line in logged for line in lines)


def test_tuned_settings_are_logged_as_text(tmp_path, without_figures):
    archive, toml, lines = plant(tmp_path / "planted"), tmp_path / "one.toml", []
    toml.write_text(
        f'archive = "{archive}"\nsplit = "halves/test"\ndev = "halves/train"\nmeasures = ["RR"]\n'
        '[[system]]\nranker = "bm25"\ntune = { k1 = [0.5, 1.2], b = [0.3] }\n'
    )
    run_experiment(read_experiment(toml), tmp_path / "out", log=lines.append)
    [tuned] = [line for line in (tmp_path / "out/log.txt").read_text().splitlines() if "tuned in" in line]
    assert re.search(r"bm25: tuned in [\d.]+ s to k1 = [\d.]+, b = 0.3$", tuned)

"""What an experiment's log says of training."""

import json
import re

from askalike_research.experiments.declaration import read_experiment
from askalike_research.experiments.run import run_experiment
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

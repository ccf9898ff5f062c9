"""Experiments, comparisons, replays and backtests on askalike archives, and the formats and rankers of research."""

from typing import TYPE_CHECKING, Any

from askalike.plugin import Command

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from askalike_research.experiments.outcome import ExperimentResult

EXPERIMENT = Command(
    "Measure",
    "Run the experiment that a TOML file declares, into a folder that reproduces it.",
    "askalike_research.experiments.command:experiment_command",
)
COMPARE = Command(
    "Measure",
    "Compare runs query by query, with intervals and significance.",
    "askalike_research.comparing.command:compare_command",
)
CALIBRATE_RUN = Command(
    "Measure",
    "Turn the scores of another system's run into probabilities by judgements, and measure how reliable they are.",
    "askalike_research.run_calibration:calibrate_run_command",
)
EVALUATE_ANSWERS = Command(
    "Measure",
    "Let an endpoint write grounded answers, and measure how well their sources support them.",
    "askalike_research.answer_support:evaluate_answers_command",
)
BACKTEST = Command(
    "Measure",
    "Measure which comments a bot would have made on the latest questions, and how many of them are right.",
    "askalike_research.replay.commands:backtest_command",
)
REPLAY = Command(
    "Measure",
    "Search again for every known duplicate, in the archive as it was when somebody asked it.",
    "askalike_research.replay.commands:replay_command",
)


def experiment(
    file: "str | Path",
    folder: "str | Path",
    changes: "Mapping[str, Any] | None" = None,
    *,
    resume: bool = False,
    force: bool = False,
) -> "ExperimentResult":
    """Run the experiment that a TOML file declares, and write everything into a folder that reproduces it.

    changes: values that replace those of the file, by key or `table.key`. resume: continue an interrupted experiment.
    force: replace the experiment that is in the folder. Raises SettingsError for anything wrong in the file.
    """
    from pathlib import Path

    from askalike_research.experiments.declaration import read_experiment
    from askalike_research.experiments.run import run_experiment

    return run_experiment(read_experiment(Path(file), changes), Path(folder), resume=resume, force=force)

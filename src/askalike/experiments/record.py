"""An experiment's result as JSON: all but the runs themselves, which lie beside it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from askalike.experiments.outcome import ExperimentResult, SystemResult
from askalike.experiments.summary import describe_findings


def as_dict(outcome: ExperimentResult) -> dict[str, Any]:
    """Numbers, texts, lists and dictionaries of them."""
    return {
        "title": outcome.title,
        "archive": str(outcome.archive),
        "task": outcome.task,
        "split": outcome.split,
        "queries": len(outcome.labels.queries),
        "measures": list(outcome.measures),
        "rule": outcome.rule,
        "systems": [_system_dict(system, outcome) for system in outcome.systems],
        "comparisons": {measure: comparison.as_dict() for measure, comparison in outcome.comparisons.items()},
        "typing": outcome.typing,
        "samples": {label: [dict(s) for s in samples] for label, samples in outcome.samples.items()},
        "paper": outcome.paper,
        "known_differences": list(outcome.known_differences),
        "check": {
            "verdict": describe_findings(outcome.findings),
            "findings": [asdict(f) for f in outcome.findings if f.count],
        },
        "provenance": dict(outcome.provenance),
    }


def _system_dict(system: SystemResult, outcome: ExperimentResult) -> dict[str, Any]:
    return {
        "label": system.label,
        "ranker": system.ranker,
        "settings": dict(system.settings),
        "tuned": dict(system.tuned),
        "measures": {measure: _measure_dict(system, measure) for measure in outcome.measures},
        "beside": {name: {"mean": mean, "sd": sd} for name, (mean, sd) in system.diagnostics().items()},
        "seeds": {str(seed): trial.evaluation.as_dict() for seed, trial in system.seed_results.items()},
    }


def _measure_dict(system: SystemResult, measure: str) -> Mapping[str, float | None]:
    low, high = system.interval(measure)
    return {"mean": system.mean(measure), "low": low, "high": high, "sd": system.sd(measure)}

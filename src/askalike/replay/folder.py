"""What a replay leaves behind: its results as JSON, its runs and judgements as TREC files, and a plot over time."""

import json
from pathlib import Path

from askalike.errors import InputError
from askalike.evaluation.trec import write_run
from askalike.replay.replay import Replay
from askalike.replay.timeline import plot_timeline


def write_replay(replay: Replay, folder: Path) -> list[Path]:
    """Writes replay.json, qrels.txt, replay.svg, and run.trec or, of several rankers, run-NAME.trec each."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(replay.as_dict(), ensure_ascii=False, indent=1)
        (folder / "replay.json").write_text(f"{text}\n", encoding="utf-8")
        (folder / "qrels.txt").write_text(_format_qrels(replay), encoding="utf-8")
        plot_timeline(replay, folder / "replay.svg")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    runs = {f"run-{result.ranker}.trec" if len(replay.results) > 1 else "run.trec": result for result in replay.results}
    for name, result in runs.items():
        write_run(result.run, folder / name, result.ranker)
    return [folder / name for name in ("replay.json", "replay.svg", "qrels.txt", *runs)]


def _format_qrels(replay: Replay) -> str:
    return "".join(f"{q} 0 {original} 1\n" for q, found in replay.selection.originals.items() for original in found)

"""How reliable the default ranker's probabilities are: nested cross-validation on each archive's labels, as JSON.

    python experiments/calibration.py ARCHIVE:SPLIT … -o experiments/reports/calibration.json

Nothing is saved in the archives. No cluster is used both for fitting and for measuring; see docs/calibration.md.
"""

import argparse
import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path

from askalike import Archive, build, calibrate
from askalike.plugin.rankers import DEFAULT_NAME
from askalike_research.experiments.provenance import collect_provenance


def measure(path: Path, split: str) -> dict[str, object]:
    """Calibrate the default ranker on titles, as people type them, and return the quality of its first hits."""
    with Archive.open(path) as archive:
        ranker = build(DEFAULT_NAME, {}, path)
        report = calibrate(archive, ranker, split, titles_only=True)
        command = shlex.join(["python", "experiments/calibration.py", *sys.argv[1:]])
        return {
            "archive": path.name,
            "split": split,
            "ranker": ranker.name,
            "queries": len(report.sample.queries),
            "method": report.method,
            "first_hits": asdict(report.first_hits),
            "provenance": collect_provenance(archive, command),
        }


def main() -> None:
    """Write the reports of all archives into one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archives", nargs="+", metavar="ARCHIVE:SPLIT")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    pairs = [name.rsplit(":", 1) for name in options.archives]
    rows = [measure(Path(path), split) for path, split in pairs]
    options.output.write_text(json.dumps(rows, indent=1, default=float) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

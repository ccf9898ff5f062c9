"""Runs all benchmarks, or those named: python benchmarks/run.py [NAME …]. Each prints its own table."""

import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).parent
NAMES = sorted(f.stem for f in FOLDER.glob("*.py") if f.stem != "run" and not f.stem.startswith("_"))


def main() -> int:
    wanted = sys.argv[1:] or NAMES
    if unknown := [name for name in wanted if name not in NAMES]:
        print(f"no benchmark is called {', '.join(unknown)}; there are: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    failed = [name for name in wanted if not ran_well(name)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


def ran_well(name: str) -> bool:
    """Run one benchmark in its own process, so that its memory is measured separately; return whether it succeeded."""
    print(f"\n== {name} ==", flush=True)
    start = time.perf_counter()
    done = subprocess.run([sys.executable, FOLDER / f"{name}.py"], check=False)
    print(f"== {name}: {time.perf_counter() - start:.0f} s ==", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())

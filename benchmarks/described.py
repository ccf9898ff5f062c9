"""Does the API conform to its OpenAPI description? Runs that test with many more examples of each operation.

python benchmarks/described.py --examples 300
"""

import os
import subprocess
import sys
from pathlib import Path

from _rows import make_parser

TEST = Path(__file__).parents[1] / "tests" / "service" / "test_openapi.py"


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--examples", type=int, default=100)
    examples = parser.parse_args().examples
    print(f"{examples} examples of each operation, beside those that cover every limit of its description")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TEST]
    return subprocess.run(
        command, env=os.environ | {"TEST_LONG": "1", "ASKALIKE_EXAMPLES": str(examples)}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())

"""`python -m askalike`: the command line if `askalike` is not on the PATH."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder, from which only Python itself has imported so far
    from askalike.cli import main

    main()

"""`python -m askalike`: the command line if `askalike` is not on the PATH."""

from askalike.cli import main

if __name__ == "__main__":
    main()

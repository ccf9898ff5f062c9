"""`python -m askalike`: the command line where no `askalike` is on the PATH."""

from askalike.cli import main

if __name__ == "__main__":
    main()

"""What `askalike check` looks for in an archive, one function a check, and its statistics."""

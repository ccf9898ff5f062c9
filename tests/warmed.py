"""Loads the machine code of a search by making one, so that copies of a process that imports this have it."""

import tempfile

import askalike

with tempfile.TemporaryDirectory() as directory:
    with askalike.Archive.create(directory) as archive:
        archive.upsert([askalike.Question("a", "How long do I boil an egg?")])
    with askalike.load(directory) as engine:
        engine.search("boiling eg", prefix=True)

"""Archives in which words find little, or all there is."""

from askalike.store.archive import Archive
from askalike.types import Answer, Link, Question

THINGS = (
    "bread", "bicycle", "guitar", "garden", "camera", "coffee", "printer", "window", "kitten", "sailing", "violin",
    "carpet", "ladder", "candle", "pillow", "helmet",
)  # fmt: skip
ASKED = ("how do I start with {}?", "what {} should I buy", "my {} broke, can it be mended", "is {} fun in winter?")
AGAIN = (
    "beginning {} for the first time",
    "which {} to purchase",
    "repairing a broken {}",
    "enjoying {} when it snows",
)


def labelled(path):
    """64 questions, each with a rephrasing that shares a word with four of them."""
    questions = [
        Question(f"q{i}-{j}", asked.format(thing), rephrasings=(AGAIN[j].format(thing),))
        for i, thing in enumerate(THINGS)
        for j, asked in enumerate(ASKED)
    ]
    with Archive.create(path) as archive:
        archive.upsert(questions)
    return path


def linked(path):
    """Duplicates, each linked as related, too; every question has a body of its own."""
    with Archive.create(path) as archive:
        for i, thing in enumerate(THINGS):
            for j, (asked, again) in enumerate(zip(ASKED, AGAIN, strict=True)):
                a, b = f"a{i}-{j}", f"b{i}-{j}"
                archive.upsert(
                    [
                        Question(a, asked.format(thing), f"{thing} body {i} {j} of the first"),
                        Question(b, again.format(thing), f"{thing} body {i} {j} of the second"),
                        Link(b, a, "duplicate"),
                        Link(b, a, "related"),
                    ]
                )
    return path


def unlabelled(path, answers=True):
    """Questions with an answer each that says the same in other words, or with nothing."""
    with Archive.create(path) as archive:
        for i, thing in enumerate(THINGS):
            for j, (asked, again) in enumerate(zip(ASKED, AGAIN, strict=True)):
                archive.upsert([Question(f"q{i}-{j}", asked.format(thing))])
                if answers:
                    archive.upsert([Answer(f"w{i}-{j}", f"q{i}-{j}", f"well, {again.format(thing)} is number {i}")])
    return path

"""Archives in which lexical rankers find little, or everything."""

from askalike.core.records import Answer, Link, Question
from askalike.store.archive import Archive

THINGS = (
    "bread", "bicycle", "guitar", "garden", "camera", "coffee", "printer", "window", "kitten", "sailing", "violin",
    "carpet", "ladder", "candle", "pillow", "helmet",
)  # fmt: skip
TEMPLATES = ("how do I start with {}?", "what {} should I buy", "my {} broke, can it be mended", "is {} fun in winter?")
REPHRASED = (
    "beginning {} for the first time",
    "which {} to purchase",
    "repairing a broken {}",
    "enjoying {} when it snows",
)


def labelled(path):
    """64 questions, each with a rephrasing that shares a word with four of them."""
    questions = [
        Question(f"q{i}-{j}", template.format(thing), rephrasings=(REPHRASED[j].format(thing),))
        for i, thing in enumerate(THINGS)
        for j, template in enumerate(TEMPLATES)
    ]
    with Archive.create(path) as archive:
        archive.upsert(questions)
    return path


def linked(path):
    """Duplicates, each linked as related, too; every question has a body of its own."""
    with Archive.create(path) as archive:
        for i, thing in enumerate(THINGS):
            for j, (template, rephrased) in enumerate(zip(TEMPLATES, REPHRASED, strict=True)):
                a, b = f"a{i}-{j}", f"b{i}-{j}"
                archive.upsert(
                    [
                        Question(a, template.format(thing), f"{thing} body {i} {j} of the first"),
                        Question(b, rephrased.format(thing), f"{thing} body {i} {j} of the second"),
                        Link(b, a, "duplicate"),
                        Link(b, a, "related"),
                    ]
                )
    return path


def unlabelled(path, answers=True):
    """Questions with an answer each that says the same in other words, or with nothing."""
    with Archive.create(path) as archive:
        for i, thing in enumerate(THINGS):
            for j, (template, rephrased) in enumerate(zip(TEMPLATES, REPHRASED, strict=True)):
                archive.upsert([Question(f"q{i}-{j}", template.format(thing))])
                if answers:
                    archive.upsert([Answer(f"w{i}-{j}", f"q{i}-{j}", f"well, {rephrased.format(thing)} is number {i}")])
    return path

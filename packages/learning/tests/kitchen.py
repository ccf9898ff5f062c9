"""A small archive to train on, and settings of small networks."""

from pathlib import Path

from askalike import Answer, Archive, Link, Question

THINGS = (
    *("egg", "rice", "pasta", "bread", "soup", "cake", "tea", "coffee", "milk"),
    *("butter", "cheese", "fish", "salt", "sugar", "apple", "plum", "pear", "corn"),
)
WAYS = ("how do I cook {}", "what is the way to prepare {}", "best {} recipe", "making {} at home")
TINY = {
    "dim": 8, "units": 12, "init": "skipgram", "min_texts": 1, "training.epochs": 3, "optimizer": "adam",
    "learning_rate": 0.01, "accelerator": "cpu", "init_epochs": 2, "random": 4, "batch_size": 16, "measure": "RR",
    "dev_share": 0.2,
}  # fmt: skip


def make_kitchen(path: Path) -> Archive:
    archive = Archive.create(path)
    archive.upsert(
        Question(f"{t}{n}", way.format(t), f"<p>I have some {t} and no idea.</p>", "html", license="CC0")
        for t in THINGS
        for n, way in enumerate(WAYS)
    )
    archive.upsert(Link(f"{t}{n}", f"{t}0") for t in THINGS for n in (1, 2, 3))
    archive.upsert(Answer(f"a{t}", f"{t}0", f"Put the {t} into a pot.") for t in THINGS)
    return archive

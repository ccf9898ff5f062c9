"""A small archive and small experiments on it."""

from pathlib import Path

import tomli_w

from askalike.core.records import Question
from askalike.store.archive import Archive

TOPICS = ("bread", "bicycle", "guitar", "garden", "camera", "coffee", "printer", "window", "kitten", "sailing")
TEMPLATES = ("how do I start with {}?", "what {} should I buy", "my {} broke, can it be mended", "is {} fun in winter?")


def categorised_questions() -> list[Question]:
    """Every template with every topic, which is also the category."""
    return [
        Question(f"q{i}{j}", template.format(topic), category=topic)
        for i, topic in enumerate(TOPICS)
        for j, template in enumerate(TEMPLATES)
    ]


def archive_at(path: Path) -> Path:
    """40 questions, each with a rephrasing: the split `rephrasings`; and a body that adds nothing."""
    questions = [
        Question(
            f"q{i}{j}", template.format(topic), "<p>please help</p>", "html", rephrasings=(f"{topic} {template[:9]}",)
        )
        for i, topic in enumerate(TOPICS)
        for j, template in enumerate(TEMPLATES)
    ]
    with Archive.create(path) as archive:
        archive.upsert(questions)
    return path


def toml_at(path: Path, archive: Path, **changes: object) -> Path:
    """An experiment of two rankers, with some of its keys changed."""
    values = {
        "archive": str(archive),
        "split": "rephrasings",
        "fields": "title",
        "measures": ["Success@1", "RR"],
        "system": [
            {"ranker": "bm25", "settings": {"rephrasings": False}},
            {"ranker": "tfidf", "label": "TF-IDF (ours)", "settings": {"rephrasings": False}},
        ],
    } | changes
    path.write_text(tomli_w.dumps({key: value for key, value in values.items() if value is not None}))
    return path

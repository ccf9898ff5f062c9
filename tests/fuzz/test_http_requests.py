"""Random requests with the key that a site publishes: never an error of the service, nor a long answer."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from damage import seeds

pytest.importorskip("fastapi", reason="needs the extra service")
import sys

sys.path.append(str(Path(__file__).parents[1] / "service"))
from serving import Service

from askalike.store import Archive, keys
from calibration.riverside import riverside

pytestmark = pytest.mark.fuzz

SITE = "https://forum.example"
MAX_ANSWER_BYTES = 300_000
FIELDS = (
    "title", "body", "k", "tags", "before", "after", "without", "min_probability", "min_similarity", "explain",
    "prefix", "count_shown", "shown_ids", "verdict", "chosen_id", "opened", "mode", "x",
)  # fmt: skip
TEXTS = (
    "", "library card", "\u0f73" * 3_000, "\u0301\u0327" * 3_000, "\ud800", "\x00", "a" * 1_001, "?" * 900,
    "-card " * 100, "card*", "“quoted”", "２０２６", "2026-01-01", "accept", "r001", "ﷺ" * 500, "\uff9e\u0327" * 900,
    "क्" * 900, "图书馆" * 300,
)  # fmt: skip


def draw(dice: random.Random, depth: int = 0) -> Any:
    match dice.randrange(10 if depth < 3 else 6):
        case 0 | 1 | 2:
            return dice.choice(TEXTS)
        case 3:
            return dice.choice([0, 1, -1, 5, 2**63, 1e308, 0.5, True, False, None])
        case 4:
            return "".join(chr(dice.choice([dice.randrange(0x80), dice.randrange(0xD800)])) for _ in range(20))
        case 5:
            return dice.randrange(20)
        case 6 | 7:
            return [draw(dice, depth + 1) for _ in range(dice.choice([0, 1, 3, 120]))]
        case _:
            return {dice.choice(TEXTS[:6]): draw(dice, depth + 1) for _ in range(3)}


def test_requests_with_a_published_key_do_no_harm(tmp_path: Path) -> None:
    path = riverside(tmp_path / "riverside")
    with Archive.open(path) as archive:
        key = keys.create_key(archive, "read", origin=SITE)
    headers = {"authorization": f"Bearer {key}", "origin": SITE, "content-type": "application/json"}
    service = Service(path, options=("--set", "require_keys=true", "--set", "requests_per_s=0"))
    try:
        for seed in seeds():
            dice = random.Random(seed)
            value = {name: draw(dice) for name in dice.sample(FIELDS, dice.randrange(1, 6))} | {"title": draw(dice)}
            body = json.dumps(value if dice.random() < 0.95 else draw(dice)).encode()
            if dice.random() < 0.1:
                body = body[: dice.randrange(len(body))]
            answer = service.send("POST", f"/v1/riverside/{dice.choice(('similar', 'feedback'))}", body, headers)
            assert answer.status < 500, f"seed {seed}: {answer.body[:500]!r}"
            assert len(answer.body) < MAX_ANSWER_BYTES, f"seed {seed}"
        assert not [line for line in service.log() if "traceback" in line or line.get("level") == "error"]
    finally:
        service.end()
    shutil.rmtree(path)

"""Random damage to the content of a file, and the time to try it."""

import os
import random
import re
import time
from collections.abc import Iterable, Iterator
from itertools import count

from random_examples import LONG

FUZZ_S = float(os.environ.get("FUZZ_S", 2 if LONG else 0.5))
"""Seconds for each test; without `make fuzz` a look."""


def seeds(findings: Iterable[int] = ()) -> Iterator[int]:
    """Yield the seeds of past findings, then others, one at least, for FUZZ_S seconds; print how many these were."""
    until, first = time.monotonic() + FUZZ_S, random.randrange(1 << 30)
    yield from findings
    for tried in count(1):
        yield first + tried
        if time.monotonic() >= until:
            break
    print(f"{tried:,} cases from seed {first + 1}")


VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"(\s*:)?|[\w.+-]+')
ODD_VALUES = (
    b"null", b"true", b"[]", b"{}", b"-1", b"1e400", b"1e40", b"%d" % 2**63, b"0", b'""', b'"\\ud800"', b'"\\u0000"',
    b"[[null]]", b'{"a": {}}', b'["x", 3]', b"NaN", b'"2026-13-45T99:00"', b'"' + b"9" * 5_000 + b'"',
    b"[" * 3_000 + b"]" * 3_000, b"9" * 5_000,
)  # fmt: skip


def replace_value(content: bytes, dice: random.Random) -> bytes:
    """Return a text in which a value has become another one; JSON stays JSON, and its keys stay."""
    values = [value for value in VALUE.finditer(content) if not value[1]]
    if not values:
        return damage(content, dice)
    value, odd = dice.choice(values), dice.choice(ODD_VALUES)
    return content[: value.start()] + odd.strip(b'"' * (value[0][:1] != b'"')) + content[value.end() :]


def damage(content: bytes, dice: random.Random) -> bytes:
    changed = bytearray(content)
    at = dice.randrange(len(changed))
    match dice.randrange(6):
        case 0 | 1:
            changed[at] ^= 1 << dice.randrange(8)
        case 2:
            del changed[at:]
        case 3:
            changed[at : at + 64] = b"\xff" * len(changed[at : at + 64])
        case 4:
            changed[at : at + 4096] = bytes(len(changed[at : at + 4096]))
        case _:
            changed[at:at] = dice.randbytes(dice.randrange(1, 9))
    return bytes(changed)

"""Random damage to the content of a file, and the time to try it."""

import os
import random

FUZZ_S = float(os.environ.get("FUZZ_S", "2"))
"""Seconds for each test; without `make fuzz` a look."""


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

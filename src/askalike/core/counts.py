"""Counts with their nouns, and times, for messages."""

SIBILANTS = ("s", "x", "ch", "sh")
CONSONANT_Y = tuple(f"{consonant}y" for consonant in "bcdfghjklmnpqrstvwxz")


def format_count(count: int, noun: str) -> str:
    """Return a number with its noun, such as `1 query`, `2 queries` and `1,200 votes`. noun: in the singular."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith(CONSONANT_Y):
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}{'es' if noun.endswith(SIBILANTS) else 's'}"


def format_duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours."""
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"

"""Measure names: written as ir_measures writes them, read in the other spellings of the field too."""

import re
from ast import literal_eval
from collections.abc import Sequence

import ir_measures

from askalike.errors import SettingsError

AVG_REC = "AvgRec"
FIRST_HIT_SUCCESS = "FHS"
"""First-hit success: the share of queries whose first hit is right, which is Success@1."""
MEASURES = (
    *("AP", "RR", "P", "R", "nDCG", "Success", "Rprec", "Bpref", "infAP", "IPrec", "Judged"),
    *("SetP", "SetR", "SetF", "SetAP", AVG_REC),
)
ALIASES = {"MAP": "AP", "MRR": "RR", "Accuracy": "Success", "Acc": "Success", "Precision": "P", "Recall": "R"}

_SPELLINGS = {name.lower(): name for name in MEASURES} | {alias.lower(): name for alias, name in ALIASES.items()}
_NAME = re.compile(r"(\w+)(?:\((.*)\))?(?:@([0-9.]+))?")
_PROVIDERS: Sequence[ir_measures.Provider] = (ir_measures.pytrec_eval, ir_measures.judged, ir_measures.msmarco)


def canonical_name(name: str) -> str:
    """The measure's name as ir_measures writes it: `map` → `AP`, `Accuracy@1` and `FHS` → `Success@1`.

    Raises SettingsError for a name that is unknown, with those that are known, and for a cut-off or parameter that
    the measure lacks or needs.
    """
    if name.strip().lower() == FIRST_HIT_SUCCESS.lower():
        return "Success@1"
    return AVG_REC if name.strip().lower() == AVG_REC.lower() else str(parse_measure(name))


def parse_cutoff(name: str) -> int | None:
    """How many hits a measure looks at: 10 for `Success@10`, None where it looks at all. Raises as `canonical`."""
    _, at, depth = canonical_name(name).rpartition("@")
    return int(depth) if at and depth.isdigit() else None


def parse_measure(name: str) -> ir_measures.Measure:
    """ir_measures' object for a measure in any spelling, AvgRec and FHS apart. Raises what `canonical` raises.

    ir_measures' own parser needs a part of `ast` that Python 3.14 no longer has.
    """
    match = _NAME.fullmatch(name.strip())
    base = _SPELLINGS.get(match[1].lower()) if match else None
    if match is None or base is None:
        aliases = ", ".join(f"{alias} (= {known})" for alias, known in ALIASES.items())
        known = f"{', '.join(MEASURES)}, {FIRST_HIT_SUCCESS}, {aliases}; with a cut-off as in P@5"
        raise SettingsError(f"no measure is called {name!r}; there are: {known}")
    measure = _build_measure(base, match[2], match[3])
    if measure is None:
        raise SettingsError(f"measure {name!r}: its cut-off or parameters are wrong or missing; expected as in P@5")
    return measure


def _build_measure(base: str, parameters: str | None, cutoff: str | None) -> ir_measures.Measure | None:
    """The measure, or None where none of the providers at hand computes it."""
    try:
        pairs = [pair.split("=") for pair in (parameters or "").split(",") if pair]
        measure = getattr(ir_measures, base, None)
        if measure is None or cutoff == "0":
            return None
        measure = measure(**{key.strip(): literal_eval(value.strip()) for key, value in pairs})
        measure = measure @ literal_eval(cutoff) if cutoff else measure
        return measure if any(provider.supports(measure) for provider in _PROVIDERS) else None
    except (ValueError, TypeError, SyntaxError, AssertionError):
        return None

"""Measure names: written as ir_measures writes them, read in the other spellings of the field too."""

import re
from collections.abc import Sequence

import ir_measures

from askalike.errors import SettingsError

AVG_REC = "AvgRec"
MEASURES = (
    *("AP", "RR", "P", "R", "nDCG", "Success", "Rprec", "Bpref", "infAP", "IPrec", "Judged"),
    *("SetP", "SetR", "SetF", "SetAP", AVG_REC),
)
ALIASES = {"MAP": "AP", "MRR": "RR", "Accuracy": "Success", "Acc": "Success", "Precision": "P", "Recall": "R"}
FIRST_HIT = "FHS"
"""First-hit success: the share of queries whose first hit is right, which is Success@1."""

_SPELLINGS = {name.lower(): name for name in MEASURES} | {alias.lower(): name for alias, name in ALIASES.items()}
_NAME = re.compile(r"(\w+)(\(.*\))?(@[0-9.]+)?")


def canonical(name: str) -> str:
    """The measure's name as ir_measures writes it: `map` → `AP`, `Accuracy@1` and `FHS` → `Success@1`.

    Raises SettingsError for a name that is unknown, with those that are known, and for a cut-off or parameter that
    the measure lacks or needs.
    """
    if name.strip().lower() == FIRST_HIT.lower():
        return "Success@1"
    match = _NAME.fullmatch(name.strip())
    base = _SPELLINGS.get(match[1].lower()) if match else None
    if match is None or base is None:
        aliases = ", ".join(f"{alias} (= {known})" for alias, known in ALIASES.items())
        known = f"{', '.join(MEASURES)}, {FIRST_HIT}, {aliases}; with a cut-off as in P@5"
        raise SettingsError(f"no measure is called {name!r}; there are: {known}")
    rest = (match[2] or "") + (match[3] or "")
    if base == AVG_REC:
        if rest:
            raise SettingsError(f"measure {name!r}: {AVG_REC} takes no cut-off, it is the mean over the first ten")
        return AVG_REC
    return str(parsed(base + rest))


def parsed(name: str) -> ir_measures.Measure:
    """The measure object of a canonical name. Raises SettingsError where trec_eval's measures do not cover it."""
    try:
        measure = ir_measures.parse_measure(name)
        supported = measure.params.get("cutoff") != 0 and any(p.supports(measure) for p in _PROVIDERS)
    except (ValueError, TypeError, AssertionError):
        supported = False
    if not supported:
        raise SettingsError(f"measure {name!r}: its cut-off or parameters are wrong or missing; expected as in P@5")
    return measure


_PROVIDERS: Sequence[ir_measures.Provider] = (ir_measures.pytrec_eval, ir_measures.judged, ir_measures.msmarco)

import pytest
from growth import assert_linear

from askalike.text.formulas import find_formulas


@pytest.mark.parametrize("piece", ["$", "$a ", "$\\a", "$ a(", "$$\\text{a} ", "\\(", "\\begin{a}", "$^\\$", "$_"])
def test_finding_formulas_takes_linear_time(piece: str) -> None:
    assert_linear(lambda size: find_formulas((piece * size)[: 2 * size]))

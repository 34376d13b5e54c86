"""How a number is printed: exactly when it is short, to four significant digits otherwise."""

from __future__ import annotations

import math
from fractions import Fraction

from app.course.expression import Exact, Quantity
from app.course.units import Unit

GAP = "\N{NARROW NO-BREAK SPACE}"
SIGNIFICANT = 4
LONGEST_EXACT = 6  # decimals that are still printed in full
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def quantity_text(quantity: Quantity, unit: Unit, decimals: int | None) -> str:
    """A quantity in a unit: `128 MiB`, `≈ 295.3 FLOP/B`. The sign ≈ marks every rounding."""
    value = (
        quantity.value / unit.factor
        if isinstance(quantity.value, Fraction)
        else quantity.value / float(unit.factor)
    )
    text = number_text(value, decimals)
    about = "" if is_exact(value, decimals) else f"≈{GAP}"
    gap = GAP if unit.name else ""
    return f"{about}{text}{gap}{unit.name}"


def is_exact(value: Exact, decimals: int | None) -> bool:
    """Whether `number_text` prints the whole value."""
    if isinstance(value, float):
        return False
    places = LONGEST_EXACT if decimals is None else decimals
    return (value * Fraction(10) ** places).denominator == 1


def number_text(value: Exact, decimals: int | None) -> str:
    """Digits with thousands separators; powers of ten beyond what is easy to read."""
    if decimals is not None:
        return f"{_rounded(value, decimals):,.{decimals}f}"
    if isinstance(value, Fraction) and is_exact(value, None):
        return (
            f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):,.{LONGEST_EXACT}f}".rstrip("0")
        )
    size = math.floor(math.log10(abs(float(value)))) if value else 0
    if -4 <= size < 12:
        return f"{_rounded(value, max(SIGNIFICANT - 1 - size, 0)):,.{max(SIGNIFICANT - 1 - size, 0)}f}"
    mantissa = float(value) / 10.0**size
    return f"{mantissa:.{SIGNIFICANT - 1}f} × 10{str(size).translate(SUPERSCRIPT)}"


def _rounded(value: Exact, decimals: int) -> float:
    # Half up on the exact value: formatting a float would round its binary neighbour.
    if isinstance(value, float):
        return round(value, decimals)
    scaled = value * Fraction(10) ** decimals
    return math.copysign(math.floor(abs(scaled) + Fraction(1, 2)) / 10**decimals, value) if value else 0.0
